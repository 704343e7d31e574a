package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// garage is a scripted Parker.
type garage struct {
	mu      sync.Mutex
	life    time.Duration
	err     error           // of all batches
	each    map[int64]error // of single copies
	batches [][]int64
	at      []time.Time
	hold    chan struct{} // if not nil, an answer waits for it
}

func (g *garage) Park(ctx context.Context, ids []int64) ([]Kept, error) {
	g.mu.Lock()
	g.batches, g.at = append(g.batches, ids), append(g.at, time.Now())
	err, hold := g.err, g.hold
	g.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	var out []Kept
	for _, id := range ids {
		k := Kept{Until: time.Now().Add(g.life), Err: g.each[id]}
		if k.Err != nil {
			k.Until = time.Time{}
		}
		out = append(out, k)
	}
	return out, nil
}

func (g *garage) lie(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

// parked returns the batches so far.
func (g *garage) parked() [][]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.batches)
}

// of counts how often a copy was parked.
func (g *garage) of(id int64) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.batches {
		for _, i := range b {
			if i == id {
				n++
			}
		}
	}
	return n
}

// startParking runs an outbox that parks.
func (w *world) startParking(g *garage, after time.Duration) *Outbox {
	o := New(Config{Transport: w, Store: w, Sealer: w, Rand: rand.Reader, Parker: g, ParkAfter: after})
	w.run(o)
	return o
}

func (w *world) put(it Item) Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows[it.ID] = it
	w.hellos[it.ID] = it.Hello
	return it
}

const week = 7 * 24 * time.Hour

// TestWhatASilentDeviceMissesIsParked: after the burst everything that waits is
// parked, in batches, and not probed; what comes later is offered once and parked.
func TestWhatASilentDeviceMissesIsParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		for id := range int64(40) {
			w.add(id+1, 7)
		}
		o := w.startParking(g, time.Minute)
		pass(20 * time.Second)
		if len(g.parked()) != 0 {
			t.Errorf("got %d batches after 20 s, want none", len(g.parked()))
		}
		pass(4 * time.Minute)
		if len(g.parked()) != 3 || len(g.parked()[0]) != MaxPark || g.parked()[0][0] != 1 || g.parked()[2][7] != 40 {
			t.Errorf("got batches %v, want 16, 16 and 8, the oldest first", g.parked())
		}
		if st := o.Status(7); st.Kept != 40 || st.Waiting != 40 || !st.Silent {
			t.Errorf("got status %+v, want all 40 kept", st)
		}
		n := len(w.of(0))
		pass(24 * time.Hour)
		if got := len(w.of(0)); got != n {
			t.Errorf("got %d puts of what is parked, want none", got-n)
		}
		o.Add(w.add(41, 7))
		pass(5 * time.Second)
		if len(w.of(41)) != 1 || g.of(41) != 1 {
			t.Errorf("got a later copy put %d times and parked %d times, want once each", len(w.of(41)), g.of(41))
		}
		// Faults are none of the message's.
		if len(w.troubles()) != 0 {
			t.Errorf("got trouble %v, want none", w.troubles())
		}
	})
}

// TestADeviceThatComesBackGetsAMomentToTake: what is parked is not offered at
// once, and not at all if it is acked in time.
func TestADeviceThatComesBackGetsAMomentToTake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		w.add(1, 7)
		w.add(2, 7)
		o := w.startParking(g, time.Minute)
		pass(5 * time.Minute)
		n1, n2 := len(w.of(1)), len(w.of(2))
		o.Heard(7)
		pass(10 * time.Second)
		if len(w.of(1)) != n1 || len(w.of(2)) != n2 {
			t.Error("what is parked was offered at once, want a moment")
		}
		o.Remove(1)
		pass(2 * time.Minute)
		if len(w.of(1)) != n1 {
			t.Error("an acked copy was offered")
		}
		if got := len(w.of(2)) - n2; got != 1 {
			t.Errorf("the other copy was offered %d times, want once: nobody took it, and it is still parked", got)
		}
		if g.of(2) != 1 {
			t.Errorf("got it parked %d times, want once for its life", g.of(2))
		}
		// Something found parked proves nobody's presence.
		o.Found(7)
		pass(5 * time.Minute)
		if got := len(w.of(2)) - n2; got != 1 {
			t.Errorf("the other copy was offered %d times after a parked cell came, want once", got)
		}
	})
}

// TestParkingIsRenewed: what nobody acked while it was parked goes as if it were
// new, and is parked again, as long as its row lives and once for each life.
func TestParkingIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		it := w.add(1, 7)
		it.Expires = time.Now().Add(30 * 24 * time.Hour)
		w.put(it)
		w.startParking(g, time.Minute)
		pass(40 * 24 * time.Hour)
		if n := g.of(1); n != 5 {
			t.Errorf("got it parked %d times in 30 days of a week each, want 5", n)
		}
		if len(w.ended) != 1 {
			t.Errorf("got %v ended, want the row", w.ended)
		}
		g.lie(func() {
			for i := 1; i < len(g.at); i++ {
				if d := g.at[i].Sub(g.at[i-1]); d < week {
					t.Errorf("got it parked again after %v, want a week at the least", d)
				}
			}
		})
	})
}

