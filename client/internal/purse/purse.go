// Package purse holds what a device pays relays with: a credential for each
// realm that it is a member of, batches of anonymous tokens of its own, and
// tokens that contacts of other realms gave it. It says when the next batch is
// due, makes the request for it, checks the answer against the key that the
// realm announced, and takes tokens out so that none is ever spent twice.
//
// It belongs to the moving half of the client: it sees tokens and realms, never
// what is said or to whom. It does not use the network; whoever does asks it.
// Where it has nothing to pay with, whatever had to be paid waits.
//
// Spec: docs/spec/purse.md.
package purse

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/token"
)

// Rules of a purse.
//
// spec: purse.md#when-tokens-are-fetched
const (
	restFor     = time.Hour        // between fetching a batch and spending of it
	lateFor     = 2 * time.Minute  // within which a batch is fetched that is missing already
	beforeEnd   = 90 * time.Minute // of a day: what is fetched later rests into the next
	seedsEvery  = 7                // days between new issuer seeds of one realm that are accepted
	keysAhead   = 2                // epochs beyond the present one of which a key is remembered
	maxGiven    = 256              // tokens given by contacts that are kept for one realm
	maxRealms   = 256              // that a purse knows
	reserveKept = 64               // guest tokens that are not given away: for coming back
	retryAfter  = 5 * time.Minute  // after a batch could not be fetched, doubled up to
	retryMost   = 2 * time.Hour
)

// Errors that callers branch on.
var (
	// ErrNoMember: this device is not a member of the realm.
	ErrNoMember = errors.New("this device is not a member of the realm")
	// ErrProof: the answer to a request for tokens does not fit the announced key.
	// Nothing of it is used.
	ErrProof = errors.New("the relay answered with tokens of another key than it announced")
	// ErrStale: what was asked for is not wanted any more.
	ErrStale = errors.New("these tokens are not wanted any more")
)

// Realm is what a purse keeps of one realm.
type Realm struct {
	ID         int64    `cbor:"-"`
	Pin        [32]byte `cbor:"1,keyasint"`            // SHA-256 of the realm key
	Name       string   `cbor:"2,keyasint"`            // its relay's name
	Credential []byte   `cbor:"3,keyasint,omitempty"`  // 32 bytes; nil: none was made
	Secret     []byte   `cbor:"4,keyasint,omitempty"`  // of the realm invite while we are joining
	Member     bool     `cbor:"5,keyasint,omitempty"`  // the relay took our credential
	Puzzles    bool     `cbor:"6,keyasint,omitempty"`  // batches are bought with puzzles
	Keys       []Known  `cbor:"7,keyasint,omitempty"`  // that were announced
	Since      uint64   `cbor:"8,keyasint,omitempty"`  // UTC day on which the issuer's seed began
	Renewed    int64    `cbor:"9,keyasint,omitempty"`  // unix second at which a new seed was last accepted
	Class      uint64   `cbor:"10,keyasint,omitempty"` // tokens a day, at most
	Wants      bool     `cbor:"11,keyasint,omitempty"` // it wants tokens
	First      byte     `cbor:"12,keyasint,omitempty"` // kinds of which the first batch was had: bits 1 and 2
	Linkable   int64    `cbor:"13,keyasint,omitempty"` // unix second until which what is spent may be linked to that batch
	Parts      byte     `cbor:"14,keyasint,omitempty"` // of a day's batch: 1, 4 or 16
	Batches    []Batch  `cbor:"15,keyasint,omitempty"` // that are to be fetched
	Had        []Had    `cbor:"16,keyasint,omitempty"` // that were fetched, or given up
	Day        uint32   `cbor:"17,keyasint,omitempty"` // to which Used belongs
	Used       uint32   `cbor:"18,keyasint,omitempty"` // tokens taken on that day
	Before     uint32   `cbor:"19,keyasint,omitempty"` // and on the day before
	Swept      uint32   `cbor:"21,keyasint,omitempty"` // day on which what is over was last deleted
	Gate       string   `cbor:"22,keyasint,omitempty"` // who may become a member
	Trouble    Trouble  `cbor:"20,keyasint,omitempty"`
}

// Trouble says what is wrong with a realm's tokens.
type Trouble byte

