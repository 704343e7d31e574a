package link

import (
	"bytes"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

var show = flag.Bool("show", false, "print the examples of the page")

var when = time.Unix(1_800_000_000, 0)

// person is somebody with one device.
type person struct {
	root, sign key.Sign
	m          *manifest.Manifest
}

func newSign(t testing.TB) key.Sign {
	t.Helper()
	k, err := key.Generate[key.SignRole](rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newDevice(t testing.TB, sign key.Sign) manifest.Device {
	t.Helper()
	dh, err := key.Generate[key.DHRole](rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d := manifest.Device{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh)}
	rand.Read(d.XWing[:])
	return d
}

func newPerson(t testing.TB) *person {
	t.Helper()
	p := &person{root: newSign(t), sign: newSign(t)}
	p.m = &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(when), Devices: []manifest.Device{newDevice(t, p.sign)}}
	if err := manifest.Sign(p.root, p.m); err != nil {
		t.Fatal(err)
	}
	return p
}

// offer makes an offer of p, its code and the blob.
func (p *person) offer(t testing.TB) (*Offering, *Offer, Code, []byte) {
	t.Helper()
	o := &Offer{Expiry: uint64(when.Add(Life).Unix()), Name: "Ada", Manifest: p.m, Entry: new([32]byte{9}),
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("192.168.1.7:4711"), netip.MustParseAddrPort("[fd00::7]:4711")}}
	rand.Read(o.Salt[:])
	keep, err := NewOffering(rand.Reader, o)
	if err != nil {
		t.Fatal(err)
	}
	c := Code{Relay: "relay.example", Secret: SecretOf(p.m.Root, o.Salt)}
	blob, err := o.Seal(rand.Reader, c, p.sign)
	if err != nil {
		t.Fatal(err)
	}
	return keep, o, c, blob
}

// scene is a handshake up to the answer.
type scene struct {
	old      *person
	keep     *Offering
	offer    *Offer
	code     Code
	sign     key.Sign // of the new device
	device   Device
	seen     *Offer // what the new device read
	answered *Answering
	answer   []byte
}

func newScene(t testing.TB) *scene {
	t.Helper()
	s := &scene{old: newPerson(t)}
	var blob []byte
	s.keep, s.offer, s.code, blob = s.old.offer(t)
	if len(blob) != BlobSize {
		t.Fatalf("got an offer of %d bytes, want %d", len(blob), BlobSize)
	}
	var err error
	if s.seen, err = OpenOffer(s.code, blob, when); err != nil {
		t.Fatal(err)
	}
	s.sign = newSign(t)
	s.device = Device{Device: newDevice(t, s.sign), Name: "telephone"}
	if s.answered, s.answer, err = Answer(rand.Reader, s.code, s.seen, s.sign, s.device); err != nil {
		t.Fatal(err)
	}
	return s
}

// finish ends the handshake and returns both sessions.
func (s *scene) finish(t testing.TB) (old, new *Session) {
	t.Helper()
	old, d, reveal, err := s.keep.Accept(rand.Reader, s.code, s.offer, s.answer)
	if err != nil {
		t.Fatal(err)
	}
	if d != s.device {
		t.Errorf("got the device %+v, want %+v", d, s.device)
	}
	if old.Reveal() != s.answered.Reveal() {
		t.Error("the reveal lies at two places")
	}
	new, err = s.answered.Finish(s.seen, reveal)
	if err != nil {
		t.Fatal(err)
	}
	return old, new
}

func TestBothShareKeyAndDigits(t *testing.T) {
	s := newScene(t)
	if s.seen.Name != "Ada" || *s.seen.Entry != [32]byte{9} || len(s.seen.Addresses) != 2 || s.seen.Addresses[0] != s.offer.Addresses[0] || s.seen.Hash() != s.offer.Hash() {
		t.Errorf("got %+v, want the offer", s.seen)
	}
	old, new := s.finish(t)
	if !old.Root.Equal(new.Root) || !old.First.Equal(new.First) || old.Digits != new.Digits {
		t.Error("the two sides do not share a session")
	}
	if !regexp.MustCompile(`^[0-9]{6}$`).MatchString(old.Digits) {
		t.Errorf("got digits %q, want six", old.Digits)
	}
	typed := old.Digits[:3] + " " + old.Digits[3:]
	if !new.SameDigits(typed) || new.SameDigits("") || new.SameDigits(old.Digits+"0") || new.SameDigits(flipDigit(old.Digits)) {
		t.Error("digits are compared wrongly")
	}
	h, err := new.Hello(rand.Reader)
	if err != nil || !old.Knows(h) {
		t.Errorf("the old device does not know the new one's hello: %v", err)
	}
	h[3] ^= 1
	if old.Knows(h) {
		t.Error("a changed hello is taken")
	}
	// Another link of the same two has nothing in common with it.
	third, _ := newScene(t).finish(t)
	if third.Root.Equal(old.Root) || third.Reveal() == old.Reveal() || third.Down(0) == old.Down(0) {
		t.Error("two links share something")
	}
}

func flipDigit(d string) string { return string('0'+('9'-d[0])) + d[1:] }

// TestNobodyElseMakesAnOffer: who photographed the code, with or without the
// relay, can put no offer in its place.
func TestNobodyElseMakesAnOffer(t *testing.T) {
	ada, eve := newPerson(t), newPerson(t)
	_, o, c, blob := ada.offer(t)
	// Eve signs with her own root and device, for the code she knows.
	theirs := *o
	theirs.Manifest = eve.m
	if _, err := theirs.Seal(rand.Reader, c, eve.sign); !errors.Is(err, ErrMessage) {
		t.Errorf("an offer for another root's code: got %v, want ErrMessage", err)
	}
	at := c.at("offer")
	forge := func(o *Offer, sign key.Sign) []byte {
		sig := key.SignMessage(sign, labelSign, o.body(nil), at.id[:])
		blob, err := at.seal(rand.Reader, append(o.body(nil), sig[:]...))
		if err != nil {
			t.Fatal(err)
		}
		return blob
	}
	for name, blob := range map[string][]byte{
		"another root":            forge(&theirs, eve.sign),
		"another device's key":    forge(o, eve.sign),
		"another ephemeral key":   func() []byte { f := *o; f.Ephemeral[7] ^= 1; b := forge(&f, ada.sign); return resign(t, c, b, o) }(),
		"the root's, a stale sig": resign(t, c, forge(&Offer{Salt: o.Salt, Expiry: o.Expiry + 1, Manifest: o.Manifest, Ephemeral: o.Ephemeral}, ada.sign), o),
	} {
		if got, err := OpenOffer(c, blob, when); !errors.Is(err, ErrForged) {
			t.Errorf("%s: got %v, %v, want ErrForged", name, got, err)
		}
	}
	for i := range blob {
		bad := bytes.Clone(blob)
		bad[i] ^= 1
		if _, err := OpenOffer(c, bad, when); !errors.Is(err, ErrMessage) {
			t.Fatalf("byte %d changed: got %v, want ErrMessage", i, err)
		}
	}
	other := c
	other.Relay = "other.example"
	if _, err := OpenOffer(other, blob, when); !errors.Is(err, ErrMessage) {
		t.Errorf("from another relay: got %v, want ErrMessage", err)
	}
	if _, err := OpenOffer(c, blob, when.Add(Life+Skew+time.Minute)); !errors.Is(err, ErrExpired) {
		t.Errorf("later: got %v, want ErrExpired", err)
	}
	if _, err := OpenOffer(c, blob, when.Add(Life+Skew-time.Minute)); err != nil {
		t.Errorf("with a clock that is off by less than a day: got %v, want none", err)
	}
}

// resign puts the signature of o under what blob says.
func resign(t *testing.T, c Code, blob []byte, o *Offer) []byte {
	at := c.at("offer")
	plain, err := at.open(blob)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseOffer(plain)
	if err != nil {
		t.Fatal(err)
	}
	out, err := at.seal(rand.Reader, append(f.body(nil), o.sig[:]...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAnswerOfSomebodyElseShows: who photographed the code and is faster is seen
// by the digits, and cannot choose them.
func TestAnswerOfSomebodyElseShows(t *testing.T) {
	s := newScene(t)
	eveSign := newSign(t)
	_, eves, err := Answer(rand.Reader, s.code, s.seen, eveSign, Device{Device: newDevice(t, eveSign), Name: "telephone"})
	if err != nil {
		t.Fatal(err)
	}
	old, d, reveal, err := s.keep.Accept(rand.Reader, s.code, s.offer, eves)
	if err != nil || d.Sign != key.SignPublicOf(eveSign) {
		t.Fatalf("got %v, %v", d, err)
	}
	// The person's device gets no session out of what was meant for Eve's, and so
	// never has digits to show.
	if got, err := s.answered.Finish(s.seen, reveal); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, %v, want ErrMessage", got, err)
	}
	// What the digits depend on is fixed by both before either sees the other's.
	seen := map[string]bool{old.Digits: true}
	for range 20 {
		_, again, err := Answer(rand.Reader, s.code, s.seen, eveSign, Device{Device: newDevice(t, eveSign)})
		if err != nil {
			t.Fatal(err)
		}
		other, _, _, err := s.keep.Accept(rand.Reader, s.code, s.offer, again)
		if err != nil {
			t.Fatal(err)
		}
		seen[other.Digits] = true
	}
	if len(seen) < 19 {
		t.Errorf("21 answers gave %d different sets of digits", len(seen))
	}
}

// TestNonceIsCommitted: a reveal with another nonce than the one that the offer
// committed to is refused, so nobody tries nonces until the digits fit.
func TestNonceIsCommitted(t *testing.T) {
	s := newScene(t)
	for i := range 32 {
		other := *s.keep
		other.Nonce[i] ^= 1
		_, _, reveal, err := other.Accept(rand.Reader, s.code, s.offer, s.answer)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.answered.Finish(s.seen, reveal); !errors.Is(err, ErrMessage) {
			t.Fatalf("byte %d of the nonce: got %v, %v, want ErrMessage", i, got, err)
		}
	}
	s.finish(t)
}

func TestChangedAnswersAndReveals(t *testing.T) {
	s := newScene(t)
	_, _, reveal, err := s.keep.Accept(rand.Reader, s.code, s.offer, s.answer)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < BlobSize; i += 37 {
		bad := bytes.Clone(s.answer)
		bad[i] ^= 0x40
		if _, _, _, err := s.keep.Accept(rand.Reader, s.code, s.offer, bad); !errors.Is(err, ErrMessage) {
			t.Fatalf("answer, byte %d: got %v, want ErrMessage", i, err)
		}
		bad = bytes.Clone(reveal)
		bad[i] ^= 0x40
		if _, err := s.answered.Finish(s.seen, bad); !errors.Is(err, ErrMessage) {
			t.Fatalf("reveal, byte %d: got %v, want ErrMessage", i, err)
		}
	}
	// Whoever has the code can open the outer part of an answer, and change what
	// is in it: the rest must not fit then.
	at := s.code.at("answer")
	plain, err := at.open(s.answer)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(plain); i += 29 {
		bad := bytes.Clone(plain)
		bad[i] ^= 0x40
		blob, _ := at.seal(rand.Reader, bad)
		if _, _, _, err := s.keep.Accept(rand.Reader, s.code, s.offer, blob); err == nil {
			t.Fatalf("an answer changed inside at %d was taken", i)
		}
	}
	// The answer to one offer is none to another of the same code's maker.
	keep2, offer2, code2, _ := s.old.offer(t)
	if _, _, _, err := keep2.Accept(rand.Reader, code2, offer2, s.answer); !errors.Is(err, ErrMessage) {
		t.Errorf("a replayed answer: got %v, want ErrMessage", err)
	}
	blob, _ := code2.at("answer").seal(rand.Reader, plain)
	if _, _, _, err := keep2.Accept(rand.Reader, code2, offer2, blob); !errors.Is(err, ErrMessage) {
		t.Errorf("a replayed answer under another code: got %v, want ErrMessage", err)
	}
}

func TestDeviceMustProveItsKey(t *testing.T) {
	s := newScene(t)
	stolen := s.device
	stolen.Sign = key.SignPublicOf(newSign(t))
	if _, _, err := Answer(rand.Reader, s.code, s.seen, s.sign, stolen); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage for a key that is not there", err)
	}
	long := s.device
	long.Name = strings.Repeat("x", MaxName+1)
	if _, _, err := Answer(rand.Reader, s.code, s.seen, s.sign, long); !errors.Is(err, ErrMessage) {
		t.Errorf("got %v, want ErrMessage for a long name", err)
	}
}

func TestMessagesHaveOnePlace(t *testing.T) {
	s := newScene(t)
	old, new := s.finish(t)
	c := Control{Kind: Begin, Rows: 20_000}
	c.Header[3] = 7
	blob, err := old.SealDown(rand.Reader, 1, c)
	if err != nil || len(blob) != BlobSize {
		t.Fatalf("got %d bytes, %v", len(blob), err)
	}
	if got, err := new.OpenDown(1, blob); err != nil || got.Kind != Begin || got.Rows != 20_000 || got.Header != c.Header {
		t.Errorf("got %+v, %v, want the control", got, err)
	}
	if _, err := new.OpenDown(2, blob); !errors.Is(err, ErrMessage) {
		t.Errorf("at another number: got %v, want ErrMessage", err)
	}
	if _, err := new.OpenUp(1, blob); !errors.Is(err, ErrMessage) {
		t.Errorf("in the other direction: got %v, want ErrMessage", err)
	}
	m := s.old.m.Append(nil)
	blob, _ = old.SealDown(rand.Reader, 2, Control{Kind: Admitted, Body: m})
	if got, err := new.OpenDown(2, blob); err != nil || got.Kind != Admitted || !bytes.Equal(got.Body, m) {
		t.Errorf("got %+v, %v, want the manifest", got, err)
	}
	blob, err = new.SealUp(rand.Reader, 4, Status{Phase: Complete, Next: 9, Body: []byte("keys")})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := old.OpenUp(4, blob); err != nil || got.Phase != Complete || got.Next != 9 || string(got.Body) != "keys" {
		t.Errorf("got %+v, %v, want the status", got, err)
	}
	for _, o := range []bool{true, false} {
		blob, _ := SealGaveUp(rand.Reader, old.First, o, Mismatch)
		if w, err := OpenGaveUp(s.answered.First, o, blob); err != nil || w != Mismatch {
			t.Errorf("got %v, %v, want Mismatch", w, err)
		}
		if _, err := OpenGaveUp(s.answered.First, !o, blob); !errors.Is(err, ErrMessage) {
			t.Errorf("of the other side: got %v, want ErrMessage", err)
		}
	}
	if old.GaveUp(true) != s.answered.GaveUp(true) || old.GaveUp(true) == old.GaveUp(false) {
		t.Error("the places of giving up are wrong")
	}
	if _, err := old.SealDown(rand.Reader, 1, Control{Kind: 9}); !errors.Is(err, ErrMessage) {
		t.Errorf("an unknown control: got %v", err)
	}
	if _, err := new.SealUp(rand.Reader, 1, Status{Phase: 9}); !errors.Is(err, ErrMessage) {
		t.Errorf("an unknown phase: got %v", err)
	}
}

func TestCodes(t *testing.T) {
	c := Code{Relay: "relay.example", Secret: [16]byte(bytes.Repeat([]byte{0x5a}, 16))}
	text := c.String()
	if *show {
		fmt.Printf("code %s\noffer %x\nanswer %x\n", text, c.Offer(), c.Answer())
	}
	if want := string(vectortest.Example(t, "link.md", "code")); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	offer, answer := c.Offer(), c.Answer()
	if !bytes.Equal(offer[:], vectortest.Example(t, "link.md", "offer-id")) || !bytes.Equal(answer[:], vectortest.Example(t, "link.md", "answer-id")) {
		t.Errorf("got ids %x and %x, want those of the page", offer, answer)
	}
	for _, in := range []string{text, " " + text + "\n", strings.ToUpper(text[:8]) + text[8:], text[:20] + "\n  " + text[20:], text[:30] + "\u200b" + text[30:]} {
		if got, err := ParseCode(in); err != nil || got != c {
			t.Errorf("%q: got %v", in, err)
		}
	}
	for in, want := range map[string]error{
		"":                                     ErrCode,
		"tacet://relay.example/i#" + text[24:]: ErrCode,
		text[:len(text)-1]:                     ErrCode,
		text + "A":                             ErrCode,
		strings.Replace(text, "relay", "re1ay", 1): ErrCode,
		"https" + text[5:]:                         ErrCode,
		strings.Repeat(" ", 9000) + text:           ErrCode,
	} {
		if got, err := ParseCode(in); !errors.Is(err, want) {
			t.Errorf("%q: got %v, %v, want %v", in, got, err, want)
		}
	}
	if s := fmt.Sprintf("%v %+v %s", c, c, c); strings.Contains(s, "relay") || strings.Contains(s, "90") {
		t.Errorf("a code prints as %s", s)
	}
	newer := append([]byte{2}, bytes.Repeat([]byte{1}, 20)...)
	if _, err := ParseCode(withCheck("relay.example", newer)); !errors.Is(err, ErrVersion) {
		t.Errorf("a newer code: got %v, want ErrVersion", err)
	}
}
