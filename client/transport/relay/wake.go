package relay

import (
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/tacet-chat/tacet/client/transport"
)

// Calls about waking sleeping devices. Each goes over a connection of its own.

// macSize is the size of a gateway's MAC, in bytes.
const macSize = 32

// Wake has the relay pass a wake ticket on. That it took it says nothing about
// what becomes of it. It costs a token where the relay wants tokens.
//
// spec: wake.md#asking
func (r *Relay) Wake(ctx context.Context, ticket []byte) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	d, err := r.describe(ctx, name, descriptorAge)
	if err != nil {
		return plain(ctx, err)
	}
	hash := sha256.Sum256(ticket)
	a, err := r.askPaid(ctx, d, bill{transport.PayWake, hash[:]}, request{
		isolate: name, pin: &r.pin, method: http.MethodPost, path: "/v1/wake", body: ticket, limit: 4096})
	if err != nil {
		return plain(ctx, err)
	}
	if a.status == http.StatusAccepted {
		return nil
	}
	return orBroken(a.good())
}

// ProveWake asks a gateway to push a challenge to an endpoint: request is what
// POST /v1/wake/prove takes. It fails with transport.ErrRefused for an endpoint
// that the gateway does not push to, and with transport.ErrNothing if the push
// service does not take it.
//
// spec: wake.md#proof
func (r *Relay) ProveWake(ctx context.Context, request []byte) error {
	a, err := r.gateway(ctx, "/v1/wake/prove", request)
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNoContent:
		return nil
	case a.status == http.StatusBadGateway:
		return &fault{text: "the push service was not reached or did not take it", kind: transport.ErrNothing}
	}
	return orBroken(a.good())
}

// ConfirmWake answers a gateway's challenge: request is what POST
// /v1/wake/confirm takes. It returns the gateway's MAC.
func (r *Relay) ConfirmWake(ctx context.Context, request []byte) (mac [macSize]byte, err error) {
	a, err := r.gateway(ctx, "/v1/wake/confirm", request)
	if err == nil {
		err = a.good()
	}
	if err == nil && len(a.body) != macSize {
		err = broken("a MAC of another size")
	}
	if err != nil {
		return mac, err
	}
	return [macSize]byte(a.body), nil
}

func (r *Relay) gateway(ctx context.Context, path string, body []byte) (answer, error) {
	if err := r.enter(); err != nil {
		return answer{}, err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	if err := r.introduced(ctx, name); err != nil {
		return answer{}, plain(ctx, err)
	}
	a, err := r.ask(ctx, request{isolate: name, pin: &r.pin, method: http.MethodPost, path: path, body: body, limit: 4096})
	return a, plain(ctx, err)
}

// orBroken is for an answer that is neither what was asked for nor an error.
func orBroken(err error) error {
	if err == nil {
		return broken("an answer that is none")
	}
	return err
}
