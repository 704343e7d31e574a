package convo_test

import (
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/addr"
)

// restart makes p lose its sessions with a contact, as if its disk had gone
// back, which it notices by two messages of theirs.
func restart(p, other *person, ofP, ofOther int64) {
	p.t.Helper()
	p.do(func(tx vault.Store) (*convo.Change, error) {
		all, err := tx.SessionsOf(ofP)
		for _, s := range all {
			if err == nil {
				err = tx.DeleteSession(s.ID)
			}
		}
		return nil, err
	})
	for range 2 {
		other.send(ofOther, "unreadable")
		for _, x := range other.outgoing() {
			if !x.hello {
				p.take(ofP, x)
			}
		}
		p.now = p.now.Add(time.Minute)
	}
	other.now = p.now
}

func TestAcksThatRodeDoNotLookLikeARollback(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	for range 20 {
		a.send(ofA, "x")
	}
	settle(a, b, ofA, ofB)
	a.send(ofA, "one more")
	for _, x := range a.outgoing() {
		b.take(ofB, x)
	}
	b.send(ofB, "with its ack") // and is sealed again in the next session
	restart(b, a, ofB, ofA)
	settle(a, b, ofA, ofB)
	b.now, a.now = b.now.Add(2*time.Hour), a.now.Add(2*time.Hour)
	b.send(ofB, "on")
	a.send(ofA, "on")
	settle(a, b, ofA, ofB)
	for _, n := range []string{a.notices(ofA), b.notices(ofB)} {
		if strings.Contains(n, "went back") {
			t.Errorf("got notices %q, want none of storage that went back", n)
		}
	}
}

// newest returns the route that p writes to, or that p serves for good: of all
// that are not retired, the last.
func (p *person) newest(id int64, mine bool) (r *contact.RouteRecord) {
	p.view(func(tx vault.Store) error {
		all, err := tx.RoutesOf(id)
		for _, one := range all {
			if one.Mine == mine && one.Retire == 0 && (r == nil || r.Older(one)) {
				r = one
			}
		}
		return err
	})
	return r
}

func public(t *testing.T, r *contact.RouteRecord) addr.Public {
	t.Helper()
	c, err := addr.ParseChain(r.Chain)
	if err != nil {
		t.Fatal(err)
	}
	return c.Public()
}

// renew makes p offer a new route, as if the one before had never been.
func renew(p *person, id int64) {
	p.do(func(tx vault.Store) (*convo.Change, error) {
		routes, err := tx.RoutesOf(id)
		if err != nil {
			return nil, err
		}
		rows, err := tx.RowsOf(id)
		if err != nil {
			return nil, err
		}
		shift := func(by int64) (err error) {
			for _, r := range routes {
				r.Born += by
				err = errors.Join(err, tx.PutRoute(r))
			}
			return err
		}
		ways := map[int64]int64{}
		if err := shift(-1e7); err != nil {
			return nil, err
		}
		for _, r := range rows {
			ways[r.ID], r.NewWay = r.NewWay, 0
			if err := tx.PutRow(r); err != nil {
				return nil, err
			}
		}
		ch, err := p.e.Maintain(tx, p.now)
		for _, r := range rows {
			r.NewWay = ways[r.ID]
			err = errors.Join(err, tx.PutRow(r))
		}
		return ch, errors.Join(err, shift(1e7))
	})
}

// TestOffersInAnyOrderEndWithOneRoute makes several offers within one second or
// a few, which arrive in any order, with acks that arrive in any order: the
// route that one end writes to must be one that the other keeps serving.
func TestOffersInAnyOrderEndWithOneRoute(t *testing.T) {
	for seed := range uint64(12) {
		rnd := mrand.New(mrand.NewPCG(seed, 7))
		a, b := newPerson(t, "ada"), newPerson(t, "bob")
		ofA, ofB := met(t, a, b)
		a.now, b.now = a.now.Add(8*24*time.Hour), b.now.Add(8*24*time.Hour)
		for range 3 {
			renew(a, ofA)
			if rnd.IntN(2) == 0 {
				a.now = a.now.Add(time.Second)
			}
		}
		all := a.outgoing()
		if len(all) < 3 {
			t.Fatalf("got %d messages, want three offers", len(all))
		}
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, x := range all {
			b.take(ofB, x)
			if rnd.IntN(2) == 0 {
				for _, y := range b.acks(ofB) {
					a.take(ofA, y)
				}
			}
		}
		settle(a, b, ofA, ofB)
		if got, want := public(t, b.newest(ofB, false)), public(t, a.newest(ofA, true)); got != want {
			t.Errorf("seed %d: b writes to a route that a gives up", seed)
		}
	}
}

func TestWhoIsAwayIsOfferedOneRoute(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	count := func() (n int) {
		a.view(func(tx vault.Store) error {
			all, err := tx.RoutesOf(ofA)
			n = len(all)
			return err
		})
		return n
	}
	before := count()
	for range 30 {
		a.now = a.now.Add(8 * 24 * time.Hour)
		a.do(func(tx vault.Store) (*convo.Change, error) { return a.e.Maintain(tx, a.now) })
	}
	if got := count(); got > before+1 {
		t.Errorf("got %d routes after months without an answer, want at most %d", got, before+1)
	}
	b.now = a.now
	settle(a, b, ofA, ofB)
}