// Troubles.
const (
	Fine      Trouble = 0
	BadKeys   Trouble = 1 // it announced other keys than before: nothing goes there
	BadProof  Trouble = 2 // it answered a request under another key
	NewSeed   Trouble = 3 // it lost its store; everything was fetched anew
	Outside   Trouble = 4 // it does not know our credential
	Closed    Trouble = 5 // it does not let us in
	NotIssued Trouble = 6 // it issues no batch to us just now
)

// Known is a key that was announced.
type Known struct {
	Kind  byte     `cbor:"1,keyasint"`
	Epoch uint32   `cbor:"2,keyasint"`
	Key   [32]byte `cbor:"3,keyasint"`
}

// Batch is one request that is to be made. Its seed is kept until the answer is,
// so that after a crash the very same request is made again.
type Batch struct {
	Kind  byte   `cbor:"1,keyasint"`
	Epoch uint32 `cbor:"2,keyasint"`
	Part  byte   `cbor:"3,keyasint"`
	Seed  []byte `cbor:"4,keyasint"` // 32 bytes, one for all parts of an epoch
	At    int64  `cbor:"5,keyasint"` // unix second from which it is made
	Tries byte   `cbor:"6,keyasint,omitempty"`
}

// Had is a kind and epoch of which a batch was planned, so that none is again.
type Had struct {
	Kind  byte   `cbor:"1,keyasint"`
	Epoch uint32 `cbor:"2,keyasint"`
	Parts byte   `cbor:"3,keyasint"`
}

// Chunk is some tokens of one realm, kind and epoch.
type Chunk struct {
	ID    int64  `cbor:"-"`
	Realm int64  `cbor:"-"` // Realm.ID
	Kind  byte   `cbor:"-"`
	Epoch uint32 `cbor:"-"`
	From  int64  `cbor:"1,keyasint"`           // unix second from which they may be spent
	Given bool   `cbor:"2,keyasint,omitempty"` // by a contact
	Raw   []byte `cbor:"3,keyasint"`           // token.RawSize bytes each
}

// chunkTokens is how many tokens of a batch are in one chunk: taking one writes
// the rest of it anew.
const chunkTokens = 16

// Tx is what the purse needs of a transaction of the vault.
type Tx interface {
	PurseRealms() ([]*Realm, error)
	PurseRealm(pin [32]byte) (*Realm, error) // nil without an error: there is none
	PutPurseRealm(r *Realm) error
	// Chunks calls f with the chunks of a realm, of one kind and epoch if kind is
	// not 0, in the order in which they were put, until f returns false.
	Chunks(realm int64, kind byte, epoch uint32, f func(*Chunk) (bool, error)) error
	PutChunk(c *Chunk) error
	DeleteChunk(id int64) error
}

// Store runs transactions.
type Store interface {
	Update(ctx context.Context, f func(Tx) error) error
	View(ctx context.Context, f func(Tx) error) error
}

// Purse decides about tokens. Its methods may be called from any goroutine.
type Purse struct {
	Store Store
	Rand  io.Reader        // nil: crypto/rand
	Now   func() time.Time // nil: time.Now
	// Boundary, if set, is called when something was committed that a crash must
	// not do twice.
	Boundary func(name string)
}

// Names of what Boundary is told.
const (
	BoundaryTaken  = "token: taken"  // a token is out of the vault; not presented
	BoundaryAsked  = "batch: asked"  // a batch's seed is in the vault; not asked for
	BoundaryStored = "batch: stored" // a batch is in the vault
	BoundaryJoined = "member: joined"
)

func (p *Purse) rand() io.Reader {
	if p.Rand != nil {
		return p.Rand
	}
	return rand.Reader
}

func (p *Purse) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

func (p *Purse) at(name string) {
	if p.Boundary != nil {
		p.Boundary(name)
	}
}

// random returns 32 fresh bytes.
func (p *Purse) random() ([]byte, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(p.rand(), b); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	return b, nil
}

// upTo returns a random number of seconds from 0 to d.
func (p *Purse) upTo(d time.Duration) (int64, error) {
	var b [8]byte
	if _, err := io.ReadFull(p.rand(), b[:]); err != nil {
		return 0, fmt.Errorf("reading randomness: %w", err)
	}
	return int64(binary.BigEndian.Uint64(b[:]) % uint64(max(d, time.Second)/time.Second)), nil
}

