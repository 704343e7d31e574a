package convo_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// pass brings a message to the other end. Some are refused after a disk went back:
// their numbers were used.
func pass(t *testing.T, now time.Time, from, to *session.Session) {
	t.Helper()
	m, err := from.Seal(rand.Reader, make([]byte, wire.BlockSize))
	if err != nil {
		t.Fatal(err)
	}
	to.Open(rand.Reader, now, m)
}

// exchange has both send a message to each other, n times.
func exchange(t *testing.T, now time.Time, a, b *session.Session, n int) {
	t.Helper()
	for range n {
		pass(t, now, a, b)
		pass(t, now, b, a)
	}
}

// standStill puts b's disk back by three messages that it sent, at the moment in an
// epoch at which that stops the braid, and has both exchange messages until one
// more each makes a stall. The session itself goes on all the time.
func standStill(t *testing.T, a, b *person, ofA, ofB int64) {
	t.Helper()
	x, y := a.primary(ofA), b.primary(ofB)
	s, o := parsed(t, x.State), parsed(t, y.State)
	for moment := 0; ; moment++ {
		if moment > 60 {
			t.Fatal("got no moment at which the braid stops, want one")
		}
		pass(t, a.now, s, o)
		c, d, disk := s.Clone(), o.Clone(), o.Clone()
		for range 3 {
			pass(t, a.now, d, c)
		}
		pass(t, a.now, o, s)
		for range 4 { // three are refused; after the fourth the counts tell nothing any more
			pass(t, a.now, disk, c)
		}
		epochs := c.Epoch() + disk.Epoch()
		if exchange(t, a.now, c, disk, 70); c.Epoch()+disk.Epoch() == epochs {
			s, o = c, disk
			break
		}
	}
	if s.Highest() != o.Sent() || o.Highest() != s.Sent() {
		t.Fatalf("got %d of %d and %d of %d messages, want the counts to hide it", s.Highest(), o.Sent(), o.Highest(), s.Sent())
	}
	for n := 0; !s.Stalled() && !o.Stalled(); n++ {
		if n > braid.StallAfter {
			t.Fatalf("got no stall, epochs %d and %d", s.Epoch(), o.Epoch())
		}
		x.State, x.Sent, x.Highest = s.Append(nil), s.Sent(), s.Highest()
		y.State, y.Sent, y.Highest = o.Append(nil), o.Sent(), o.Highest()
		exchange(t, a.now, s, o, 1)
	}
	a.do(func(tx vault.Store) (*convo.Change, error) { return nil, tx.PutSession(x) })
	b.do(func(tx vault.Store) (*convo.Change, error) { return nil, tx.PutSession(y) })
}

func parsed(t *testing.T, state []byte) *session.Session {
	t.Helper()
	s, err := session.Parse(state)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAStalledBraidIsBegunAgain: once, with nothing lost, and epochs are completed
// in the new session.
func TestAStalledBraidIsBegunAgain(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	a.now = a.now.Add(2 * time.Hour)
	b.now = a.now
	standStill(t, a, b, ofA, ofB)
	born := a.primary(ofA).Born
	for n := range 8 {
		a.send(ofA, fmt.Sprint("a", n))
		b.send(ofB, fmt.Sprint("b", n))
		settle(a, b, ofA, ofB)
	}
	x, y := a.primary(ofA), b.primary(ofB)
	if x.Born == born || x.Initiator == y.Initiator {
		t.Fatalf("got the session of before, begun here: %v and there: %v; want one new session", x.Initiator, y.Initiator)
	}
	if got := len(a.texts(ofA)) + len(b.texts(ofB)); got < 16 {
		t.Errorf("got %d texts, want 16", got)
	}
	if n := talk(t, a, b, ofA, ofB); n > 100 {
		t.Errorf("got an epoch after %d messages, want it soon", n)
	}
}

// TestAStallWithoutPrekeysIsNoTrouble: the session goes on, and nobody is told to
// make a new invite.
func TestAStallWithoutPrekeysIsNoTrouble(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it exchanges some thousand messages")
	}
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	standStill(t, a, b, ofA, ofB)
	for p, id := range map[*person]int64{a: ofA, b: ofB} {
		p.do(func(tx vault.Store) (*convo.Change, error) {
			r, err := tx.Contact(id)
			if err != nil {
				return nil, err
			}
			r.Prekeys, r.Before = nil, nil
			return nil, tx.PutContact(r)
		})
	}
	for n := range 4 {
		a.send(ofA, fmt.Sprint("a", n))
		b.send(ofB, fmt.Sprint("b", n))
		settle(a, b, ofA, ofB)
	}
	if got := b.texts(ofB); got[len(got)-1] != "a3" {
		t.Errorf("b reads %q last, want a3", got[len(got)-1])
	}
	if x := a.contact(ofA); x.Warning != "" {
		t.Errorf("got warning %q, want none", x.Warning)
	}
}
