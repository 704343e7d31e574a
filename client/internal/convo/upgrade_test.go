package convo_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// before puts two people back to where an earlier version left them: their only
// session is one of suite 1, as devices stored it then.
func before(t *testing.T, a, b *person, ofA, ofB int64) {
	t.Helper()
	raw, err := os.ReadFile("../../../internal/session/testdata/conversation.json")
	if err != nil {
		t.Fatal(err)
	}
	var frozen []struct{ Name, Hex string }
	if err := json.Unmarshal(raw, &frozen); err != nil {
		t.Fatal(err)
	}
	for _, f := range frozen {
		switch f.Name {
		case "initiator at the end":
			a.only(ofA, f.Hex)
		case "responder at the end":
			b.only(ofB, f.Hex)
		}
	}
	for p, id := range map[*person]int64{a: ofA, b: ofB} {
		if got := p.primary(id).Suite(); got != 1 {
			t.Fatalf("%s: got suite %d, want 1", p.name, got)
		}
	}
}

// only makes a stored session the contact's only one.
func (p *person) only(id int64, stored string) {
	p.t.Helper()
	state, err := hex.DecodeString(stored)
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := session.Parse(state)
	if err != nil {
		p.t.Fatal(err)
	}
	p.do(func(tx vault.Store) (*convo.Change, error) {
		all, err := tx.SessionsOf(id)
		for _, o := range all {
			err = errors.Join(err, tx.DeleteSession(o.ID))
		}
		return nil, errors.Join(err, tx.PutSession(&contact.SessionRecord{
			Contact: id, State: state, Initiator: s.Initiator(), Sent: s.Sent(), Highest: s.Highest(), Primary: true, Born: p.now.Unix(),
		}))
	})
}

// knows sets what p knows and has said about suites.
func (p *person) knows(id int64, suite, told byte, moving time.Time) {
	p.t.Helper()
	p.do(func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.Contact(id)
		if err != nil {
			return nil, err
		}
		r.Suite, r.Told, r.Moving = suite, told, moving.Unix()
		return nil, tx.PutContact(r)
	})
}

// earlier has p behave for a day as a version that knows nothing of suites: it
// says nothing, takes no notice and begins nothing.
func (p *person) earlier(id int64) { p.knows(id, 255, 255, p.now.Add(24*time.Hour)) }

func (p *person) maintain() {
	p.t.Helper()
	p.do(func(tx vault.Store) (*convo.Change, error) { return p.e.Maintain(tx, p.now) })
}

// hellos counts what p has ready of them.
func (p *person) hellos() (n int) {
	for _, x := range p.outgoing() {
		if x.hello {
			n++
		}
	}
	return n
}

// upgraded expects both ends to write in one session of the newest suite.
func upgraded(t *testing.T, a, b *person, ofA, ofB int64) {
	t.Helper()
	x, y := a.primary(ofA), b.primary(ofB)
	if x.Suite() != session.Suite || y.Suite() != session.Suite || x.Initiator == y.Initiator {
		t.Fatalf("got suites %d and %d, begun here: %v and there: %v; want one session of suite %d", x.Suite(), y.Suite(), x.Initiator, y.Initiator, session.Suite)
	}
	for _, n := range []string{a.notices(ofA), b.notices(ofB)} {
		for _, word := range []string{"new session", "cannot read", "does not know", "went back"} {
			if strings.Contains(n, word) {
				t.Errorf("got notices %q, want none: it is nobody's trouble", n)
			}
		}
	}
}

// pairOf1 is two people whose session an earlier version began, a's root the
// smaller one if so wanted.
func pairOf1(t *testing.T, smaller bool) (a, b *person, ofA, ofB int64) {
	t.Helper()
	a, b = newPerson(t, "ada"), newPerson(t, "bob")
	if a.e.Self.Manifest.Root.Less(b.e.Self.Manifest.Root) != smaller {
		a, b = b, a
	}
	ofA, ofB = met(t, a, b)
	before(t, a, b, ofA, ofB)
	return a, b, ofA, ofB
}

