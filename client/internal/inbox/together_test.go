package inbox

import (
	"testing"
	"time"
)

// TestTwoPeriodsThatBreakTogetherComeBackApart loses the network while two periods
// are watched, before the boundary and after it: in neither case does a relay see
// both come back, which would tell that they are one device's.
func TestTwoPeriodsThatBreakTogetherComeBackApart(t *testing.T) {
	var before, behind, atOnce int
	for i := range 40 {
		after := i%2 == 1
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 1, 2)
			w.start()
			p := period() + 1
			boundary := time.Unix(int64(p)*600, 0)
			pass(time.Until(boundary.Add(-31 * time.Second)))
			if after {
				pass(61 * time.Second) // before any watch closes
			}
			if len(w.running(p-1)) != 1 || len(w.running(p)) != 1 {
				return // one time in 60 the next period opens later than this
			}
			if after {
				behind++
			} else {
				before++
			}
			broke := time.Now()
			old, next := w.shared(p-1), w.shared(p)
			old.broken <- errLine
			next.broken <- errLine
			pass(2 * time.Second)
			if after {
				if len(w.running(p-1)) != 0 || len(w.running(p)) != 1 {
					t.Errorf("after the boundary got %d watches of the old period and %d of the present, want 0 and 1", len(w.running(p-1)), len(w.running(p)))
				}
			} else if len(w.running(p-1)) != 1 {
				t.Errorf("before the boundary the present period is not watched again")
			}
			pass(time.Until(boundary.Add(35 * time.Second)))
			again := w.shared(p)
			if again == nil || again == next {
				t.Fatal("the next period is not watched again")
			}
			if !after && again.opened.After(boundary.Add(2*time.Second)) {
				t.Errorf("the next period came back %v after its begin", again.opened.Sub(boundary))
			}
			if !after && again.opened.Sub(broke) < 2*time.Second {
				atOnce++ // by chance in 1 of 15, not as a rule
			}
		})
	}
	if atOnce > before/2 || before < 10 || behind < 10 {
		t.Errorf("got %d cases before and %d after the boundary; in %d of the former both came back at once", before, behind, atOnce)
	}
}
