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
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// What fails before the store is asked.
var (
	errBusy  = errors.New("too busy")
	errLimit = errors.New("over a limit")
	errShort = malformed{errors.New("the body ended early")}
)

// malformed is a body that is no blob. Its text is for the client.
type malformed struct{ error }

// unpaid is the status of a blob that was not paid.
type unpaid int

func (u unpaid) Error() string { return http.StatusText(int(u)) }

// ReceiptHeader carries the receipt, as hex, of a blob that is read.
const ReceiptHeader = "Tacet-Receipt"

// retryAfter is what a client is told where the relay is too busy, in seconds.
const retryAfter = "10"

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
	if status := b.cfg.Keeper.Bears(r); status != 0 { // before 256 KiB are sent
		gate.Refuse(w, status)
		return
	}
	id, hash, lies, err := b.receive(w, r, size)
	switch {
	case errors.Is(err, ErrGone):
		b.answer(w, http.StatusGone, id, lies)
	case err != nil:
		b.fail(w, err)
	case lies != hash:
		b.answer(w, http.StatusConflict, id, lies)
	default:
		b.answer(w, http.StatusOK, id, lies)
	}
}

// receive reads a body of that size and stores it. It returns the id, the hash of
// the content and that of what lies at the id. Nothing of the body is held after.
func (b *Blobs) receive(w http.ResponseWriter, r *http.Request, size int64) (id wire.BlobID, hash, lies [32]byte, err error) {
	give, ok := b.room.Take(r.RemoteAddr, size)
	if !ok {
		return id, hash, lies, errBusy
	}
	defer give()
	release, ok := b.cfg.Limit.Allow(gate.Peer(r.RemoteAddr), gate.Blob)
	if !ok {
		return id, hash, lies, errLimit
	}
	defer release()

	body := make([]byte, size)
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience(size))) // else the server's own holds
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return id, hash, lies, errShort
	}
	p, err := wire.ParseBlobPut(body)
	if err != nil {
		return id, hash, lies, malformed{err}
	}
	if status := b.cfg.Keeper.Admit(r, token.Blob, p.ID[:]); status != 0 {
		return id, hash, lies, unpaid(status)
	}
	if err := b.enter(r.Context()); err != nil {
		return id, hash, lies, err
	}
	defer b.leave()
	now := b.cfg.Now()
	hash = sha256.Sum256(p.Content)
	e := entry(&p, hash, now)
	lies, err = b.cfg.Store.Create(r.Context(), &e, DayOf(now))
	return p.ID, hash, lies, err
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
	release, ok := b.cfg.Limit.Allow(gate.Peer(r.RemoteAddr), gate.Read)
	if !ok {
		b.fail(w, errLimit)
		return
	}
	defer release()
	content, hash, give, err := b.read(r, id)
	switch {
	case errors.Is(err, ErrGone):
		b.answer(w, http.StatusGone, id, hash)
		return
	case err != nil:
		b.fail(w, err)
		return
	}
	defer give()
	receipt := b.receipt(id, hash)
	w.Header().Set(ReceiptHeader, hex.EncodeToString(receipt.Append(nil)))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(int64(len(content))))) // as above
	http.ServeContent(unstored{w}, r, "", time.Time{}, bytes.NewReader(content))
}

// read gets a content and takes room for it. The room is taken before the call's
// place is free: there is no moment at which neither bounds it.
func (b *Blobs) read(r *http.Request, id wire.BlobID) (content []byte, hash [32]byte, give func(), err error) {
	if err := b.enter(r.Context()); err != nil {
		return nil, hash, nil, err
	}
	defer b.leave()
	content, hash, err = b.cfg.Store.Get(r.Context(), id, DayOf(b.cfg.Now()))
	if err != nil {
		return nil, hash, nil, err
	}
	give, ok := b.room.Take(r.RemoteAddr, int64(len(content)))
	if !ok {
		return nil, hash, nil, errBusy
	}
	return content, hash, give, nil
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
	if err := b.remove(r.Context(), id, hash); err != nil {
		b.fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (b *Blobs) remove(ctx context.Context, id wire.BlobID, capability [32]byte) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.leave()
	return b.cfg.Store.Delete(ctx, id, capability, DayOf(b.cfg.Now()))
}

// enter takes one of the places to call the store, which are free soon as long
// as the store works, or fails with errBusy.
func (b *Blobs) enter(ctx context.Context) error {
	select {
	case b.calls <- struct{}{}:
		return nil
	default:
	}
	select {
	case b.calls <- struct{}{}:
		return nil
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	return errBusy
}

func (b *Blobs) leave() { <-b.calls }

// patience is how long a body of n bytes may take, either way: ten seconds, and
// one more for every 12 KiB.
//
// spec: relay-api.md#limits
func patience(n int64) time.Duration { return 10*time.Second + time.Duration(n)*time.Second/(12<<10) }

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
	var bad malformed
	var status unpaid
	switch {
	case errors.As(err, &status):
		gate.Refuse(w, int(status))
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, "too busy, try again later", http.StatusServiceUnavailable)
	case errors.Is(err, errLimit):
		http.Error(w, "over a limit, try again later", http.StatusTooManyRequests)
	case errors.As(err, &bad):
		http.Error(w, bad.Error(), http.StatusBadRequest)
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
	case errors.Is(err, gate.ErrAway):
		b.cfg.Failed(err)
		w.Header().Set("Retry-After", retryAfter)
		http.Error(w, "the store does not answer, try again later", http.StatusServiceUnavailable)
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
