package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// keyring is where the two halves meet: it seals cells for the outbox, names
// addresses for the inbox, and opens what arrived. It keeps the keys of the
// periods in use, which cost a scalar multiplication each to derive.
type keyring struct {
	c *Client

	mu      sync.Mutex // guards all below
	offset  int64      // correction of our clock for addresses, in seconds
	periods map[periodKey]*addr.Period
	mine    map[wire.Address]mineAddress
	joiners map[int64]*sealed.Joiner // by route
	leaves  map[int64]leafPlace      // by the number of a leaf's route
}

// periodKey names the keys of a route in one period. Periods of different
// lengths have different numbers, so the length belongs to the key.
type periodKey struct {
	route int64
	t     uint64
	l     uint16
}

// over reports whether the period ended so long ago that nothing can be under
// way in it: two of its lengths.
func (p periodKey) over(unix int64) bool {
	return int64(p.t+3)*int64(p.l) < unix
}

type mineAddress struct {
	of   periodKey
	seal key.Seal
}

func newKeyring(c *Client) *keyring {
	return &keyring{c: c, periods: map[periodKey]*addr.Period{}, mine: map[wire.Address]mineAddress{}, joiners: map[int64]*sealed.Joiner{}, leaves: map[int64]leafPlace{}}
}

// correct takes what the relay's signed time says. It moves the derivation of
// addresses by at most one period; the inbox refuses more, loudly.
func (k *keyring) correct(offset time.Duration) {
	k.mu.Lock()
	k.offset = int64(offset / time.Second)
	k.mu.Unlock()
}

// period returns the keys of a route at t.
func (k *keyring) period(r *contact.RouteRecord, t uint64) (*addr.Period, key.Owner, error) {
	chain, owner, err := r.Keys()
	if err != nil {
		return nil, owner, err
	}
	defer chain.Wipe()
	at := periodKey{r.ID, t, r.Period}
	k.mu.Lock()
	p := k.periods[at]
	k.mu.Unlock()
	if p != nil {
		return p, owner, nil
	}
	if p, err = chain.At(t); err != nil {
		return nil, owner, err
	}
	k.mu.Lock()
	if !at.over(time.Now().Unix() + k.offset) {
		k.periods[at] = p
	}
	k.prune(time.Now().Unix() + k.offset)
	k.mu.Unlock()
	return p, owner, nil
}

// prune drops the keys of periods that are over. It does not overwrite them:
// a connection that is just ending may still sign or open with them. Callers
// hold mu.
func (k *keyring) prune(unix int64) {
	for at := range k.periods {
		if at.over(unix) {
			delete(k.periods, at)
		}
	}
	for a, m := range k.mine {
		if m.of.over(unix) {
			delete(k.mine, a)
		}
	}
}

func (k *keyring) wipe() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.periods {
		p.Wipe()
	}
	clear(k.periods)
	clear(k.mine)
}

// now returns the period of a route by our corrected clock.
func (k *keyring) now(l uint16) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return addr.PeriodAt(time.Now().Unix()+k.offset, l)
}

// Seal makes the cells of one try of one row. It implements outbox.Sealer.
func (k *keyring) Seal(ctx context.Context, id int64) ([]outbox.Sealed, error) {
	if id < 0 {
		return k.sealCopy(ctx, -id)
	}
	var row *convo.Row
	var routes []*contact.RouteRecord
	err := k.c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		s := vault.Store{Tx: tx}
		if row, err = s.Row(id); err != nil {
			return err
		}
		routes, err = k.routesFor(s, row)
		return err
	})
	switch {
	case errors.Is(err, convo.ErrGone):
		return nil, outbox.ErrGone
	case errors.Is(err, contact.ErrUnknown):
		return nil, outbox.ErrNoRoute
	case err != nil:
		return nil, err
	}
	if !row.Left {
		if err := k.leave(ctx, row.ID); err != nil {
			return nil, err
		}
	}
	bodies, err := bodiesOf(row)
	if err != nil {
		return nil, err
	}
	var all []outbox.Sealed
	for _, route := range routes {
		cells, err := k.cells(route, bodies)
		if err != nil {
			return nil, err
		}
		all = append(all, cells...)
	}
	k.c.opt.at(BoundaryOfferSealed)
	return all, nil
}

// bodiesOf returns what a row consists of: one body, or the four of a hello.
func bodiesOf(row *convo.Row) ([]wire.Body, error) {
	if !row.Hello {
		return []wire.Body{{Kind: wire.KindPair, ID: row.Message, Count: 1, Payload: row.Payload}}, nil
	}
	_, bodies, err := sealed.Fragments(wire.KindHello, row.Payload)
	return bodies, err
}

