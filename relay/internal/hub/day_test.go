package hub

import (
	"crypto/ed25519"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// device is a client that moves from period to period as it should.
type device struct {
	w    *world
	r    *rand.Rand // its own
	all  sync.WaitGroup
	good sync.Map // cells that came, by number
}

// connection is one watch connection of a device.
type connection struct {
	*watching
	set []ed25519.PrivateKey
}

// watch opens a connection for a period, with addresses nobody has seen. It
// answers pings and echoes what comes until it is closed.
func (d *device) watch(period uint64) *connection {
	nc := d.w.dial()
	d.w.shake(nc, "/v1/watch")
	c := &connection{watching: &watching{peer: &peer{t: d.w.t, w: d.w, nc: nc, frames: make(chan received, 8)}}, set: owners(d.w.t, 16)}
	c.pong.Store(true)
	go c.listen()
	c.server = [32]byte(c.want(ws.Binary).p[1:])
	c.send(c.frame(wire.FlagReplay, period, c.set...))
	c.watched(16)
	d.all.Go(func() {
		for f := range c.frames {
			if f.op == ws.Binary && len(f.p) == wire.DeliverSize {
				d.good.Store(binary.BigEndian.Uint64(f.p[41:]), true)
				c.write(ws.Binary, append([]byte{byte(wire.FrameEcho)}, f.p[1:9]...))
			}
		}
	})
	return c
}

// TestADayLeavesNothing has devices change connections at 48 boundaries, each at
// its own moments, some of them forgetful, with cells between: after each, the
// hub holds what the devices of that moment need, to the last timer, and at the
// end no more memory than in the morning.
//
// spec: relay-api.md#watch
func TestADayLeavesNothing(t *testing.T) {
	periods, devices, live := 48, 12, 30*time.Minute
	if testing.Short() {
		periods, devices, live = 8, 6, 10*time.Minute
	}
	virtual(t, Config{Live: live, Ping: 240 * time.Second, WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
		time.Sleep(time.Until(time.Now().Truncate(live).Add(live + live/2))) // the middle of one
		first := w.period()
		var moving sync.WaitGroup
		for i := range devices {
			d := &device{w: w, r: rand.New(rand.NewPCG(1, uint64(i)))}
			moving.Go(func() { d.day(first, periods, i) })
		}
		var morning int
		for n := range periods {
			time.Sleep(live) // the middle of the next: all have moved
			synctest.Wait()
			h := w.hub
			conns, addresses, timers := h.holds()
			forgotten := devices / 6 * min(n+1, 2) // each forgetful one is ended two periods after its own
			if want := devices + forgotten; conns != want || addresses != 16*want || timers != want {
				t.Errorf("period %d: got %d connections, %d addresses, %d timers; want %d, %d, %d", n, conns, addresses, timers, want, 16*want, want)
			}
			if n == 5 {
				morning = heap()
			}
		}
		evening := heap()
		t.Logf("%d KiB of heap in the morning, %d in the evening", morning>>10, evening>>10)
		if grown := evening - morning; grown > 256<<10 {
			t.Errorf("got %d bytes of heap more than in the morning", grown)
		}
		w.stop()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		w.ended <- nil
		moving.Wait()
	})
}

// day is a device's day: it watches the running period, opens the next one's
// connection 30 to 300 s before the boundary and closes the old one as long
// after it, unless it is of the forgetful sort. In each period somebody puts it
// a cell, which must come.
func (d *device) day(first uint64, periods, number int) {
	between := func() time.Duration {
		return 30*time.Second + time.Duration(d.r.Int64N(int64(270*time.Second)))
	}
	boundary := func(period uint64) time.Time {
		return time.Unix(int64(period)*int64(d.w.hub.cfg.Live/time.Second), 0)
	}
	old := d.watch(first)
	for n := range periods {
		period := first + uint64(n) + 1
		d.put(old.set[d.r.IntN(16)], uint64(n))
		time.Sleep(time.Until(boundary(period).Add(-between())))
		c := d.watch(period)
		time.Sleep(time.Until(boundary(period).Add(between())))
		if _, came := d.good.LoadAndDelete(uint64(n)); !came {
			d.w.t.Errorf("device %d: the cell of period %d did not come", number, n)
		}
		if number%6 != 0 {
			old.write(ws.Close, nil)
			old.nc.Close()
		}
		old = c
	}
	d.all.Wait() // the relay ends the last
	old.nc.Close()
}

// put puts a cell from a connection of its own, as a client does.
func (d *device) put(k ed25519.PrivateKey, number uint64) {
	nc := d.w.dial()
	d.w.shake(nc, "/v1/put")
	p := &peer{t: d.w.t, w: d.w, nc: nc, frames: make(chan received, 8)}
	go p.listen()
	p.send(putFrame(k, number))
	if got := p.answer(number); got != 1 {
		d.w.t.Errorf("got %d delivered, want 1", got)
	}
	p.write(ws.Close, nil)
	p.end()
	nc.Close()
}

// holds counts what a hub holds for others.
func (h *Hub) holds() (conns, addresses, timers int) {
	h.mu.Lock()
	conns = len(h.conns)
	h.mu.Unlock()
	for i := range h.table.shards {
		s := &h.table.shards[i]
		s.mu.Lock()
		addresses += len(s.one) + len(s.many)
		s.mu.Unlock()
	}
	for _, w := range h.wheels {
		w.mu.Lock()
		for i := range w.slots {
			for t := w.slots[i].next; t != &w.slots[i]; t = t.next {
				timers++
			}
		}
		w.mu.Unlock()
	}
	return conns, addresses, timers
}

// heap is what lives on the heap, in bytes, without what pools could let go.
func heap() int {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
