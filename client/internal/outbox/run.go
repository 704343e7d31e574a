package outbox

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Run loads what waits and offers it until ctx ends, which is no error; it
// fails when the store cannot be read or randomness cannot be had. It returns
// when all its goroutines have. It runs once at a time.
func (o *Outbox) Run(ctx context.Context) error {
	if err := o.begin(); err != nil {
		return err
	}
	defer o.end()
	items, err := o.cfg.Store.Items(ctx)
	if err != nil {
		return fmt.Errorf("loading outbox: %w", err)
	}
	for _, it := range items {
		o.Add(it)
	}
	o.lookAll() // Reconnected may have come before there was anything to offer
	var tries sync.WaitGroup
	defer tries.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		batch, ended, wait, err := o.look(time.Now())
		if err != nil {
			return err
		}
		for _, r := range batch {
			tries.Go(func() { o.try(ctx, r) })
		}
		for _, rows := range o.toPark(time.Now()) {
			tries.Go(func() { o.park(ctx, rows) })
		}
		if len(ended) > 0 {
			o.expire(ctx, ended)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		case <-timer.C:
		}
	}
}

func (o *Outbox) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running {
		return errRunning
	}
	o.running = true
	return nil
}

func (o *Outbox) end() {
	o.mu.Lock()
	o.running = false
	o.mu.Unlock()
}

// look says what is due: copies to try, rows whose lifetime is over, and how
// long until it should look again.
func (o *Outbox) look(now time.Time) (batch []*row, ended []int64, wait time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sweep(now)
	next := o.soonest
	for a := o.alarms.due(now); a != nil; a = o.alarms.due(now) {
		o.ring(a)
	}
	for o.flying < Flights {
		r := o.next()
		if r == nil {
			break
		}
		batch = append(batch, r)
	}
	if len(o.ended) > 0 {
		if !now.Before(o.retry) {
			ended, o.ended = o.ended, nil
		} else {
			next = earlier(next, o.retry)
		}
	}
	wait = sweepMax
	if next = earlier(next, o.alarms.next()); !next.IsZero() {
		wait = min(max(next.Sub(now), 0), sweepMax)
	}
	return batch, ended, wait, o.broken
}

// earlier returns the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// next takes the next copy to go, one device after the other.
func (o *Outbox) next() *row {
	for range len(o.turns) {
		p := o.turns[0]
		o.turns[0] = nil
		o.turns = o.turns[1:]
		if len(p.queue) == 0 {
			p.inTurn = false
			continue
		}
		o.turns = append(o.turns, p)
		if !o.may(p) {
			continue
		}
		r := heap.Pop(&p.queue).(*row)
		r.phase = flying
		p.flying++
		o.flying++
		if p.mode == trying {
			p.trial = r
		}
		return r
	}
	return nil
}

// may reports whether one more copy may go to a device now.
func (o *Outbox) may(p *peer) bool {
	switch p.mode {
	case blocked:
		return false
	case trying:
		return p.trial == nil
	}
	return p.flying < Window && (o.flying < Flights-reserve || p.flying < few)
}

// try is one try of one copy: seal, put, mark.
func (o *Outbox) try(ctx context.Context, r *row) {
	out := o.offer(ctx, r)
	switch out.verdict {
	case taken:
		o.mark(ctx, r, Live)
	case stored, nobody:
		o.mark(ctx, r, Offered)
	}
	o.mu.Lock()
	news, whole := o.settle(r, out, time.Now())
	o.mu.Unlock()
	o.tellWaker()
	if news && o.cfg.Trouble != nil {
		id := r.ID
		if whole {
			id = 0
		}
		o.cfg.Trouble(id, r.Peer, out.err)
	}
}

func (o *Outbox) offer(ctx context.Context, r *row) outcome {
	cells, err := o.cfg.Sealer.Seal(ctx, r.ID)
	switch {
	case stopping(ctx, err):
		return outcome{verdict: noResult}
	case errors.Is(err, ErrGone):
		return outcome{verdict: noRow}
	case errors.Is(err, ErrNoRoute):
		return outcome{verdict: noRoute}
	case err == nil && len(cells) == 0:
		err = errNoCells
	}
	if err != nil {
		return outcome{verdict: noSeal, err: err}
	}
	if !o.leaving(r) {
		return outcome{verdict: noResult}
	}
	receipt, err := o.put(ctx, cells)
	if stopping(ctx, err) {
		return outcome{verdict: noResult}
	}
	return o.judge(len(cells), receipt, err)
}

// leaving reports whether a sealed copy may still be put: from here on it is in
// flight, and Remove comes too late.
func (o *Outbox) leaving(r *row) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.start = time.Now()
	return !r.gone
}

// put puts the cells of one copy. All must be answered for a receipt; a copy of
// several counts as delivered and stored as far as all of them are.
func (o *Outbox) put(ctx context.Context, cells []Sealed) (transport.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, putWithin)
	defer cancel()
	if len(cells) == 1 {
		return o.putOne(ctx, cells[0])
	}
	var (
		puts  sync.WaitGroup
		slots = make(chan struct{}, parallel)
		mu    sync.Mutex // guards the two below
		first error
		all   = transport.Receipt{Complete: true, Stored: true}
	)
	for _, c := range cells {
		slots <- struct{}{}
		puts.Go(func() {
			defer func() { <-slots }()
			r, err := o.putOne(ctx, c)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
			}
			all.Complete = all.Complete && r.Complete
			all.Stored = all.Stored && r.Stored
		})
	}
	puts.Wait()
	return all, first
}

func (o *Outbox) putOne(ctx context.Context, c Sealed) (transport.Receipt, error) {
	return o.cfg.Transport.Put(ctx, transport.Put{Address: c.Address, ID: c.ID, Cell: c.Cell, Isolate: c.Isolate})
}

// mark raises a row's state in the store, then here. If the store fails the
// state stays what it was, and the next try raises it.
func (o *Outbox) mark(ctx context.Context, r *row, s State) {
	o.mu.Lock()
	up := !r.gone && r.State < s
	o.mu.Unlock()
	if !up {
		return
	}
	if err := o.cfg.Store.Mark(ctx, r.ID, s); err != nil {
		if !stopping(ctx, err) && o.cfg.Trouble != nil {
			o.cfg.Trouble(r.ID, r.Peer, err)
		}
		return
	}
	o.mu.Lock()
	r.State = s
	o.mu.Unlock()
	if o.cfg.Changed != nil {
		o.cfg.Changed(r.ID, s)
	}
}

// expire tells the store which lifetimes are over.
func (o *Outbox) expire(ctx context.Context, ids []int64) {
	err := o.cfg.Store.Expire(ctx, ids)
	if err == nil {
		return
	}
	o.mu.Lock()
	o.ended = append(o.ended, ids...)
	o.retry = time.Now().Add(storeAfter)
	o.mu.Unlock()
	if !stopping(ctx, err) && o.cfg.Trouble != nil {
		o.cfg.Trouble(0, 0, err)
	}
}
