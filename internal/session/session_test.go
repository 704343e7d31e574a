package session

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/wire"
)

func TestTwoPeopleMeetAndTalk(t *testing.T) {
	for _, oneTime := range []bool{true, false} {
		a, b := newPerson(t, "ann", 2), newPerson(t, "bob", 1)
		sa, sb, h := meet(t, a, b, b.ask(t, "b", oneTime))
		if h.Name != "Ann" || !bytes.Equal(h.Route, offer) {
			t.Errorf("got %q and route %x, want what was sent", h.Name, h.Route)
		}
		for n := range 12 {
			says(t, sa, sb, n)
			says(t, sb, sa, n)
			sa, sb = ok[*Session](t)(Parse(sa.Append(nil))), ok[*Session](t)(Parse(sb.Append(nil)))
		}
		if !sa.Initiator() || sb.Initiator() {
			t.Errorf("got initiator %v and %v, want true and false", sa.Initiator(), sb.Initiator())
		}
		if sa.Self() != sb.Peer() || sb.Self() != sa.Peer() || sa.Self() == sa.Peer() {
			t.Error("got ends that differ, want each to name the other")
		}
		m := a.self.Manifest
		if want := (End{m.Root, m.Devices[0].Sign, 1, m.Hash()}); sb.Peer() != want {
			t.Errorf("got peer %v, want %v", sb.Peer(), want)
		}
		if sa.Sent() != 13 || sb.Highest() != 13 || sb.Sent() != 12 || sa.Highest() != 12 {
			t.Errorf("got counts %d/%d and %d/%d, want 13/13 and 12/12", sa.Sent(), sb.Highest(), sb.Sent(), sa.Highest())
		}
		if sa.Room() != sb.Room()+1 {
			t.Errorf("got room %d and %d, want one less where a message is unanswered", sa.Room(), sb.Room())
		}
	}
}

func TestMessagesBeforeTheAnswerOpenInAnyOrder(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	r := stream("before")
	sa, h, err := Start(r, a.self, b.peer(x), offer, "", block(0))
	if err != nil {
		t.Fatal(err)
	}
	second, third := ok[[]byte](t)(sa.Seal(r, block(1))), ok[[]byte](t)(sa.Seal(r, block(2)))
	sb, _, err := b.accept(x, h)
	if err != nil {
		t.Fatal(err)
	}
	for n, m := range map[int][]byte{2: third, 1: second} {
		if got, err := sb.Open(r, now, m); err != nil || !bytes.Equal(got, block(n)) {
			t.Errorf("message %d: got %v, want its block", n, err)
		}
	}
	if _, err := sb.Open(r, now, h.First[:]); err != ErrOpen {
		t.Errorf("first message again: got %v, want %v", err, ErrOpen)
	}
}

// TestEveryByteOfAHelloCounts changes each field on its way: nothing that was
// changed is accepted.
func TestEveryByteOfAHelloCounts(t *testing.T) {
	a, b := newPerson(t, "ann", 2), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	_, h, err := Start(stream("start"), a.self, b.peer(x), offer, "Ann", block(0))
	if err != nil {
		t.Fatal(err)
	}
	good := ok[[]byte](t)(h.Append(nil))
	if _, _, err := b.accept(x, ok[*Hello](t)(ParseHello(good))); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 1 + at%7 {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		h, err := ParseHello(bad)
		if err != nil {
			continue
		}
		if s, block, err := b.accept(x, h); err == nil || s != nil || block != nil {
			t.Errorf("byte %d changed: got a session, want none", at)
		}
	}
	for name, change := range map[string]func(h *Hello){
		"route":            func(h *Hello) { h.Route[5] ^= 1 },
		"route's length":   func(h *Hello) { h.Route = h.Route[:73] },
		"name":             func(h *Hello) { h.Name = "Bnn" },
		"no name":          func(h *Hello) { h.Name = "" },
		"route and name":   func(h *Hello) { h.Route, h.Name = append(h.Route, 'A'), "nn" },
		"first message":    func(h *Hello) { h.First[600] ^= 1 },
		"ephemeral":        func(h *Hello) { h.Initial.Ephemeral[3] ^= 1 },
		"KEM ciphertext":   func(h *Hello) { h.Initial.KEM[3] ^= 1 },
		"another manifest": func(h *Hello) { h.Manifest = newPerson(t, "eve", 2).self.Manifest },
		"another device":   func(h *Hello) { h.Device = 1 },
	} {
		h := ok[*Hello](t)(ParseHello(good))
		change(h)
		if s, _, err := b.accept(x, h); err != ErrOpen || s != nil {
			t.Errorf("%s: got %v, want %v", name, err, ErrOpen)
		}
	}
}

