package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// ReceiptHeader carries the receipt, as hex, of a blob that is read.
const ReceiptHeader = "Tacet-Receipt"

// ServePut is POST /v1/blob.
//
// spec: relay-api.md#blob
func (b *Blobs) ServePut(w http.ResponseWriter, r *http.Request) {
	size := r.ContentLength
	if size < 0 {
		http.Error(w, "a length must be given", http.StatusLengthRequired)
		return
	}
	if !isClass(size - wire.BlobHeaderSize) {
		http.Error(w, "a blob has one of four sizes", http.StatusRequestEntityTooLarge)
		return
	}
	if !b.cfg.Limit.Allow(gate.Peer(r.RemoteAddr), gate.Blob) {
		http.Error(w, "over a limit, try again later", http.StatusTooManyRequests)
		return
	}
	defer b.cfg.Limit.Release(gate.Blob)
	if !b.enter(w, r) {
		return
	}
	defer b.leave()

	body := make([]byte, size)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	p, err := wire.ParseBlobPut(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	now := b.cfg.Now()
	hash := sha256.Sum256(p.Content)
	e := entry(&p, hash, now)
	lies, err := b.cfg.Store.Create(r.Context(), &e, DayOf(now))
	switch {
	case errors.Is(err, ErrGone):
		b.answer(w, http.StatusGone, p.ID, lies)
	case err != nil:
		b.fail(w, err)
	case lies != hash:
		b.answer(w, http.StatusConflict, p.ID, lies)
	default:
		b.answer(w, http.StatusOK, p.ID, lies)
	}
}

// ServeGet is GET and HEAD /v1/blob/{id}.
func (b *Blobs) ServeGet(w http.ResponseWriter, r *http.Request) {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		http.Error(w, "an id is 64 lower-case hex digits", http.StatusBadRequest)
		return
	}
	// One range at most: an answer of many parts can be larger than the blob.
	if strings.Contains(r.Header.Get("Range"), ",") {
		http.Error(w, "only one range", http.StatusBadRequest)
		return
	}
	if !b.enter(w, r) {
		return
	}
	defer b.leave()

	content, hash, err := b.cfg.Store.Get(r.Context(), id, DayOf(b.cfg.Now()))
	switch {
	case errors.Is(err, ErrGone):
		b.answer(w, http.StatusGone, id, hash)
	case err != nil:
		b.fail(w, err)
	default:
		receipt := b.receipt(id, hash)
		w.Header().Set(ReceiptHeader, hex.EncodeToString(receipt.Append(nil)))
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(unstored{w}, r, "", time.Time{}, bytes.NewReader(content))
	}
}

// unstored keeps an answer out of caches: net/http drops the header that says
// so when a range does not fit.
type unstored struct{ http.ResponseWriter }

func (w unstored) WriteHeader(status int) {
	w.Header().Set("Cache-Control", "no-store")
	w.ResponseWriter.WriteHeader(status)
}

// ServeDelete is DELETE /v1/blob/{id}.
func (b *Blobs) ServeDelete(w http.ResponseWriter, r *http.Request) {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		http.Error(w, "an id is 64 lower-case hex digits", http.StatusBadRequest)
		return
	}
	if r.ContentLength != wire.CapabilitySize {
		http.Error(w, "a capability is 32 bytes", http.StatusRequestEntityTooLarge)
		return
	}
	var capability [wire.CapabilitySize]byte
	if _, err := io.ReadFull(r.Body, capability[:]); err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	hash := key.Hash(wire.LabelCapability, capability[:])
	if err := b.cfg.Store.Delete(r.Context(), id, hash, DayOf(b.cfg.Now())); err != nil {
		b.fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// enter takes one of the places that bound memory, or answers that there is none.
func (b *Blobs) enter(w http.ResponseWriter, r *http.Request) bool {
	select {
	case b.busy <- struct{}{}:
		return true
	default:
	}
	select {
	case b.busy <- struct{}{}:
		return true
	case <-time.After(time.Second):
	case <-r.Context().Done():
	}
	http.Error(w, "too busy, try again later", http.StatusServiceUnavailable)
	return false
}

func (b *Blobs) leave() { <-b.busy }

// answer sends a receipt.
func (b *Blobs) answer(w http.ResponseWriter, status int, id wire.BlobID, hash [32]byte) {
	receipt := b.receipt(id, hash)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(status)
	w.Write(receipt.Append(nil))
}

// fail answers with what a store's error means.
//
// spec: relay-api.md#errors
func (b *Blobs) fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, "nothing there", http.StatusNotFound)
	case errors.Is(err, ErrGone):
		http.Error(w, "gone", http.StatusGone)
	case errors.Is(err, ErrDenied):
		http.Error(w, "the capability does not fit", http.StatusForbidden)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrStopped):
		http.Error(w, "stopping, try again later", http.StatusServiceUnavailable)
	case errors.Is(err, ErrFull):
		b.cfg.Failed(err)
		http.Error(w, "no room", http.StatusInsufficientStorage)
	default:
		b.cfg.Failed(err)
		http.Error(w, "the relay failed", http.StatusInternalServerError)
	}
}

func isClass(n int64) bool {
	for _, c := range wire.BlobClasses {
		if n == int64(c) {
			return true
		}
	}
	return false
}

// parseID reads an id in its one spelling.
func parseID(s string) (id wire.BlobID, ok bool) {
	if len(s) != 2*wire.BlobIDSize || strings.ToLower(s) != s {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil
}