func TestSessionsOfAnEarlierVersionAreBegunAgain(t *testing.T) {
	for _, first := range []bool{true, false} { // whose version is the first to be new
		a, b, ofA, ofB := pairOf1(t, first)
		a.maintain()
		if a.hellos() != 0 {
			t.Fatal("got a hello before the other end said that it would take it, want none")
		}
		b.earlier(ofB)
		settle(a, b, ofA, ofB)
		if got := a.primary(ofA).Suite(); got != 1 {
			t.Fatalf("got suite %d, want 1 while the other end is of before", got)
		}
		a.send(ofA, "in the old one")
		settle(a, b, ofA, ofB)
		b.knows(ofB, 0, 0, time.Unix(0, 0))
		b.maintain() // and now it is new, too
		settle(a, b, ofA, ofB)
		upgraded(t, a, b, ofA, ofB)
		a.send(ofA, "from a")
		b.send(ofB, "from b")
		settle(a, b, ofA, ofB)
		if got := b.texts(ofB); !slices.Equal(got[len(got)-2:], []string{"in the old one", "from a"}) {
			t.Errorf("b reads %q, want both", got)
		}
		for range 30 {
			a.now, b.now = a.now.Add(24*time.Hour), b.now.Add(24*time.Hour)
			a.maintain()
			b.maintain()
			if a.hellos()+b.hellos() != 0 {
				t.Fatal("got another hello, want none: they have the newest suite")
			}
			settle(a, b, ofA, ofB)
		}
		for range 2 {
			a.now, b.now = a.now.Add(30*24*time.Hour), b.now.Add(30*24*time.Hour)
			a.maintain()
			b.maintain()
		}
		a.view(func(tx vault.Store) error {
			all, err := tx.SessionsOf(ofA)
			for _, s := range all {
				if s.Suite() == 1 {
					t.Error("got a session of suite 1 months later, want none")
				}
			}
			return err
		})
	}
}

// TestAContactOfAnEarlierVersionIsLeftInPeace: whose device never says that it
// begins in a newer suite gets one message, and nothing else changes.
func TestAContactOfAnEarlierVersionIsLeftInPeace(t *testing.T) {
	a, b, ofA, ofB := pairOf1(t, true)
	told := 0
	for day := range 6 {
		b.earlier(ofB)
		a.maintain()
		if a.hellos() != 0 {
			t.Fatal("got a hello, want none: it would be refused")
		}
		told += len(a.outgoing())
		a.send(ofA, fmt.Sprint("day ", day))
		settle(a, b, ofA, ofB)
		a.now, b.now = a.now.Add(24*time.Hour), b.now.Add(24*time.Hour)
	}
	if told > 2 { // of two blocks
		t.Errorf("got %d messages about it in six days, want the one of two blocks", told)
	}
	if got := b.texts(ofB); len(got) != 6 {
		t.Errorf("b reads %d texts, want 6", len(got))
	}
	if got := a.primary(ofA).Suite(); got != 1 {
		t.Errorf("got suite %d, want 1", got)
	}
}

// begins has p know that the other end takes the newest suite, and begin.
func (p *person) begins(id int64) parcel {
	p.t.Helper()
	p.knows(id, session.Suite, session.Suite, time.Unix(0, 0))
	p.maintain()
	h, _ := hello(p.t, p.outgoing())
	return h
}

func TestBothBeginInTheNewerSuiteAtOnce(t *testing.T) {
	for _, c := range []struct {
		what        string
		toA, toB    bool // whose hello comes
		again       bool // and comes once more
		wantSmaller bool
	}{{"both come", true, true, false, true}, {"both come twice", true, true, true, true}, {"only a's", false, true, false, true}, {"only b's", true, false, false, false}} {
		a, b, ofA, ofB := pairOf1(t, true)
		fromA, fromB := a.begins(ofA), b.begins(ofB)
		a.send(ofA, "meanwhile from a")
		b.send(ofB, "meanwhile from b")
		if a.primary(ofA).Suite() != 1 || b.primary(ofB).Suite() != 1 {
			t.Fatalf("%s: somebody writes in a session that the other may not have", c.what)
		}
		for range 2 {
			if c.toB {
				b.take(ofB, fromA)
			}
			if c.toA {
				a.take(ofA, fromB)
			}
			if !c.again {
				break
			}
		}
		settle(a, b, ofA, ofB)
		a.send(ofA, "after")
		b.send(ofB, "after")
		settle(a, b, ofA, ofB)
		a.send(ofA, "end")
		settle(a, b, ofA, ofB)
		upgraded(t, a, b, ofA, ofB)
		if got := a.primary(ofA).Initiator; got != c.wantSmaller {
			t.Errorf("%s: they write in the session of the smaller root: %v, want %v", c.what, got, c.wantSmaller)
		}
		if got := a.texts(ofA); !slices.Equal(got[len(got)-2:], []string{"meanwhile from b", "after"}) {
			t.Errorf("%s: a reads %q", c.what, got)
		}
		if got := b.texts(ofB); !slices.Equal(got[len(got)-3:], []string{"meanwhile from a", "after", "end"}) {
			t.Errorf("%s: b reads %q", c.what, got)
		}
	}
}

