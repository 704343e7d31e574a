package hub

import (
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

// TestWheelAgainstAList sets, moves and clears timers at random and compares
// what fires when with a list.
func TestWheelAgainstAList(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newWheel()
		timers := make([]timer, 60)
		want := map[*timer]int64{} // tick
		now := int64(0)
		for range 2000 {
			t1 := &timers[r.IntN(len(timers))]
			switch r.IntN(4) {
			case 0, 1:
				at := now + r.Int64N(int64(30*time.Second)) // far beyond one turn
				w.arm(t1, at)
				want[t1] = max(due(at), now/tick+1)
			case 2:
				w.disarm(t1)
				delete(want, t1)
			case 3:
				now += r.Int64N(1 << r.IntN(36)) // up to 68 s: several turns at once
				var due []*timer
				for t1, at := range want {
					if at <= now/tick {
						due = append(due, t1)
						delete(want, t1)
					}
				}
				got := w.pop(now, nil)
				order := func(l []*timer) { sort.Slice(l, func(i, j int) bool { return l[i].at < l[j].at }) }
				order(due)
				order(got)
				if len(got) != len(due) {
					t.Fatalf("seed %d: got %d timers, want %d", seed, len(got), len(due))
				}
				for i := range got {
					if got[i].at != due[i].at {
						t.Fatalf("seed %d: got a timer of tick %d, want %d", seed, got[i].at, due[i].at)
					}
				}
			}
			wait := int64(w.wait(now))
			if wait < 0 || wait > nap {
				t.Fatalf("seed %d: got a wait of %v", seed, time.Duration(wait))
			}
			for _, at := range want {
				if at*tick < now+wait {
					t.Fatalf("seed %d: got a wait of %v, want none beyond %v", seed, time.Duration(wait), time.Duration(at*tick-now))
				}
			}
		}
	}
}

func TestIdleWheelSleeps(t *testing.T) {
	w := newWheel()
	w.pop(int64(time.Hour), nil)
	if got := w.wait(int64(time.Hour)); int64(got) != nap {
		t.Errorf("got a wait of %v with nothing to do, want %v", got, time.Duration(nap))
	}
}