// Of returns who pays one realm.
func (p *Purse) Of(pin [32]byte) transport.Payer { return payer{p, pin} }

type payer struct {
	*Purse
	pin [32]byte
}

var _ transport.Payer = payer{}

// Announced implements transport.Payer.
func (p payer) Announced(ctx context.Context, a transport.Announcement) error {
	return p.announced(ctx, p.pin, a)
}

// Ready implements transport.Payer.
func (p payer) Ready(ctx context.Context, use transport.Purpose) error {
	return p.Store.View(ctx, func(tx Tx) error {
		r, err := tx.PurseRealm(p.pin)
		if err != nil {
			return err
		}
		c, err := pick(tx, r, use, p.now().Unix())
		if err == nil && c == nil {
			err = transport.ErrEmpty
		}
		return err
	})
}

// Pay implements transport.Payer. The token is out of the vault for good before
// anybody sees it: a crash may lose one, and never spends one twice.
//
// spec: purse.md#taking-a-token
func (p payer) Pay(ctx context.Context, use transport.Purpose, binding []byte) ([]byte, error) {
	var raw token.Raw
	var kind token.Kind
	var epoch uint32
	defer raw.Wipe()
	err := p.Store.Update(ctx, func(tx Tx) error {
		now := p.now().Unix()
		r, err := tx.PurseRealm(p.pin)
		if err != nil {
			return err
		}
		c, err := pick(tx, r, use, now)
		if err != nil {
			return err
		}
		if c == nil {
			return transport.ErrEmpty
		}
		kind, epoch = token.Kind(c.Kind), c.Epoch
		if err := c.take(tx, raw[:]); err != nil {
			return err
		}
		r.count(now, 1)
		return tx.PutPurseRealm(r)
	})
	if err != nil {
		return nil, err
	}
	p.at(BoundaryTaken)
	shown := raw.Present(kind, epoch, token.RequestHash(token.Purpose(use), binding))
	return shown.Append(nil), nil
}

// take moves the last token of a chunk into raw.
func (c *Chunk) take(tx Tx, raw []byte) error {
	n := len(c.Raw) - token.RawSize
	copy(raw, c.Raw[n:])
	clear(c.Raw[n:])
	c.Raw = c.Raw[:n]
	if n == 0 {
		return tx.DeleteChunk(c.ID)
	}
	return tx.PutChunk(c)
}

// count notes that tokens were taken.
func (r *Realm) count(now int64, n uint32) {
	r.turn(now)
	r.Used += n
}

// turn lets a new day begin.
func (r *Realm) turn(now int64) {
	switch today := token.MemberEpoch(now); {
	case today == r.Day+1:
		r.Day, r.Before, r.Used = today, r.Used, 0
	case today > r.Day:
		r.Day, r.Before, r.Used = today, 0, 0
	}
}

// pick returns the chunk that the next token comes from: a member's before a
// guest's, and the older epoch first. Realm invites cost a member's. It returns
// nil if there is none that may be spent now.
func pick(tx Tx, r *Realm, use transport.Purpose, now int64) (found *Chunk, err error) {
	if r == nil || r.Trouble == BadKeys {
		return nil, nil
	}
	for _, e := range spendable(now) {
		if use == transport.PayInvite && e.kind != token.Member {
			continue
		}
		err := tx.Chunks(r.ID, byte(e.kind), e.epoch, func(c *Chunk) (bool, error) {
			if c.From <= now && len(c.Raw) >= token.RawSize {
				found = c
			}
			return found == nil && c.Given, nil // those of one batch rest alike
		})
		if err != nil || found != nil {
			return found, err
		}
	}
	return nil, nil
}

type epoch struct {
	kind  token.Kind
	epoch uint32
}

// spendable lists the kinds and epochs that are good now, in the order in which
// they are spent.
func spendable(now int64) (all []epoch) {
	for _, k := range []token.Kind{token.Member, token.Guest} {
		last := token.EpochAt(k, now)
		for e := last - min(last, 8); e <= last; e++ {
			if token.Accepts(k, e, now) {
				all = append(all, epoch{k, e})
			}
		}
	}
	return all
}
