//go:build unix

package lab

import (
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
)

// liveOnly is the configuration of a node without blobs.
func liveOnly(int) string { return "roles = ['live']\n" }

// crowd is devices that come, go and move between nodes, and putters at each node.
type crowd struct {
	*cluster
	*truths
	flats   []flat
	stop    chan struct{}
	tasks   sync.WaitGroup
	mu      sync.Mutex // guards sums
	sums    sums
	devices []*roamer
}

// gather begins: some devices for each address, and a putter for each node.
func gather(t *testing.T, c *cluster) *crowd {
	t.Helper()
	w := &crowd{cluster: c, truths: newTruths(t), stop: make(chan struct{})}
	for range 5 {
		w.flats = append(w.flats, newFlat(t))
	}
	w.flats = append(w.flats, newFlat(t)) // nobody's
	for i := range 8 {
		w.devices = append(w.devices, w.device(i%len(c.nodes), i%5))
	}
	for _, h := range c.nodes {
		r := c.open(h.Addr())
		for k := range 10 {
			w.tasks.Go(func() { w.puts(t, r, fmt.Sprint(k)) })
		}
	}
	t.Cleanup(w.rest)
	return w
}

// device starts one that echoes all it gets live.
func (w *crowd) device(node, n int) *roamer {
	return w.cluster.watch(w.nodes[node].Addr(), w.flats[n], false, func(d *roamer, c *transport.Cell, seen func()) {
		w.truths.echo(d, c)
		seen()
	}, w.truths.ended)
}

// puts puts at one node, one cell after the other, to random addresses.
func (w *crowd) puts(t *testing.T, r *relay.Relay, isolate string) {
	for {
		select {
		case <-w.stop:
			return
		case <-time.After(time.Duration(mathrand.IntN(200)) * time.Millisecond):
		}
		var s sums
		w.truths.put(t, w.ctx, r, w.flats[mathrand.IntN(len(w.flats))].address, isolate, &s)
		w.mu.Lock()
		w.sums.puts += s.puts
		w.sums.failed += s.failed
		w.sums.complete += s.complete
		w.sums.shaky += s.shaky
		w.mu.Unlock()
	}
}

// rest ends all putters.
func (w *crowd) rest() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.tasks.Wait()
}

// more waits until so many more puts were answered complete.
func (w *crowd) more(n int) {
	complete := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.sums.complete
	}
	want := complete() + n
	w.until(fmt.Sprintf("%d more answers are complete", n), func() bool { return complete() >= want })
}

// move lets some devices go elsewhere.
func (w *crowd) move() {
	for range 3 {
		i := mathrand.IntN(len(w.devices))
		w.devices[i].stop()
		w.devices[i] = w.device(mathrand.IntN(len(w.nodes)), mathrand.IntN(5))
	}
}

// TestClusterCounts runs three nodes as processes, with routes between them.
// Devices move; one node is killed and comes again, one is frozen for a while,
// one is stopped in good order: no count is ever above the truth, and each that
// is complete is the truth.
func TestClusterCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: starts three relays and takes half a minute")
	}
	t.Parallel()
	c := newCluster(t, 3, liveOnly, nil)
	w := gather(t, c)
	w.more(20)
	w.move()
	w.more(20)

	c.nodes[2].Kill()
	w.move()
	c.again(2)
	w.more(10)

	p := c.nodes[1].process()
	if err := p.freeze(); err != nil {
		t.Fatal(err)
	}
	lower := w.incomplete(t, 0)
	if err := p.thaw(); err != nil {
		t.Fatal(err)
	}
	if !lower {
		t.Error("got only complete answers while a node was frozen")
	}
	w.more(10)

	if err := c.nodes[2].Stop(); err != nil {
		t.Errorf("stopping a node: %v", err)
	}
	w.move()
	c.again(2)
	w.more(20)
	w.rest()
	t.Logf("%+v", w.sums)
}

// incomplete puts at a node until an answer is a lower bound, and reports whether
// one of the first dozen was. A put that got no answer says nothing.
func (w *crowd) incomplete(t *testing.T, node int) bool {
	r := w.open(w.nodes[node].Addr())
	for answers, tries := 0, 0; answers < 12 && tries < 200; tries++ {
		var s sums
		got, ok := w.truths.put(t, w.ctx, r, w.flats[0].address, "incomplete", &s)
		if ok && !got.Complete {
			return true
		}
		if ok {
			answers++
		}
	}
	w.describe("an answer is a lower bound")
	return false
}

// TestClusterPartition puts a wall between one node and the NATS server that
// joins them, through which nothing comes for a while.
func TestClusterPartition(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: starts three relays and takes half a minute")
	}
	t.Parallel()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not listen")
	}
	var walls []*wall
	var at []string
	for range 3 {
		walls = append(walls, newWall(t, s.Addr().String()))
		at = append(at, walls[len(walls)-1].ln.Addr().String())
	}
	c := newCluster(t, 3, liveOnly, at)
	w := gather(t, c)
	w.more(20)
	for _, node := range []int{2, 0} {
		walls[node].deaf.Store(true)
		for _, at := range []int{node, 1} {
			if !w.incomplete(t, at) {
				t.Errorf("got only complete answers at node %d while node %d was cut off", at, node)
			}
		}
		w.move()
		walls[node].deaf.Store(false)
		for i := range c.nodes {
			c.met(i, 3)
		}
		w.more(20)
	}
	w.rest()
	t.Logf("%+v", w.sums)
}

