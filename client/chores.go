package client

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	maintainEvery = time.Hour
	blobRetry     = 15 * time.Second
	// A hello that is not answered asks after goneAfter whether its invite is
	// still there; if it is not, somebody else used it, unless an answer comes
	// within another answerWithin.
	goneAfter    = time.Minute
	answerWithin = 10 * time.Minute
	// Who takes a parked hello may have gone again before their answer is seen.
	parkedWithin = 48 * time.Hour
)

// chores keeps house: bundles to and from the relay, invites of others that
// went, routes, old keys.
func (c *Client) chores(ctx context.Context) error {
	var maintained time.Time
	passed := time.Now() // monotonic: what has gone by since secrets were last moved on
	counted := passed    // the same for secrets of days
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.work:
		case <-timer.C:
		}
		next := maintainEvery
		if !c.blobs(ctx) {
			next = blobRetry
		}
		if c.pending(ctx) {
			next = min(next, goneAfter)
		}
		// Only with a relay whose signed time agrees with our clock: what is
		// dropped by a clock that stands wrong does not come back.
		if time.Since(maintained) >= maintainEvery && c.connected() {
			if err := c.maintain(ctx); err != nil {
				return err
			}
			maintained = time.Now()
		}
		if c.connected() {
			more, err := c.handTickets(ctx)
			if err != nil {
				return err
			}
			if more {
				next = min(next, handEvery)
			}
			if more, err = c.meet(ctx); err != nil {
				return err
			}
			if more {
				next = min(next, meetEvery)
			}
		}
		if l := time.Duration(c.home().Live) * time.Second; l > 0 && time.Since(passed) >= l {
			steps := time.Since(passed) / l
			passed = passed.Add(steps * l)
			if err := c.forget(ctx, uint64(steps)); err != nil {
				return err
			}
		}
		if ran := time.Since(counted); ran >= maintainEvery {
			counted = counted.Add(ran.Truncate(time.Second))
			if err := c.forgetDays(ctx, ran); err != nil {
				return err
			}
		}
		timer.Reset(next)
	}
}

// Beginning a session costs some milliseconds and four cells, so many of them are
// spread.
const (
	meetMost  = 8
	meetEvery = 2 * time.Second
)

// meet begins sessions with devices that this one was told of and has not met.
func (c *Client) meet(ctx context.Context) (more bool, err error) {
	err = c.update(ctx, func(tx vault.Store, now time.Time) (ch *convo.Change, err error) {
		ch, more, err = c.engine.Introduce(tx, now, meetMost)
		if ch != nil && ch.Meets {
			more, ch.Meets = true, false // it is done again soon, not at once
		}
		return ch, err
	})
	return more, err
}

// connected reports whether our relay is being watched.
func (c *Client) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.linked
}

func (c *Client) maintain(ctx context.Context) error {
	return c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		renewed, err := c.engine.Self.Renew(now)
		if err != nil {
			return nil, err
		}
		if renewed {
			if err := c.keepIdentity(tx); err != nil {
				return nil, err
			}
		}
		ch, err := c.engine.Maintain(tx, now)
		if err == nil && renewed {
			err = c.engine.Renewed(tx, now, ch)
		}
		return ch, err
	})
}

func (c *Client) forget(ctx context.Context, steps uint64) error {
	return c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		return nil, c.engine.Forget(tx, now, steps)
	})
}

// blobs puts bundles that the relay does not have yet and deletes those that it
// should not have any more. It reports whether nothing is left to do.
func (c *Client) blobs(ctx context.Context) bool {
	var invites []*contact.InviteRecord
	err := c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		invites, err = (vault.Store{Tx: tx}).Invites()
		return err
	})
	if err != nil {
		return false
	}
	done := true
	for _, inv := range invites {
		switch {
		case len(inv.Sealed) > 0 && !inv.Gone:
			err := c.putBundle(ctx, inv)
			if len(inv.Entry) > 0 && (errors.Is(err, transport.ErrOutside) || errors.Is(err, transport.ErrLimit)) {
				err = c.entryRefused(ctx, inv)
				c.wake() // its bundle goes next
			}
			done = err == nil && done
		case inv.Delete:
			done = c.deleteBundle(ctx, inv) == nil && done
		}
	}
	return done
}

