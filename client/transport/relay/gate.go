package relay

import (
	"context"
	"net/http"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Calls of a realm's gate. Each goes over a connection of its own that carries
// nothing else: what names a membership shares nothing with what spends.
//
// spec: gate.md

var errOutside = &fault{text: transport.ErrOutside.Error(), kind: transport.ErrOutside}

// Issue asks for a part of a batch of tokens: request is what POST /v1/token
// takes, and the answer wire.TokenAnswerSize bytes, not checked here. It fails with
// transport.ErrOutside, ErrLimit or ErrBusy.
func (r *Relay) Issue(ctx context.Context, request []byte) ([]byte, error) {
	return r.gate(ctx, "/v1/token", request, wire.TokenAnswerSize)
}

// Challenge asks for a puzzle: request is what POST /v1/puzzle takes. It fails
// with transport.ErrOutside where puzzles buy nothing.
func (r *Relay) Challenge(ctx context.Context, request []byte) ([]byte, error) {
	return r.gate(ctx, "/v1/puzzle", request, challengeSize)
}

// challengeSize is the size of a puzzle's challenge in bytes.
const challengeSize = 60

// Join makes this device a member: request is what POST /v1/member takes. It
// fails with transport.ErrOutside if the relay does not let it in.
func (r *Relay) Join(ctx context.Context, request []byte) error {
	_, err := r.gate(ctx, "/v1/member", request, 0)
	return err
}

// MakeInvite makes an invite to the realm, of one use, with a secret of that
// hash, for 1 to 30 days. It costs a member's token. It fails with
// transport.ErrOutside where members make none.
func (r *Relay) MakeInvite(ctx context.Context, hash [32]byte, days byte) error {
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
	a, err := r.askPaid(ctx, d, bill{transport.PayInvite, hash[:]}, request{
		isolate: name, pin: &r.pin, method: http.MethodPost, path: "/v1/member/invite", body: append(hash[:], days), limit: 4096})
	if err != nil {
		return plain(ctx, err)
	}
	_, err = gateAnswer(a, 0)
	return err
}

// gate sends a request that costs no token and returns an answer of size bytes.
func (r *Relay) gate(ctx context.Context, path string, body []byte, size int) ([]byte, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	if err := r.introduced(ctx, name); err != nil {
		return nil, plain(ctx, err)
	}
	a, err := r.ask(ctx, request{isolate: name, pin: &r.pin, method: http.MethodPost, path: path, body: body, limit: max(size, 4096)})
	if err != nil {
		return nil, plain(ctx, err)
	}
	return gateAnswer(a, size)
}

// gateAnswer says what an answer of the gate means.
func gateAnswer(a answer, size int) ([]byte, error) {
	switch {
	case a.status == http.StatusForbidden:
		return nil, errOutside
	case a.status == http.StatusNoContent && size == 0:
		return nil, nil
	}
	if err := a.good(); err != nil {
		return nil, err
	}
	if size == 0 || len(a.body) != size {
		return nil, broken("an answer of another size")
	}
	return a.body, nil
}
