package inbox

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

func TestEchoTellsNothingButWhatIsShown(t *testing.T) {
	trouble := errors.New("disk is full")
	for _, c := range []struct {
		name    string
		outcome Outcome
		err     error
		alone   bool
		want    []bool // for cells one second apart
	}{
		{"shown", Shown, nil, false, []bool{true, true, true}},
		{"nothing", Nothing, nil, false, []bool{true, false, false}},
		{"rejected", Rejected, nil, false, []bool{false, false, false}},
		{"unknown outcome", 99, nil, false, []bool{false, false, false}},
		{"no outcome", 0, nil, false, []bool{false, false, false}},
		{"store in trouble", Shown, trouble, false, []bool{false, false, false}},
		{"contact route, shown", Shown, nil, true, []bool{false, false, false}},
		{"contact route, nothing", Nothing, nil, true, []bool{false, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				w.outcome, w.openErr = c.outcome, c.err
				w.routes[1] = c.alone
				w.start()
				pass(time.Second)
				a := owned(1, period()).Address
				on := w.connOf(a)
				for i, want := range c.want {
					if got := w.deliver(on, a, cell()); got != want {
						t.Errorf("cell %d: got echoed %v, want %v", i, got, want)
					}
					pass(time.Second)
				}
				if w.opened() != len(c.want) {
					t.Errorf("got %d cells opened, want %d", w.opened(), len(c.want))
				}
			})
		})
	}
}

// connOf returns the running connection that watches an address.
func (w *world) connOf(a transport.Address) *conn {
	w.t.Helper()
	for _, c := range w.running(0) {
		if slices.Contains(c.set, a) {
			return c
		}
	}
	w.t.Fatal("address is not watched")
	return nil
}

func TestCellsThatShowNothingAreEchoedOnceAMinutePerRoute(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2)
		w.outcome = Nothing
		w.start()
		pass(time.Second)
		p := period()
		c := w.shared(p)
		echoes := map[int64]int{}
		for range 250 { // somewhat over four minutes
			for r := int64(1); r <= 2; r++ {
				if w.deliver(c, owned(r, p).Address, cell()) {
					echoes[r]++
				}
			}
			pass(time.Second)
		}
		if echoes[1] != 5 || echoes[2] != 5 {
			t.Errorf("got %v echoes in 250 s, want 5 for each route", echoes)
		}
		w.set(func() { w.outcome = Shown })
		if !w.deliver(c, owned(1, p).Address, cell()) {
			t.Error("got no echo of a cell that shows something, want it at once")
		}
	})
}

func TestDuplicateIsNotOpenedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2)
		w.start()
		pass(time.Second)
		p := period()
		c := w.shared(p)
		x := cell()
		got := []bool{
			w.deliver(c, owned(1, p).Address, x),
			w.deliver(c, owned(1, p).Address, x), // shows nothing: once a minute
			w.deliver(c, owned(1, p).Address, x),
			w.deliver(c, owned(2, p).Address, x), // another route: another cell
		}
		if want := []bool{true, true, false, true}; !slices.Equal(got, want) {
			t.Errorf("got echoes %v, want %v", got, want)
		}
		if w.opened() != 2 {
			t.Errorf("got %d cells opened, want 2", w.opened())
		}
		c.broken <- errLine
		pass(5 * time.Second)
		if w.deliver(w.shared(p), owned(1, p).Address, x); w.opened() != 2 {
			t.Errorf("on another connection: got %d cells opened, want 2", w.opened())
		}
	})
}

func TestWhatWasNotAcceptedLeavesNoTrace(t *testing.T) {
	for name, f := range map[string]func(w *world){
		"rejected": func(w *world) { w.outcome = Rejected },
		"trouble":  func(w *world) { w.openErr = errors.New("disk is full") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, 1)
				f(w)
				w.start()
				pass(time.Second)
				c, a, x := w.shared(period()), owned(1, period()).Address, cell()
				w.deliver(c, a, x)
				w.set(func() { w.outcome, w.openErr = Shown, nil })
				if !w.deliver(c, a, x) || w.opened() != 2 {
					t.Errorf("got %d cells opened, want it opened and echoed when it comes again", w.opened())
				}
			})
		})
	}
}

func TestDecoysAreNotListenedTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.start()
		pass(time.Second)
		c := w.shared(period())
		for _, a := range c.set {
			if a != owned(1, period()).Address && w.deliver(c, a, cell()) {
				t.Error("got an echo from a decoy")
			}
		}
		if w.opened() != 0 {
			t.Errorf("got %d cells opened, want none", w.opened())
		}
	})
}

func TestTroubleWithTheStoreIsToldNowAndThen(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.openErr = errors.New("disk is full")
		w.start()
		pass(time.Second)
		c, a := w.shared(period()), owned(1, period()).Address
		for range 1300 {
			w.deliver(c, a, cell())
			pass(100 * time.Millisecond)
		}
		var told int
		for _, s := range w.told() {
			if errors.Is(s.err, w.openErr) {
				told++
				if !s.connected {
					t.Errorf("got told %+v, want connected all the same", s)
				}
			}
		}
		if told != 3 {
			t.Errorf("got told %d times in 130 s, want 3", told)
		}
	})
}

// A connection that ends while a cell is being opened breaks off no commit.
func TestOpeningOutlivesTheConnection(t *testing.T) {
	for name, end := range map[string]func(w *world, n *Inbox, c *conn){
		"break": func(_ *world, _ *Inbox, c *conn) { c.broken <- errLine },
		"route is gone": func(w *world, n *Inbox, _ *conn) {
			w.set(func() { delete(w.routes, 1) })
			n.Refresh()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				w.routes[1] = true
				w.slow = 5 * time.Second
				n := w.start()
				pass(time.Second)
				a := owned(1, period()).Address
				c := w.connOf(a)
				go w.deliver(c, a, cell())
				pass(time.Second)
				end(w, n, c)
				pass(10 * time.Second) // Open complains if its context ended
				if w.opened() != 1 {
					t.Errorf("got %d cells opened, want 1", w.opened())
				}
			})
		})
	}
}

func TestSeenSetIsBounded(t *testing.T) {
	n := func(i int) (x nonce) {
		binary.BigEndian.PutUint64(x[:], uint64(i))
		return x
	}
	s := newSeen()
	for i := range seenPerRoute + 10 {
		s.add(1, 5, n(i))
		s.add(1, 5, n(i)) // again: no matter
	}
	if s.has(1, 5, n(9)) || !s.has(1, 5, n(10)) || !s.has(1, 5, n(seenPerRoute+9)) {
		t.Error("one route: want the oldest ten forgotten and no other")
	}
	if s.total != seenPerRoute {
		t.Errorf("got %d nonces, want %d", s.total, seenPerRoute)
	}
	for r := int64(2); s.total < seenInAll; r++ {
		for i := range seenPerRoute {
			s.add(r, 5, n(i))
		}
	}
	s.add(2, 5, n(99999))
	s.add(999, 5, n(1))
	if s.total != seenInAll || s.has(2, 5, n(0)) || !s.has(2, 5, n(99999)) || s.has(999, 5, n(1)) {
		t.Errorf("full: got %d nonces, want %d, a route making room for its own only", s.total, seenInAll)
	}
	s.add(1, 6, n(1))
	s.forget(7)
	if !s.has(1, 5, n(10)) {
		t.Error("two periods later: got nonces forgotten, want them kept")
	}
	s.forget(8)
	if len(s.sets) != 0 && s.total != 0 {
		t.Errorf("three periods later: got %d nonces, want none", s.total)
	}
}

func TestWhatIsOldIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.outcome = Nothing
		n := w.start()
		pass(time.Second)
		w.deliver(w.shared(period()), owned(1, period()).Address, cell())
		pass(2*live + 2*time.Minute)
		n.desk.mu.Lock()
		if len(n.desk.echoed) != 0 {
			t.Errorf("got %d routes kept, want none", len(n.desk.echoed))
		}
		n.desk.mu.Unlock()
		if n.desk.seen.size() != 1 {
			t.Errorf("two periods later: got %d nonces, want 1", n.desk.seen.size())
		}
		pass(live)
		if n.desk.seen.size() != 0 {
			t.Errorf("three periods later: got %d nonces, want none", n.desk.seen.size())
		}
	})
}
