package client

import (
	"context"
	"errors"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// state reads what the members of a group agree on, and whether its suite is hybrid;
// nil where this device has no epoch of it.
func (g *groups) state(tx vault.Store, r *group.Record) (s *roster.State, hybrid bool, err error) {
	e, err := tx.Epoch(r.ID, r.Head)
	if errors.Is(err, group.ErrUnknown) || err == nil && e.Left != 0 {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	f, err := e.Fixed(g.crypto.Fixed)
	if err != nil {
		return nil, false, err
	}
	t, err := g.crypto.Parse(f, e.Secret)
	if err != nil {
		return nil, false, err
	}
	s, err = roster.ParseState(t.State())
	return s, t.Suite() == group.SuiteHybrid, err
}

// homeOf reads what is known of our realm as the home of new groups; false until it
// was reached since it is ours.
func (g *groups) homeOf(tx *vault.Tx) (h roster.Home, ok bool, err error) {
	p := g.c.home()
	row, found, err := tx.Get(vault.Meta, metaReceipts)
	if err != nil || !found {
		return h, false, err
	}
	if cbor.Unmarshal(row.V, &h) != nil {
		return h, false, vault.ErrDamaged
	}
	return h, h.Name == p.Realm.Name && h.Pin == p.Realm.Pin && h.Receipt != key.SignPublic{}, nil
}

// setHome names our realm to the engine: where slots of new groups lie, and the key
// of its receipts.
func (g *groups) setHome(tx *vault.Tx) (known bool, err error) {
	h, ok, err := g.homeOf(tx)
	if err != nil || !ok {
		p := g.c.home()
		h = roster.Home{Name: p.Realm.Name, Pin: p.Realm.Pin}
	}
	if g.real != nil {
		g.real.Self.Home = h
	}
	return ok, err
}

// learnReceipts keeps the key that our relay's receipts are signed by now: a store
// that lost something has another.
func (c *Client) learnReceipts(ctx context.Context) error {
	p := c.home()
	r, err := c.realms.relay(p.Realm)
	if err != nil {
		return err
	}
	d, err := r.Descriptor(ctx)
	if err != nil {
		return err
	}
	return c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
		if h, ok, err := c.groups.homeOf(tx.Tx); err != nil || ok && h.Receipt == d.Receipts {
			return nil, err
		}
		raw, err := cbor.Marshal(&roster.Home{Name: p.Realm.Name, Pin: p.Realm.Pin, Receipt: d.Receipts})
		if err != nil {
			return nil, err
		}
		return nil, tx.Tx.Put(vault.Meta, vault.Row{ID: metaReceipts, V: raw})
	})
}
