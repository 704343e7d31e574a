package client

import (
	"context"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// stockAtOnce is how many key packages are made in one transaction: each costs a
// millisecond or two, and the vault has one turn for all.
const stockAtOnce = 12

// stockDevices bounds the devices that have stocks of ours, those that were met first:
// with more the oldest packages would be dropped while somebody has them. Others ask.
const stockDevices = 64

// stockAfter is how long until stocks are looked at again: a random time, so that what a
// device gives its contacts does not leave together, or at a time that says when it met
// somebody.
func (g *groups) stockAfter() time.Duration {
	if g.c.opt.Stock <= 0 {
		return time.Second // a pause between looks; with zero there are none
	}
	return time.Duration((0.1 + 0.9*g.c.uniform()) * float64(g.c.opt.Stock))
}

// supply gives contacts' devices key packages ahead.
//
// spec: group.md#key-packages
func (g *groups) supply(ctx context.Context) error {
	if g.c.opt.Stock == 0 {
		return nil
	}
	g.mu.Lock()
	due := !g.stock.After(time.Now())
	if due {
		g.stock = time.Now().Add(g.stockAfter())
	}
	g.mu.Unlock()
	for more := due; more; {
		err := g.c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
			to, err := supplied(tx)
			if err != nil {
				return nil, err
			}
			var ch *group.Change
			if ch, more, err = g.engine.Supply(tx, now, to, stockAtOnce); err != nil {
				return nil, err
			}
			g.note(ch)
			return nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// supplied are the devices that have stocks of ours: contacts' with which there is a
// session, and which know groups.
func supplied(tx vault.Store) (to []group.Unmet, err error) {
	all, err := tx.Devices()
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if len(to) == stockDevices {
			break
		}
		if d.Own || d.Gone || d.Stop || d.State != contact.Accepted || d.Level < contact.LevelDevices {
			continue
		}
		if ok, err := convo.HasSession(tx, d.Root, d.Sign); err != nil {
			return nil, err
		} else if ok {
			to = append(to, group.Unmet{Device: d.Sign, Root: d.Root})
		}
	}
	return to, nil
}

// addable reports whether there is a key package of each of a contact's devices.
func addable(tx vault.Store, r *contact.Record, devices []*contact.Record) (bool, error) {
	if r.State != contact.Accepted || len(devices) == 0 {
		return false, nil
	}
	for _, d := range devices {
		if all, err := tx.Stock(d.Sign); err != nil || len(all) == 0 {
			return false, err
		}
	}
	return true, nil
}
