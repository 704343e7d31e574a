package inbox

import (
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

func TestNewRouteGoesOverTheRunningConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2)
		n := w.start()
		pass(time.Second)
		c := w.shared(period())
		w.set(func() { w.routes[3], w.routes[4] = false, false })
		n.Refresh()
		pass(time.Second)
		if got := w.shared(period()); got != c {
			t.Fatal("got another connection, want the running one")
		}
		if len(w.batches(c)) != 1 || len(w.batches(c)[0]) != 16 {
			t.Fatalf("got %d batches, want one of 16", len(w.batches(c)))
		}
		for _, r := range []int64{3, 4} {
			if !slices.Contains(w.batches(c)[0], owned(r, period()).Address) {
				t.Errorf("route %d is not in the batch", r)
			}
			if !w.deliver(c, owned(r, period()).Address, cell()) {
				t.Errorf("route %d: got no echo, want it listened to", r)
			}
		}
		for _, a := range w.batches(c)[0] {
			if slices.Contains(c.set, a) {
				t.Error("got an address that was watched already")
			}
		}
		n.Refresh() // nothing has changed
		pass(time.Second)
		if len(w.batches(c)) != 1 || w.tried() != 1 {
			t.Errorf("got %d batches and %d connections, want no more of either", len(w.batches(c)), w.tried())
		}
		// The next connection has all of it, and a power of two again.
		c.broken <- errLine
		pass(2 * time.Second)
		d := w.shared(period())
		for _, a := range append(slices.Clone(c.set), w.batches(c)[0]...) {
			if !slices.Contains(d.set, a) {
				t.Error("got a set without an address of before, want its decoys to stay")
			}
		}
		if len(d.set) != 32 {
			t.Errorf("got a set of %d, want 32", len(d.set))
		}
	})
}

func TestNewRouteIsInTheNextPeriodToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.start()
		pass(live - 29*time.Second) // both periods are open
		w.set(func() { w.routes[3] = false })
		n.Refresh()
		pass(time.Second)
		for _, p := range []uint64{period(), period() + 1} {
			c := w.shared(p)
			if len(w.batches(c)) != 1 || !slices.Contains(w.batches(c)[0], owned(3, p).Address) {
				t.Errorf("period %d: the new route is not watched", p)
			}
		}
	})
}

func TestRoutesThatComeWhileTheLineIsDownAreInTheNextSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.start()
		pass(time.Second)
		w.set(func() { w.refuse = errLine })
		w.shared(period()).broken <- errLine
		pass(time.Second)
		w.set(func() { w.routes[3] = false })
		n.Refresh()
		pass(time.Second)
		w.set(func() { w.refuse = nil })
		n.Kick()
		pass(time.Second)
		c := w.shared(period())
		if !slices.Contains(c.set, owned(3, period()).Address) || len(c.set) != 32 || len(w.batches(c)) != 0 {
			t.Errorf("got a set of %d and %d batches, want the route in a set of 32", len(c.set), len(w.batches(c)))
		}
	})
}

func TestRouteThatIsGoneIsNotListenedTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2)
		n := w.start()
		pass(time.Second)
		c := w.shared(period())
		gone := owned(2, period()).Address
		w.set(func() { delete(w.routes, 2) })
		n.Refresh()
		pass(0)
		if w.deliver(c, gone, cell()) || w.opened() != 0 {
			t.Error("got a cell of a route that is gone opened or echoed")
		}
		pass(time.Second)
		d := w.shared(period())
		if d == c {
			t.Fatal("got the same connection, want another without the address")
		}
		if slices.Contains(d.set, gone) || len(d.set) != 16 {
			t.Errorf("got a set of %d with the address in it: %v, want 16 without", len(d.set), slices.Contains(d.set, gone))
		}
		fresh := 0
		for _, a := range d.set {
			if !slices.Contains(c.set, a) {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("got %d addresses that are new, want one decoy in its place", fresh)
		}
		if got := w.told(); len(got) != 1 {
			t.Errorf("got told %+v, want no gap that anybody hears of", got)
		}
	})
}

func TestContactRouteComesAndGoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.start()
		pass(time.Second)
		shared := w.shared(period())
		w.set(func() { w.routes[100] = true })
		n.Refresh()
		pass(time.Second)
		if got := w.running(period()); len(got) != 2 || w.shared(period()) != shared || len(w.batches(shared)) != 0 {
			t.Fatalf("got %d connections, want a second one and the first as it was", len(got))
		}
		var alone *conn
		for _, c := range w.running(period()) {
			if w.alone(c) == 100 {
				alone = c
			}
		}
		if len(alone.set) != 16 {
			t.Errorf("got a set of %d, want 16", len(alone.set))
		}
		w.set(func() { delete(w.routes, 100) })
		n.Refresh()
		pass(time.Second)
		if got := w.running(0); len(got) != 1 || got[0] != shared {
			t.Errorf("got %d connections, want the contact route's closed at once", len(got))
		}
		connects := w.tried()
		pass(time.Minute)
		if w.tried() != connects {
			t.Errorf("got %d more connections, want none", w.tried()-connects)
		}
		if w.deliver(alone, owned(100, period()).Address, cell()) || w.opened() != 0 {
			t.Error("got a cell of a closed contact route opened")
		}
	})
}

// A route that comes in the overlap is not watched for the period that is over:
// that would open two periods at one moment.
func TestNewContactRouteDoesNotGoBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.start()
		pass(live + 20*time.Second)
		p := period()
		if len(w.running(p-1)) != 1 {
			t.Fatal("the last period is closed, want the overlap")
		}
		w.set(func() { w.routes[100] = true })
		n.Refresh()
		pass(time.Second)
		if a, b := len(w.running(p-1)), len(w.running(p)); a != 1 || b != 2 {
			t.Errorf("got %d and %d connections, want one of the last period and two of this", a, b)
		}
	})
}

func TestRoutesThatComeAndGoTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2)
		n := w.start()
		pass(time.Second)
		w.set(func() { delete(w.routes, 2); w.routes[3] = false })
		n.Refresh()
		pass(time.Second)
		c := w.shared(period())
		if !slices.Contains(c.set, owned(3, period()).Address) {
			t.Error("the new route is not in the new set")
		}
		w.set(func() { w.routes[4] = false })
		n.Refresh()
		pass(time.Second)
		if len(w.batches(c)) != 1 || slices.Contains(w.batches(c)[0], owned(3, period()).Address) {
			t.Errorf("got %d batches, want one with nothing that is watched already", len(w.batches(c)))
		}
	})
}

// However many routes come one by one, a connection never holds more than it may.
func TestManyNewRoutesDoNotOverfillAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		n := w.start()
		pass(time.Second)
		p := period()
		for r := range int64(270) {
			w.set(func() { w.routes[r+10] = false })
			n.Refresh()
			pass(time.Second)
		}
		conns := w.all()
		for _, c := range conns {
			size := len(c.set)
			for _, m := range w.batches(c) {
				size += len(m)
				if bits.OnesCount(uint(len(m))) != 1 {
					t.Errorf("got a batch of %d, want a power of two", len(m))
				}
			}
			if size > transport.MaxWatched || bits.OnesCount(uint(len(c.set))) != 1 {
				t.Errorf("got %d addresses on a connection whose set is %d, want at most 4,096 and a power of two", size, len(c.set))
			}
		}
		if len(conns) != 2 {
			t.Errorf("got %d connections, want a second when the first was full", len(conns))
		}
		c := w.shared(p)
		have := slices.Concat(append([][]transport.Address{c.set}, w.batches(c)...)...)
		for r := range w.routes {
			if !slices.Contains(have, owned(r, p).Address) {
				t.Errorf("route %d is not watched", r)
			}
		}
	})
}