// errAway is temporary: without our relay nothing could come back, so nothing
// goes either, and what is queued can still be taken back.
var errAway = errors.New("our relay is away")

// leave commits that a row may have left, before it does.
func (k *keyring) leave(ctx context.Context, id int64) error {
	if !k.c.connected() {
		return errAway
	}
	err := k.c.vault.Update(ctx, func(tx *vault.Tx) error { return k.c.engine.Leaving(vault.Store{Tx: tx}, id) })
	if errors.Is(err, convo.ErrGone) {
		return outbox.ErrGone
	}
	return err
}

const (
	// helloRoutes bounds the routes that one hello goes by.
	helloRoutes = 4
	// lateAfter is how long nobody may take a message before its next tries go
	// by older routes, too.
	lateAfter = 10 * time.Minute
)

// routesFor returns the one route that a row goes by. A hello that starts a
// session again also goes by the routes before: the device that it is for may
// have been put back to a time when it had no other. A message that nobody takes
// goes by one of them now and then, for the same reason.
//
// spec: hello.md#starting-again
func (k *keyring) routesFor(s vault.Store, row *convo.Row) ([]*contact.RouteRecord, error) {
	if r, err := s.Contact(row.Contact); err != nil {
		return nil, err
	} else if r.Stop {
		return nil, contact.ErrUnknown // until a person decides
	}
	newest, err := routeFor(s, row.Contact, row.Route)
	if err != nil || row.Route != 0 {
		return []*contact.RouteRecord{newest}, err
	}
	late := row.State != convo.Queued && time.Since(time.Unix(row.Made, 0)) >= lateAfter
	if !row.Hello && !late {
		return []*contact.RouteRecord{newest}, nil
	}
	out, err := k.known(s, newest)
	if err != nil || row.Hello {
		return out, err
	}
	r := k.c.pick(out)
	return []*contact.RouteRecord{r}, nil
}

// known returns a contact's newest route and those before it that are served.
func (k *keyring) known(s vault.Store, newest *contact.RouteRecord) ([]*contact.RouteRecord, error) {
	all, err := s.RoutesOf(newest.Contact)
	if err != nil {
		return nil, err
	}
	out := []*contact.RouteRecord{newest}
	for i := len(all) - 1; i >= 0 && len(out) < helloRoutes; i-- {
		r := all[i]
		if now := k.now(r.Period); !r.Mine && r.Invite == 0 && r.ID != newest.ID && now >= r.Birth && !r.Retired(now) {
			out = append(out, r)
		}
	}
	return out, nil
}

// pick takes the newest of some routes half of the time.
func (c *Client) pick(routes []*contact.RouteRecord) *contact.RouteRecord {
	u := c.uniform()
	if u < 0.5 {
		return routes[0]
	}
	return routes[int((2*u-1)*float64(len(routes)))]
}

// routeFor returns the route a row goes by: the one it names, or the contact's
// newest that is still served and takes messages.
func routeFor(s vault.Store, id, route int64) (*contact.RouteRecord, error) {
	if route != 0 {
		return s.Route(route)
	}
	all, err := s.RoutesOf(id)
	if err != nil {
		return nil, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if !r.Mine && r.Invite == 0 && r.Retire == 0 {
			return r, nil
		}
	}
	return nil, contact.ErrUnknown
}

// cells puts the outer seal of the present period on bodies.
func (k *keyring) cells(route *contact.RouteRecord, bodies []wire.Body) ([]outbox.Sealed, error) {
	p, _, err := k.period(route, k.now(route.Period))
	if err != nil {
		return nil, err
	}
	out := make([]outbox.Sealed, 0, len(bodies))
	for i := range bodies {
		cell, err := sealed.SealCell(p.Seal, p.Address, &bodies[i], k.c.opt.rand())
		if err != nil {
			return nil, err
		}
		s := outbox.Sealed{Address: transport.Address(p.Address), Cell: (*transport.Cell)(cell), Isolate: k.c.realms.isolate(route.Realm, route.ID, p.T)}
		// A try has an id of its own: the relay sees another cell each time.
		copy(s.ID[:], cell[:len(s.ID)])
		out = append(out, s)
	}
	return out, nil
}