func TestHelloIsForOneBundleAndOneDevice(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 2)
	x := b.ask(t, "b", true)
	_, h, err := Start(stream("start"), a.self, b.peer(x), offer, "Ann", block(0))
	if err != nil {
		t.Fatal(err)
	}
	other := bundle
	other[31] ^= 1
	if _, _, err := Accept(stream("r"), now, b.self, x.private, x.public, other, h); err != ErrOpen {
		t.Errorf("another bundle: got %v, want %v", err, ErrOpen)
	}
	b.self.Manifest.Sequence, b.self.Manifest.Previous = 2, b.self.Manifest.Hash()
	b.resign(t)
	if _, _, err := b.accept(x, h); err != ErrOpen {
		t.Errorf("another manifest of ours: got %v, want %v", err, ErrOpen)
	}
	c := newPerson(t, "cid", 1)
	if _, _, err := c.accept(x, h); err != ErrOpen {
		t.Errorf("another person with our prekeys: got %v, want %v", err, ErrOpen)
	}
}

func TestDevicesMustBeActive(t *testing.T) {
	a, b := newPerson(t, "ann", 2), newPerson(t, "bob", 2)
	x := b.ask(t, "b", true)
	r := stream("x")
	start := func(self Self, peer Peer) error {
		_, _, err := Start(r, self, peer, offer, "", block(0))
		return err
	}
	gone := a.self
	gone.Device = 2
	if err := start(gone, b.peer(x)); !errors.Is(err, ErrDevice) {
		t.Errorf("a place of ours that is none: got %v, want %v", err, ErrDevice)
	}
	peer := b.peer(x)
	peer.Device = -1
	if err := start(a.self, peer); !errors.Is(err, ErrDevice) {
		t.Errorf("a place of theirs that is none: got %v, want %v", err, ErrDevice)
	}
	_, h, err := Start(r, a.self, b.peer(x), offer, "", block(0))
	if err != nil {
		t.Fatal(err)
	}
	far := *h
	far.Device = 7
	if _, _, err := b.accept(x, &far); !errors.Is(err, ErrDevice) {
		t.Errorf("a place in the hello that is none: got %v, want %v", err, ErrDevice)
	}
	a.self.Manifest.Devices[0].Revoked = true
	a.resign(t)
	if _, _, err := b.accept(x, h); !errors.Is(err, ErrDevice) {
		t.Errorf("a revoked device: got %v, want %v", err, ErrDevice)
	}
	if err := start(a.self, b.peer(x)); !errors.Is(err, ErrDevice) {
		t.Errorf("our own device, revoked: got %v, want %v", err, ErrDevice)
	}
	a.self.Manifest.Devices[0].Revoked = false
	a.resign(t)
	b.self.Manifest.Devices[0].Revoked = true
	if _, _, err := b.accept(x, h); !errors.Is(err, ErrDevice) {
		t.Errorf("our own device, revoked, accepting: got %v, want %v", err, ErrDevice)
	}
}

