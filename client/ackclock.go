package client

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	ackMean = 5 * time.Second // of the exponential clock, everyday preset
	ackCap  = 5 * time.Minute

	ackRetry = 5 * time.Second // first delay before an ack that did not leave goes again
	ackFull  = 4 * time.Minute // before one goes again that there was no room for

	// Somebody who was not accepted learns from the neutral answer that this
	// device was there: it comes late, and once a day at most.
	strangerMean = 2 * time.Minute
)

// ackClock decides when owed acks go: on an exponential clock, so that their
// time tells little about when something was read or arrived. An ack is sealed
// and committed, put once and not kept; until its put is answered the vault
// remembers that it may not have left.
type ackClock struct {
	c    *Client
	mean time.Duration

	mu   sync.Mutex
	due  map[int64]time.Time // by contact
	held map[int64]bool      // contacts whose last ack has not left yet
	back chan struct{}       // closed when the relay is there again
	lost map[int64]bool      // contacts that did not get an ack of ours
	near map[int64]time.Time // when contacts were last heard of over a watch
	busy int                 // puts under way
	idle chan struct{}       // capacity 1: due and busy became empty
	wake chan struct{}
}

func newAckClock(c *Client) *ackClock {
	mean := c.opt.AckMean
	if mean == 0 {
		mean = ackMean
	}
	return &ackClock{c: c, mean: mean, due: map[int64]time.Time{}, lost: map[int64]bool{}, near: map[int64]time.Time{}, held: map[int64]bool{}, back: make(chan struct{}), wake: make(chan struct{}, 1), idle: make(chan struct{}, 1)}
}

// owe starts the clock for a contact, unless it runs.
func (a *ackClock) owe(contact int64) { a.oweAfter(contact, a.mean) }

// oweStranger is owe for somebody who was not accepted.
func (a *ackClock) oweStranger(contact int64) { a.oweAfter(contact, max(a.mean, strangerMean)) }

func (a *ackClock) oweAfter(contact int64, mean time.Duration) {
	d := a.delay(mean)
	a.mu.Lock()
	if _, runs := a.due[contact]; !runs {
		a.due[contact] = time.Now().Add(d)
	}
	a.mu.Unlock()
	a.kick()
}

// astray notes that a contact repeats what was acked: they may not be reached by
// their newest route any more.
func (a *ackClock) astray(contact int64) {
	a.mu.Lock()
	a.lost[contact] = true
	a.mu.Unlock()
}

// nearFor is how long a contact who was heard of over a watch counts as there: an
// ack shows nothing, so a live device echoes one a minute at most, and that nobody
// took it says nothing.
const nearFor = 2 * time.Minute

// heard notes that a contact is there.
func (a *ackClock) heard(contact int64) {
	a.mu.Lock()
	a.near[contact] = time.Now()
	a.mu.Unlock()
}

// gone reports whether a contact was not heard of for a while. A process that
// ends soon takes anybody for gone who did not take its ack: it cannot wait to
// be asked for it again.
func (a *ackClock) gone(contact int64) bool {
	a.c.mu.Lock()
	brief := a.c.brief()
	a.c.mu.Unlock()
	if brief {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.near[contact]) >= nearFor
}

// found reports whether the next ack for a contact may go by an older route.
func (a *ackClock) found(contact int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	lost := a.lost[contact]
	delete(a.lost, contact)
	return lost
}

func (a *ackClock) kick() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *ackClock) delay(mean time.Duration) time.Duration {
	u := a.c.uniform()
	return min(time.Duration(-math.Log(1-u)*float64(mean)), ackCap)
}

// run sends acks until ctx ends, then returns when all puts have ended.
func (a *ackClock) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	if err := a.recall(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
		case <-timer.C:
		}
		ready, next := a.take(time.Now())
		for _, id := range ready {
			err := a.send(ctx, id, &wg)
			a.end()
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
		timer.Reset(next)
	}
}

// recall starts the clock for everything that was owed when the last process ended.
func (a *ackClock) recall(ctx context.Context) error {
	var owing []int64
	stranger := map[int64]bool{}
	err := a.c.vault.Update(ctx, func(tx *vault.Tx) (err error) {
		s := vault.Store{Tx: tx}
		if err := s.Recall(); err != nil {
			return err
		}
		owing, err = s.Owing()
		for _, id := range owing {
			r, err := s.Contact(id)
			stranger[id] = err == nil && r.State == contact.Request
		}
		return err
	})
	for _, id := range owing {
		if stranger[id] {
			a.oweStranger(id)
		} else {
			a.owe(id)
		}
	}
	return err
}

func (a *ackClock) take(now time.Time) (ready []int64, next time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next = time.Hour
	for id, t := range a.due {
		if a.held[id] {
			continue // release asks again
		}
		if d := t.Sub(now); d > 0 {
			next = min(next, d)
			continue
		}
		ready = append(ready, id)
		delete(a.due, id)
		a.busy++
	}
	return ready, next
}

// flush makes everything that is owed due now.
func (a *ackClock) flush() {
	a.mu.Lock()
	for id := range a.due {
		a.due[id] = time.Time{}
	}
	a.mu.Unlock()
	a.kick()
}

