package client

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// The part of the keyring that has to do with leaves of groups. A leaf's route is
// kept nowhere: it follows from the epoch. It has a number below zero, which
// follows from its secret, so that it is never taken for a contact's.

// leafNumber is the number of a leaf's route.
func leafNumber(public [32]byte, secret []byte) int64 {
	h := sha256.Sum256(append(append([]byte("leaf"), public[:]...), secret...))
	return -(int64(binary.BigEndian.Uint64(h[:])>>1) | 1)
}

// leafPeriod derives the keys of a leaf's route in a live period.
func (k *keyring) leafPeriod(o *addr.Offer, t uint64) (int64, *addr.Period, error) {
	number := leafNumber(o.Public, o.Secret.Bytes())
	at := periodKey{number, t, o.Period}
	k.mu.Lock()
	p := k.periods[at]
	k.mu.Unlock()
	if p != nil {
		return number, p, nil
	}
	secret, begin := group.RouteAt(o.Secret.Bytes(), o.Birth, t)
	p, err := periodOf(o, secret, begin, addr.Live, t)
	if err != nil {
		return number, nil, err
	}
	k.mu.Lock()
	if !at.over(time.Now().Unix() + k.offset) {
		k.periods[at] = p
	}
	k.mu.Unlock()
	return number, p, nil
}

// leafDay derives the keys of a leaf's route for what is parked in a day.
func leafDay(o *addr.Offer, day uint64) (*addr.Period, error) {
	secret, begin := group.RouteOn(o.Secret.Bytes(), o.Birth, o.Period, day)
	return periodOf(o, secret, begin, addr.Park, day)
}

// periodOf derives the keys of a period from the secret with which its chain begins.
func periodOf(o *addr.Offer, secret []byte, begin uint64, kind addr.Kind, t uint64) (*addr.Period, error) {
	from, err := offerOf(o.Public, secret, begin, o.Period)
	if err != nil {
		return nil, err
	}
	defer from.Secret.Wipe()
	chain := addr.NewChain(from, kind)
	defer chain.Wipe()
	return chain.At(t)
}

// offerOf is what a route begins with.
func offerOf(public [32]byte, secret []byte, birth uint64, period uint16) (*addr.Offer, error) {
	s, err := key.New[key.RouteRole](secret)
	return &addr.Offer{Public: public, Secret: s, Birth: birth, Period: period}, err
}

// ownLeaf is a leaf's route of ours, with its keys.
type ownLeaf struct {
	group.OwnRoute
	owner key.Owner
	offer *addr.Offer
}

// ownLeaves returns the routes of ours in groups that lie at our relay.
func (k *keyring) ownLeaves(ctx context.Context) (own []*ownLeaf, err error) {
	g := k.c.groups
	var routes []group.OwnRoute
	err = k.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		routes, err = g.engine.Routes(vault.Store{Tx: tx})
		return err
	})
	if err != nil {
		return nil, err
	}
	home := k.c.home()
	for _, r := range routes {
		if r.Home.Name != home.Realm.Name || r.Home.Pin != home.Realm.Pin || r.Period != home.Live {
			continue
		}
		l := &ownLeaf{OwnRoute: r}
		if l.owner, err = key.New[key.OwnerRole](r.Owner); err != nil {
			return nil, err
		}
		public, err := addr.PublicOf(l.owner)
		if err != nil {
			return nil, err
		}
		if l.offer, err = offerOf(public, r.Secret, r.Birth, r.Period); err != nil {
			return nil, err
		}
		own = append(own, l)
	}
	return own, nil
}

