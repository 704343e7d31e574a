package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// ErrTaken is returned by PutBlob when another content lies at the id, or did.
// It comes with the receipt for that content.
var ErrTaken error = &fault{text: "another blob has this id", kind: transport.ErrRefused}

// PutBlob stores a blob, over a connection of its own. With the receipt the blob
// is on the relay's disk. The same blob again gives the same receipt.
//
// spec: relay-api.md#blob
func (r *Relay) PutBlob(ctx context.Context, p *wire.BlobPut) (wire.Receipt, error) {
	body, err := p.Append(nil)
	if err != nil {
		return wire.Receipt{}, &fault{text: "putting a malformed blob", kind: transport.ErrRefused}
	}
	if err := r.enter(); err != nil {
		return wire.Receipt{}, err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	d, err := r.describe(ctx, name, descriptorAge)
	if err != nil {
		return wire.Receipt{}, plain(ctx, err)
	}
	a, err := r.askPaid(ctx, d, bill{transport.PayBlob, p.ID[:]},
		request{isolate: name, pin: &r.pin, method: http.MethodPost, path: "/v1/blob", body: body, limit: wire.ReceiptSize})
	if err != nil {
		return wire.Receipt{}, plain(ctx, err)
	}
	taken := a.status == http.StatusConflict || a.status == http.StatusGone
	if err := a.good(); err != nil && !taken {
		return wire.Receipt{}, err
	}
	receipt, err := readReceipt(a.body, p.ID, d.Receipts)
	if err != nil {
		r.distrust()
		return wire.Receipt{}, err
	}
	if taken {
		return receipt, ErrTaken
	}
	if receipt.Hash != sha256.Sum256(p.Content) {
		return wire.Receipt{}, broken("a receipt for another content")
	}
	return receipt, nil
}

// readReceipt reads a receipt and checks that it is for id, by the receipt key.
//
// spec: relay-api.md#receipt
func readReceipt(b []byte, id wire.BlobID, by [32]byte) (wire.Receipt, error) {
	receipt, err := wire.ParseReceipt(b)
	if err != nil || receipt.ID != id {
		return wire.Receipt{}, broken("a receipt that is none")
	}
	if !key.Verify(by, receipt.Sig, wire.LabelReceipt, receipt.ID[:], receipt.Hash[:]) {
		return wire.Receipt{}, stranger("the signature of the receipt")
	}
	return receipt, nil
}

// GetBlob returns a blob, over a connection of its own. It fails with
// transport.ErrNothing if the relay does not have it, or not any more.
func (r *Relay) GetBlob(ctx context.Context, id wire.BlobID) ([]byte, error) {
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
	blob, _, err := r.get(ctx, name, id, &r.pin)
	return blob, plain(ctx, err)
}

// introduced makes sure that a relay which shows no key when it is connected to,
// because it is without TLS or a program in front may end that, has signed its descriptor with the pinned one: it would learn
// ids and capabilities of blobs otherwise.
func (r *Relay) introduced(ctx context.Context, isolate string) error {
	if !r.at.plain && !r.proxied() {
		return nil
	}
	age := descriptorAge
	if r.stale() {
		age = 0 // here it is the request itself that matters
	}
	_, err := r.describe(ctx, isolate, age)
	return err
}

// get fetches a blob from whoever has the pinned key, or any.
func (r *Relay) get(ctx context.Context, isolate string, id wire.BlobID, pin *[32]byte) (blob []byte, who shown, err error) {
	a, err := r.ask(ctx, request{isolate: isolate, pin: pin, method: http.MethodGet, path: blobPath(id), limit: wire.MaxBlob})
	if err != nil {
		return nil, who, err
	}
	if err := a.good(); err != nil {
		return nil, who, err
	}
	if !slices.Contains(wire.BlobClasses[:], len(a.body)) {
		return nil, who, broken("a blob of a size that there is not")
	}
	return a.body, a.who, nil
}

// DeleteBlob deletes a file by its capability. It fails with
// transport.ErrNothing if there is none, and with ErrRefused if the relay does
// not let go of it.
func (r *Relay) DeleteBlob(ctx context.Context, id wire.BlobID, capability [wire.CapabilitySize]byte) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.calls.Done()
	ctx, cancel := r.bound(ctx, requestWithin)
	defer cancel()
	name := once()
	if err := r.introduced(ctx, name); err != nil {
		return plain(ctx, err)
	}
	a, err := r.ask(ctx, request{isolate: name, pin: &r.pin, method: http.MethodDelete, path: blobPath(id), body: capability[:], limit: 4096})
	if err != nil {
		return plain(ctx, err)
	}
	if a.status == http.StatusNoContent {
		return nil
	}
	if err := a.good(); err != nil {
		return err
	}
	return broken("an answer that is none")
}

func blobPath(id wire.BlobID) string { return "/v1/blob/" + hex.EncodeToString(id[:]) }
