package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/transport"
)

// realms holds the relays that are in use: ours, and those of contacts. To the
// outbox it is one transport; which relay a put goes to is decided by the name
// of its connection, which the sealer made.
type realms struct {
	network Network

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

// isolate names the connection for a route: one of its own per route behind a
// proxy, one per relay otherwise, where more would hide nothing.
func (r *realms) isolate(realm contact.Realm, route int64) string {
	name := hex.EncodeToString(realm.Pin[:8]) + "/put"
	if r.network != nil && r.network.Proxy() != "" {
		name += fmt.Sprintf("/%d", route)
	}
	r.mu.Lock()
	r.of[name] = realm
	r.mu.Unlock()
	return name
}

// Caps are those of our relays.
func (r *realms) Caps() transport.Caps { return transport.Caps{LiveCount: true} }

// Put sends a cell to the relay that its connection name stands for.
func (r *realms) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	r.mu.Lock()
	realm, ok := r.of[p.Isolate]
	r.mu.Unlock()
	if !ok {
		return transport.Receipt{}, transport.ErrRefused
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