// TestWhatIsParkedStaysSoOverARestart: a new process offers the oldest, to see,
// and parks nothing a second time; what was offered in vain before is parked at
// once.
func TestWhatIsParkedStaysSoOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		day := 24 * time.Hour
		for id := range int64(5) {
			w.put(Item{ID: id + 1, Peer: 7, Order: id + 1, State: Offered, Born: time.Now().Add(-day), Kept: time.Now().Add(3 * day)})
		}
		w.put(Item{ID: 9, Peer: 8, Order: 9, State: Offered, Born: time.Now().Add(-day)})
		w.put(Item{ID: 10, Peer: 8, Order: 10, State: Queued, Born: time.Now()})
		o := w.startParking(g, time.Minute)
		pass(10 * time.Second)
		o.Reconnected()
		pass(3 * time.Second)
		if len(g.parked()) == 0 || g.of(9) != 1 || g.of(10) != 1 {
			t.Errorf("got batches %v, want what was offered before the process began parked at once", g.parked())
		}
		for id := int64(1); id <= 5; id++ {
			if g.of(id) != 0 {
				t.Errorf("copy %d was parked again", id)
			}
		}
		offered := map[int64]bool{}
		for _, tr := range w.of(0) {
			if tr.peer == 7 {
				offered[tr.id] = true
			}
		}
		if len(offered) != 1 || !offered[1] {
			t.Errorf("got copies %v of what is parked offered, want the oldest alone", offered)
		}
		pass(4 * day)
		for id := int64(1); id <= 5; id++ {
			if g.of(id) != 1 {
				t.Errorf("copy %d was parked %d times after its life, want once", id, g.of(id))
			}
		}
	})
}

// TestHellosAreParkedAtOnce: whether their device is there is never known.
func TestHellosAreParkedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		w.put(Item{ID: 1, Peer: 7, Order: 1, State: Queued, Hello: true})
		w.put(Item{ID: 2, Peer: 7, Order: 2, State: Queued})
		w.startParking(g, time.Minute)
		pass(3 * time.Second)
		if g.of(1) != 1 || g.of(2) != 0 {
			t.Errorf("got hello and message parked %d and %d times after 3 s, want 1 and 0", g.of(1), g.of(2))
		}
	})
}

// TestAProcessThatEndsSoonParksAtOnce, and Rested says when that is done.
func TestAProcessThatEndsSoonParksAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		w.add(1, 7)
		o := w.startParking(g, 0)
		pass(time.Millisecond)
		o.Rested(t.Context())
		if g.of(1) != 1 || o.Status(7).Kept != 1 {
			t.Errorf("got it parked %d times, status %+v, want once", g.of(1), o.Status(7))
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		g.lie(func() { g.hold = make(chan struct{}) })
		o.Add(w.add(2, 7))
		pass(3 * time.Second)
		o.Rested(ctx) // ctx is over: it does not wait for ever
		close(g.hold)
	})
}

// TestParkingThatFailsCostsNothing: the copy waits here, is probed as without
// parking, and parking is tried again, ever less often.
func TestParkingThatFailsCostsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*garage)
		most  int // tries in a day
	}{
		"no way":          {func(g *garage) { g.err = errors.New("away") }, 40},
		"not parked":      {func(g *garage) { g.err = ErrNoPark }, 40},
		"full":            {func(g *garage) { g.each = map[int64]error{1: ErrFull} }, 40},
		"the wrong count": {func(g *garage) { g.err = errNoCells }, 40},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
				c.spoil(g)
				w.add(1, 7)
				o := w.startParking(g, time.Minute)
				pass(24 * time.Hour)
				if n := g.of(1); n < 5 || n > c.most {
					t.Errorf("got %d tries in a day, want 5 to %d", n, c.most)
				}
				if n := len(w.of(1)); n < 60 {
					t.Errorf("got %d offers in a day, want those to any silent device", n)
				}
				if st := o.Status(7); st.Kept != 0 || st.Waiting != 1 {
					t.Errorf("got status %+v, want it to wait here", st)
				}
				g.lie(func() { g.err, g.each = nil, nil })
				pass(3 * time.Hour)
				if st := o.Status(7); st.Kept != 1 {
					t.Errorf("got status %+v, want it parked once that works", st)
				}
			})
		})
	}
}

// TestSealedAgainIsParkedAgain: what is parked of a copy may open no more.
func TestSealedAgainIsParkedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week}
		it := w.add(1, 7)
		o := w.startParking(g, time.Minute)
		pass(5 * time.Minute)
		o.Add(it) // as convo says that it was sealed again: not kept
		pass(5 * time.Minute)
		if g.of(1) != 2 {
			t.Errorf("got it parked %d times, want twice", g.of(1))
		}
	})
}

// TestAckedWhileItIsParked: the answer to a parking finds nothing left of a row.
func TestAckedWhileItIsParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, g := newWorld(t, func(try) answer { return nobodyIn }), &garage{life: week, hold: make(chan struct{})}
		w.add(1, 7)
		o := w.startParking(g, 0)
		pass(2 * time.Second)
		o.Remove(1)
		o.Add(w.add(2, 7))
		close(g.hold)
		pass(5 * time.Second)
		if st := o.Status(7); st.Waiting != 1 || st.Kept != 1 || g.of(1) != 1 {
			t.Errorf("got status %+v, want the second copy alone, kept", st)
		}
	})
}
