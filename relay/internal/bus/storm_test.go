package bus_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestALateOwnerCausesNoStorm: an owner whose answers do not come is sent the
// set ever less often, the other owners hear nothing of it, and when it answers
// again all is well.
func TestALateOwnerCausesNoStorm(t *testing.T) {
	const register, registered = 8, 11 // kinds
	synctest.Test(t, func(t *testing.T) {
		s := new(wires)
		w := newWorld(t, 1, s.link)
		w.together(3)
		for range 60 {
			w.nodes[0].watch(address(), 0)
		}
		a := address()
		w.nodes[0].watch(a, 0)
		w.until("it is counted", func() bool { return w.nodes[1].complete(a).count == 1 })
		var sets [3]int // of node 0, by the receiver
		s.mu.Lock()
		s.lose = func(from, to int, b []byte) bool {
			if from == 0 && b[0] == register {
				sets[to]++
			}
			return from == 1 && to == 0 && b[0] == registered
		}
		s.mu.Unlock()
		watches := 30 // some of them at each owner
		for range watches {
			w.nodes[0].watch(address(), 0)
		}
		s.mu.Lock()
		sets = [3]int{}
		s.mu.Unlock()
		time.Sleep(2 * time.Minute)
		s.mu.Lock()
		if sets[1] == 0 || sets[1] > 15 {
			t.Errorf("got %d sets in two minutes to an owner that does not answer, want a few", sets[1])
		}
		if sets[2] > 0 {
			t.Errorf("got %d sets to an owner that answers, want none", sets[2])
		}
		s.lose = nil
		s.mu.Unlock()
		w.until("it is counted again", func() bool { return w.nodes[1].complete(a).count == 1 })
	})
}

// TestAnOwnerThatWasForgotten and did not forget takes the next set, however
// many registrations it had before.
func TestAnOwnerThatWasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(wires)
		w := newWorld(t, 1, s.link)
		w.together(3)
		for range 300 {
			w.nodes[0].watch(address(), 0)
		}
		a := address()
		w.nodes[0].watch(a, 0)
		w.until("it is counted", func() bool { return w.nodes[1].complete(a).count == 1 })
		s.set(func(from, to int) bool { return from == 1 && to == 0 })
		w.until("it is forgotten", func() bool { return w.nodes[0].mesh.State().Nodes == 2 })
		s.set(nil)
		w.until("it is counted again", func() bool { return w.nodes[1].complete(a).count == 1 })
		w.until("everywhere", func() bool { return w.nodes[2].complete(a).count == 1 })
	})
}
