// Package fetch gets the bundles that invites name. It tries again while that
// may help, within a bound, and tells what will not change from what may.
//
// It belongs to the moving half of the client: a bundle stays encrypted here,
// and nothing about it is checked but its size. It keeps and caches nothing.
//
// Spec: docs/spec/relay-api.md#blob.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// BundleSize is the size of a bundle in bytes: the smallest class of blobs.
const BundleSize = 4 << 10

// Bounds of one Get.
const (
	tries      = 5
	tryWithin  = 40 * time.Second // one try, through a slow proxy too
	firstPause = time.Second      // doubled after each try; each × U(0.5, 1.5)
)

// Errors of Get. transport.ErrRefused and transport.ErrIdentity come through.
var (
	// ErrNotFound: nothing lies there. The invite was used, ran out, was taken
	// back, or is for another relay; a relay does not tell these apart.
	ErrNotFound = errors.New("there is no bundle for this invite")
	// ErrSize: what lies there is no bundle.
	ErrSize = errors.New("bundle has the wrong size")
	// ErrUnreachable: no answer in spite of several tries. Later it may work.
	ErrUnreachable = errors.New("relay gave no answer")
)

// Source is a relay that blobs can be read from.
type Source interface {
	// GetBlob fails with transport.ErrNothing for a blob that is not there.
	GetBlob(ctx context.Context, id wire.BlobID) ([]byte, error)
}

// Fetcher gets bundles from one relay.
type Fetcher struct {
	Source Source
	Rand   io.Reader
}

// Get returns the encrypted bundle, BundleSize bytes. Of errors that may pass it
// tries up to five times.
func (f *Fetcher) Get(ctx context.Context, id wire.BlobID) ([]byte, error) {
	var last error
	for n := range tries {
		if n > 0 {
			if err := f.pause(ctx, firstPause<<(n-1)); err != nil {
				return nil, err
			}
		}
		b, err := f.try(ctx, id)
		switch {
		case err == nil && len(b) != BundleSize:
			return nil, ErrSize
		case err == nil:
			return b, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, transport.ErrNothing):
			return nil, ErrNotFound
		case errors.Is(err, transport.ErrRefused), errors.Is(err, transport.ErrIdentity), errors.Is(err, transport.ErrClosed):
			return nil, fmt.Errorf("fetching bundle: %w", err)
		}
		last = err
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, last)
}

func (f *Fetcher) try(ctx context.Context, id wire.BlobID) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	return f.Source.GetBlob(ctx, id)
}

// pause waits d × U(0.5, 1.5).
func (f *Fetcher) pause(ctx context.Context, d time.Duration) error {
	var b [2]byte
	if _, err := io.ReadFull(f.Rand, b[:]); err != nil {
		return fmt.Errorf("reading randomness: %w", err)
	}
	u := time.Duration(b[0])<<8 | time.Duration(b[1])
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d/2 + d*u/(1<<16)):
		return nil
	}
}