// TestAnUnansweredUpgradeIsTriedDaily: its hello is lost, people talk on in the
// old session, and a day later another takes its place.
func TestAnUnansweredUpgradeIsTriedDaily(t *testing.T) {
	a, b, ofA, ofB := pairOf1(t, true)
	made := map[wire.MessageID]bool{a.begins(ofA).m: true}
	for day := range 5 {
		for range 20 {
			a.now, b.now = a.now.Add(time.Hour), b.now.Add(time.Hour)
			a.maintain()
			if n := a.hellos(); n != 1 {
				t.Fatalf("day %d: got %d hellos waiting, want 1", day, n)
			}
			h, _ := hello(t, a.outgoing())
			made[h.m] = true
		}
		a.send(ofA, fmt.Sprint("day ", day))
		for _, x := range a.outgoing() {
			if !x.hello {
				b.take(ofB, x)
			}
		}
		for _, x := range b.acks(ofB) {
			a.take(ofA, x)
		}
		a.now, b.now = a.now.Add(4*time.Hour), b.now.Add(4*time.Hour)
	}
	if len(made) < 4 || len(made) > 6 {
		t.Errorf("got %d hellos in five days, want one a day", len(made))
	}
	if got := b.texts(ofB); len(got) != 5 {
		t.Errorf("b reads %q, want five texts", got)
	}
	a.view(func(tx vault.Store) error {
		all, err := tx.SessionsOf(ofA)
		if len(all) > 3 {
			t.Errorf("got %d sessions, want at most 3", len(all))
		}
		routes, err2 := tx.RoutesOf(ofA)
		if len(routes) > 16 {
			t.Errorf("got %d routes, want at most 16", len(routes))
		}
		return errors.Join(err, err2)
	})
	settle(a, b, ofA, ofB)
	upgraded(t, a, b, ofA, ofB)
}

// TestAnUpgradeIsWholeOrNotAtAll breaks the transaction in which it is begun.
func TestAnUpgradeIsWholeOrNotAtAll(t *testing.T) {
	a, b, ofA, ofB := pairOf1(t, true)
	before := a.contact(ofA)
	broken := errors.New("power cut")
	err := a.v.Update(t.Context(), func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		r, err := s.Contact(ofA)
		if err != nil {
			return err
		}
		r.Suite, r.Told = session.Suite, session.Suite
		if err := s.PutContact(r); err != nil {
			return err
		}
		ch, err := a.e.Maintain(s, a.now)
		if err == nil && len(ch.Added) == 0 {
			t.Error("got nothing begun, want a hello")
		}
		return errors.Join(err, broken)
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	if got := a.contact(ofA); got.Suite != before.Suite || got.Hello != before.Hello || a.waiting(ofA) != 0 {
		t.Errorf("got a contact that changed and %d waiting rows, want neither", a.waiting(ofA))
	}
	a.begins(ofA)
	settle(a, b, ofA, ofB)
	upgraded(t, a, b, ofA, ofB)
}

// TestNothingIsLostWhileTheSuiteChanges: loss, duplicates and another order while
// both ends begin again and talk.
func TestNothingIsLostWhileTheSuiteChanges(t *testing.T) {
	for seed := range uint64(4) {
		a, b, ofA, ofB := pairOf1(t, seed%2 == 0)
		r := mrand.New(mrand.NewPCG(seed, 9))
		var wantA, wantB []string
		for i := range 60 {
			a.now, b.now = a.now.Add(20*time.Minute), b.now.Add(20*time.Minute)
			if i == 5 {
				a.maintain()
			}
			if i == 10 {
				b.maintain()
			}
			if i%20 == 19 {
				a.maintain()
				b.maintain()
			}
			if i < 45 {
				x, y := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
				a.send(ofA, x)
				b.send(ofB, y)
				wantB, wantA = append(wantB, x), append(wantA, y)
			}
			rough := func(from, to *person, id, of int64) {
				p := from.outgoing()
				if r.IntN(3) == 0 {
					p = append(p, from.acks(id)...)
				}
				p = append(p, p[:len(p)/3]...)
				r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
				for _, x := range p {
					if r.IntN(4) > 0 {
						to.take(of, x)
					}
				}
			}
			rough(a, b, ofA, ofB)
			rough(b, a, ofB, ofA)
		}
		settle(a, b, ofA, ofB)
		upgraded(t, a, b, ofA, ofB)
		for _, c := range []struct {
			got, want []string
		}{{a.texts(ofA), wantA}, {b.texts(ofB), wantB}} {
			got := slices.DeleteFunc(slices.Clone(c.got), func(s string) bool { return s == "hello from b" })
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("seed %d: got %d texts, want each of %d once", seed, len(got), len(c.want))
			}
		}
	}
}

