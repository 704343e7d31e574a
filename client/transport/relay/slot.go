package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// receiptHeader carries the receipt of a blob that is read, as hex.
const receiptHeader = "Tacet-Receipt"

// GetSlot returns what lies at a slot and the relay's receipt for it, over a
// connection of its own. Once the content is gone it returns the receipt alone,
// with transport.ErrNothing; without a receipt that error says that nothing was
// ever put there. The content is what the receipt names, and the receipt is by the
// key that the relay's descriptor names today: whether that is the one that a
// group trusts is the group's to say.
//
// spec: relay-api.md#blob
func (r *Relay) GetSlot(ctx context.Context, id wire.BlobID) (blob []byte, receipt *wire.Receipt, err error) {
	if err := r.enter(); err != nil {
		return nil, nil, err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	d, err := r.describe(ctx, name, descriptorAge)
	if err != nil {
		return nil, nil, plain(ctx, err)
	}
	a, err := r.ask(ctx, request{isolate: name, pin: &r.pin, method: http.MethodGet, path: blobPath(id), limit: wire.MaxBlob})
	if err != nil {
		return nil, nil, plain(ctx, err)
	}
	said := a.body
	switch a.status {
	case http.StatusOK:
		if !slices.Contains(wire.BlobClasses[:], len(a.body)) {
			return nil, nil, broken("a blob of a size that there is not")
		}
		if said, err = hex.DecodeString(a.header.Get(receiptHeader)); err != nil {
			return nil, nil, broken("a receipt that is none")
		}
	case http.StatusGone:
	default:
		return nil, nil, a.good()
	}
	got, err := readReceipt(said, id, d.Receipts)
	if err != nil {
		if errors.Is(err, transport.ErrIdentity) {
			r.distrust() // its store may have lost something and have another key by now
		}
		return nil, nil, err
	}
	if a.status == http.StatusGone {
		return nil, &got, a.good()
	}
	if got.Hash != sha256.Sum256(a.body) {
		return nil, nil, broken("a receipt for another content")
	}
	return a.body, &got, nil
}
