package postgres

import (
	"context"
	"sync/atomic"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
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
