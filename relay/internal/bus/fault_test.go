package bus_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// virtual runs a test over wires in a bubble of its own time, in both modes.
func virtual(t *testing.T, test func(t *testing.T, w *world, s *wires)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(wires)
				test(t, newWorld(t, mode.broadcast, s.link), s)
			})
		})
	}
}

// TestJoiningMakesAPutIncomplete: who comes between receipt and answer never
// makes a count too high, and the answer says that it may be too low.
func TestJoiningMakesAPutIncomplete(t *testing.T) {
	virtual(t, func(t *testing.T, w *world, _ *wires) {
		w.together(2)
		a := address()
		w.nodes[1].watch(a, 0)
		w.until("it is counted", func() bool { return w.nodes[0].complete(a).count == 1 })
		c := w.nodes[0].put(a)
		time.Sleep(500 * time.Millisecond)
		w.start(false).watch(a, 0)
		got := <-c
		w.check(got)
		if got.complete {
			t.Error("got a complete answer though a node joined in between")
		}
	})
}

// TestASilentNode stays known for thirty seconds, in which answers are lower
// bounds, and is met again when it comes back.
func TestASilentNode(t *testing.T) {
	virtual(t, func(t *testing.T, w *world, s *wires) {
		w.together(3)
		a := address()
		for _, x := range w.nodes {
			x.watch(a, 0)
		}
		w.until("all are counted", func() bool { return w.nodes[0].complete(a).count == 3 })
		for _, one := range []string{"both ways", "only from it", "only to it"} {
			s.set(func(from, to int) bool {
				return from == 2 && to != 2 && one != "only to it" || to == 2 && from != 2 && one != "only from it"
			})
			begun := time.Now()
			for time.Since(begun) < 20*time.Second {
				got := <-w.nodes[0].put(a)
				w.check(got)
				// In the mode of owners an address may be the business of others.
				if got.complete && one != "only to it" && w.broadcast == 0 {
					t.Fatalf("%s: got a complete answer %v after a node fell silent", one, time.Since(begun))
				}
			}
			if st := w.nodes[0].mesh.State(); one != "only to it" && (st.Nodes != 3 || st.Silent != 1) {
				t.Errorf("%s: got state %+v, want 3 nodes of which 1 is silent", one, st)
			}
			for time.Since(begun) < 50*time.Second {
				w.check(<-w.nodes[0].put(a))
				w.check(<-w.nodes[2].put(a))
			}
			if one != "only to it" {
				if got := <-w.nodes[0].put(a); !got.complete || got.count != 2 {
					t.Errorf("%s: got %d, complete %v after it was forgotten; want the two that are left", one, got.count, got.complete)
				}
			}
			s.set(nil)
			w.until("it is counted again", func() bool { return w.nodes[0].complete(a).count == 3 })
		}
	})
}

// TestACrashedNode that starts again is another one.
func TestACrashedNode(t *testing.T) {
	virtual(t, func(t *testing.T, w *world, _ *wires) {
		w.together(3)
		a := address()
		w.nodes[2].watch(a, 700*time.Millisecond)
		w.until("it is counted", func() bool { return w.nodes[0].complete(a).count == 1 })
		c := w.nodes[0].put(a)
		time.Sleep(800 * time.Millisecond) // echoed, and not told yet
		w.nodes[2].crash()
		got := <-c
		w.check(got)
		if got.complete {
			t.Error("got a complete answer from a node that died before it answered")
		}
		w.start(true).watch(a, 0)
		w.until("the new one is counted", func() bool { return w.nodes[0].complete(a).count == 1 })
		time.Sleep(time.Minute)
		if st := w.nodes[0].mesh.State(); st.Nodes != 3 || st.Silent != 0 {
			t.Errorf("got state %+v, want three nodes", st)
		}
	})
}

// TestRepeatedMessagesCountOnce: what carries the bus may repeat and reorder.
func TestRepeatedMessagesCountOnce(t *testing.T) {
	virtual(t, func(t *testing.T, w *world, s *wires) {
		w.together(4)
		a := address()
		for _, x := range w.nodes {
			x.watch(a, 100*time.Millisecond)
		}
		s.mu.Lock()
		s.twice = true
		s.mu.Unlock()
		for range 100 {
			for _, x := range w.nodes {
				w.check(<-x.put(a))
			}
		}
	})
}