func TestManifestOfAHelloIsVerified(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	_, h, err := Start(stream("x"), a.self, b.peer(x), offer, "", block(0))
	if err != nil {
		t.Fatal(err)
	}
	late := time.Unix(int64(h.Manifest.NotAfter)+1, 0)
	if _, _, err := Accept(stream("r"), late, b.self, x.private, x.public, bundle, h); !errors.Is(err, manifest.ErrExpired) {
		t.Errorf("expired: got %v, want %v", err, manifest.ErrExpired)
	}
	h.Manifest.Sig[0] ^= 1
	if _, _, err := b.accept(x, h); !errors.Is(err, manifest.ErrSignature) {
		t.Errorf("not signed: got %v, want %v", err, manifest.ErrSignature)
	}
}

func TestUnknownSuiteHasNoFallback(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	_, h, err := Start(stream("x"), a.self, b.peer(x), offer, "", block(0))
	if err != nil {
		t.Fatal(err)
	}
	raw := ok[[]byte](t)(h.Append(nil))
	for _, suite := range []byte{0, 1, 3, 255} {
		raw[0] = suite
		if _, err := ParseHello(raw); !errors.Is(err, ErrSuite) {
			t.Errorf("reading suite %d: got %v, want %v", suite, err, ErrSuite)
		}
		if _, err := ParseHello(raw[:1]); !errors.Is(err, ErrSuite) {
			t.Errorf("reading suite %d in another layout: got %v, want %v", suite, err, ErrSuite)
		}
		for i, change := range []func(h *Hello){
			func(h *Hello) { h.Suite = suite },
			func(h *Hello) { h.Initial.Suite = suite },
			func(h *Hello) { h.Suite, h.Initial.Suite = suite, suite },
		} {
			h := *h
			change(&h)
			if _, _, err := b.accept(x, &h); !errors.Is(err, ErrSuite) {
				t.Errorf("accepting suite %d, case %d: got %v, want %v", suite, i, err, ErrSuite)
			}
		}
	}
}

// TestUsedPrekeysAnswerNobody: a one-time set is wiped with its first session, and
// then neither the same hello nor another one makes a session again.
func TestUsedPrekeysAnswerNobody(t *testing.T) {
	a, c, b := newPerson(t, "ann", 1), newPerson(t, "cid", 1), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	_, _, h := meet(t, a, b, x)
	_, other, err := Start(stream("x"), c.self, b.peer(x), offer, "", block(0))
	if err != nil {
		t.Fatal(err)
	}
	x.private.Wipe()
	for name, h := range map[string]*Hello{"the same": h, "another": other} {
		if s, _, err := b.accept(x, h); !errors.Is(err, ErrPrekey) || s != nil {
			t.Errorf("%s: got %v, want %v", name, err, ErrPrekey)
		}
	}
}

// TestReusablePrekeysMakeSeparateSessions: a set of many uses answers many, and
// the same hello twice gives the same session: the caller keeps the first.
func TestReusablePrekeysMakeSeparateSessions(t *testing.T) {
	a, c, b := newPerson(t, "ann", 1), newPerson(t, "cid", 1), newPerson(t, "bob", 1)
	x := b.ask(t, "b", false)
	sa, sb1, _ := meet(t, a, b, x)
	sc, sb2, _ := meet(t, c, b, x)
	says(t, sa, sb1, 1)
	says(t, sc, sb2, 2)
	if _, err := sb2.Open(stream("r"), now, ok[[]byte](t)(sa.Seal(stream("r"), block(3)))); err != ErrOpen {
		t.Errorf("one session's message in the other: got %v, want %v", err, ErrOpen)
	}
}

