package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/wire"
)

const (
	awayAfter  = time.Minute // shorter breaks need no word: retries bridge them
	backPerDay = 10          // times that a device says it is back
	backShare  = 10          // it tells one contact in so many, at least one
)

// lost notes when our relay was lost.
func (c *Client) lost(now time.Time) {
	c.mu.Lock()
	if c.away.IsZero() {
		c.away = now
	}
	c.mu.Unlock()
}

// greet says "I'm back" after an absence, so that those who wait for this device
// need not wait for their own next try.
//
// spec: delivery.md#coming-back
func (c *Client) greet(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.returned:
		}
		c.mu.Lock()
		long := time.Since(c.away) >= awayAfter
		c.away = time.Time{}
		c.mu.Unlock()
		if !long {
			continue
		}
		c.taking().kick()
		if err := c.sayBack(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// sayBack tells a tenth of the contacts, those first who have messages of ours
// waiting for them, then the latest one spoke with.
func (c *Client) sayBack(ctx context.Context) error {
	ids, err := c.whoToTell(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		var drop *convo.Ack
		var route *contact.RouteRecord
		err := c.vault.Update(ctx, func(tx *vault.Tx) (err error) {
			drop = nil
			s := vault.Store{Tx: tx}
			route, err = routeFor(s, id, 0)
			if errors.Is(err, contact.ErrUnknown) {
				return nil
			}
			if err != nil {
				return err
			}
			drop, err = c.engine.Back(s, time.Now(), id)
			if errors.Is(err, convo.ErrBlocked) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if drop == nil {
			continue
		}
		body := wire.Body{Kind: wire.KindPair, ID: drop.Message, Count: 1, Payload: drop.Payload}
		taken, err := c.putOnce(ctx, route, body)
		if err != nil || !taken && len(drop.IDs) > 0 && c.opt.parkFor() > 0 { // the ack clock finds a way for the acks
			c.vault.Update(context.WithoutCancel(ctx), func(tx *vault.Tx) error {
				return c.engine.Lost(vault.Store{Tx: tx}, drop)
			})
			c.acks.owe(id)
			continue
		}
		c.putAck(ctx, drop)
	}
	return nil
}

// whoToTell counts today's returns and picks who is told.
func (c *Client) whoToTell(ctx context.Context) (ids []int64, err error) {
	err = c.vault.Update(ctx, func(tx *vault.Tx) error {
		ids = nil
		s := vault.Store{Tx: tx}
		if more, err := countReturn(tx, time.Now()); err != nil || !more {
			return err
		}
		devices, err := s.Devices()
		if err != nil {
			return err
		}
		type candidate struct {
			id, last int64
			waiting  bool
		}
		var all []candidate
		for _, r := range devices {
			if !r.Kept() {
				continue
			}
			n, err := s.WaitingRows(r.ID)
			if err != nil {
				return err
			}
			one := candidate{id: r.ID, waiting: n > 0}
			if err := s.LastEvents(r.PersonID(), 0, 1, func(e *convo.Event) error { one.last = e.Seq; return nil }); err != nil {
				return err
			}
			all = append(all, one)
		}
		slices.SortFunc(all, func(a, b candidate) int {
			if a.waiting != b.waiting {
				if a.waiting {
					return -1
				}
				return 1
			}
			return cmp.Compare(b.last, a.last)
		})
		for _, one := range all[:(len(all)+backShare-1)/backShare] {
			ids = append(ids, one.id)
		}
		return nil
	})
	return ids, err
}

// countReturn counts the returns of a day: day 8 ‖ count 8.
func countReturn(tx *vault.Tx, now time.Time) (more bool, err error) {
	day, count := uint64(now.Unix()/86400), uint64(0)
	row, found, err := tx.Get(vault.Meta, metaBack)
	if err != nil {
		return false, err
	}
	if found && len(row.V) == 16 && binary.BigEndian.Uint64(row.V) == day {
		count = binary.BigEndian.Uint64(row.V[8:])
	}
	if count >= backPerDay {
		return false, nil
	}
	v := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, day), count+1)
	return true, tx.Put(vault.Meta, vault.Row{ID: metaBack, V: v})
}