// hello returns the hello among what waits, and the rest.
func hello(t *testing.T, all []parcel) (h parcel, rest []parcel) {
	t.Helper()
	for _, x := range all {
		if x.hello {
			h = x
		} else {
			rest = append(rest, x)
		}
	}
	if h.payload == nil {
		t.Fatal("got no hello, want a new session")
	}
	return h, rest
}

func TestMessagesThatOvertakeAHelloStartNothing(t *testing.T) {
	a, b := newPerson(t, "ada"), newPerson(t, "bob")
	ofA, ofB := met(t, a, b)
	restart(a, b, ofA, ofB)
	for i := range 5 {
		a.send(ofA, fmt.Sprint("new ", i))
	}
	h, rest := hello(t, a.outgoing())
	for _, x := range rest {
		b.take(ofB, x)
	}
	for _, x := range b.outgoing() {
		if x.hello {
			t.Error("got a hello back, want none: theirs comes a moment later")
		}
	}
	b.take(ofB, h)
	settle(a, b, ofA, ofB)
}

func TestHellosThatCrossEndInOneSession(t *testing.T) {
	for range 6 { // roots are random: both orders come up
		a, b := newPerson(t, "ada"), newPerson(t, "bob")
		ofA, ofB := met(t, a, b)
		restart(a, b, ofA, ofB)
		restart(b, a, ofB, ofA)
		fromA, _ := hello(t, a.outgoing())
		fromB, _ := hello(t, b.outgoing())
		// The offers that follow are of the same second as those in the hellos.
		a.now, b.now = time.Unix(a.newest(ofA, true).Born, 0), time.Unix(b.newest(ofB, true).Born, 0)
		a.take(ofA, fromB)
		b.take(ofB, fromA)
		served := func(when string) {
			t.Helper()
			if !a.serves(ofA, b.newest(ofB, false)) || !b.serves(ofB, a.newest(ofA, false)) {
				t.Errorf("%s somebody writes to a route that the other gave up", when)
			}
		}
		served("when the hellos have crossed")
		settle(a, b, ofA, ofB)
		served("when all is acked")
		for i := range 3 {
			a.send(ofA, fmt.Sprint("a", i))
			b.send(ofB, fmt.Sprint("b", i))
			settle(a, b, ofA, ofB)
		}
		smaller := a.e.Self.Manifest.Root.Less(b.e.Self.Manifest.Root)
		if got := a.primary(ofA).Initiator; got != smaller {
			t.Errorf("a writes in a session of its own: %v, want %v", got, smaller)
		}
		if got := b.primary(ofB).Initiator; got == smaller {
			t.Errorf("b writes in a session of its own: %v, want %v", got, !smaller)
		}
	}
}

// serves reports whether p serves for good the route that another person writes to.
func (p *person) serves(id int64, to *contact.RouteRecord) (yes bool) {
	p.view(func(tx vault.Store) error {
		all, err := tx.RoutesOf(id)
		for _, r := range all {
			yes = yes || r.Mine && r.Retire == 0 && public(p.t, r) == public(p.t, to)
		}
		return err
	})
	return yes
}

func (p *person) primary(id int64) (s *contact.SessionRecord) {
	p.view(func(tx vault.Store) error {
		all, err := tx.SessionsOf(id)
		for _, one := range all {
			if one.Primary {
				s = one
			}
		}
		return err
	})
	return s
}

// TestAHelloForLostPrekeysIsAnsweredByAnother takes a device back behind the
// prekeys that the other end holds: the other's hello is for keys that are gone.
func TestAHelloForLostPrekeysIsAnsweredByAnother(t *testing.T) {
	for range 4 {
		a, b := newPerson(t, "ada"), newPerson(t, "bob")
		ofA, ofB := met(t, a, b)
		a.do(func(tx vault.Store) (*convo.Change, error) {
			r, err := tx.Contact(ofA)
			if err != nil {
				return nil, err
			}
			r.Given = nil
			return nil, tx.PutContact(r)
		})
		restart(b, a, ofB, ofA)
		h, _ := hello(t, b.outgoing())
		a.take(ofA, h)
		hello(t, a.outgoing())
		b.send(ofB, "on")
		settle(a, b, ofA, ofB)
		if got := a.texts(ofA); got[len(got)-1] != "on" {
			t.Errorf("a reads %q, want the last to be on", got)
		}
	}
}

// TestAnInviteThatIsUsedUpDoesNotStopAnother has both take the other's invite,
// of which one is used up: the hello for it never opens.
func TestAnInviteThatIsUsedUpDoesNotStopAnother(t *testing.T) {
	for range 4 { // roots are random
		a, b := newPerson(t, "ada"), newPerson(t, "bob")
		ofB := invited(a, b, contact.InviteOptions{Uses: 1, Life: time.Hour}, "never arrives")
		b.outgoing() // it is lost, as are all its repetitions
		b.send(ofB, "nor would this")
		ofA := invited(b, a, contact.InviteOptions{Uses: 1, Life: time.Hour}, "from a")
		for _, x := range a.outgoing() {
			b.take(0, x)
		}
		for range 20 {
			for _, x := range append(b.outgoing(), b.acks(ofB)...) {
				if !x.hello {
					a.take(ofA, x)
				}
			}
			for _, x := range append(a.outgoing(), a.acks(ofA)...) {
				b.take(ofB, x)
			}
		}
		if got := a.texts(ofA); !slices.Equal(got, []string{"nor would this"}) {
			t.Errorf("a reads %q, want what b wrote", got)
		}
	}
}
