package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
)

// labelConnection names a connection to a relay, inside this process only.
const labelConnection = "tacet/v1/client/connection"

// realms holds the relays that are in use: ours, and those of contacts. To the
// outbox it is one transport; which relay a put goes to is decided by the name
// of its connection, which the sealer made.
type realms struct {
	network Network
	pay     func(pin [32]byte) transport.Payer // nil: nothing is paid

	mu     sync.Mutex
	open   map[contact.Realm]Relay
	of     map[string]contact.Realm // connection name → relay
	closed bool
}

func newRealms(n Network) *realms {
	return &realms{network: n, open: map[contact.Realm]Relay{}, of: map[string]contact.Realm{}}
}

// relay returns the relay of a realm, opening it when first used.
func (r *realms) relay(realm contact.Realm) (Relay, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, transport.ErrClosed
	}
	if t := r.open[realm]; t != nil {
		return t, nil
	}
	if r.network == nil || realm.Name == "" {
		return nil, ErrNoRelay
	}
	t, err := openRelay(r.network, realm.Name, realm.Pin)
	if err != nil {
		return nil, err
	}
	if g, ok := t.(Gate); ok && r.pay != nil {
		g.PayWith(r.pay(realm.Pin))
	}
	r.open[realm] = t
	return t, nil
}

// openRelay opens a relay of a network.
func openRelay(n Network, name string, pin [32]byte) (Relay, error) {
	t, err := n.Open(name, pin)
	if err != nil {
		return nil, err
	}
	r, ok := t.(Relay)
	if !ok {
		return nil, errors.Join(fmt.Errorf("opening relay: %T is none", t), t.Close())
	}
	return r, nil
}

// maxNames bounds the names of connections that are known at a time.
const maxNames = 4096

// isolate names the connection for a route in one period: one of its own per
// route behind a proxy, one per relay otherwise, where more would hide nothing.
// With the next period comes another connection, so that no relay can follow a
// route from address to address. Name and pin of the relay are both in it: one
// contact's relay must not get what is meant for another's.
func (r *realms) isolate(realm contact.Realm, route int64, period uint64) string {
	h := key.Hash(labelConnection, []byte(realm.Name), realm.Pin[:])
	name := fmt.Sprintf("%x/%d", h[:16], period)
	if r.network != nil && r.network.Proxy() != "" {
		name += fmt.Sprintf("/%d", route)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.of[name]; !ok && len(r.of) >= maxNames {
		clear(r.of) // what is under way fails, is sealed again, and names its connection anew
	}
	r.of[name] = realm
	return name
}

// errUnnamed is temporary: the next try names its connection anew.
var errUnnamed = errors.New("connection is not known any more")

// Caps are those of our relays.
func (r *realms) Caps() transport.Caps { return transport.Caps{LiveCount: true} }

// Put sends a cell to the relay that its connection name stands for.
func (r *realms) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	r.mu.Lock()
	realm, ok := r.of[p.Isolate]
	r.mu.Unlock()
	if !ok {
		return transport.Receipt{}, errUnnamed
	}
	t, err := r.relay(realm)
	if err != nil {
		return transport.Receipt{}, err
	}
	return t.Put(ctx, p)
}

// Watch is not asked of all relays at once.
func (r *realms) Watch(context.Context, transport.Watch) error { return transport.ErrRefused }

// Ack has nothing to do: relays of this version store nothing.
func (r *realms) Ack(context.Context, []transport.DeliveryID) error { return nil }

// Close is the owner's to call, by close.
func (r *realms) Close() error { return nil }

func (r *realms) close() error {
	r.mu.Lock()
	open := r.open
	r.open, r.closed = map[contact.Realm]Relay{}, true
	r.mu.Unlock()
	var errs []error
	for _, t := range open {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}
