package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
)

// In the outbox a copy has minus the number of its row, and what stands for its
// leaf's device minus that number: those of contacts are above zero.

// copyItem is a copy as the outbox sees it.
func copyItem(c *vault.Copy) outbox.Item {
	it := outbox.Item{ID: -c.ID, Peer: -c.Peer, Order: c.ID, State: outbox.State(max(c.State, byte(outbox.Queued))), Born: time.Unix(c.Born, 0)}
	if c.Parked != 0 {
		it.Kept = time.Unix(c.Parked, 0)
	}
	return it
}

// copyItems returns the copies that wait.
func (g *groups) copyItems(s vault.Store) (items []outbox.Item, err error) {
	err = s.Copies(0, func(c *vault.Copy) error {
		g.meet(c)
		items = append(items, copyItem(c))
		return nil
	})
	return items, err
}

// markCopy notes what the relay said of a copy.
func (g *groups) markCopy(ctx context.Context, id int64, st outbox.State) error {
	return g.c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		c, _, err := tx.Copy(id)
		if errors.Is(err, group.ErrUnknown) {
			return nil, nil
		}
		if err != nil || c.State >= byte(st) {
			return nil, err
		}
		c.State = byte(st)
		if err := tx.PutCopy(c); err != nil {
			return nil, err
		}
		to := convo.Offered
		if st == outbox.Live {
			to = convo.Live
		}
		return g.moved(tx, c, to)
	})
}

// moved raises the state of the message that a copy is of.
func (g *groups) moved(tx vault.Store, c *vault.Copy, to convo.EventState) (*convo.Change, error) {
	r, err := tx.Group(c.Group)
	if errors.Is(err, group.ErrUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ev, err := tx.GroupEvent(r.Origin, c.Message)
	if errors.Is(err, convo.ErrGone) {
		return nil, nil
	}
	if err != nil || !ev.Out || ev.State >= to {
		return nil, err
	}
	ev.State = to
	return &convo.Change{Events: []*convo.Event{ev}}, tx.PutGroupEvent(r.Origin, ev)
}

// keepCopy notes until when a copy is parked.
func (g *groups) keepCopy(tx vault.Store, id, until int64) error {
	c, _, err := tx.Copy(id)
	if errors.Is(err, group.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	c.Parked = until
	return tx.PutCopy(c)
}

// put puts the copies that are no rows and whose time has come. One that does not
// leave is made again when it is owed again: acks do no harm twice.
func (g *groups) put(ctx context.Context, all *sync.WaitGroup, room chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	rest := g.once[:0]
	for _, k := range g.once {
		if k.at.After(now) {
			rest = append(rest, k)
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			rest = append(rest, k)
			continue
		}
		all.Go(func() {
			defer func() { <-room; g.wake() }()
			g.putOnce(ctx, k.Copy)
		})
	}
	clear(g.once[len(rest):])
	g.once = rest
}

// putOnce puts one copy. One that nobody took and whose device was not heard of for
// a while is parked, as two people who are never there together would not get rid of
// anything otherwise.
func (g *groups) putOnce(ctx context.Context, k *group.Copy) {
	var r *leafRoute
	err := g.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		r, err = g.c.keys.leafRouteOf(vault.Store{Tx: tx}, k.Group, k.Epoch, k.Leaf)
		return err
	})
	if err != nil {
		return // the epoch is gone, or the leaf: nobody waits for it
	}
	body := leafBody(k.Message, k.Payload)
	s, err := g.c.keys.leafCell(r, body)
	if err != nil {
		g.c.note(err)
		return
	}
	got, err := g.c.realms.Put(ctx, transport.Put{Address: s.Address, ID: s.ID, Cell: s.Cell, Isolate: s.Isolate})
	if err != nil {
		return
	}
	g.c.opt.at(BoundaryGroupPut)
	hours := int(g.c.opt.parkFor() / time.Hour)
	if got.Delivered > 0 || k.Leaf == group.All || hours == 0 || g.there(k.To) {
		return
	}
	if of, err := g.c.keys.leafParcel(r, body, hours); err == nil {
		g.c.park(ctx, of.realm, of.route, of.cells) // where it fails it is owed again
	}
}

// there reports whether a device was heard of lately.
func (g *groups) there(d group.Device) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.seen[d]) < nearFor
}