// TestLossShortensTheReach: a node that missed a cell says so to who comes.
func TestLossShortensTheReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(wires)
		w := newWorld(t, 0, s.link)
		w.together(2)
		a := address()
		time.Sleep(30 * time.Second)
		if _, reach := w.nodes[1].watch(a, 0); reach < 30*time.Second {
			t.Errorf("got reach %v on a quiet bus, want more than 30 s", reach)
		}
		s.set(func(from, to int) bool { return true })
		<-w.nodes[0].put(address())
		s.set(nil)
		time.Sleep(2 * time.Second) // a hello tells of it
		if _, reach := w.nodes[1].watch(a, 0); reach > 3*time.Second {
			t.Errorf("got reach %v after a cell was missed, want at most 3 s", reach)
		}
	})
}

// TestAnythingMayHappen lets nodes come, leave, crash and lose each other, both
// ways or one, while watchers move and cells are put: no count is above the
// truth, and each complete one is it.
func TestAnythingMayHappen(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	complete, all := 0, 0
	for seed := range rounds {
		for _, broadcast := range []int{0, 1, 3} {
			t.Run(fmt.Sprint(seed, "/", broadcast), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, n := anything(t, rand.New(rand.NewPCG(uint64(seed), uint64(broadcast))), broadcast)
					complete, all = complete+c, all+n
				})
			})
		}
	}
	if complete < all/10 {
		t.Errorf("got %d of %d answers complete: nothing was tested", complete, all)
	}
	t.Logf("%d of %d answers complete", complete, all)
}

func anything(t *testing.T, r *rand.Rand, broadcast int) (complete, all int) {
	s := new(wires)
	w := newWorld(t, broadcast, s.link)
	w.together(3)
	live := append([]*node{}, w.nodes...)
	addresses := make([]wire.Address, 8)
	for i := range addresses {
		addresses[i] = address()
	}
	var puts []<-chan answer
	for range 400 {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		x, a := live[r.IntN(len(live))], addresses[r.IntN(len(addresses))]
		switch k := r.IntN(100); {
		case k < 60:
			puts = append(puts, x.put(a))
		case k < 75:
			x.watch(a, []time.Duration{0, 200 * time.Millisecond, 1300 * time.Millisecond, 3 * time.Second, -1}[r.IntN(5)])
		case k < 85:
			x.unwatch(a)
		case k < 88 && len(live) < 6:
			live = append(live, w.start(r.IntN(2) == 0))
		case k < 91 && len(live) > 2:
			i := r.IntN(len(live))
			if r.IntN(2) == 0 {
				live[i].leave()
			} else {
				live[i].crash()
			}
			live = append(live[:i:i], live[i+1:]...)
		case k < 94:
			p, q := r.IntN(len(w.nodes)), r.IntN(len(w.nodes))
			oneWay := r.IntN(2) == 0
			s.set(func(from, to int) bool { return from == p && to == q || !oneWay && from == q && to == p })
			time.Sleep(time.Duration(r.IntN(45)) * time.Second)
		case k < 97:
			s.set(nil)
		case k < 98:
			time.Sleep(35 * time.Second)
		}
	}
	for _, c := range puts {
		got := <-c
		w.check(got)
		all++
		if got.complete {
			complete++
		}
	}
	return complete, all
}

// TestTheCarrierSeesNothing searches all that is carried for addresses and cells.
func TestTheCarrierSeesNothing(t *testing.T) {
	virtual(t, func(t *testing.T, w *world, s *wires) {
		carried := map[uint64]bool{} // every 8 bytes, wherever they begin
		size := 0
		s.seen = func(_ bus.ID, b []byte) {
			size += len(b)
			for i := 0; i+8 <= len(b); i++ {
				carried[binary.BigEndian.Uint64(b[i:])] = true
			}
		}
		w.keep = true
		w.together(3)
		a := address()
		w.nodes[1].watch(a, 0)
		w.nodes[2].watch(a, 0)
		w.until("all are counted", func() bool { return w.nodes[0].complete(a).count == 2 })
		w.nodes[1].unwatch(a)
		w.nodes[0].complete(a)
		s.mu.Lock()
		defer s.mu.Unlock()
		if size < len(w.kept)*window.EntrySize {
			t.Fatalf("got %d bytes in all for %d cells: nothing was carried", size, len(w.kept))
		}
		for _, e := range w.kept {
			for i := 0; i+8 <= len(e); i += 8 {
				if i >= wire.AddressSize && i < wire.AddressSize+8 {
					continue // the number of the cell, which is no secret and mostly zeros
				}
				if !carried[binary.BigEndian.Uint64(e[i:])] {
					continue
				}
				if i < len(a) {
					t.Error("a part of an address can be read")
				} else {
					t.Error("a part of a cell can be read")
				}
			}
		}
	})
}
