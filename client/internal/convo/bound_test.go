package convo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// A contact who begins many long messages and finishes none gets no further
// than so many; what was acked is kept, however long the rest takes.
func TestLongMessagesThatAreNotWholeAreBounded(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	long := strings.Repeat("x", 1500) // two blocks
	for range 30 {
		a.send(ofA, long)
	}
	firsts, busy := 0, 0
	for i, x := range a.outgoing() {
		if i%2 == 1 {
			continue // second parts never arrive
		}
		err := b.v.Update(context.Background(), func(tx *vault.Tx) error {
			s := vault.Store{Tx: tx}
			routes, err := s.RoutesOf(ofB)
			if err != nil {
				return err
			}
			for _, r := range routes {
				if r.Mine {
					_, _, err = b.e.Pair(s, b.now, r, x.m, x.payload)
					return err
				}
			}
			return nil
		})
		switch {
		case err == nil:
			firsts++
		case errors.Is(err, convo.ErrBusy):
			busy++
		default:
			t.Fatal(err)
		}
	}
	if firsts != 16 || busy != 14 {
		t.Errorf("%d first parts were taken and %d put off, want 16 and 14", firsts, busy)
	}
	b.now = b.now.Add(300 * 24 * time.Hour)
	a.now = b.now
	b.do(func(tx vault.Store) (*convo.Change, error) { return b.e.Maintain(tx, b.now) })
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Maintain(tx, a.now) })
	settle(a, b, ofA, ofB)
	if got := len(b.texts(ofB)); got != 30 {
		t.Errorf("b reads %d long messages in the end, want 30", got)
	}
}

// A contact who starts again and again costs a bounded number of routes.
func TestStartingAgainIsBounded(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	for i := range 40 {
		restart(b, a, ofB, ofA)
		settle(a, b, ofA, ofB)
		b.now = b.now.Add(2 * time.Hour)
		a.now = b.now
		for _, c := range []struct {
			p  *person
			id int64
		}{{a, ofA}, {b, ofB}} {
			c.p.view(func(tx vault.Store) error {
				all, err := tx.RoutesOf(c.id)
				if len(all) > 18 {
					t.Fatalf("after %d starts %s has %d routes with one contact", i+1, c.p.name, len(all))
				}
				return err
			})
		}
	}
	a.send(ofA, "still here")
	settle(a, b, ofA, ofB)
	if got := b.texts(ofB); got[len(got)-1] != "still here" {
		t.Errorf("b reads %q last", got[len(got)-1])
	}
}

// While a contact is stopped nothing more is sealed for them, and a person's
// word holds.
func TestAStopHoldsAndTrustToo(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	for i := range convo.MaxSealed + 20 {
		a.send(ofA, fmt.Sprint(i))
	}
	sealed := a.outgoing()
	a.do(func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.Contact(ofA)
		if err != nil {
			return nil, err
		}
		r.Stop = true
		return nil, tx.PutContact(r)
	})
	for _, x := range sealed {
		b.take(ofB, x)
	}
	for _, x := range b.acks(ofB) {
		a.take(ofA, x)
	}
	if got := len(a.outgoing()); got != 0 {
		t.Errorf("%d were sealed while sending was stopped, want none", got)
	}
	err := a.v.Update(context.Background(), func(tx *vault.Tx) error {
		_, _, err := a.e.Send(vault.Store{Tx: tx}, a.now, ofA, "x", 0)
		return err
	})
	if !errors.Is(err, convo.ErrStopped) {
		t.Errorf("got %v, want ErrStopped", err)
	}
}

func TestABlockLeavesNoKeys(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, _ := met(t, a, b)
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Answer(tx, a.now, ofA, convo.Block) })
	r := a.contact(ofA)
	if r.State != contact.Blocked || len(r.Given) != 0 || len(r.Prekeys) != 0 || len(r.Before) != 0 {
		t.Errorf("a blocked contact has state %v, %d sets of ours and %d bytes of theirs", r.State, len(r.Given), len(r.Prekeys))
	}
}
