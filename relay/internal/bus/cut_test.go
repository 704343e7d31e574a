package bus_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/bus"
)

// severed is a link that knows when it is cut.
type severed struct {
	bus.Link
	cut *atomic.Bool
}

func (s severed) Cut() bool { return s.cut.Load() }

// TestAPutOfACutNodeIsToldOf: what is put at a node that reaches nobody is a
// lower bound, and who comes to another node afterwards finds it, or is told that
// the replay does not go back that far: after a short cut, in which nobody was
// forgotten, and after a long one.
func TestAPutOfACutNodeIsToldOf(t *testing.T) {
	for _, knows := range []bool{true, false} { // whether the link knows of the cut
		for _, long := range []time.Duration{2 * time.Second, 50 * time.Second} {
			virtual(t, func(t *testing.T, w *world, s *wires) {
				var cut atomic.Bool
				w.link = func(i int) bus.Link {
					if i == 0 {
						return severed{s.link(i), &cut}
					}
					return s.link(i)
				}
				w.together(2)
				a := address()
				time.Sleep(30 * time.Second)
				s.set(func(from, to int) bool { return true })
				cut.Store(knows)
				if got := w.nodes[0].mesh.State(); got.Cut != knows {
					t.Fatalf("got state %+v, want cut %v", got, knows)
				}
				time.Sleep(long)
				put := time.Now()
				got := <-w.nodes[0].put(a)
				if knows && got.complete {
					t.Error("got a complete answer of a node that is cut off")
				}
				s.set(nil)
				cut.Store(false)
				time.Sleep(3 * time.Second) // hellos tell of it
				x, reach := w.nodes[1].watch(a, 0)
				if since := time.Since(put); !slices.Contains(x.past, got.id) && reach >= since {
					t.Errorf("known %v, cut for %v: got reach %v and %d cells %v after the put of another, want it or a shorter reach", knows, long, reach, len(x.past), since)
				}
			})
		}
	}
}