// Addresses names what to watch in a period. It implements inbox.Keys.
func (k *keyring) Addresses(ctx context.Context, period uint64) ([]inbox.Address, error) {
	var routes []*contact.RouteRecord
	err := k.c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		devices, err := s.Devices()
		if err != nil {
			return err
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
				return err
			}
			routes = append(routes, of...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	live := k.c.home().Live
	var out []inbox.Address
	for _, r := range routes {
		if !r.Mine || r.Retired(period) || r.Period != live || period < r.Birth {
			continue
		}
		a, err := k.owned(r, period)
		if errors.Is(err, addr.ErrForgotten) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	leaves, err := k.leafAddresses(ctx, period)
	return append(out, leaves...), err
}

func (k *keyring) owned(r *contact.RouteRecord, t uint64) (inbox.Address, error) {
	p, owner, err := k.period(r, t)
	if err != nil {
		return inbox.Address{}, err
	}
	k.mu.Lock()
	k.mine[p.Address] = mineAddress{of: periodKey{r.ID, t, r.Period}, seal: p.Seal.Clone()}
	k.mu.Unlock()
	sign := func(m []byte) ([]byte, error) {
		sig, err := p.Sign(owner, k.c.opt.rand(), m)
		return sig[:], err
	}
	return inbox.Address{Owned: transport.Owned{Address: transport.Address(p.Address), Sign: sign}, Route: r.ID, Alone: r.Contact == 0}, nil
}

// Open opens a cell and commits what it said. It implements inbox.Opener.
func (k *keyring) Open(ctx context.Context, route int64, a transport.Address, cell *transport.Cell) (inbox.Outcome, error) {
	k.c.opt.at(BoundaryCellArrived)
	k.mu.Lock()
	m, ok := k.mine[wire.Address(a)]
	leaf, of := k.leaves[route]
	k.mu.Unlock()
	if !ok || m.of.route != route {
		return inbox.Rejected, nil
	}
	if of {
		return k.takeLeaf(ctx, leaf, m.seal, a, cell, false)
	}
	return k.take(ctx, route, m.seal, a, cell, false)
}

// take opens a cell under the seal of its route's period or day, and commits.
// One that was parked says nothing about where its sender is now.
func (k *keyring) take(ctx context.Context, route int64, seal key.Seal, a transport.Address, cell *transport.Cell, parked bool) (inbox.Outcome, error) {
	body, err := sealed.OpenCell(seal, wire.Address(a), (*wire.Cell)(cell))
	if err != nil {
		return inbox.Rejected, nil
	}
	switch body.Kind {
	case wire.KindPair:
		return k.commit(ctx, route, parked, func(tx vault.Store, now time.Time, r *contact.RouteRecord) (convo.Outcome, *convo.Change, error) {
			return k.c.engine.Pair(tx, now, r, body.ID, body.Payload)
		})
	case wire.KindHello:
		whole, done, err := k.join(route, &body)
		if err != nil {
			return inbox.Rejected, nil
		}
		if !done {
			// It shows nothing yet, so it is echoed now and then at most, and on a
			// contact route never: nobody may probe unseen.
			return inbox.Nothing, nil
		}
		return k.commit(ctx, route, parked, func(tx vault.Store, now time.Time, r *contact.RouteRecord) (convo.Outcome, *convo.Change, error) {
			if r.Contact != 0 {
				return k.c.engine.Again(tx, now, r, whole)
			}
			ch, err := k.c.engine.Met(tx, now, r, whole)
			return convo.Rejected, ch, err
		})
	}
	return inbox.Nothing, nil
}

// join collects the fragments of a hello, per route and bounded.
func (k *keyring) join(route int64, b *wire.Body) (whole []byte, done bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	j := k.joiners[route]
	if j == nil {
		j = new(sealed.Joiner)
		k.joiners[route] = j
	}
	return j.Add(time.Now(), b)
}

// commit runs one message through the engine in one transaction.
func (k *keyring) commit(ctx context.Context, route int64, parked bool, f func(vault.Store, time.Time, *contact.RouteRecord) (convo.Outcome, *convo.Change, error)) (inbox.Outcome, error) {
	outcome := convo.Rejected
	err := k.c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		r, err := tx.Route(route)
		if errors.Is(err, contact.ErrUnknown) {
			outcome = convo.Rejected
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var ch *convo.Change
		outcome, ch, err = f(tx, now, r)
		if parked {
			k.c.groups.catchUp()
		}
		if parked && ch != nil {
			ch.Found, ch.Heard, ch.Again = ch.Heard, 0, nil
		}
		return ch, err
	})
	if errors.Is(err, convo.ErrBusy) {
		return inbox.Busy, nil // nothing was changed; it comes again
	}
	if err != nil {
		return 0, err
	}
	k.c.opt.at(BoundaryCellCommitted)
	switch outcome {
	case convo.Shown:
		return inbox.Shown, nil
	case convo.Nothing:
		return inbox.Nothing, nil
	}
	return inbox.Rejected, nil
}
