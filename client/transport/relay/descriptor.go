package relay

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Descriptor returns what the relay says of itself now, checked against the
// pinned realm key: who asks, asks whether it is there.
func (r *Relay) Descriptor(ctx context.Context) (wire.Descriptor, error) {
	if err := r.enter(); err != nil {
		return wire.Descriptor{}, err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	d, err := r.describe(ctx, once(), 0)
	if err != nil {
		return wire.Descriptor{}, plain(ctx, err)
	}
	out := *d
	out.Roles = slices.Clone(d.Roles)
	return out, nil
}

// describe returns the descriptor for all connections to share, which is not to
// be changed. One that is older than age is renewed on the side, at a moment of
// its own and over a connection of its own: requests in front of some of a
// device's connections and not of others would tell from period to period which
// are one device's. If there is none, one caller fetches it, over the name that
// its own connection will have: the others then have no request that could be
// counted with theirs. With age 0 it is fetched now.
//
// spec: relay-api.md#realm
func (r *Relay) describe(ctx context.Context, isolate string, age time.Duration) (*wire.Descriptor, error) {
	if d := r.described(age); d != nil {
		return d, nil
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d := r.described(age); d != nil {
		return d, nil
	}
	return r.fetch(ctx, isolate)
}

// fetch asks for the descriptor and keeps it. The caller holds the token of asking.
func (r *Relay) fetch(ctx context.Context, isolate string) (*wire.Descriptor, error) {
	answer, err := r.ask(ctx, request{isolate: isolate, pin: &r.pin, method: http.MethodGet, path: realmPath, limit: wire.MaxDescriptor})
	if err != nil {
		return nil, err
	}
	if err := answer.good(); err != nil {
		return nil, err
	}
	fresh, err := readDescriptor(answer.body, &r.pin)
	if err != nil {
		return nil, err
	}
	if answer.who.proxied && !fresh.Proxied {
		return nil, stranger("the certificates of the relay")
	}
	if fresh.Binding && (r.at.plain || answer.who.proxied) {
		return nil, broken("proofs are said to be bound to TLS, and there is none")
	}
	if err := r.announce(ctx, &fresh); err != nil {
		r.distrust()
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.descriptor, r.fetched = &fresh, time.Now()
	return &fresh, nil
}

// described returns the descriptor, if there is one, and has it renewed if it is
// older than age. With age 0 it returns nil.
func (r *Relay) described(age time.Duration) *wire.Descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age == 0 || r.descriptor == nil {
		return nil
	}
	if time.Since(r.fetched) >= age && !r.renewing && !r.closed {
		r.renewing = true
		r.calls.Go(r.renew)
	}
	return r.descriptor
}

// stale reports whether the descriptor is older than it should be.
func (r *Relay) stale() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.fetched) >= descriptorAge
}

// renew fetches the descriptor again within renewWithin. If that fails, the next
// connection has it tried again.
func (r *Relay) renew() {
	defer func() {
		r.mu.Lock()
		r.renewing = false
		r.mu.Unlock()
	}()
	ctx, cancel := r.bound(r.ctx, renewWithin+requestWithin)
	defer cancel()
	select {
	case <-time.After(rand.N(renewWithin)):
	case <-ctx.Done():
		return
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return
	}
	r.fetch(ctx, once())
}

// distrust forgets the descriptor: what was signed does not fit it, as after
// an operator changed keys. The next connection asks anew.
func (r *Relay) distrust() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.descriptor = nil
}

// readDescriptor reads a signed descriptor and checks that the realm key is the
// pinned one, if there is a pin, and signed it.
//
// spec: relay-api.md#realm
func readDescriptor(b []byte, pin *[32]byte) (wire.Descriptor, error) {
	d, sig, body, err := wire.ParseDescriptor(b)
	if err != nil {
		return wire.Descriptor{}, broken("its descriptor is malformed")
	}
	if pin != nil && sha256.Sum256(d.Realm[:]) != *pin {
		return wire.Descriptor{}, stranger("the descriptor of the realm")
	}
	if !key.Verify(d.Realm, sig, wire.LabelDescriptor, body) {
		return wire.Descriptor{}, stranger("the signature of the descriptor")
	}
	return d, nil
}

// readSecond checks a signed second and returns its unix seconds.
//
// spec: relay-api.md#second
func readSecond(b []byte, by [32]byte) (int64, error) {
	if len(b) != wire.SecondSize {
		return 0, wrongTime("the time of the relay has the wrong size")
	}
	if !key.Verify(by, key.Signature(b[8:]), wire.LabelSecond, b[:8]) {
		return 0, wrongTime("the time of the relay is not signed by its time key")
	}
	unix := binary.BigEndian.Uint64(b)
	if unix > 1<<40 { // year 36,812: a time of date arithmetic gone wrong
		return 0, wrongTime("the time of the relay cannot be")
	}
	return int64(unix), nil
}
