package convo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// talk has two people write to each other until an epoch of the braid is
// complete at both, and returns how many messages it took.
func talk(t *testing.T, a, b *person, ofA, ofB int64) (n int) {
	t.Helper()
	was, wasB := a.primary(ofA).Epoch, b.primary(ofB).Epoch
	for ; a.primary(ofA).Epoch == was || b.primary(ofB).Epoch == wasB; n += 2 {
		if n > 200 {
			t.Fatalf("got no epoch after %d messages, want one", n)
		}
		a.send(ofA, fmt.Sprint("a", n))
		b.send(ofB, fmt.Sprint("b", n))
		settle(a, b, ofA, ofB)
	}
	return n
}

// epochs has all epochs of p's session count as new.
func (p *person) epochs(id int64) {
	p.t.Helper()
	s := p.primary(id)
	if s.Epoch == 0 {
		p.t.Fatal("got no epoch, want one")
	}
	s.Offered = 0
	p.do(func(tx vault.Store) (*convo.Change, error) { return nil, tx.PutSession(s) })
}

// TestACompletedEpochRenewsTheRoute: two days after the last offer, not before,
// and not without an epoch.
func TestACompletedEpochRenewsTheRoute(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	day := func(d float64) {
		a.now = a.now.Add(time.Duration(d * 24 * float64(time.Hour)))
		b.now = a.now
	}
	renewed := func(what string, want bool) {
		t.Helper()
		before := public(t, a.newest(ofA, true))
		a.maintain()
		settle(a, b, ofA, ofB)
		after := public(t, a.newest(ofA, true))
		if got := after != before; got != want {
			t.Fatalf("%s: got renewed: %v, want %v", what, got, want)
		}
		if theirs := public(t, b.newest(ofB, false)); theirs != after {
			t.Fatalf("%s: b writes to another route than the newest", what)
		}
	}
	day(3)
	renewed("three days without an epoch", false)
	t.Logf("an epoch took %d texts and the acks between them", talk(t, a, b, ofA, ofB))
	renewed("an epoch", true)
	renewed("again", false)
	a.epochs(ofA)
	day(1.9)
	renewed("an epoch, and not two days", false)
	day(0.2)
	renewed("an epoch and two days", true)
	day(6.9)
	renewed("a week less an hour without an epoch", false)
	day(0.2)
	renewed("a week", true)
	// Whoever writes all day long does not make more routes than are kept.
	for range 10 {
		a.epochs(ofA)
		day(1)
		a.maintain()
		settle(a, b, ofA, ofB)
	}
	a.view(func(tx vault.Store) error {
		all, err := tx.RoutesOf(ofA)
		mine := 0
		for _, r := range all {
			if r.Mine {
				mine++
			}
		}
		if mine > 6 {
			t.Errorf("got %d routes of ours after ten days of talk, want at most 6", mine)
		}
		return err
	})
}
