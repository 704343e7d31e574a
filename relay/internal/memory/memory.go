// Package memory keeps blobs, parked cells, members and spent tokens in memory:
// for a relay that is to forget all on its way down, and for tests. It implements
// blob.Store, park.Store, gate.Members and gate.Spent.
//
// Nothing is written to disk, the key for receipts included: every start is a
// new store with a new key, as the rule for a store that lost anything asks.
package memory

import (
	"bytes"
	"context"
	"io"
	"sync"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
)

// recordCost is what a record counts against the bound beside its content, in bytes.
const recordCost = 256

// Blobs is a blob.Store.
type Blobs struct {
	sign key.Sign
	max  int64

	mu   sync.Mutex // guards the below
	used int64
	all  map[wire.BlobID]*record
}

// record is one blob; content is nil once it is gone.
type record struct {
	hash, capability [32]byte
	until, forget    blob.Day
	content          []byte
}

// NewBlobs returns an empty store of at most max bytes, with a new receipt key from random.
func NewBlobs(max int64, random io.Reader) (*Blobs, error) {
	sign, err := key.Generate[key.SignRole](random)
	if err != nil {
		return nil, err
	}
	return &Blobs{sign: sign, max: max, all: map[wire.BlobID]*record{}}, nil
}

// Receipts returns the key that signs receipts.
func (b *Blobs) Receipts() key.Sign { return b.sign }

// Create keeps e unless its id is taken.
func (b *Blobs) Create(_ context.Context, e *blob.Entry, today blob.Day) ([32]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.all[e.ID]; r != nil {
		if r.gone(today) {
			return r.hash, blob.ErrGone
		}
		return r.hash, nil
	}
	cost := recordCost + int64(len(e.Content))
	if b.used+cost > b.max {
		return [32]byte{}, blob.ErrFull
	}
	b.used += cost
	b.all[e.ID] = &record{e.Hash, e.Capability, e.Until, e.Forget, bytes.Clone(e.Content)}
	return e.Hash, nil
}

// Get returns the content of a blob and its hash.
func (b *Blobs) Get(_ context.Context, id wire.BlobID, today blob.Day) ([]byte, [32]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.all[id]
	if r == nil {
		return nil, [32]byte{}, blob.ErrNotFound
	}
	if r.gone(today) {
		return nil, r.hash, blob.ErrGone
	}
	return bytes.Clone(r.content), r.hash, nil
}

// Delete deletes a content and keeps its record.
func (b *Blobs) Delete(_ context.Context, id wire.BlobID, capability [32]byte, today blob.Day) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.all[id]
	switch {
	case r == nil:
		return blob.ErrNotFound
	case r.gone(today):
		return blob.ErrGone
	case r.capability == [32]byte{} || r.capability != capability:
		return blob.ErrDenied
	}
	b.empty(r)
	return nil
}

// Sweep deletes what has reached its end.
func (b *Blobs) Sweep(_ context.Context, today blob.Day) (left int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, r := range b.all {
		if r.gone(today) {
			b.empty(r)
		} else {
			left++
		}
		if today >= r.forget {
			b.used -= recordCost
			delete(b.all, id)
		}
	}
	return left, nil
}

func (r *record) gone(today blob.Day) bool { return r.content == nil || today >= r.until }

// empty drops a content, and overwrites it: memory outlives what is in it.
func (b *Blobs) empty(r *record) {
	b.used -= int64(len(r.content))
	clear(r.content)
	r.content, r.capability = nil, [32]byte{}
}