// putBundle makes an invite's link work.
func (c *Client) putBundle(ctx context.Context, inv *contact.InviteRecord) error {
	r, err := c.realms.relay(inv.Realm)
	if err != nil {
		return err
	}
	if len(inv.Entry) > 0 {
		if err := c.putEntry(ctx, r, inv); err != nil {
			return err
		}
	}
	days := (inv.Expires - time.Now().Unix() + 86399) / 86400
	put := wire.BlobPut{Kind: wire.BlobFile, Days: byte(max(1, min(days, 30))), Capability: capabilityHash(inv.Capability), ID: inv.Link().ID(), Content: inv.Sealed}
	if _, err := r.PutBlob(ctx, &put); err != nil {
		return networkError(err)
	}
	return c.inviteDone(ctx, inv.ID, func(i *contact.InviteRecord) { i.Sealed = nil })
}

// putEntry makes the realm invite work that an invite brings. It goes first: who
// has the link must be able to become a member.
func (c *Client) putEntry(ctx context.Context, r Relay, inv *contact.InviteRecord) error {
	gate, ok := r.(Gate)
	if !ok {
		return transport.ErrRefused
	}
	days := (inv.Expires - time.Now().Unix() + 86399) / 86400
	if err := gate.MakeInvite(ctx, [32]byte(inv.Entry), byte(max(1, min(days, 30)))); err != nil {
		return err
	}
	inv.Entry = nil
	return c.inviteDone(ctx, inv.ID, func(i *contact.InviteRecord) { i.Entry = nil })
}

// entryRefused goes on without the realm invite that an invite brings: whoever is
// no member cannot come in by it.
func (c *Client) entryRefused(ctx context.Context, inv *contact.InviteRecord) error {
	inv.Entry = nil
	return c.inviteDone(ctx, inv.ID, func(i *contact.InviteRecord) { i.Entry, i.Member = nil, false })
}

func (c *Client) deleteBundle(ctx context.Context, inv *contact.InviteRecord) error {
	r, err := c.realms.relay(inv.Realm)
	if err != nil {
		return err
	}
	if err := r.DeleteBlob(ctx, inv.Link().ID(), inv.Capability); err != nil && !errors.Is(err, transport.ErrNothing) {
		return networkError(err)
	}
	return c.inviteDone(ctx, inv.ID, func(i *contact.InviteRecord) { i.Delete = false })
}

func (c *Client) inviteDone(ctx context.Context, id int64, f func(*contact.InviteRecord)) error {
	return c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		inv, err := tx.Invite(id)
		if errors.Is(err, contact.ErrInvite) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		f(inv)
		return nil, tx.PutInvite(inv)
	})
}

// pending looks after hellos of ours that nobody answers: when the invite is
// gone from the relay and no answer comes, another device used it. It reports
// whether there is one to look after.
//
// spec: hello.md#a-hello-that-is-not-answered
func (c *Client) pending(ctx context.Context) bool {
	var waiting []*contact.Record
	err := c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		waiting = nil
		people, err := s.Contacts()
		if err != nil {
			return err
		}
		for _, r := range people {
			if r.State != contact.Pending {
				continue
			}
			if _, err := s.RowOf(r.ID, r.Hello); err == nil { // not answered
				waiting = append(waiting, r)
			}
		}
		return nil
	})
	if err != nil {
		return false
	}
	for _, r := range waiting {
		age := time.Since(time.Unix(r.Since, 0))
		if age < goneAfter {
			continue
		}
		relay, err := c.realms.relay(r.Realm)
		if err != nil {
			continue
		}
		switch _, err := relay.GetBlob(ctx, r.Blob); {
		case errors.Is(err, transport.ErrNothing):
			c.gone(ctx, r.ID, true)
		case err == nil:
			c.gone(ctx, r.ID, false)
		}
	}
	return len(waiting) > 0
}

// gone notes whether an invite of somebody else is gone, and says so when it has
// been for answerWithin.
func (c *Client) gone(ctx context.Context, id int64, gone bool) {
	c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		r, err := tx.Contact(id)
		if err != nil || r.State != contact.Pending {
			return nil, err
		}
		if !gone || r.BrokenAt == 0 {
			r.BrokenAt = 0
			if gone {
				r.BrokenAt = now.Unix()
			}
			return nil, tx.PutContact(r)
		}
		within := answerWithin
		if row, err := tx.RowOf(r.ID, r.Hello); err == nil && row.Parked != 0 {
			within = parkedWithin
		}
		if now.Unix()-r.BrokenAt < int64(within/time.Second) {
			return nil, nil
		}
		return c.engine.Fail(tx, now, r)
	})
}