// settled waits until nothing is owed and nothing is under way, or ctx ends.
func (a *ackClock) settled(ctx context.Context) {
	for {
		a.mu.Lock()
		done := len(a.due) == 0 && a.busy == 0
		a.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-a.idle:
		}
	}
}

// begin and end count what is under way, a contact's turn included, so that
// settled does not look between taking a turn and its put.
func (a *ackClock) begin() {
	a.mu.Lock()
	a.busy++
	a.mu.Unlock()
}

func (a *ackClock) end() {
	a.mu.Lock()
	a.busy--
	a.mu.Unlock()
	select {
	case a.idle <- struct{}{}:
	default:
	}
}

// send seals and puts acks to a contact until none is owed.
func (a *ackClock) send(ctx context.Context, id int64, wg *sync.WaitGroup) error {
	lost := a.found(id)
	for {
		var ack *convo.Ack
		var route *contact.RouteRecord
		err := a.c.vault.Update(ctx, func(tx *vault.Tx) (err error) {
			ack = nil
			s := vault.Store{Tx: tx}
			route, err = routeFor(s, id, 0)
			if errors.Is(err, contact.ErrUnknown) {
				return nil // no way to them yet: owed until there is one
			}
			if err != nil {
				return err
			}
			if ok, err := a.mayAnswer(s, id, route); err != nil || !ok {
				return err
			}
			if lost {
				routes, err := a.c.keys.known(s, route)
				if err != nil {
					return err
				}
				route = a.c.pick(routes)
			}
			ack, err = a.c.engine.Acks(s, time.Now(), id)
			if errors.Is(err, convo.ErrBlocked) {
				return nil // the session is gone
			}
			return err
		})
		if err != nil || ack == nil {
			return err
		}
		a.c.opt.at(BoundaryAckSealed)
		a.begin()
		wg.Go(func() {
			defer a.end()
			a.put(ctx, route, ack)
		})
		if len(ack.IDs) < convo.MaxAcks {
			return nil
		}
	}
}

// mayAnswer reports whether a contact may be answered over a route. Before a
// person has accepted somebody, nothing is sent to a relay of that somebody's
// choice: it would learn our network address.
func (a *ackClock) mayAnswer(s vault.Store, id int64, route *contact.RouteRecord) (bool, error) {
	r, err := s.Contact(id)
	if err != nil {
		return false, err
	}
	return r.State != contact.Request || route.Realm == a.c.home().Realm, nil
}

func (a *ackClock) put(ctx context.Context, route *contact.RouteRecord, ack *convo.Ack) {
	body := wire.Body{Kind: wire.KindPair, ID: ack.Message, Count: 1, Payload: ack.Payload}
	defer a.release(ack.Contact)
	for wait := ackRetry; ; wait = min(2*wait, ackCap) {
		left, err := a.leave(ctx, route, ack.Contact, body)
		a.c.opt.at(BoundaryAckPut)
		if left {
			a.c.putAck(ctx, ack)
			return
		}
		if err == nil {
			wait = max(wait, ackFull) // their relay has no room for it
		}
		// It may not have left, so it goes again, and the same bytes: sealing
		// another for every try would run through the ratchet.
		again := a.hold(ack.Contact)
		select {
		case <-ctx.Done():
			// Owed again: a second ack does no harm. The vault is still ours
			// until Run returns.
			a.c.vault.Update(context.WithoutCancel(ctx), func(tx *vault.Tx) error {
				return a.c.engine.Lost(vault.Store{Tx: tx}, ack)
			})
			return
		case <-again:
		case <-time.After(time.Duration(float64(wait) * (0.5 + a.c.uniform()))):
		}
	}
}

// leave puts an ack once. One that nobody took and whose contact is away is
// parked, as two people who are never there together would not get rid of
// anything otherwise. It reports whether the ack has left for good.
//
// spec: delivery.md#acks
func (a *ackClock) leave(ctx context.Context, route *contact.RouteRecord, id int64, body wire.Body) (left bool, err error) {
	taken, err := a.c.putOnce(ctx, route, body)
	if err != nil || taken || !a.gone(id) {
		return err == nil, err
	}
	return a.c.parkOnce(ctx, route, body)
}

// putAck notes that an ack has left. Should that fail, it goes once more after
// the next start, which does no harm.
func (c *Client) putAck(ctx context.Context, ack *convo.Ack) {
	if len(ack.IDs) == 0 {
		return
	}
	c.vault.Update(context.WithoutCancel(ctx), func(tx *vault.Tx) error {
		return c.engine.Put(vault.Store{Tx: tx}, ack)
	})
}

// hold keeps further acks to a contact back while one does not leave, and
// returns what is closed when the relay is there again.
func (a *ackClock) hold(contact int64) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[contact] = true
	return a.back
}

func (a *ackClock) release(contact int64) {
	a.mu.Lock()
	delete(a.held, contact)
	a.mu.Unlock()
	a.kick()
}

// reconnected tries at once what did not leave.
func (a *ackClock) reconnected() {
	a.mu.Lock()
	close(a.back)
	a.back = make(chan struct{})
	a.mu.Unlock()
}
