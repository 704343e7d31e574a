package hub

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

func TestReplayBringsTheLastMinute(t *testing.T) {
	virtual(t, Config{WindowBytes: 1 << 20}, func(t *testing.T, w *world) {
		k, other := owner(t), owner(t)
		time.Sleep(10 * time.Second)
		p := w.open("/v1/put")
		p.pong.Store(true)
		for n := range uint64(12) { // at 10, 20 … 120 s
			p.send(putFrame(k, n))
			p.send(putFrame(other, 100+n))
			p.answers(2)
			time.Sleep(8500 * time.Millisecond)
		}
		a := w.greeted() // at 130 s
		a.pong.Store(true)
		a.send(a.frame(wire.FlagReplay, w.period(), k))
		var nonces [][]byte
		for n := uint64(7); n < 12; n++ { // put at 80 s and later; that of 70 s has just aged
			nonces = append(nonces, a.cell(k, n))
		}
		if reach := a.watched(1); reach != 60 {
			t.Errorf("got reach %d, want 60", reach)
		}
		a.echo(nonces...)
		p.send(putFrame(k, 50)) // live cells follow
		a.echo(a.cell(k, 50))
		if got := p.answer(50); got != 1 {
			t.Errorf("got %d delivered, want 1: echoes of replayed cells count for nobody", got)
		}
		a.send(a.frame(0, w.period(), other)) // nothing unasked
		if reach := a.watched(2); reach != 0 {
			t.Errorf("got reach %d without replay, want 0", reach)
		}
	})
}

func TestReplayTellsItsReach(t *testing.T) {
	virtual(t, Config{WindowBytes: 30_000}, func(t *testing.T, w *world) { // one block of 16
		k := owner(t)
		time.Sleep(5 * time.Second)
		p := w.open("/v1/put")
		p.pong.Store(true)
		for n := range uint64(17) {
			p.send(putFrame(k, n))
			p.answer(n)
		}
		time.Sleep(2500 * time.Millisecond)
		a := w.greeted()
		a.send(a.frame(wire.FlagReplay, w.period(), k))
		a.cell(k, 16)
		// The last one that made room was put 1.5 s before the last, 5.5 s ago.
		if reach := a.watched(1); reach != 5 {
			t.Errorf("got reach %d, want 5", reach)
		}
	})
	virtual(t, Config{}, func(t *testing.T, w *world) {
		time.Sleep(5 * time.Second)
		a := w.greeted()
		a.send(a.frame(wire.FlagReplay, w.period(), owner(t)))
		if reach := a.watched(1); reach != 0 {
			t.Errorf("got reach %d without a window, want 0", reach)
		}
	})
}

// TestLongReplayGoesAtTheReadersPace: more than the queue may hold, to one who
// reads slowly, and live cells meanwhile. Nothing is lost, nobody is dropped,
// and what waits stays within its bound.
func TestLongReplayGoesAtTheReadersPace(t *testing.T) {
	virtual(t, Config{WindowBytes: 64 << 20}, func(t *testing.T, w *world) {
		const n = 750 // of one shard's 768
		k := owner(t)
		p := w.open("/v1/put")
		p.pong.Store(true)
		for i := range uint64(n) {
			p.send(putFrame(k, i))
		}
		p.answers(n)
		a := &watching{peer: w.openDeaf("/v1/watch")}
		g, err := readFrame(a.nc)
		if err != nil {
			t.Fatal(err)
		}
		a.server = [32]byte(g.p[1:])
		a.send(a.frame(wire.FlagReplay, w.period(), k))
		live := func(i uint64) {
			p.send(putFrame(k, n+i))
		}
		replayed, lived, watched := uint64(0), map[uint64]bool{}, false
		for i := uint64(0); !watched || len(lived) < 5; i++ {
			if i%100 == 50 && i/100 < 5 {
				live(i / 100)
			}
			time.Sleep(30 * time.Millisecond)
			f, err := readFrame(a.nc)
			if err != nil {
				t.Fatalf("after %d replayed: %v", replayed, err)
			}
			switch {
			case f.op == ws.Ping:
				a.write(ws.Pong, f.p)
			case f.p[0] == byte(wire.FrameWatched):
				watched = true
			default:
				id := binary.BigEndian.Uint64(f.p[41:])
				switch {
				case id >= n:
					lived[id] = true // once live, perhaps once replayed
				case id != replayed:
					t.Fatalf("got cell %d, want %d", id, replayed)
				default:
					replayed++
				}
			}
			w.hub.mu.Lock()
			for c := range w.hub.conns {
				c.mu.Lock()
				if _, ok := c.role.(*watcher); ok && c.queued > replayAhead+replayChunk*1400+10*1400 {
					t.Errorf("got %d bytes waiting during a replay", c.queued)
				}
				c.mu.Unlock()
			}
			w.hub.mu.Unlock()
		}
		if replayed != n {
			t.Errorf("got %d cells replayed, want %d", replayed, n)
		}
	})
}
