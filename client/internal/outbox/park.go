package outbox

import (
	"context"
	"errors"
	"slices"
	"time"
)

// begins lets a row that was taken in go, or leaves it where it is parked.
func (o *Outbox) begins(r *row, now time.Time) {
	if now.Before(r.Kept) {
		o.keepUntil(r, r.Kept)
		return
	}
	o.ready(r)
}

// lookFor lets the oldest of what is parked for a device go, to see whether it is
// there, if nothing else goes.
func (o *Outbox) lookFor(p *peer) {
	var oldest *row
	for _, r := range p.rows {
		if r.phase != kept {
			return
		}
		if oldest == nil || older(r, oldest) {
			oldest = r
		}
	}
	if oldest != nil {
		o.ready(oldest)
	}
}

// lookAll is lookFor, for all devices.
func (o *Outbox) lookAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.peers {
		o.lookFor(p)
	}
}

// keepUntil leaves a row alone while it is parked.
func (o *Outbox) keepUntil(r *row, until time.Time) {
	if r.gone {
		return
	}
	o.leave(r)
	r.phase = kept
	o.alarms.set(&r.alarm, until)
}

// unpark says that what is parked of a row is no use any more.
func (o *Outbox) unpark(r *row) {
	if r.Kept.IsZero() {
		return
	}
	r.Kept = time.Time{}
	if r.phase == kept {
		o.ready(r)
		o.kick()
	}
}

// away reports whether a device has been silent for so long that what waits for
// it is parked. While it is being asked there is no hurry.
func (o *Outbox) away(p *peer, now time.Time) bool {
	return p.mode == silent && p.probe == nil && (p.tries >= len(burst) || now.Sub(p.since) >= o.cfg.ParkAfter)
}

// toPark takes out what is to be parked now: for each device that is away a
// batch of what it missed, the oldest first, and hellos whatever is known of
// their device. What there is to park beyond that goes with the next batch.
//
// spec: delivery.md#parking
func (o *Outbox) toPark(now time.Time) (batches [][]*row) {
	if o.cfg.Parker == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.peers {
		batch := o.parkable(p, now)
		if len(batch) == 0 {
			continue
		}
		slices.SortFunc(batch, func(a, b *row) int {
			if older(a, b) {
				return -1
			}
			return 1
		})
		batch = batch[:min(len(batch), MaxPark)]
		for _, r := range batch {
			o.leave(r)
			r.phase = parking
		}
		p.parking = true
		batches = append(batches, batch)
	}
	return batches
}

// parkable returns what of a device's copies may be parked now.
func (o *Outbox) parkable(p *peer, now time.Time) (list []*row) {
	if o.cfg.Parker == nil || p.missed == 0 || p.parking || now.Before(p.unpark) || p.mode == blocked {
		return nil
	}
	away := o.away(p, now)
	for _, r := range p.rows {
		if r.phase == missed && (away || r.Hello) && !now.Before(r.unpark) {
			list = append(list, r)
		}
	}
	return list
}

// park parks one batch.
func (o *Outbox) park(ctx context.Context, rows []*row) {
	ids := make([]int64, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	within, cancel := context.WithTimeout(ctx, parkWithin)
	defer cancel()
	all, err := o.cfg.Parker.Park(within, ids)
	if err == nil && len(all) != len(rows) {
		err = errNoCells
	}
	o.mu.Lock()
	o.parked(rows, all, err, time.Now())
	o.mu.Unlock()
}

// parked takes a batch back from its parking. Whatever was not parked waits here
// as before.
func (o *Outbox) parked(rows []*row, all []Kept, err error, now time.Time) {
	p := rows[0].peer
	p.parking = false
	switch {
	case err == nil:
		p.noPark = 0
	case errors.Is(err, ErrNoPark):
		p.unpark = now.Add(o.jitter(parkMax))
	default:
		p.unpark = now.Add(o.jitter(min(parkSoon<<min(p.noPark, 6), parkMax)))
		p.noPark++
	}
	for i, r := range rows {
		r.phase = idle
		if r.gone {
			continue
		}
		var k Kept
		if err == nil {
			k = all[i]
		}
		switch {
		case errors.Is(k.Err, ErrGone):
			o.detach(r)
		case errors.Is(k.Err, ErrNoRoute):
			r.phase = unrouted
		case err == nil && k.Err == nil && now.Before(k.Until):
			r.Kept = k.Until
			o.keepUntil(r, k.Until)
		default:
			if k.Err != nil {
				r.unpark = now.Add(o.jitter(fullFor))
			}
			r.phase = missed
			p.missed++
		}
	}
	if p.mode == open {
		o.flush(p, now) // it was heard of meanwhile
	}
	o.rearm(p, now)
	o.forget(p)
	o.kick()
	o.landed()
}

// Rested waits until nothing goes, nothing waits to go and nothing is being
// parked, or ctx ends: what is left then waits for its time.
func (o *Outbox) Rested(ctx context.Context) {
	for {
		o.mu.Lock()
		busy, now := o.flying > 0, time.Now()
		for _, p := range o.peers {
			busy = busy || p.parking || o.may(p) && len(p.queue) > 0 || len(o.parkable(p, now)) > 0
		}
		next := o.rested
		o.mu.Unlock()
		if !busy {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}
