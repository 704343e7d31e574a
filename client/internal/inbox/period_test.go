package inbox

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// checkSets checks what a relay sees of the connections: one period on each, no
// name twice, sizes that are powers of two, no decoy twice.
func checkSets(t *testing.T, w *world, routes map[int64]bool, conns []*conn) {
	t.Helper()
	names := map[string]uint64{}
	foreign := map[transport.Address]string{} // decoys, and whose they are
	own := map[uint64]map[transport.Address]bool{}
	for _, c := range conns {
		p := c.watch.Period
		if q, ok := names[c.watch.Isolate]; ok && q != p {
			t.Errorf("got one isolation name for periods %d and %d", p, q)
		}
		names[c.watch.Isolate] = p
		if own[p] == nil {
			own[p] = map[transport.Address]bool{}
			for r := range routes {
				own[p][owned(r, p).Address] = true
			}
		}
		if n := len(c.set); n < 16 || n > 4096 || bits.OnesCount(uint(n)) != 1 {
			t.Errorf("got a set of %d, want a power of two from 16 to 4,096", n)
		}
		real := 0
		for _, a := range c.set {
			if own[p][a] {
				real++
				continue
			}
			if of, ok := foreign[a]; ok && of != c.watch.Isolate {
				t.Errorf("got one decoy, or an address of another period, on two watches")
			}
			foreign[a] = c.watch.Isolate
		}
		if r := w.alone(c); r != 0 && real != 1 {
			t.Errorf("contact route %d: got %d real addresses on its connection, want it alone", r, real)
		}
	}
}

func TestFiftyPeriods(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: hours of virtual time, which others race in minutes")
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
		w.routes[100], w.routes[101], w.routes[102] = true, true, true
		w.start()
		first := period()
		pass(50*live + live/2)
		last := period()
		conns := w.all()
		checkSets(t, w, w.routes, conns)

		// Every address of every period is watched from before its time to
		// after it, but for the start.
		for p := first; p <= last; p++ {
			begin, end := time.Unix(int64(p)*600, 0), time.Unix(int64(p+1)*600, 0)
			opened := map[time.Duration]bool{}
			for r := range w.routes {
				a := owned(r, p).Address
				var on []*conn
				for _, c := range conns {
					if slices.Contains(c.set, a) {
						on = append(on, c)
					}
				}
				if len(on) != 1 || on[0].watch.Period != p {
					t.Fatalf("route %d in period %d: got %d connections, want one of that period", r, p, len(on))
				}
				c := on[0]
				if p > first {
					if d := begin.Sub(c.opened); d < 30*time.Second || d > 90*time.Second {
						t.Errorf("period %d opened %v before it began, want 30 s to 90 s", p, d)
					}
					opened[begin.Sub(c.opened)] = true
				}
				if p < last {
					if d := c.ended.Sub(end); d < 30*time.Second || d > 90*time.Second {
						t.Errorf("period %d closed %v after its end, want 30 s to 90 s", p, d)
					}
				} else if !c.ended.IsZero() {
					t.Errorf("the present period is closed")
				}
			}
			if p > first && len(opened) != 4 {
				t.Errorf("period %d: got %d moments for 4 connections, want all to differ", p, len(opened))
			}
		}
		if got, want := len(conns), 4*int(last-first+1); got != want && got != want+4 { // and perhaps the next period
			t.Errorf("got %d connections, want %d", got, want)
		}
	})
}

func TestMomentsAreUniform(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: hours of virtual time, which others race in minutes")
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.start()
		pass(200 * live)
		var early, late [3]int // thirds of the 60 seconds
		for _, c := range w.all()[1:] {
			begin := time.Unix(int64(c.watch.Period)*600, 0)
			early[min(int((begin.Sub(c.opened)-30*time.Second)/(20*time.Second)), 2)]++
			if !c.ended.IsZero() {
				late[min(int((c.ended.Sub(begin.Add(live))-30*time.Second)/(20*time.Second)), 2)]++
			}
		}
		for i := range 3 {
			if early[i] < 40 || late[i] < 40 { // 66 each on average
				t.Errorf("got %v and %v of 200 moments per third, want about as many in each", early, late)
			}
		}
	})
}

func TestStartAtAnyMoment(t *testing.T) {
	for _, at := range []time.Duration{0, 20 * time.Second, 299 * time.Second, 301 * time.Second, 500 * time.Second, 569 * time.Second, 571 * time.Second, 599 * time.Second} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, 1)
				pass(at)
				p := period()
				begin := time.Now()
				w.start()
				pass(time.Second)
				if c := w.running(p); len(c) != 1 || !c[0].opened.Equal(begin) {
					t.Fatalf("got %d connections for the present period, want one at once", len(c))
				}
				for _, c := range w.all() {
					if c.watch.Period < p {
						t.Errorf("got the period before, want it left alone")
					}
				}
				time.Sleep(time.Until(time.Unix(int64(p+1)*600, 0)))
				if c := w.all(); len(c) != 2 || c[1].watch.Period != p+1 || !c[1].opened.After(begin) {
					t.Fatalf("at the boundary: got %d connections, want the next period's too, not opened together with the first", len(c))
				}
				pass(live)
				checkSets(t, w, w.routes, w.all())
			})
		})
	}
}

func TestSetIsShuffled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.start()
		pass(100 * live)
		where := map[int]int{}
		for _, c := range w.all() {
			where[slices.Index(c.set, owned(1, c.watch.Period).Address)]++
		}
		if len(where) < 12 {
			t.Errorf("got the real address at %d of 16 places in 100 sets, want nearly all", len(where))
		}
	})
}

