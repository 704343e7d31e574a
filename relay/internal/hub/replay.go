package hub

import (
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

const (
	replayChunk = 16             // entries taken from the window at a time
	perRead     = 1 << 10        // bytes that looking through a part of the window costs
	replayAhead = queueLimit / 4 // bytes that may wait when more is taken: live cells still find room
)

// replay sends what the window holds for the addresses of a watch frame, oldest
// first for each, as fast as the watcher reads. It returns how far back the
// window reached for all of them; not ok says that the connection has ended.
//
// spec: relay-api.md#replay
func (w *watcher) replay(proofs []byte) (reach time.Duration, ok bool) {
	h := w.hub
	entries := make([]window.Entry, replayChunk)
	defer clear(entries)
	reach = window.Span
	for ; len(proofs) > 0; proofs = proofs[wire.ProofSize:] {
		a := wire.Address(proofs)
		if w.spent() {
			return 0, true
		}
		var from window.Position
		for more := true; more; {
			var n int
			w.await()
			n, from = h.window.Read(entries, h.now(), &a, from)
			for i := range entries[:n] {
				w.deliver(nil, &entries[i], h.now())
			}
			w.replayed += n * window.EntrySize
			w.turn.charge(n*perCopy+perRead, h.now())
			w.yield()
			if n > 0 && !w.drained() {
				return 0, false
			}
			more = n == len(entries)
		}
		reach = min(reach, h.window.Reach(h.now(), &a))
	}
	return reach, true
}

// spent reports whether the connection was sent as much as a window holds: that
// is all there was, or it asks for the same again and again.
func (w *watcher) spent() bool { return w.replayed > w.hub.cfg.WindowBytes }

// drained flushes, and waits while much is queued. It reports whether the
// connection is still there.
func (w *watcher) drained() bool {
	w.flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.state == open && w.queued > replayAhead {
		if w.room == nil {
			w.room = sync.NewCond(&w.mu)
		}
		w.room.Wait()
	}
	w.room = nil
	return w.state == open
}
