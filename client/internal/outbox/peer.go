package outbox

import (
	"container/heap"
	"time"
)

// mode says how copies go to a device.
type mode byte

const (
	open    mode = iota // as they come
	silent              // the device takes nothing: the oldest is repeated, others go once
	blocked             // the way to it is broken: nothing goes before the alarm
	trying              // one copy goes to see whether the way is back
)

// phase says what a copy waits for.
type phase byte

const (
	idle     phase = iota
	waiting        // its turn: it is in the device's queue
	flying         // the answer to its put
	missed         // offered and not taken: for the device's schedule, or a flush
	resting        // its own alarm
	parking        // the answer to its parking
	kept           // the end of its parking, or a flush
	unrouted       // a route to the device
)

// row is one copy. The Outbox's mutex guards it.
type row struct {
	Item
	peer    *peer
	phase   phase
	pos     int       // in the device's queue
	start   time.Time // of its last put
	vain    int       // flushes in a row that did not help it
	fails   int       // puts in a row without an answer
	seals   int       // seals in a row that failed
	unpark  time.Time // not parked before
	refused bool      // the other end refused it, and that was told
	repeat  bool      // it was offered before it was taken in here
	gone    bool
	alarm   alarm
}

// peer is one device that copies go to. The Outbox's mutex guards it.
type peer struct {
	id     int64
	rows   map[int64]*row
	queue  queue
	inTurn bool
	flying int
	missed int // rows in that phase
	mode   mode

	tries int  // repetitions since the device fell silent
	known bool // the silence is the transport's word, not a guess
	told  bool // of this silence the waker knows
	probe *row // the repetition that is under way
	seen  time.Time

	since   time.Time // of the silence, as far as is known
	parking bool      // a batch is under way
	unpark  time.Time // nothing is parked before
	noPark  int       // batches in a row that failed

	fails    int  // tries in a row that found the way broken
	held     bool // by something that trying again does not mend
	blame    error
	broken   time.Time // when it was found so
	trial    *row      // the try that is under way
	answered time.Time // start of the newest put that got an answer

	alarm alarm
}

func newPeer(id int64) *peer {
	p := &peer{id: id, rows: map[int64]*row{}}
	p.alarm.peer = p
	return p
}

func newRow(it Item, p *peer) *row {
	r := &row{Item: it, peer: p, repeat: it.State >= Offered}
	r.alarm.row = r
	return r
}

// leave takes a row out of whatever it waits in.
func (o *Outbox) leave(r *row) {
	switch r.phase {
	case waiting:
		heap.Remove(&r.peer.queue, r.pos)
	case missed:
		r.peer.missed--
	case resting, kept:
		o.alarms.stop(&r.alarm)
	case flying, parking:
		return // it is left by settle alone, or by parked
	}
	r.phase = idle
}

// ready lets a row go when its turn comes.
func (o *Outbox) ready(r *row) {
	if r.gone || r.phase == waiting || r.phase == flying || r.phase == parking {
		return
	}
	o.leave(r)
	r.phase = waiting
	heap.Push(&r.peer.queue, r)
	if !r.peer.inTurn {
		r.peer.inTurn = true
		o.turns = append(o.turns, r.peer)
	}
}

// restUntil lets a row go at a time of its own.
func (o *Outbox) restUntil(r *row, when time.Time) {
	if r.gone {
		return
	}
	o.leave(r)
	r.phase = resting
	o.alarms.set(&r.alarm, when)
}

// again flushes one row that was missed. The first flush is at once. One that
// is flushed time and again in vain while others get through fails for a reason
// of its own, a duplicate that is not echoed for one: it goes by the delays of
// the schedule, at most a minute apart.
func (o *Outbox) again(r *row, now time.Time) {
	if now.Sub(r.start) >= vainMax {
		r.vain = 0
	}
	when := now
	if r.vain > 0 {
		when = r.start.Add(o.jitter(min(silence(r.vain-1), vainMax)))
	}
	r.vain++
	if when.After(now) {
		o.restUntil(r, when)
		return
	}
	o.ready(r)
}

// flush lets everything go that was offered and not taken. What is parked goes a
// little later, and only if it is not acked by then: a device that comes back
// takes it.
func (o *Outbox) flush(p *peer, now time.Time) {
	for _, r := range p.rows {
		switch r.phase {
		case missed:
			o.again(r, now)
		case kept:
			if soon := now.Add(o.jitter(takesWithin)); r.alarm.when.IsZero() || soon.Before(r.alarm.when) {
				o.alarms.set(&r.alarm, soon)
			}
		}
	}
}

// alive says that the device was there at a time.
func (o *Outbox) alive(p *peer, at, now time.Time) {
	if at.After(p.seen) {
		p.seen = at
	}
	if p.mode == silent {
		p.mode, p.probe = open, nil
		o.alarms.stop(&p.alarm)
	}
	o.flush(p, now)
}

// heard is alive by a cell that came from the device.
func (o *Outbox) heard(p *peer, now time.Time) {
	o.alive(p, now, now)
	for _, r := range p.rows {
		if r.phase == unrouted {
			o.ready(r)
		}
	}
	// Their cell found its way to us, so the link may be back.
	if p.mode == blocked && !p.held {
		p.mode = trying
		o.alarms.stop(&p.alarm)
	}
}

// mend opens a way that was broken, or starts anew with a silent device.
func (o *Outbox) mend(p *peer) {
	p.mode, p.probe = open, nil
	p.fails, p.held, p.blame, p.trial = 0, false, nil, nil
	o.alarms.stop(&p.alarm)
}

// renew lets everything go, as on the first day.
func (o *Outbox) renew(p *peer, now time.Time) {
	o.mend(p)
	p.answered = now // what breaks of earlier puts is old news
	p.unpark, p.noPark = time.Time{}, 0
	for _, r := range p.rows {
		if r.fails != 0 {
			o.leave(r) // its place in the queue depends on it
		}
		r.vain, r.fails, r.refused, r.unpark = 0, 0, false, time.Time{}
		if r.phase != kept {
			o.ready(r)
		}
	}
	o.lookFor(p)
}

// rearm sets the alarm for the next repetition to a silent device, unless one
// is set or under way.
func (o *Outbox) rearm(p *peer, now time.Time) {
	if p.mode == silent && p.probe == nil && p.missed > 0 && p.alarm.when.IsZero() {
		o.alarms.set(&p.alarm, now.Add(o.jitter(silence(p.tries))))
	}
}

// ring does what an alarm is for.
func (o *Outbox) ring(a *alarm) {
	if a.row != nil {
		o.ready(a.row)
		return
	}
	switch p := a.peer; p.mode {
	case silent:
		var oldest *row
		for _, r := range p.rows {
			if r.phase == missed && (oldest == nil || older(r, oldest)) {
				oldest = r
			}
		}
		if oldest != nil {
			p.tries++
			p.probe = oldest
			o.ready(oldest)
		}
	case blocked:
		p.mode = trying
	}
}
