package hub

import (
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// Ask implements bus.Tally.
func (r *record) Ask(nodes int) { r.asked.Add(int32(nodes)) }

// Answer implements bus.Tally. The count comes first: an answer that finds
// nobody missing finds all counts.
func (r *record) Answer(echoes int) {
	r.delivered.Add(uint32(echoes))
	r.asked.Add(-1)
}

// visit is a cell of another node. Its echoes count here as those of a put do,
// for as long after its arrival, and the bus takes the count away.
type visit struct {
	record
	watchers int
}

// Echoes implements bus.Visit.
func (v *visit) Echoes() (n int, all bool) {
	n = int(v.delivered.Load())
	return n, n >= v.watchers
}

// Carry implements bus.Node.
//
// spec: bus.md#cells
func (h *Hub) Carry(cells []window.Entry) []bus.Visit {
	now := h.now()
	visits := make([]bus.Visit, len(cells))
	var touched []*watcher
	for i := range cells {
		v := &visit{record: record{at: now}}
		if touched, v.watchers = h.put(&v.record, &cells[i], now, touched, false); v.watchers > 0 {
			visits[i] = v
		}
	}
	for _, w := range touched {
		w.flush()
	}
	return visits
}

// Keep implements bus.Node.
func (h *Hub) Keep(cells []window.Entry) {
	now := h.now()
	for i := range cells {
		h.window.Add(now, &cells[i])
	}
}

// Past implements bus.Node.
func (h *Hub) Past(a *wire.Address, yield func(*window.Entry)) time.Duration {
	entries := make([]window.Entry, replayChunk)
	defer clear(entries)
	var from window.Position
	for more := true; more; {
		var n int
		n, from = h.window.Read(entries, h.now(), a, from)
		for i := range entries[:n] {
			yield(&entries[i])
		}
		more = n == len(entries)
	}
	return h.window.Reach(h.now(), a)
}

// Lost implements bus.Node.
func (h *Hub) Lost() { h.window.Lost(h.now()) }

// Watches implements bus.Node.
func (h *Hub) Watches(a *wire.Address) bool {
	one, many := h.table.find(a)
	return one != nil || len(many) > 0
}

// Addresses implements bus.Node.
func (h *Hub) Addresses(yield func(*wire.Address)) { h.table.addresses(yield) }

// join tells the bus which addresses are watched from now on, and replays what
// this node and others still hold for them if that was asked for.
func (w *watcher) join(proofs []byte, replay bool) (reach time.Duration, ok bool) {
	added := make([]wire.Address, 0, len(proofs)/wire.ProofSize)
	for b := proofs; len(b) > 0; b = b[wire.ProofSize:] {
		added = append(added, wire.Address(b))
	}
	if !replay || w.spent() {
		w.hub.cfg.Bus.Watch(added, nil)
		return 0, true
	}
	there := true
	far := w.hub.cfg.Bus.Watch(added, func(e *window.Entry) bool {
		w.deliver(nil, e, w.hub.now())
		w.replayed += window.EntrySize
		there = w.drained()
		return there
	})
	if !there {
		return 0, false
	}
	reach, ok = w.replay(proofs)
	return min(reach, far), ok
}
