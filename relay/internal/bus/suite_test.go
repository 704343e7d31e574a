package bus_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"

	"github.com/tacet-chat/tacet/relay/internal/bus"
)

// suite is what every bus must do, whatever carries it and however many nodes
// there are.
var suite = []struct {
	name string
	run  func(t *testing.T, w *world, n int)
}{
	{"counts are the truth", countsAreTheTruth},
	{"the window is everywhere", theWindowIsEverywhere},
	{"a node leaves", aNodeLeaves},
	{"watchers come and go", watchersComeAndGo},
}

// modes are both ways to find the watchers.
var modes = []struct {
	name      string
	broadcast int
}{{"all to all", 0}, {"owners", 1}}

func TestSuiteInMemory(t *testing.T) {
	for _, mode := range modes {
		for _, n := range []int{2, 3, 5, 9} { // the last beyond eight
			for _, s := range suite {
				t.Run(mode.name+"/"+string(rune('0'+n))+" nodes/"+s.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, mode.broadcast, new(wires).link)
						w.exact = true
						s.run(t, w, n)
					})
				})
			}
		}
	}
}

// together starts nodes at one time and waits until they have met.
func (w *world) together(n int) {
	w.t.Helper()
	for range n {
		w.start(false)
	}
	var all sync.WaitGroup
	for _, x := range w.nodes {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			x.mesh.Join(ctx)
		})
	}
	all.Wait()
	w.until("all know all", func() bool {
		return !slices.ContainsFunc(w.nodes, func(x *node) bool { return x.mesh.State().Nodes != n })
	})
}

func countsAreTheTruth(t *testing.T, w *world, n int) {
	w.together(n)
	// Watchers on all nodes: quick, slow, too slow, silent, several, none.
	delays := []time.Duration{0, 300 * time.Millisecond, 1200 * time.Millisecond, 2 * time.Second, -1}
	var all []wire.Address
	for i := range 12 {
		a := address()
		for k, x := range w.nodes {
			for d := range (i + k) % 3 {
				x.watch(a, delays[(i+k+d)%len(delays)])
			}
		}
		all = append(all, a)
	}
	all = append(all, address()) // nobody's
	for _, x := range w.nodes {
		x.complete(all[0])
	}
	var puts []<-chan answer
	for range 4 {
		for _, a := range all {
			for _, x := range w.nodes {
				puts = append(puts, x.put(a))
			}
		}
	}
	complete := 0
	for _, c := range puts {
		got := <-c
		if got.complete {
			complete++
		}
		w.check(got)
	}
	if complete == 0 || w.exact && complete < len(puts) {
		t.Errorf("got %d of %d answers complete on a quiet bus", complete, len(puts))
	}
	t.Logf("%d of %d complete", complete, len(puts))
}

func theWindowIsEverywhere(t *testing.T, w *world, n int) {
	w.together(n)
	a := address()
	want := []uint64{}
	for _, x := range w.nodes {
		got := x.complete(a)
		want = append(want, got.id)
	}
	for _, x := range w.nodes {
		tries := 0
		w.until("a device that comes there finds all cells", func() bool {
			x.unwatch(a)
			seen, reach := x.watch(a, 0)
			if tries++; w.exact && tries > 1 {
				t.Fatal("it took more than one try")
			}
			if reach < 0 || reach > window.Span {
				t.Errorf("got reach %v", reach)
			}
			return !slices.ContainsFunc(want, func(id uint64) bool { return !slices.Contains(seen.past, id) })
		})
		x.unwatch(a)
	}
}

func aNodeLeaves(t *testing.T, w *world, n int) {
	w.together(n)
	a := address()
	for _, x := range w.nodes {
		x.watch(a, 0)
	}
	w.until("all are counted", func() bool { return w.nodes[0].complete(a).count == n })
	last := w.nodes[n-1]
	last.leave()
	if last.err != nil {
		t.Errorf("leaving: got %v", last.err)
	}
	for _, x := range w.nodes[:n-1] {
		w.until("its leaving is known", func() bool { return x.mesh.State().Nodes == n-1 })
	}
	w.until("the others are counted", func() bool { return w.nodes[0].complete(a).count == n-1 })
}

func watchersComeAndGo(t *testing.T, w *world, n int) {
	w.together(n)
	a := address()
	w.nodes[0].complete(a)
	for i, x := range w.nodes {
		x.watch(a, 0)
		w.until("the new watcher is counted", func() bool { return w.nodes[0].complete(a).count == i+1 })
	}
	for i, x := range w.nodes {
		x.unwatch(a)
		w.until("it is not counted any more", func() bool { return w.nodes[n-1].complete(a).count == n-1-i })
	}
}

var _ bus.Node = (*node)(nil)
