package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// ErrRootStays is returned by Leave on the device that holds the root.
var ErrRootStays = errors.New("this device holds the root: without it no device could be linked or revoked any more")

// Leave says goodbye on behalf of this device to all contacts and to our other
// devices, and waits until our other devices have heard, or ctx ends. The one that
// holds the root then takes this one off the list, by which all contacts hear of it.
// Run must be running. Afterwards the profile is to be closed and removed with
// Remove. It reports how many of our devices have not heard.
func (c *Client) Leave(ctx context.Context) (unheard int, err error) {
	if c.engine.Self.HasRoot() {
		return 0, ErrRootStays
	}
	var rows []int64
	err = c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		ch, err := c.engine.Leave(tx, now)
		if err != nil {
			return nil, err
		}
		rows = rows[:0]
		for _, r := range ch.Added {
			if d, err := tx.Contact(r.Contact); err != nil {
				return nil, err
			} else if d.Own {
				rows = append(rows, r.ID)
			}
		}
		return ch, nil
	})
	if err != nil {
		return 0, err
	}
	for {
		err = c.vault.View(context.WithoutCancel(ctx), func(tx *vault.Tx) error {
			rows = slices.DeleteFunc(rows, func(id int64) bool {
				_, err := (vault.Store{Tx: tx}).Row(id)
				return errors.Is(err, convo.ErrGone)
			})
			return nil
		})
		if err != nil || len(rows) == 0 {
			return 0, vaultError(err)
		}
		if pause(ctx, linkBusy) != nil {
			return len(rows), nil
		}
	}
}

// Remove removes a profile that nobody has open, for good.
func Remove(dir string) error {
	lock, err := vault.Take(dir)
	if err != nil {
		return vaultError(err)
	}
	return errors.Join(removeVault(dir), lock.Release())
}