// TestLinksOfAnEarlierVersionEnd: nobody who takes one up would be let in, so it
// is taken from the relay, where its taker sees that it is gone.
func TestLinksOfAnEarlierVersionEnd(t *testing.T) {
	a := newPerson(t, "ada")
	var ids []int64
	for range 2 {
		a.do(func(tx vault.Store) (*convo.Change, error) {
			inv, err := contact.NewInvite(tx, rand.Reader, a.now, a.e.Self, home, 1800, contact.InviteOptions{Uses: 1, Life: time.Hour})
			ids = append(ids, inv.ID)
			if len(ids) == 1 { // as an earlier version wrote it
				inv.Suite = 0
				err = errors.Join(err, tx.PutInvite(inv))
			}
			return nil, err
		})
	}
	a.maintain()
	a.maintain()
	a.view(func(tx vault.Store) error {
		old, err := tx.Invite(ids[0])
		fresh, err2 := tx.Invite(ids[1])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !old.Gone || !old.Delete || fresh.Gone {
			t.Errorf("got ended: %v, to be deleted: %v, of this version ended: %v; want true, true, false", old.Gone, old.Delete, fresh.Gone)
		}
		return nil
	})
}

// TestAParkedUpgradeIsNotBegunAnew: their relay keeps the hello while they are
// away. What they find when they come back is one hello, of a session that is still
// kept here, by a route that is still served.
func TestAParkedUpgradeIsNotBegunAnew(t *testing.T) {
	a, b, ofA, ofB := pairOf1(t, true)
	var parked []parcel
	seen := map[wire.MessageID]bool{}
	park := func() {
		for _, x := range a.outgoing() {
			if seen[x.m] {
				continue
			}
			seen[x.m] = true
			parked = append(parked, x)
			a.do(func(tx vault.Store) (*convo.Change, error) {
				row, err := tx.RowOf(ofA, x.m)
				if err != nil {
					return nil, err
				}
				return a.e.Parked(tx, row.ID, a.now.Add(14*24*time.Hour).Unix())
			})
		}
	}
	a.begins(ofA)
	a.send(ofA, "while you are away")
	park()
	for range 6 * 24 {
		a.now, b.now = a.now.Add(time.Hour), b.now.Add(time.Hour)
		a.maintain()
		park()
	}
	for _, x := range parked {
		b.take(ofB, x)
	}
	if n := len(parked); n != 2 {
		t.Errorf("got %d messages parked, want a hello and a text", n)
	}
	b.now = b.now.Add(time.Minute)
	a.now = b.now
	for range 3 {
		b.send(ofB, "back again")
		settle(a, b, ofA, ofB)
		a.now, b.now = a.now.Add(time.Minute), b.now.Add(time.Minute)
	}
	upgraded(t, a, b, ofA, ofB)
	if got := a.texts(ofA); len(got) < 3 || got[len(got)-3] != "back again" {
		t.Errorf("a reads %q, want three texts at the end", got)
	}
}

// TestAnUpgradeThatIsNotParkedAnyMoreIsBegunAnew: nobody will find it.
func TestAnUpgradeThatIsNotParkedAnyMoreIsBegunAnew(t *testing.T) {
	a, b, ofA, ofB := pairOf1(t, true)
	first := a.begins(ofA)
	a.do(func(tx vault.Store) (*convo.Change, error) {
		row, err := tx.RowOf(ofA, first.m)
		if err != nil {
			return nil, err
		}
		return a.e.Parked(tx, row.ID, a.now.Add(14*24*time.Hour).Unix())
	})
	for range 15 {
		a.now, b.now = a.now.Add(24*time.Hour), b.now.Add(24*time.Hour)
		a.maintain()
	}
	if h, _ := hello(t, a.outgoing()); h.m == first.m {
		t.Error("got the hello that is not parked any more, want another")
	}
	settle(a, b, ofA, ofB)
	upgraded(t, a, b, ofA, ofB)
}
