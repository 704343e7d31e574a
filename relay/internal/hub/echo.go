package hub

import (
	"encoding/binary"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// Copies of one watcher that can still be echoed: the ring grows from the one
// to the other. Beyond that the oldest is lost to the count, which is then a
// lower bound, and never too high.
const (
	ringMin = 16
	ringMax = 8192
)

// copied is one copy on its way: an echo of its nonce counts for rec.
type copied struct {
	rec   *record
	nonce uint64
}

// ring has the copies of one watcher by nonce. The nonce is a counter of the
// connection, so nobody can echo for another. Its size is a power of two, or 0.
type ring []copied

// set remembers a copy, growing while its place is taken by one that counts.
func (r *ring) set(nonce uint64, rec *record, now int64) {
	if len(*r) == 0 {
		*r = make(ring, ringMin)
	}
	for len(*r) < ringMax && (*r)[nonce%uint64(len(*r))].counts(now) {
		bigger := make(ring, 2*len(*r))
		for _, c := range *r {
			if c.rec != nil {
				bigger[c.nonce%uint64(len(bigger))] = c
			}
		}
		*r = bigger
	}
	(*r)[nonce%uint64(len(*r))] = copied{rec, nonce}
}

// take returns what a nonce stands for, once; nil if that is nothing any more.
func (r ring) take(nonce uint64, now int64) *record {
	if len(r) == 0 {
		return nil
	}
	c := &r[nonce%uint64(len(r))]
	if c.nonce != nonce || !c.counts(now) {
		return nil
	}
	rec := c.rec
	c.rec = nil
	return rec
}

func (c *copied) counts(now int64) bool {
	return c.rec != nil && now <= c.rec.at+int64(wire.EchoWithin)
}

// deliver queues a copy of a cell. It reports whether the caller has to flush:
// no, if the connection takes no more or somebody else is about to. Without a
// record nobody counts the echo.
func (w *watcher) deliver(rec *record, e *window.Entry, now int64) (mine bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.frame(ws.Binary, wire.DeliverSize)
	if b == nil {
		return false
	}
	w.nonce++
	b[0] = byte(wire.FrameDeliver)
	binary.BigEndian.PutUint64(b[1:], w.nonce)
	copy(b[1+wire.EchoNonceSize:], e[:])
	if rec != nil {
		w.copies.set(w.nonce, rec, now)
	}
	if w.last = now; w.pushed == 0 {
		w.pushed = now
		w.visitBefore(now + int64(wire.EchoWithin))
	}
	mine, w.promised = !w.promised, true
	return mine
}

// echo counts k × nonce.
//
// spec: relay-api.md#receipt-echo
func (w *watcher) echo(p []byte, now int64) ws.Code {
	if len(p) == 0 || len(p)%wire.EchoNonceSize != 0 || len(p) > wire.MaxEchoes*wire.EchoNonceSize {
		return w.refuse(wire.ReasonFrame)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; len(p) > 0; p = p[wire.EchoNonceSize:] {
		if rec := w.copies.take(binary.BigEndian.Uint64(p), now); rec != nil {
			rec.delivered.Add(1)
		}
	}
	return 0
}

// idle lets the ring go when nothing in it counts any more, and the connection
// when its period is long over: its owner has forgotten it.
func (w *watcher) idle(now int64) {
	w.mu.Lock()
	if end := w.last + int64(wire.EchoWithin); now > end {
		w.copies = nil
	} else if w.copies != nil { // soon: it says which puts this watcher got
		w.visitBefore(end + 1)
	}
	w.mu.Unlock()
	if p := w.period.Load(); p != 0 && p+staleAfter < w.hub.period() {
		w.end(w.refuse(wire.ReasonPeriod))
	}
}