// TestClusterLosesNothing: two people talk by the one name of three nodes, which
// are killed, or stopped and started again, all the while.
func TestClusterLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: starts five processes and takes half a minute")
	}
	c := newCluster(t, 3, func(i int) string {
		if i == 0 {
			return "roles = ['live', 'blob']\n"
		}
		return liveOnly(i)
	}, nil)
	c.lobby.only.Store(1) // invites are kept by the first
	d := raiseAt(t, StageOptions{AckMean: 200 * time.Millisecond}, c.lobby.ln.Addr().String(), long(60, 1000))
	c.lobby.only.Store(0)
	for _, k := range d.talks {
		k.begin(d.ctx)
	}
	for d.kills < long(4, 40) {
		d.pause(d.upTo(2 * time.Second))
		d.kills++
		h := c.nodes[d.dice.IntN(3)]
		if d.kills%2 == 0 {
			if err := h.Stop(); err != nil {
				t.Errorf("stopping a node: %v", err)
			}
		} else {
			h.Kill()
		}
		d.pause(d.upTo(400 * time.Millisecond))
		if err := h.Start(d.ctx); err != nil {
			t.Fatal(err)
		}
	}
	d.calm()
	d.reckon()
}

// long returns how much of something a test does: all of it with TACET_LONG=1.
func long(usual, all int) int {
	if os.Getenv("TACET_LONG") == "1" {
		return all
	}
	return usual
}

// TestClusterCarriesAll puts many cells by the one name while nodes are killed,
// frozen and stopped, each again until its device has it. Every cell gets there
// within a number of tries, and what an answer says was echoed is there.
func TestClusterCarriesAll(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: starts three relays and takes half a minute")
	}
	t.Parallel()
	n := long(2000, 100_000)
	c := newCluster(t, 3, liveOnly, nil)
	const pairs, mostTries = 20, 200
	type box struct {
		flat  flat
		relay *relay.Relay
		mu    sync.Mutex // guards what follows
		got   map[uint64]int
		again int
	}
	boxes := make([]*box, pairs)
	l := newTruths(t)
	for i := range boxes {
		b := &box{got: map[uint64]int{}, flat: newFlat(t), relay: c.open(c.lobby.ln.Addr().String())}
		boxes[i] = b
		c.watch(c.lobby.ln.Addr().String(), b.flat, true, func(_ *roamer, cell *transport.Cell, seen func()) {
			id := numberOf(cell)
			b.mu.Lock()
			b.got[id]++
			if b.got[id] > 1 {
				b.again++
			}
			b.mu.Unlock()
			seen()
		}, nil)
	}
	began := time.Now()
	var work sync.WaitGroup
	var retries atomic.Int64
	var next atomic.Int64
	for k := range min(n/4, 1600) {
		b := boxes[k%pairs]
		work.Go(func() {
			for next.Add(1) <= int64(n) {
				id, cell := l.cell()
				for try := 0; ; try++ {
					if try > 0 {
						retries.Add(1)
					}
					said, err := b.relay.Put(c.ctx, transport.Put{Address: b.flat.address, ID: transport.CellID(cell[8:24]), Cell: cell, Isolate: fmt.Sprint(k / pairs % 4)})
					b.mu.Lock()
					ok := b.got[id] > 0 // its ack
					b.mu.Unlock()
					if ok || c.ctx.Err() != nil {
						break
					}
					if err == nil && said.Delivered > 0 {
						t.Error("an answer counts a device that has not got the cell")
						break
					}
					if try == mostTries {
						t.Errorf("a cell did not get there in %d tries", mostTries)
						break
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	kills := 0
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(time.Duration(1000+mathrand.IntN(3000)) * time.Millisecond):
			h := c.nodes[mathrand.IntN(3)]
			kills++
			switch mathrand.IntN(3) {
			case 0:
				h.Kill()
			case 1:
				if err := h.Stop(); err != nil {
					t.Errorf("stopping a node: %v", err)
				}
			case 2:
				p := h.process()
				p.freeze()
				select {
				case <-time.After(2 * time.Second):
				case <-done:
				}
				p.thaw()
				continue
			}
			if err := h.Start(c.ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, again := 0, 0
	for _, b := range boxes {
		b.mu.Lock()
		got += len(b.got)
		again += b.again
		b.mu.Unlock()
	}
	if got != n {
		t.Errorf("got %d cells, want %d: %d were lost", got, n, n-got)
	}
	t.Logf("%d cells, %d lost, %d came again and were known, %d put again, %d nodes killed, stopped or frozen, %.1f s",
		n, n-got, again, retries.Load(), kills, time.Since(began).Seconds())
}
