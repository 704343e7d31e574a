package hub

import (
	"sync"
	"sync/atomic"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/window"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

const (
	putRole = gate.Put

	// maxOpen is how many puts of one connection may wait for their answer: far
	// more than one brings in 1.5 s, and 6 MiB of records.
	maxOpen = 1 << 18

	perRecords = 32
	maxTouched = 256     // watchers that have a piece of a queue each before they are written to
	maxRecords = 1 << 16 // of all connections: 2,097,152 puts, 57 MiB
)

// record is what an answer is made from. The answer knows nothing but this: it
// cannot tell whether anybody watched.
type record struct {
	id        [wire.PutIDSize]byte
	at        int64 // receipt
	delivered atomic.Uint32
	asked     atomic.Int32 // other nodes that have not answered; and 1 until the put was handed out
}

// answer returns the answer to a put. Who has answered was counted before.
func (r *record) answer() wire.Answer {
	complete := r.asked.Load() == 0
	return wire.Answer{ID: r.id, Delivered: uint16(min(r.delivered.Load(), 1<<16-1)), Complete: complete}
}

// dueAt returns when the answer leaves: the first tick that is not before the
// constant time after receipt, whatever happened.
func (r *record) dueAt() int64 { return due(r.at+int64(wire.AnswerAfter)) * tick }

// records are allocated together, so that a put costs no object of its own.
type records struct {
	next    *records
	n, done int // used, and answered
	r       [perRecords]record
}

// putter is a put connection: one put context.
type putter struct {
	conn
	touched []*watcher    // the reader's: to be flushed when all of a read was handled
	paid    *gate.Context // nil: nothing is counted
	ends    int64         // when that is over

	rmu        sync.Mutex // guards the rest
	head, tail *records   // in the order of receipt, which is the order of answers
	open       int
	left       bool
	leaving    bool // no more is listened to; the last answer ends it
	answers    timer
}

func (q *putter) largest() int { return wire.MaxPuts * wire.PutSize }
func (q *putter) greet()       {}
func (q *putter) idle(int64)   {}

// message takes 1 to 64 put frames.
//
// spec: relay-api.md#put
func (q *putter) message(p []byte, now int64) ws.Code {
	if len(p) == 0 || len(p)%wire.PutSize != 0 {
		return ws.Policy
	}
	if q.paid != nil && now > q.ends {
		return ws.Policy
	}
	for ; len(p) > 0; p = p[wire.PutSize:] {
		if !q.paid.Cell() {
			return ws.Policy
		}
		rec, ok := q.record(p, now)
		if !ok {
			return ws.Policy
		}
		if rec == nil {
			return 0
		}
		e := (*window.Entry)(p[wire.PutIDSize:])
		q.hub.cfg.Bus.Publish(e, rec)
		var copies int
		q.touched, copies = q.hub.put(rec, e, now, q.touched, q.turn.heavy())
		q.turn.charge(copies*perCopy, now)
		rec.asked.Add(-1)
	}
	return 0
}

// settle writes once to every watcher that the read touched.
func (q *putter) settle() {
	for i, w := range q.touched {
		w.flush()
		q.touched[i] = nil
	}
	if q.touched = q.touched[:0]; cap(q.touched) > 64 {
		q.touched = nil
	}
}

// record opens the record of a put, or none if the connection is leaving. It is
// not ok if there are too many. The caller takes one from asked once it has
// handed the put out.
func (q *putter) record(frame []byte, now int64) (_ *record, ok bool) {
	q.rmu.Lock()
	defer q.rmu.Unlock()
	if q.open == maxOpen || q.leaving {
		return nil, q.leaving
	}
	if q.tail == nil || q.tail.n == perRecords {
		if q.hub.records.Add(1) > maxRecords {
			q.hub.records.Add(-1)
			return nil, false
		}
		b := new(records)
		if q.tail == nil {
			q.head = b
		} else {
			q.tail.next = b
		}
		q.tail = b
	}
	r := &q.tail.r[q.tail.n]
	q.tail.n++
	copy(r.id[:], frame)
	r.at = now
	r.asked.Store(1) // its answer may leave before anybody was asked, if all stands still here
	if q.open++; q.open == 1 {
		q.wheel.arm(&q.answers, r.dueAt())
	}
	return r, true
}

// answer is what the timer of answers does: it sends those that are due, up to
// 64 in a frame.
func (q *putter) answer(now int64) {
	var space [wire.MaxPuts * wire.AnswerSize]byte
	for {
		b := space[:0]
		q.rmu.Lock()
		for len(b) < len(space) && q.open > 0 && !q.left && q.head.r[q.head.done].dueAt() <= now {
			b = q.head.r[q.head.done].answer().Append(b)
			q.open--
			if q.head.done++; q.head.done == q.head.n && (q.open == 0 || q.head.n == perRecords) {
				q.hub.records.Add(-1)
				if q.head = q.head.next; q.head == nil {
					q.tail = nil
				}
			}
		}
		if len(b) < len(space) && q.open > 0 && !q.left {
			q.wheel.arm(&q.answers, q.head.r[q.head.done].dueAt())
		}
		q.rmu.Unlock()
		if len(b) > 0 {
			q.mu.Lock()
			copy(q.frame(ws.Binary, len(b)), b)
			many := q.queued > putBuffer // after a stall: not all of it at once
			q.mu.Unlock()
			if many {
				q.flush()
			}
		}
		if len(b) < len(space) {
			break
		}
	}
	q.flush()
	q.rmu.Lock()
	last := q.leaving && q.open == 0
	q.rmu.Unlock()
	if last {
		q.end(ws.GoingAway)
	}
}

func (q *putter) gone() {
	q.rmu.Lock()
	for b := q.head; b != nil; b = b.next {
		q.hub.records.Add(-1)
	}
	q.left, q.head, q.tail, q.open = true, nil, nil, 0
	q.rmu.Unlock()
	q.wheel.disarm(&q.answers)
}

// put takes one cell: into the window, then to its watchers here. It appends to
// touched those watchers that the caller has to flush, and returns how many watch.
//
// What a heavy connection brings pushes nothing else out of the window.
//
// The window comes first, and a watcher is in the table before it reads the
// window: so a cell may reach it on both ways, but never on none.
func (h *Hub) put(rec *record, e *window.Entry, now int64, touched []*watcher, heavy bool) (_ []*watcher, watchers int) {
	if heavy {
		h.window.Offer(now, e)
	} else {
		h.window.Add(now, e)
	}
	one, many := h.table.find((*wire.Address)(e[:]))
	if one != nil {
		if watchers = 1; one.deliver(rec, e, now) {
			touched = append(touched, one)
		}
	}
	for _, w := range many {
		if w.deliver(rec, e, now) {
			if touched = append(touched, w); len(touched) == maxTouched {
				for _, x := range touched {
					x.flush()
				}
				touched = touched[:0]
			}
		}
	}
	return touched, watchers + len(many)
}
