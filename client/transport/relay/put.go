package relay

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of one put connection.
const (
	maxFlights = 1024                   // puts that wait or are not answered
	retryFirst = 250 * time.Millisecond // pause after a connection that gave no answer; doubles
	retryMost  = 15 * time.Second
)

// link is what puts with one name share: at most one connection, opened when
// there is a put and closed after a while without. All of it is guarded by
// Relay.mu but for what the goroutine of run owns.
type link struct {
	relay *Relay
	name  string
	some  chan struct{} // holds a token while puts may wait

	running bool
	waiting []*flight          // not written yet
	sent    map[uint64]*flight // not answered yet, by put id
	same    map[samePut]*flight
	paid    *voucher  // of this connection, nil: nothing is counted
	proved  bool      // this connection gave an answer
	failed  int       // connections in a row that gave none
	until   time.Time // no connection before
}

// samePut says which puts are one. Outside of this process nobody sees a CellID:
// a relay that did could join what is tried again in another period.
type samePut struct {
	id      transport.CellID
	address transport.Address
}

// flight is a put on its way. Its fields but for done are guarded by Relay.mu
// until done is closed.
type flight struct {
	key     samePut
	frame   []byte // without put id; nil once it is written
	callers int    // that wait for it
	late    *time.Timer
	done    chan struct{}
	receipt transport.Receipt
	err     error
}

// Put implements transport.Transport.
//
// spec: relay-api.md#put
func (r *Relay) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	if err := r.enter(); err != nil {
		return transport.Receipt{}, err
	}
	defer r.calls.Done()
	if p.Cell == nil {
		return transport.Receipt{}, &fault{text: "putting no cell", kind: transport.ErrRefused}
	}
	if err := ctx.Err(); err != nil {
		return transport.Receipt{}, err
	}
	l, f, err := r.offer(p)
	if err != nil {
		return transport.Receipt{}, err
	}
	select {
	case <-f.done:
		return f.receipt, f.err
	case <-ctx.Done():
		l.leave(f)
		return transport.Receipt{}, ctx.Err()
	}
}

// offer puts a cell into the queue of its link, or joins the same put.
func (r *Relay) offer(p transport.Put) (*link, *flight, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed { // since enter: nobody would end what starts now
		return nil, nil, transport.ErrClosed
	}
	l := r.links[p.Isolate]
	if l == nil {
		l = &link{
			relay: r, name: p.Isolate, some: make(chan struct{}, 1),
			sent: map[uint64]*flight{}, same: map[samePut]*flight{},
		}
		r.prune()
		r.links[p.Isolate] = l
	}
	key := samePut{p.ID, p.Address}
	f := l.same[key]
	if f == nil {
		if len(l.waiting)+len(l.sent) >= maxFlights {
			return nil, nil, errBusy
		}
		frame := make([]byte, 0, wire.AddressSize+wire.CellSize)
		frame = append(append(frame, p.Address[:]...), p.Cell[:]...)
		f = &flight{key: key, frame: frame, done: make(chan struct{})}
		l.same[key] = f
		l.waiting = append(l.waiting, f)
	}
	f.callers++
	if !l.running {
		l.running = true
		r.calls.Go(l.run)
	}
	l.nudge()
	return l, f, nil
}

// nudge tells the goroutine of run to look again.
func (l *link) nudge() {
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// prune forgets links that only remember a pause which is over. The caller
// holds the lock.
func (r *Relay) prune() {
	now := time.Now()
	for name, l := range r.links {
		if !l.running && now.After(l.until) {
			delete(r.links, name)
		}
	}
}

// leave gives up on a put. What was written stays until its answer comes, and
// its answer goes nowhere.
func (l *link) leave(f *flight) {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	if f.callers--; f.callers > 0 || f.frame == nil {
		return
	}
	for i, w := range l.waiting {
		if w == f {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			delete(l.same, f.key)
			return
		}
	}
}

// land ends a put. The caller holds the lock.
func (l *link) land(f *flight, r transport.Receipt, err error) {
	if f.late != nil {
		f.late.Stop()
	}
	delete(l.same, f.key)
	f.receipt, f.err = r, err
	close(f.done)
}

// take moves the oldest puts that wait to those that are sent, as many as a
// message takes, and appends their frames to b.
func (l *link) take(b []byte, next *uint64, late func()) []byte {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	n := min(len(l.waiting), wire.MaxPuts)
	if l.paid != nil {
		n = min(n, contextCells-l.paid.cells)
		l.paid.cells += n // that the relay got them is not known, but that it may have
	}
	for _, f := range l.waiting[:n] {
		*next++
		b = binary.BigEndian.AppendUint64(b, *next) // a counter: it says nothing
		b = append(b, f.frame...)
		f.frame = nil
		f.late = time.AfterFunc(unsureAfter, l.unsure(*next, late))
		l.sent[*next] = f
	}
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	return b
}

// unsure has the connections asked about when an answer is overdue, and ends
// this one if it does not come at all.
func (l *link) unsure(id uint64, late func()) func() {
	return func() {
		l.relay.mu.Lock()
		f := l.sent[id]
		if f != nil {
			f.late = time.AfterFunc(answerWithin-unsureAfter, late)
		}
		l.relay.mu.Unlock()
		if f != nil {
			l.relay.doubt()
		}
	}
}

// answer gives a put its receipt.
func (l *link) answer(a wire.Answer) error {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	id := binary.BigEndian.Uint64(a.ID[:])
	f := l.sent[id]
	if f == nil {
		return broken("an answer to no put")
	}
	delete(l.sent, id)
	l.proved = true
	l.land(f, transport.Receipt{Delivered: int(a.Delivered), Complete: a.Complete}, nil)
	if l.paid.full() {
		l.nudge()
	}
	return nil
}

// pause returns how long to wait before another connection.
func pause(failed int) time.Duration {
	if failed == 0 {
		return 0
	}
	d := retryFirst
	for range failed - 1 {
		d = min(2*d, retryMost)
	}
	return time.Duration((0.5 + rand.Float64()) * float64(d))
}
