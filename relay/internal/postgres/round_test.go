package postgres

import (
	"context"
	"sync/atomic"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// round is several nodes, asked one after the other.
type round struct {
	nodes []*Blobs
	n     atomic.Uint32
}

func (r *round) next() *Blobs { return r.nodes[int(r.n.Add(1))%len(r.nodes)] }

func (r *round) Create(ctx context.Context, e *blob.Entry, today blob.Day) ([32]byte, error) {
	return r.next().Create(ctx, e, today)
}

func (r *round) Get(ctx context.Context, id wire.BlobID, today blob.Day) ([]byte, [32]byte, error) {
	return r.next().Get(ctx, id, today)
}

func (r *round) Delete(ctx context.Context, id wire.BlobID, capability [32]byte, today blob.Day) error {
	return r.next().Delete(ctx, id, capability, today)
}

func (r *round) Sweep(ctx context.Context, today blob.Day) (int, error) {
	return r.next().Sweep(ctx, today)
}

func (r *round) Receipts() key.Sign { return r.next().Receipts() }

// memberRound is the same of members.
type memberRound struct {
	nodes []*Members
	n     atomic.Uint32
}

func (r *memberRound) next() *Members { return r.nodes[int(r.n.Add(1))%len(r.nodes)] }

func (r *memberRound) AddInvite(ctx context.Context, i gate.Invite) error {
	return r.next().AddInvite(ctx, i)
}

func (r *memberRound) Join(ctx context.Context, invite, credential [32]byte, today gate.Day) error {
	return r.next().Join(ctx, invite, credential, today)
}

func (r *memberRound) Member(ctx context.Context, credential [32]byte) (bool, error) {
	return r.next().Member(ctx, credential)
}

func (r *memberRound) Invites(ctx context.Context, today gate.Day) ([]gate.Invite, error) {
	return r.next().Invites(ctx, today)
}

func (r *memberRound) Revoke(ctx context.Context, hash [32]byte) error {
	return r.next().Revoke(ctx, hash)
}

func (r *memberRound) Sweep(ctx context.Context, today gate.Day) error {
	return r.next().Sweep(ctx, today)
}