// TestSimultaneousHellosConverge: both started, both accept the other's, and both
// go on in the session of the smaller root. What was sent in the other still opens.
func TestSimultaneousHellosConverge(t *testing.T) {
	for i := range 4 {
		a, b := newPerson(t, fmt.Sprint("left ", i), 1), newPerson(t, fmt.Sprint("right ", i), 1)
		xa, xb := a.ask(t, "a", true), b.ask(t, "b", true)
		r := stream("both")
		startedA, ha, err := Start(r, a.self, b.peer(xb), offer, "", block(1))
		startedB, hb, err2 := Start(r, b.self, a.peer(xa), offer, "", block(2))
		acceptedB, gotB, err3 := b.accept(xb, ha)
		acceptedA, gotA, err4 := a.accept(xa, hb)
		if err := errors.Join(err, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(gotB, block(1)) || !bytes.Equal(gotA, block(2)) {
			t.Error("got other first blocks, want both")
		}
		choose := func(started, accepted *Session) *Session {
			for _, s := range []*Session{started, accepted} {
				self, peer := s.Self().Root, s.Peer().Root
				if s.Initiator() == self.Less(peer) {
					return s
				}
			}
			return nil
		}
		ca, cb := choose(startedA, acceptedA), choose(startedB, acceptedB)
		if ca == nil || cb == nil || ca.Initiator() == cb.Initiator() {
			t.Fatal("got two different sessions chosen, want the same")
		}
		says(t, ca, cb, 3)
		says(t, cb, ca, 4)
		says(t, startedA, acceptedB, 5)
		says(t, startedB, acceptedA, 6)
	}
}

func TestHelloHasBounds(t *testing.T) {
	a, b := newPerson(t, "ann", 8), newPerson(t, "bob", 1)
	x := b.ask(t, "b", true)
	start := func(route []byte, name string, first []byte) (*Hello, error) {
		_, h, err := Start(stream("x"), a.self, b.peer(x), route, name, first)
		return h, err
	}
	for what, err := range map[string]error{
		"no route":       second(start(nil, "", block(0))),
		"long route":     second(start(make([]byte, MaxRoute+1), "", block(0))),
		"long name":      second(start(offer, strings.Repeat("n", MaxName+1), block(0))),
		"name not UTF-8": second(start(offer, "\xff", block(0))),
		"short block":    second(start(offer, "", block(0)[1:])),
	} {
		if !errors.Is(err, ErrHello) {
			t.Errorf("%s: got %v, want %v", what, err, ErrHello)
		}
	}
	h, err := start(make([]byte, MaxRoute), strings.Repeat("n", MaxName), block(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(ok[[]byte](t)(h.Append(nil))); got != MaxHello {
		t.Errorf("got %d bytes, want %d", got, MaxHello)
	}
	// A hello is length 2 ‖ plain ‖ zeros under X-Wing's 1,120 and a tag of 16.
	if room := wire.HelloSize - key.XWingEncSize - wire.TagSize - 2; MaxHello > room {
		t.Errorf("got a largest hello of %d bytes, want at most the %d of four cells", MaxHello, room)
	}
	h.Suite = 1
	if _, err := h.Append(nil); !errors.Is(err, ErrHello) {
		t.Errorf("two suites: got %v, want %v", err, ErrHello)
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestForgedPrekeysStartNothing(t *testing.T) {
	a, b, eve := newPerson(t, "ann", 1), newPerson(t, "bob", 1), newPerson(t, "eve", 1)
	x := b.ask(t, "b", true)
	x.public = eve.ask(t, "eve", true).public
	s, h, err := Start(stream("x"), a.self, b.peer(x), offer, "", block(0))
	if !errors.Is(err, pqxdh.ErrSignature) || s != nil || h != nil {
		t.Errorf("got %v, want %v and nothing else", err, pqxdh.ErrSignature)
	}
}

func TestCloneAndWipe(t *testing.T) {
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	sa, sb, _ := meet(t, a, b, b.ask(t, "b", true))
	c := sb.Clone()
	says(t, sa.Clone(), c, 1)
	c.Wipe()
	says(t, sa, sb, 1)
	if _, err := c.Seal(stream("x"), block(0)); err == nil {
		t.Error("sealing after Wipe: got no error, want one")
	}
	if _, err := c.Open(stream("x"), now, make([]byte, MessageSize)); err != ErrOpen {
		t.Errorf("opening after Wipe: got %v, want %v", err, ErrOpen)
	}
}

func TestInnerHashNamesAMessage(t *testing.T) {
	m := make([]byte, MessageSize)
	want := InnerHash(m)
	m[900] ^= 1
	if got := InnerHash(m); got == want {
		t.Errorf("got %x for two messages, want two names", got)
	}
}
