package client

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// Texts that disappear. The author's device says in the text after how many seconds;
// each device counts by its vault's own clock, from when the text was read there, and
// the author's from when it was sent.
//
// spec: content.md#texts-that-disappear

// vanishLook is the longest time between looks as long as something runs: a machine may
// have slept, and the clock is written down.
const vanishLook = 10 * time.Minute

// vanish deletes the texts whose time is over, and says in how long to look again; 0:
// when there is another one.
func (c *Client) vanish(ctx context.Context) (next time.Duration, err error) {
	any := false
	err = c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		any, err = vault.Store{Tx: tx}.HasTimers()
		return err
	})
	if err != nil || !any {
		return 0, vaultError(err)
	}
	err = c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		gone, seconds, err := tx.Vanish(func(e *convo.Event) (bool, error) { return c.stillWaits(tx, e) })
		next = min(time.Duration(seconds)*time.Second, vanishLook)
		ch := &convo.Change{}
		for _, seq := range gone {
			ch.Events = append(ch.Events, &convo.Event{Seq: seq, Kind: convo.Gone})
		}
		return ch, err
	})
	return next, err
}

// stillWaits reports whether a text of ours still has to reach somebody: what was not
// acked is kept, and shown as waiting, whatever its timer says.
func (c *Client) stillWaits(tx vault.Store, e *convo.Event) (bool, error) {
	if !e.Out {
		return false, nil
	}
	if e.Contact >= 0 {
		devices, err := tx.DevicesOf(e.Contact)
		if err != nil {
			return false, err
		}
		for _, d := range devices {
			rows, err := tx.RowsOf(d.ID)
			if err != nil {
				return false, err
			}
			for _, r := range rows {
				if r.Event == e.Seq {
					return true, nil
				}
			}
		}
		return false, nil
	}
	l, err := tx.LineOf(-e.Contact)
	if err != nil {
		return false, ignoreUnknown(err)
	}
	all, err := tx.Groups()
	if err != nil {
		return false, err
	}
	for _, r := range all { // a group that was made again may hold it still
		if r.Origin != l.Origin {
			continue
		}
		if _, err := tx.Message(r.ID, e.Message); !errors.Is(err, group.ErrUnknown) {
			return err == nil, err
		}
	}
	return false, nil
}

func ignoreUnknown(err error) error {
	if errors.Is(err, group.ErrUnknown) {
		return nil
	}
	return err
}

// vanishing deletes texts as their time ends.
func (c *Client) vanishing(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.fading:
		case <-timer.C:
		}
		next, err := c.vanish(ctx)
		if err != nil {
			return err
		}
		timer.Stop()
		if next > 0 {
			timer.Reset(next)
		}
	}
}