// leafAddresses names what to watch of groups in a period.
func (k *keyring) leafAddresses(ctx context.Context, t uint64) (out []inbox.Address, err error) {
	own, err := k.ownLeaves(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range own {
		number, p, err := k.leafPeriod(l.offer, t)
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		k.mine[p.Address] = mineAddress{of: periodKey{number, t, l.Period}, seal: p.Seal.Clone()}
		k.leaves[number] = leafPlace{l.Group, l.Epoch}
		k.mu.Unlock()
		out = append(out, inbox.Address{Owned: k.leafOwned(p, l.owner), Route: number})
	}
	return out, nil
}

// leafPlace says which epoch of which group a route is of.
type leafPlace struct {
	group group.ID
	epoch uint64
}

func (k *keyring) leafOwned(p *addr.Period, owner key.Owner) transport.Owned {
	return transport.Owned{Address: transport.Address(p.Address), Sign: func(m []byte) ([]byte, error) {
		sig, err := p.Sign(owner, k.c.opt.rand(), m)
		return sig[:], err
	}}
}

// leafDays names what may lie parked for leaves of ours in a day. Nothing is ever
// parked at an address that all share.
func (k *keyring) leafDays(ctx context.Context, day uint64) (out []inbox.DayAddress, err error) {
	own, err := k.ownLeaves(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range own {
		if l.Leaf == group.All {
			continue
		}
		p, err := leafDay(l.offer, day)
		if err != nil {
			return nil, err
		}
		number, at := leafNumber(l.offer.Public, l.Secret), leafPlace{l.Group, l.Epoch}
		a := transport.Address(p.Address)
		out = append(out, inbox.DayAddress{
			Address: inbox.Address{Owned: k.leafOwned(p, l.owner), Route: number},
			Open: func(ctx context.Context, cell *transport.Cell) (inbox.Outcome, error) {
				k.c.opt.at(BoundaryTakenArrived)
				outcome, err := k.takeLeaf(ctx, at, p.Seal, a, cell, true)
				if err == nil {
					k.c.opt.at(BoundaryTakenCommitted)
				}
				return outcome, err
			},
		})
	}
	return out, nil
}

// takeLeaf opens a cell that came by the route of a leaf, and commits what it said.
// One that was parked says nothing about where its sender is now.
func (k *keyring) takeLeaf(ctx context.Context, at leafPlace, seal key.Seal, a transport.Address, cell *transport.Cell, parked bool) (inbox.Outcome, error) {
	body, err := sealed.OpenCell(seal, wire.Address(a), (*wire.Cell)(cell))
	if err != nil || body.Kind != wire.KindGroup || body.Count != 1 {
		return inbox.Rejected, nil
	}
	g := k.c.groups
	taken := group.Rejected
	err = k.c.update(ctx, func(tx vault.Store, now time.Time) (_ *convo.Change, err error) {
		var ch *group.Change
		taken, ch, err = g.engine.Take(tx, now, group.Arrival{Group: at.group, Epoch: at.epoch, Payload: body.Payload})
		if parked {
			g.catchUp()
			if ch != nil {
				ch.Heard = nil
			}
		}
		g.note(ch)
		return nil, err
	})
	if errors.Is(err, group.ErrBusy) {
		return inbox.Busy, nil // nothing was changed; it comes again
	}
	if ofStore(err) {
		return 0, err
	}
	if err != nil {
		return inbox.Rejected, nil // nothing was changed
	}
	k.c.opt.at(BoundaryCellCommitted)
	switch taken {
	case group.Shown:
		return inbox.Shown, nil
	case group.Nothing:
		return inbox.Nothing, nil
	}
	return inbox.Rejected, nil
}

// leafBody is the body of a group's cell. What stands behind an MLS message is
// zeros: it finds its own end.
func leafBody(m wire.MessageID, payload []byte) wire.Body {
	p := make([]byte, wire.PayloadSize)
	copy(p, payload)
	return wire.Body{Kind: wire.KindGroup, ID: m, Count: 1, Payload: p}
}

// leafRoute is where a copy goes.
type leafRoute struct {
	realm contact.Realm
	offer *addr.Offer
}

func (k *keyring) leafRouteOf(tx vault.Store, id group.ID, epoch uint64, leaf uint32) (*leafRoute, error) {
	r, err := k.c.groups.engine.LeafRouteOf(tx, id, epoch, leaf)
	if errors.Is(err, group.ErrUnknown) || errors.Is(err, group.ErrLeft) {
		return nil, outbox.ErrNoRoute
	}
	if err != nil {
		return nil, err
	}
	o, err := offerOf(r.Public, r.Secret, r.Birth, r.Period)
	return &leafRoute{contact.Realm{Name: r.Relay, Pin: r.Pin}, o}, err
}

// leafCell seals a body for a leaf in the present period.
func (k *keyring) leafCell(r *leafRoute, body wire.Body) (outbox.Sealed, error) {
	number, p, err := k.leafPeriod(r.offer, k.now(r.offer.Period))
	if err != nil {
		return outbox.Sealed{}, err
	}
	cell, err := sealed.SealCell(p.Seal, p.Address, &body, k.c.opt.rand())
	if err != nil {
		return outbox.Sealed{}, err
	}
	s := outbox.Sealed{Address: transport.Address(p.Address), Cell: (*transport.Cell)(cell), Isolate: k.c.realms.isolate(r.realm, number, p.T)}
	copy(s.ID[:], cell[:len(s.ID)])
	return s, nil
}

// sealCopy makes the cell of one try of a copy. Its row has the number id.
func (k *keyring) sealCopy(ctx context.Context, id int64) ([]outbox.Sealed, error) {
	if !k.c.connected() {
		return nil, errAway
	}
	body, r, err := k.copyRoute(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := k.leafCell(r, body)
	if err != nil {
		return nil, err
	}
	k.c.opt.at(BoundaryOfferSealed)
	return []outbox.Sealed{s}, nil
}

func (k *keyring) copyRoute(ctx context.Context, id int64) (body wire.Body, r *leafRoute, err error) {
	err = k.c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		c, payload, err := s.Copy(id)
		if errors.Is(err, group.ErrUnknown) {
			return outbox.ErrGone
		}
		if err != nil {
			return err
		}
		body = leafBody(c.Message, payload)
		r, err = k.leafRouteOf(s, c.Group, c.Epoch, c.Leaf)
		return err
	})
	return body, r, err
}

// parkCopy seals what a copy has to park.
func (k *keyring) parkCopy(ctx context.Context, id int64, hours int) (parcel, error) {
	body, r, err := k.copyRoute(ctx, id)
	if err != nil {
		return parcel{}, err
	}
	return k.leafParcel(r, body, hours)
}

// leafParcel seals a body for a leaf's present day.
func (k *keyring) leafParcel(r *leafRoute, body wire.Body, hours int) (parcel, error) {
	p, err := leafDay(r.offer, addr.DayAt(k.unix()))
	if err != nil {
		return parcel{}, err
	}
	defer p.Wipe()
	cell, err := sealed.SealCell(p.Seal, p.Address, &body, k.c.opt.rand())
	if err != nil {
		return parcel{}, err
	}
	return parcel{realm: r.realm, route: leafNumber(r.offer.Public, r.offer.Secret.Bytes()),
		cells: []transport.Parking{{Address: transport.Address(p.Address), Cell: (*transport.Cell)(cell), Hours: hours}}}, nil
}
