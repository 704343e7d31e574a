package hub

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

func TestEchoCountsOnceAndInTime(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // from receipt to the last echo
		times int
		want  int
	}{
		"at once":                 {0, 1, 1},
		"just in time":            {1400 * time.Millisecond, 1, 1},
		"too late":                {1400*time.Millisecond + 1, 1, 0},
		"late, before the answer": {1499 * time.Millisecond, 1, 0},
		"twice in one frame":      {time.Second, 2, 1},
	} {
		virtual(t, Config{}, func(t *testing.T, w *world) {
			k := owner(t)
			a, p := w.watch(k), w.open("/v1/put")
			p.send(putFrame(k, 1))
			nonce := a.cell(k, 1)
			time.Sleep(c.after)
			for range c.times {
				a.echo(nonce, nonce)
			}
			if got := p.answer(1); got != c.want {
				t.Errorf("%s: got %d delivered, want %d", name, got, c.want)
			}
		})
	}
}

// TestNobodyEchoesForAnother: a nonce means nothing on another connection, nor
// do nonces that were never given or that stand for another cell.
func TestNobodyEchoesForAnother(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k, k2 := owner(t), owner(t)
		a, b, p := w.watch(k), w.watch(k2), w.open("/v1/put")
		p.send(putFrame(k, 1))
		nonce := a.cell(k, 1)
		next := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(nonce)+1)
		b.echo(nonce)
		a.echo(next, make([]byte, 8), []byte{255, 255, 255, 255, 255, 255, 255, 255})
		p.send(putFrame(k2, 2))
		a.echo(b.cell(k2, 2))
		p.send(putFrame(k, 3)) // its nonce is next, which was echoed too early
		a.cell(k, 3)
		got := p.answers(3)
		// The echo of a's nonce by a for k2's cell is one for its own cell 1.
		for id, want := range map[uint64]int{1: 1, 2: 0, 3: 0} {
			if got[id].delivered != want {
				t.Errorf("put %d: got %d delivered, want %d", id, got[id].delivered, want)
			}
		}
	})
}

func TestEachWatchingConnectionCounts(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k := owner(t)
		p := w.open("/v1/put")
		var all []*watching
		for n := range 4 {
			all = append(all, w.watch(k))
			p.send(putFrame(k, uint64(n)))
			for _, a := range all {
				a.echo(a.cell(k, uint64(n)))
			}
			if got := p.answer(uint64(n)); got != n+1 {
				t.Errorf("got %d delivered, want %d", got, n+1)
			}
		}
		for n := len(all) - 1; n >= 0; n-- { // and no longer when it has gone
			all[n].nc.Close()
			time.Sleep(time.Millisecond)
			p.send(putFrame(k, 9))
			for _, a := range all[:n] {
				a.echo(a.cell(k, 9))
			}
			if got := p.answer(9); got != n {
				t.Errorf("got %d delivered, want %d", got, n)
			}
		}
	})
}

// TestRingAgainstAMap compares the ring with a map of everything that counts.
func TestRingAgainstAMap(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		var ring ring
		counts := map[uint64]*record{}
		now, nonce := int64(0), uint64(0)
		for range 5000 {
			now += r.Int64N(int64(time.Millisecond))
			if r.IntN(3) > 0 {
				nonce++
				rec := &record{at: now - r.Int64N(int64(time.Second))}
				if r.IntN(10) == 0 {
					continue // a replayed cell: a nonce that counts for nobody
				}
				ring.set(nonce, rec, now)
				counts[nonce] = rec
				continue
			}
			n := nonce - min(nonce, uint64(r.IntN(3000)))
			var want *record
			if rec := counts[n]; rec != nil && now-rec.at <= int64(wire.EchoWithin) {
				want = rec
			}
			if got := ring.take(n, now); got != want {
				t.Fatalf("seed %d: nonce %d of %d: got record %p, want %p", seed, n, nonce, got, want)
			}
			delete(counts, n)
		}
		if len(ring) > ringMax {
			t.Errorf("got a ring of %d, want at most %d", len(ring), ringMax)
		}
	}
}

// TestRingLosesTheOldest: beyond its bound the count is too low, never too high.
func TestRingLosesTheOldest(t *testing.T) {
	var r ring
	recs := make([]record, ringMax+100)
	for n := range recs {
		r.set(uint64(n), &recs[n], 0)
	}
	for n := range recs {
		got := r.take(uint64(n), 1)
		if n < 100 && got != nil || n >= 100 && got != &recs[n] {
			t.Fatalf("nonce %d: got record %p, want its own or none", n, got)
		}
	}
	if len(r) != ringMax {
		t.Errorf("got a ring of %d, want %d", len(r), ringMax)
	}
}

// TestIdleConnectionsKeepNothing: rings and records go when nothing counts any
// more.
func TestIdleConnectionsKeepNothing(t *testing.T) {
	virtual(t, Config{}, func(t *testing.T, w *world) {
		k := owner(t)
		a, p := w.watch(k), w.open("/v1/put")
		a.pong.Store(true)
		p.pong.Store(true)
		for n := range uint64(200) {
			p.send(putFrame(k, n))
			a.echo(a.cell(k, n))
			time.Sleep(19 * time.Millisecond)
		}
		p.answers(200)
		time.Sleep(100 * time.Millisecond) // 1.6 s after the last cell, long before a ping
		synctest.Wait()                    // what the readers own stands still as well
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		if len(w.hub.conns) != 2 {
			t.Fatalf("got %d connections, want 2", len(w.hub.conns))
		}
		for c := range w.hub.conns {
			c.mu.Lock()
			switch r := c.role.(type) {
			case *watcher:
				if r.copies != nil {
					t.Errorf("got a ring of %d on an idle connection", len(r.copies))
				}
			case *putter:
				if r.head != nil || r.tail != nil || cap(r.touched) > 64 {
					t.Error("got records on an idle connection")
				}
			}
			if len(c.queue) != 0 || c.queued != 0 || c.flushing || c.promised {
				t.Errorf("got queue %d, %d bytes, flushing %v, promised %v", len(c.queue), c.queued, c.flushing, c.promised)
			}
			c.mu.Unlock()
		}
	})
}