func TestPadded(t *testing.T) {
	for n, want := range map[int]int{0: 16, 1: 16, 15: 16, 16: 16, 17: 32, 32: 32, 33: 64, 2049: 4096, 4096: 4096} {
		if got := padded(n); got != want {
			t.Errorf("padded(%d): got %d, want %d", n, got, want)
		}
	}
}

func TestNoContactsLookLikeSome(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		pass(time.Second)
		if c := w.shared(period()); len(c.set) != 16 {
			t.Errorf("got a set of %d, want 16", len(c.set))
		}
	})
}

func TestMoreThanOneConnectionHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		for r := range int64(transport.MaxWatched + 10) {
			w.routes[r+1] = false
		}
		w.start()
		pass(time.Second)
		conns := w.running(period())
		if len(conns) != 2 || len(conns[0].set)+len(conns[1].set) != 4096+16 {
			t.Fatalf("got %d connections, want two, of 4,096 and 16", len(conns))
		}
		all := map[transport.Address]bool{}
		for _, c := range conns {
			for _, a := range c.set {
				all[a] = true
			}
		}
		for r := range w.routes {
			if !all[owned(r, period()).Address] {
				t.Fatalf("route %d is not watched", r)
			}
		}
		if conns[0].watch.Isolate == conns[1].watch.Isolate {
			t.Error("got one isolation name for both, want two")
		}
	})
}

func TestSignedTimeThatIsInStepMovesNothing(t *testing.T) {
	for _, skew := range []time.Duration{-9 * time.Second, 0, 9 * time.Second} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1)
			w.skew = skew
			w.start()
			pass(live)
			if len(w.corrections()) != 0 {
				t.Errorf("skew of %v: got corrections %v, want none", skew, w.corrections())
			}
		})
	}
}

func TestSignedTimeMovesBoundaries(t *testing.T) {
	for _, skew := range []time.Duration{-live, -100 * time.Second, 100 * time.Second, live} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1)
			w.skew = skew
			w.start()
			pass(30 * live)
			if len(w.corrections()) != 1 || (w.corrections()[0]-skew).Abs() > time.Second {
				t.Fatalf("skew of %v: got corrections %v, want that one", skew, w.corrections())
			}
			conns := w.all()
			checkSets(t, w, w.routes, conns)
			for _, c := range conns[3:] {
				begin := time.Unix(int64(c.watch.Period)*600, 0).Add(-skew)
				if d := begin.Sub(c.opened); d < 29*time.Second || d > 91*time.Second {
					t.Errorf("skew of %v: period opened %v before it began, want 30 s to 90 s", skew, d)
				}
			}
			right := uint64(time.Now().Add(skew).Unix()) / 600
			if len(w.running(right)) != 1 {
				t.Errorf("skew of %v: the period of the corrected time is not watched", skew)
			}
		})
	}
}

func TestSignedTimeTooFarIsToldAndNotBelieved(t *testing.T) {
	for _, skew := range []time.Duration{-live - 2*time.Second, live + 2*time.Second, 1000 * time.Hour, -1 << 62, 1 << 62} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1)
			w.skew = skew
			w.start()
			pass(10 * live)
			if len(w.corrections()) != 0 {
				t.Errorf("skew of %v: got corrections %v, want none", skew, w.corrections())
			}
			var told int
			for _, s := range w.told() {
				if errors.Is(s.err, transport.ErrTime) {
					told++
				}
			}
			if told != 1 {
				t.Errorf("skew of %v: told %d times, want once", skew, told)
			}
			if len(w.running(period())) != 1 {
				t.Error("the period of the local clock is not watched")
			}
			w.running(period())[0].told <- time.Now().Unix() // all is well again
			pass(time.Second)
			w.running(period())[0].told <- 1 << 62
			pass(time.Second)
			if got := w.told(); !errors.Is(got[len(got)-1].err, transport.ErrTime) {
				t.Errorf("got %+v, want the second lie told too", got[len(got)-1])
			}
		})
	}
}

func TestSmallChangesOfTheCorrectionAreNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.skew = 60 * time.Second
		w.start()
		pass(time.Second)
		c := w.shared(period())
		for i := range int64(20) {
			c.told <- time.Now().Unix() + 58 + i%4
			pass(time.Second)
		}
		if len(w.corrections()) != 1 {
			t.Errorf("got corrections %v, want one", w.corrections())
		}
		c.told <- time.Now().Unix()
		pass(time.Second)
		if len(w.corrections()) != 2 || w.corrections()[1] != 0 {
			t.Errorf("got corrections %v, want the second to be none", w.corrections())
		}
	})
}

// A computer that slept finds another period when it wakes.
func TestClockOnTheWallMayJump(t *testing.T) {
	for _, jump := range []time.Duration{5*live + 100*time.Second, live, -live, -5*live - 100*time.Second} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1)
			w.silent = true
			n := w.start()
			pass(live + 10*time.Second) // in the overlap
			n.clock.mu.Lock()
			n.clock.offset = jump
			n.clock.mu.Unlock()
			pass(lookMax + time.Second) // nobody tells it
			unix := uint64(time.Now().Add(jump).Unix())
			now := unix / 600
			if len(w.running(now)) != 1 {
				t.Errorf("jump of %v: the new present is not watched", jump)
			}
			last := now // or the next, when its time has come
			if unix%600 >= 300 {
				last++
			}
			for _, c := range w.running(0) {
				if p := c.watch.Period; p+1 < now || p > last {
					t.Errorf("jump of %v: got period %d watched in period %d", jump, p, now)
				}
			}
			pass(2 * live)
			checkSets(t, w, w.routes, w.all())
			now = uint64(time.Now().Add(jump).Unix()) / 600
			if len(w.running(now)) != 1 {
				t.Errorf("jump of %v: got %d watches of the present later on, want 1", jump, len(w.running(now)))
			}
		})
	}
}
