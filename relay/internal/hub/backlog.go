package hub

import (
	"slices"
	"sync"
	"sync/atomic"
)

// backlog bounds what waits for slow readers, all together. Memory is taken in
// pieces of putBuffer bytes, so those are what is counted: from being queued to
// having been taken by the system. Near the bound whoever makes most wait is cut
// off, then the next, until an eighth is free. Until that is done, whoever is
// behind and needs another piece is cut off; who keeps up is given one up to
// twice the bound, for the moment that it takes.
//
// spec: relay-api.md#limits
type backlog struct {
	most   int64 // pieces
	pieces atomic.Int64
	cuts   chan struct{} // asks cutter, holds one question

	mu   sync.Mutex // guards slow, and calls nothing
	slow map[*conn]struct{}
}

func (b *backlog) init(bytes int) {
	b.most = int64(max(bytes/putBuffer, 16))
	b.cuts, b.slow = make(chan struct{}, 1), map[*conn]struct{}{}
}

// take takes a piece for a connection that is behind or keeps up. It reports
// whether there was one.
func (b *backlog) take(behind bool) bool {
	n := b.pieces.Add(1)
	if n >= b.most-b.most/8 {
		select {
		case b.cuts <- struct{}{}:
		default:
		}
	}
	if behind && n > b.most || n > 2*b.most {
		b.pieces.Add(-1)
		return false
	}
	return true
}

func (b *backlog) give(n int) {
	if n > 0 {
		b.pieces.Add(-int64(n))
	}
}

// wrote gives back the piece of which so many bytes were written.
func (b *backlog) wrote(n int) {
	if n > 0 {
		b.pieces.Add(-1)
	}
}

// behind notes that a connection has a goroutine that waits for its reader.
func (b *backlog) behind(c *conn) {
	b.mu.Lock()
	b.slow[c] = struct{}{}
	b.mu.Unlock()
	c.mu.Lock()
	c.behind = true
	c.mu.Unlock()
}

func (b *backlog) caughtUp(c *conn) {
	b.mu.Lock()
	delete(b.slow, c)
	b.mu.Unlock()
	c.mu.Lock()
	c.behind = false
	c.mu.Unlock()
}

// cutter cuts off the slowest when asked to, until quit is closed.
func (b *backlog) cutter(quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case <-b.cuts:
			b.cut()
		}
	}
}

// cut chooses whom to cut off. What they hold comes back a moment later, so it
// is counted and not waited for: else all would go.
func (b *backlog) cut() {
	type waiting struct {
		c              *conn
		bytes, pieces  int
		alreadyLeaving bool
	}
	b.mu.Lock()
	list := make([]waiting, 0, len(b.slow))
	for c := range b.slow {
		list = append(list, waiting{c: c})
	}
	b.mu.Unlock()
	for i := range list {
		w := &list[i]
		w.c.mu.Lock()
		w.bytes, w.pieces, w.alreadyLeaving = w.c.queued, len(w.c.queue)+1, w.c.state == closed
		w.c.mu.Unlock()
	}
	excess := b.pieces.Load() - (b.most - b.most/8)
	for _, w := range list {
		if w.alreadyLeaving {
			excess -= int64(w.pieces)
		}
	}
	slices.SortFunc(list, func(x, y waiting) int { return y.bytes - x.bytes })
	for _, w := range list {
		if excess < 0 {
			return
		}
		if !w.alreadyLeaving {
			w.c.abort(true)
			excess -= int64(w.pieces)
		}
	}
}
