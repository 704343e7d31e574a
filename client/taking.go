package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
)

// When what is parked is taken.
//
// spec: delivery.md#taking
const (
	takeEvery  = 6 * time.Hour      // × U(0.8, 1.2)
	afterDay   = time.Hour          // a new day is looked at within so long of midnight
	takeMargin = 2 * time.Hour      // how far another end's clock may be behind ours
	dayAhead   = time.Hour          // and ahead, before midnight
	takeRetry  = time.Minute        // after a take that failed; doubles
	takeLag    = 15 * time.Minute   // up to this
	heldTries  = 3                  // after which what cannot be taken now waits for the next round
	takeDays   = convo.ParkDays - 1 // days before today that are taken at the most
	apartMost  = 20 * time.Second   // between two connections, behind a proxy
)

// taken is what the vault knows about days.
type taken struct {
	// From is the oldest day that was not taken after it had ended everywhere.
	From uint64 `cbor:"1,keyasint"`
	// Ran is for how many seconds a process ran since secrets of days were moved
	// on last, by a monotonic clock.
	Ran int64 `cbor:"2,keyasint"`
}

// taker takes what is parked for us, by one round after the other.
type taker struct {
	c     *Client
	days  inbox.Taker
	now   chan struct{} // capacity 1: take now
	brief bool

	mu     sync.Mutex // guards the rest
	rounds int        // that have ended, well or not
}

func newTaker(c *Client) *taker {
	return &taker{c: c, now: make(chan struct{}, 1), brief: c.brief()}
}

// kick takes now.
func (t *taker) kick() {
	select {
	case t.now <- struct{}{}:
	default:
	}
}

// took reports whether a round has ended.
func (t *taker) took() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rounds > 0
}

// run takes until ctx ends.
func (t *taker) run(ctx context.Context, relay Relay) {
	t.days = inbox.Taker{Parking: relay, Keys: t.c.keys, Rand: t.c.opt.rand(), Trouble: func(err error) { t.c.stored(err); t.c.note(err) }}
	if t.c.opt.Network.Proxy() != "" && !t.brief {
		t.days.Apart = t.apart
	}
	timer := time.NewTimer(takeEvery)
	defer timer.Stop()
	fails, held := 0, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.now:
		case <-timer.C:
		}
		next := takeRetry
		if t.c.connected() {
			switch err := t.round(ctx); {
			case ctx.Err() != nil:
				return
			case err == nil, errors.Is(err, transport.ErrNothing):
				fails, held, next = 0, 0, t.next(time.Unix(t.c.keys.unix(), 0))
			case errors.Is(err, transport.ErrHeld) && held >= heldTries:
				// What cannot be taken now may be somebody's ill will: a round costs
				// a token a day, and this one cost us enough.
				next = t.next(time.Unix(t.c.keys.unix(), 0))
			default:
				next = time.Duration(float64(min(takeRetry<<min(fails, 4), takeLag)) * (0.5 + t.c.uniform()))
				fails++
				if errors.Is(err, transport.ErrHeld) {
					held++
				}
			}
			t.note()
		}
		timer.Reset(next)
	}
}

func (t *taker) note() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rounds++
}

// next returns how long until the next round: some six hours, or some time after
// midnight if that comes first.
func (t *taker) next(now time.Time) time.Duration {
	every := time.Duration(float64(takeEvery) * (0.8 + 0.4*t.c.uniform()))
	midnight := now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Add(time.Duration(float64(afterDay) * t.c.uniform()))
	return min(every, midnight.Sub(now))
}

// apart waits a random while.
func (t *taker) apart(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(float64(apartMost) * t.c.uniform())):
	}
}

// round takes every day that is due, the oldest first, and notes how far that
// got. It returns the first error; the days after one that failed are taken all
// the same.
func (t *taker) round(ctx context.Context) error {
	now := t.c.keys.unix()
	from, err := t.from(ctx, now)
	if err != nil {
		return err
	}
	last := addr.DayAt(now + int64(dayAhead/time.Second))
	done := addr.DayAt(now - int64(takeMargin/time.Second)) // the oldest day that somebody may still park in
	var first error
	for day := from; day <= last; day++ {
		if day > from && t.days.Apart != nil {
			t.days.Apart(ctx)
		}
		err := t.days.Day(ctx, day)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, transport.ErrNothing) {
			return err
		}
		if first == nil {
			first, done = err, min(done, day)
		}
	}
	if done > from {
		if err := t.c.days(ctx, func(_ vault.Store, d *taken) error { d.From = done; return nil }); err != nil {
			return err
		}
	}
	return first
}

// from returns the oldest day to take, yesterday or one before: a clock may have
// been some hours ahead when it was noted that yesterday is done. One that lies ahead was noted by a clock
// that was wrong: then nothing is known of the days before.
func (t *taker) from(ctx context.Context, now int64) (day uint64, err error) {
	err = t.c.vault.View(ctx, func(tx *vault.Tx) error {
		d, err := readTaken(tx)
		day = d.From
		return err
	})
	today := addr.DayAt(now)
	if oldest := today - min(today, takeDays); day < oldest || day > today {
		day = oldest
	}
	return min(day, today-min(today, 1)), err
}

func readTaken(tx *vault.Tx) (d taken, err error) {
	row, found, err := tx.Get(vault.Meta, metaTaken)
	if err == nil && found && cbor.Unmarshal(row.V, &d) != nil {
		err = vault.ErrDamaged
	}
	return d, err
}

// days changes what the vault knows about days.
func (c *Client) days(ctx context.Context, f func(vault.Store, *taken) error) error {
	return c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		d, err := readTaken(tx.Tx)
		if err != nil {
			return nil, err
		}
		if err := f(tx, &d); err != nil {
			return nil, err
		}
		raw, err := cbor.Marshal(&d)
		if err != nil {
			return nil, fmt.Errorf("writing days: %w", err)
		}
		return nil, tx.Tx.Put(vault.Meta, vault.Row{ID: metaTaken, V: raw})
	})
}

// forgetDays moves the secrets of days on by what processes have run since the
// last time: whole days of a monotonic clock, over all starts.
func (c *Client) forgetDays(ctx context.Context, ran time.Duration) error {
	return c.days(ctx, func(tx vault.Store, d *taken) error {
		d.Ran += int64(ran / time.Second)
		steps := d.Ran / addr.DaySeconds
		if steps == 0 {
			return nil
		}
		d.Ran -= steps * addr.DaySeconds
		return c.engine.ForgetDays(tx, time.Unix(c.keys.unix(), 0), uint64(steps), d.From)
	})
}

// taking returns what takes for the present Run.
func (c *Client) taking() *taker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parked
}

// hurry says that the process ends soon, or that it does not.
func (c *Client) hurry(on bool) {
	c.mu.Lock()
	c.hurried = on
	c.mu.Unlock()
}

// brief reports whether the process ends soon. The caller holds mu.
func (c *Client) brief() bool { return c.opt.Brief || c.hurried }

// parkAfter is how long a device is silent before what waits for it is parked.
// The caller holds mu.
func (c *Client) parkAfter() time.Duration {
	if c.brief() {
		return 0
	}
	return parkAfter
}
