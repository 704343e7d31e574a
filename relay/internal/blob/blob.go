// Package blob is the relay's shelf of opaque blobs: created once under an
// unguessable id, never changed, answered with a signed receipt, read by
// whoever knows the id, and gone when their time is over.
//
// It has the HTTP calls and the rules; what keeps the bytes is a Store. It
// knows nothing of what a blob means, who put it or who reads it, and keeps no
// time of arrival: the ends of lives are whole days.
//
// Spec: docs/spec/relay-api.md#blob.
package blob

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Lives, in days.
const (
	MaxFileDays  = 30  // the longest that the content of a file stays
	SlotDays     = 90  // the content of a slot
	RecordDays   = 400 // id and hash of every blob, at least
	recordRounds = 30  // … to the end of a span of this many days
)

// Errors of a Store that the feature and its callers branch on.
var (
	// ErrNotFound: nothing was ever put there, or so long ago that it is forgotten.
	ErrNotFound = errors.New("no such blob")
	// ErrGone: the content was deleted or has reached its end.
	ErrGone = errors.New("blob is gone")
	// ErrDenied: the blob cannot be deleted with this capability, or not at all.
	ErrDenied = errors.New("capability does not fit")
	// ErrFull: there is no room on the disk, or the store is at its bound.
	ErrFull = errors.New("store is full")
	// ErrStopped: the store does not run any more; nothing was changed.
	ErrStopped = errors.New("store has stopped")
)

// Day is a day of Unix time: seconds / 86,400.
type Day uint32

// DayOf returns the day that t lies in.
func DayOf(t time.Time) Day { return Day(max(0, t.Unix()) / 86400) }

// Entry is all that a store keeps of a blob. A store copies what it keeps.
type Entry struct {
	ID         wire.BlobID
	Hash       [32]byte // SHA-256 of Content
	Capability [32]byte // hash of the capability that deletes it; zeros: none does
	Until      Day      // the content goes at the start of this day
	Forget     Day      // id and hash go at the start of this day
	Content    []byte   // one of wire.BlobClasses
}

// Store keeps entries. Its methods may be called from any goroutine; an error
// that is none of the above means that the store itself failed.
type Store interface {
	// Create keeps e, unless its id is taken, and returns the hash of what has
	// the id now: e.Hash if it is e, or an earlier one with the same content.
	// It fails with ErrGone, and the hash, where only the record is left. It
	// returns once the entry would survive whatever this store survives.
	Create(ctx context.Context, e *Entry, today Day) (hash [32]byte, err error)
	// Get returns the content and its hash; with ErrGone the hash alone.
	Get(ctx context.Context, id wire.BlobID, today Day) (content []byte, hash [32]byte, err error)
	// Delete deletes the content and keeps the record.
	Delete(ctx context.Context, id wire.BlobID, capability [32]byte, today Day) error
	// Sweep deletes what has reached its end, leaves no trace of it, and returns
	// how many contents are left.
	Sweep(ctx context.Context, today Day) (left int, err error)
	// Receipts is the key that signs receipts. It lives and dies with the
	// entries: a store that lost one must not have the key it had before, or
	// it could be led to sign a second receipt for an id.
	Receipts() key.Sign
}

// Limiter says whether a network may store or read one more blob.
type Limiter interface {
	Allow(remote netip.Addr, what gate.What) (release func(), ok bool)
}

// Config has what the feature needs of its surroundings.
type Config struct {
	Store Store
	Limit Limiter
	// Keeper takes a token for each blob that is stored; nil takes none.
	Keeper *gate.Keeper
	Now    func() time.Time
	// Failed is told when the store failed, with the reason. It must not block.
	Failed func(error)
}

// Bounds of memory. A call of the store holds at most a content and a copy; a
// peer that is slow to send or take a body holds no call, and its part of the room.
const (
	maxCalls = 32       // calls of the store at one moment
	maxHeld  = 32 << 20 // bytes of bodies that are being read or written
)

// Blobs is the feature.
type Blobs struct {
	cfg   Config
	sign  key.Sign
	calls chan struct{}
	room  *gate.Room
}

// New returns the feature over a store.
func New(cfg Config) *Blobs {
	return &Blobs{cfg: cfg, sign: cfg.Store.Receipts(), calls: make(chan struct{}, maxCalls), room: gate.NewRoom(maxHeld)}
}

// ReceiptKey returns the public key that receipts verify under.
func (b *Blobs) ReceiptKey() key.SignPublic { return key.SignPublicOf(b.sign) }

// Sweep deletes what has reached its end and returns how many blobs are left.
func (b *Blobs) Sweep(ctx context.Context) (left int, err error) {
	return b.cfg.Store.Sweep(ctx, DayOf(b.cfg.Now()))
}

// receipt signs that id holds the content with that hash. Ed25519 is
// deterministic: the same receipt for the same pair, for ever.
//
// spec: relay-api.md#receipt
func (b *Blobs) receipt(id wire.BlobID, hash [32]byte) wire.Receipt {
	return wire.Receipt{ID: id, Hash: hash, Sig: key.SignMessage(b.sign, wire.LabelReceipt, id[:], hash[:])}
}

// entry turns a request into what is kept: ends of lives are rounded up, so
// that neither tells when the blob came.
//
// spec: relay-api.md#life-of-a-blob
func entry(p *wire.BlobPut, hash [32]byte, now time.Time) Entry {
	days := Day(p.Days)
	if p.Kind == wire.BlobSlot {
		days = SlotDays
	}
	today := DayOf(now)
	forget := today + 1 + RecordDays
	forget += (recordRounds - forget%recordRounds) % recordRounds
	return Entry{ID: p.ID, Hash: hash, Capability: p.Capability, Until: today + 1 + days, Forget: forget, Content: p.Content}
}
