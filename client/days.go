package client

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// The part of the keyring that has to do with days: where cells are parked and
// where they are taken from.

// unix returns our corrected clock.
func (k *keyring) unix() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Unix() + k.offset
}

// parcel is what one row has to park, on one relay.
type parcel struct {
	realm contact.Realm
	route int64 // the newest of those it goes by
	cells []transport.Parking
}

// parcel seals bodies for the present day of routes on one relay: of several
// routes those on the first one's relay. It fails with contact.ErrNoDays where
// the first has no secrets of days.
func (k *keyring) parcel(routes []*contact.RouteRecord, bodies []wire.Body, hours int) (parcel, error) {
	day := addr.DayAt(k.unix())
	out := parcel{realm: routes[0].Realm, route: routes[0].ID}
	for i, r := range routes {
		if r.Realm != out.realm {
			continue
		}
		cells, err := k.parked(r, bodies, day, hours)
		if i > 0 && (errors.Is(err, contact.ErrNoDays) || errors.Is(err, addr.ErrForgotten)) {
			continue
		}
		if err != nil {
			return parcel{}, err
		}
		out.cells = append(out.cells, cells...)
	}
	return out, nil
}

// parked puts the outer seal of a day on bodies.
func (k *keyring) parked(route *contact.RouteRecord, bodies []wire.Body, day uint64, hours int) ([]transport.Parking, error) {
	chain, _, err := route.Days()
	if err != nil {
		return nil, err
	}
	defer chain.Wipe()
	p, err := chain.At(day)
	if err != nil {
		return nil, err
	}
	defer p.Wipe()
	out := make([]transport.Parking, 0, len(bodies))
	for i := range bodies {
		cell, err := sealed.SealCell(p.Seal, p.Address, &bodies[i], k.c.opt.rand())
		if err != nil {
			return nil, err
		}
		out = append(out, transport.Parking{Address: transport.Address(p.Address), Cell: (*transport.Cell)(cell), Hours: hours})
	}
	return out, nil
}

// Days names what may lie parked in a day. It implements inbox.DayKeys.
func (k *keyring) Days(ctx context.Context, day uint64) ([]inbox.DayAddress, error) {
	var routes []*contact.RouteRecord
	err := k.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		routes, err = receiving(vault.Store{Tx: tx})
		return err
	})
	if err != nil {
		return nil, err
	}
	home, unix := k.c.home(), k.unix()
	var out []inbox.DayAddress
	for _, r := range routes {
		// Another end's clock may be behind ours, as for live periods.
		if r.Realm != home.Realm || r.Retired(addr.PeriodAt(unix, r.Period)) || day < r.FirstDay() {
			continue
		}
		a, err := k.ownedDay(r, day)
		if errors.Is(err, addr.ErrForgotten) || errors.Is(err, contact.ErrNoDays) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	leaves, err := k.leafDays(ctx, day)
	return append(out, leaves...), err
}

// receiving returns the routes of ours by which something may come: those of
// invites, and of contacts who may say something.
func receiving(s vault.Store) (own []*contact.RouteRecord, err error) {
	devices, err := s.Devices()
	if err != nil {
		return nil, err
	}
	ids := []int64{0}
	for _, r := range devices {
		if r.MayReceive() {
			ids = append(ids, r.ID)
		}
	}
	for _, id := range ids {
		of, err := s.RoutesOf(id)
		if err != nil {
			return nil, err
		}
		for _, r := range of {
			if r.Mine {
				own = append(own, r)
			}
		}
	}
	return own, nil
}

func (k *keyring) ownedDay(r *contact.RouteRecord, day uint64) (inbox.DayAddress, error) {
	chain, owner, err := r.Days()
	if err != nil {
		return inbox.DayAddress{}, err
	}
	defer chain.Wipe()
	p, err := chain.At(day)
	if err != nil {
		return inbox.DayAddress{}, err
	}
	a := transport.Address(p.Address)
	return inbox.DayAddress{
		Address: inbox.Address{
			Owned: transport.Owned{Address: a, Sign: func(m []byte) ([]byte, error) {
				sig, err := p.Sign(owner, k.c.opt.rand(), m)
				return sig[:], err
			}},
			Route: r.ID, Alone: r.Contact == 0,
		},
		Order: func(ctx context.Context, cell *transport.Cell) uint64 { return k.order(ctx, r.ID, p.Seal, a, cell) },
		Open: func(ctx context.Context, cell *transport.Cell) (inbox.Outcome, error) {
			k.c.opt.at(BoundaryTakenArrived)
			outcome, err := k.take(ctx, r.ID, p.Seal, a, cell, true)
			if err == nil {
				k.c.opt.at(BoundaryTakenCommitted)
			}
			return outcome, err
		},
	}, nil
}

// parcelOf seals what a row has to park, for as many hours as life says. It
// fails with errShort where that is none.
func (k *keyring) parcelOf(ctx context.Context, id int64, life func(*convo.Row) int) (parcel, error) {
	var row *convo.Row
	var routes []*contact.RouteRecord
	err := k.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		s := vault.Store{Tx: tx}
		if row, err = s.Row(id); err == nil {
			routes, err = k.parkRoutes(s, row)
		}
		return err
	})
	if err != nil {
		return parcel{}, err
	}
	hours := life(row)
	if hours < 1 {
		return parcel{}, errShort
	}
	bodies, err := bodiesOf(row)
	if err != nil {
		return parcel{}, err
	}
	return k.parcel(routes, bodies, hours)
}

// errShort: what is left of a row's life is less than what a relay keeps things for.
var errShort = errors.New("life of the row is too short to be parked")

// parkRoutes returns the routes that a row is parked on: the newest, and for a
// hello that starts a session again those before it too.
func (k *keyring) parkRoutes(s vault.Store, row *convo.Row) ([]*contact.RouteRecord, error) {
	if r, err := s.Contact(row.Contact); err != nil {
		return nil, err
	} else if r.Stop {
		return nil, contact.ErrUnknown
	}
	newest, err := routeFor(s, row.Contact, row.Route)
	if err != nil || row.Route != 0 || !row.Hello {
		return []*contact.RouteRecord{newest}, err
	}
	return k.known(s, newest)
}

// errLooked ends a transaction that was only to look.
var errLooked = errors.New("only looked")

// afterHellos is the place of the first message: those before are of hellos.
const afterHellos = 1 << 62

// order says where a cell stands among those that came with it. The parts of a
// hello come first, each hello's together, as few of them may be under way at a
// time. Messages follow by their number in their session, which is found by
// opening them in a transaction that is thrown away. What opens in no session
// comes last: the hello that begins it may be beside it.
func (k *keyring) order(ctx context.Context, route int64, seal key.Seal, a transport.Address, cell *transport.Cell) (n uint64) {
	body, err := sealed.OpenCell(seal, wire.Address(a), (*wire.Cell)(cell))
	switch {
	case err != nil:
		return 0
	case body.Kind != wire.KindPair:
		return binary.BigEndian.Uint64(body.ID[:]) % afterHellos
	}
	n = math.MaxUint64
	k.c.vault.Update(ctx, func(tx *vault.Tx) error {
		k.c.groups.begin() // thrown away with the rest
		s := vault.Store{Tx: tx}
		r, err := s.Route(route)
		if err != nil {
			return err
		}
		if out, ch, err := k.c.engine.Pair(s, time.Now(), r, body.ID, body.Payload); err == nil && out != convo.Rejected {
			n = afterHellos + uint64(ch.Number)
		}
		return errLooked
	})
	return n
}
