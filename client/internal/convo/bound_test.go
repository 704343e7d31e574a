package convo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
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

// While a contact is stopped nothing more is sealed for them.
func TestAStopHolds(t *testing.T) {
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

// A contact whose devices seem to have gone back is stopped. When a person has
// said that it is all right, the same list does not stop them again; another does.
func TestTrustHoldsForWhatWasTrusted(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	old := b.e.Self.Manifest
	list := func(days int) {
		b.e.Self.Manifest = old
		if did, err := b.e.Self.Renew(b.now.AddDate(0, 0, days)); !did || err != nil {
			t.Fatalf("renewing: %v, %v", did, err)
		}
	}
	list(120)
	a.do(func(tx vault.Store) (*convo.Change, error) { // ada has seen the newer list
		r, err := tx.Contact(ofA)
		if err != nil {
			return nil, err
		}
		r.Manifest = b.e.Self.Manifest.Append(nil)
		return nil, tx.PutContact(r)
	})
	b.e.Self.Manifest = old
	says := func(text string) bool {
		b.send(ofB, text)
		for _, x := range b.outgoing() {
			a.take(ofA, x)
		}
		return a.contact(ofA).Stop
	}
	if !says("from the older list") {
		t.Fatal("an older list of devices did not stop the contact")
	}
	a.do(func(tx vault.Store) (*convo.Change, error) { // what trusting does
		r, err := tx.Contact(ofA)
		if err != nil {
			return nil, err
		}
		r.Stop, r.Warning, r.Trusted = false, "", r.Doubt
		return nil, tx.PutContact(r)
	})
	if says("the same list again") {
		t.Error("what was trusted stopped the contact again")
	}
	list(150) // the same number, other content
	if !says("a third list") {
		t.Error("a list that nobody trusted did not stop the contact")
	}
}

// A chain that is full ends nothing: what is old stays as it is, what is new
// waits, and all of it goes once the other end has answered.
func TestAFullChainOnlyWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it seals 32,768 messages")
	}
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	b.send(ofB, "so that a new chain begins")
	settle(a, b, ofA, ofB)
	a.send(ofA, "old")
	first := a.outgoing()
	a.do(func(tx vault.Store) (*convo.Change, error) {
		all, err := tx.SessionsOf(ofA)
		if err != nil {
			return nil, err
		}
		for _, rec := range all {
			s, err := session.Parse(rec.State)
			if err != nil {
				return nil, err
			}
			for err == nil && rec.Primary {
				_, err = s.Seal(rand.Reader, make([]byte, wire.BlockSize))
			}
			if rec.Primary && !errors.Is(err, session.ErrFull) {
				return nil, err
			}
			rec.State, rec.Sent = s.Append(nil), s.Sent()
			if err := tx.PutSession(rec); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	a.send(ofA, "new")
	if got := len(a.outgoing()); got != len(first) {
		t.Fatalf("%d are sealed on a full chain, want %d", got, len(first))
	}
	a.now = a.now.Add(40 * 24 * time.Hour) // old enough to be sealed again
	b.now = a.now
	a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Maintain(tx, a.now) })
	settle(a, b, ofA, ofB)
	if got := b.texts(ofB); !slices.Contains(got, "old") || !slices.Contains(got, "new") {
		t.Errorf("b reads %q, want old and new", got)
	}
}

// Somebody we know takes another invite of ours with an older list of devices:
// they are stopped, it is said once, and nothing else is done.
func TestAnOlderListByANewInviteStops(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	copied := newPerson(t, "bob")
	copied.e.Self = &device.Identity{Root: b.e.Self.Root, Sign: b.e.Self.Sign, DH: b.e.Self.DH, XWing: b.e.Self.XWing, Manifest: b.e.Self.Manifest}
	if did, err := b.e.Self.Renew(b.now.AddDate(0, 0, 120)); !did || err != nil {
		t.Fatalf("renewing: %v, %v", did, err)
	}
	ofA, _ := met(t, a, b)
	before := len(a.texts(ofA))
	invited(a, copied, contact.InviteOptions{Uses: 1, Life: time.Hour}, "it is me, from last year")
	inviteRoute := func(x parcel) {
		a.do(func(tx vault.Store) (*convo.Change, error) {
			routes, err := tx.RoutesOf(0)
			if err != nil {
				return nil, err
			}
			return a.e.Met(tx, a.now, routes[len(routes)-1], x.payload)
		})
	}
	inviteRoute(copied.outgoing()[0])
	if r := a.contact(ofA); !r.Stop || r.Warning == "" {
		t.Errorf("got stop %v and warning %q, want both", r.Stop, r.Warning)
	}
	if !strings.Contains(a.notices(ofA), contact.WarnManifest) {
		t.Errorf("got notices %q, want the warning among them", a.notices(ofA))
	}
	if got := len(a.texts(ofA)); got != before {
		t.Errorf("%d texts are shown, want %d: the hello must not be taken", got, before)
	}
}
