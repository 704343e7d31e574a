package postgres

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/park"
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

// parkRound is the same of parked cells.
type parkRound struct {
	nodes []*Park
	n     atomic.Uint32
}

func (r *parkRound) next() *Park { return r.nodes[int(r.n.Add(1))%len(r.nodes)] }

func (r *parkRound) Put(ctx context.Context, rows []park.Row, now time.Time) ([]wire.ParkVerdict, error) {
	return r.next().Put(ctx, rows, now)
}

func (r *parkRound) Take(ctx context.Context, at []wire.Address, after park.Mark, now time.Time) ([]wire.Parked, error) {
	return r.next().Take(ctx, at, after, now)
}

func (r *parkRound) Ack(ctx context.Context, at wire.Address, ids []wire.RowID) (int, error) {
	return r.next().Ack(ctx, at, ids)
}

func (r *parkRound) Sweep(ctx context.Context, now, last time.Time) (int, error) {
	return r.next().Sweep(ctx, now, last)
}

// mapKeys is a park.Keys in memory.
type mapKeys struct {
	mu   sync.Mutex
	ids  *park.Key
	keys map[park.Epoch]park.Key
}

func (m *mapKeys) ParkKeys(_ context.Context, epochs []park.Epoch, create bool) (*park.Key, []*park.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		return nil, nil, park.ErrNoKeys
	}
	ids := *m.ids
	var all []*park.Key
	for _, e := range epochs {
		k, ok := m.keys[e]
		if !ok && !create {
			all = append(all, nil)
			continue
		}
		if !ok {
			fresh, err := park.NewKey(rand.Reader)
			if err != nil {
				return nil, nil, err
			}
			k = *fresh
			m.keys[e] = k
		}
		all = append(all, &k)
	}
	return &ids, all, nil
}

func (m *mapKeys) BeginParkKeys(context.Context) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.keys = map[park.Epoch]park.Key{}
		m.ids, err = park.NewKey(rand.Reader)
	}
	return err
}

func (m *mapKeys) DropParkKeys(_ context.Context, first, last park.Epoch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for e := range m.keys {
		if e < first || e > last {
			delete(m.keys, e)
		}
	}
	return nil
}

// lose is what becomes of the keys when their server is started again.
func (m *mapKeys) lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids, m.keys = nil, nil
}
