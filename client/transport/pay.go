package transport

import (
	"context"
	"errors"
	"fmt"
)

// Errors of paying. All but ErrIssuer are temporary: what is to be sent waits.
var (
	// ErrEmpty: the other end wants a token and there is none just now.
	ErrEmpty = errors.New("no token is left for this relay")
	// ErrSpent: the other end takes none of the tokens that it was given.
	ErrSpent = errors.New("the relay takes none of our tokens")
	// ErrOutside: the other end does not count us among those it serves.
	ErrOutside = errors.New("the relay does not count this device among its members")
	// ErrLimit: over a limit of the other end: later.
	ErrLimit = errors.New("over a limit of the relay")
	// ErrBusy: the other end has too much to do, or failed.
	ErrBusy = errors.New("the relay is too busy or has failed")
	// ErrIssuer: the other end shows keys for tokens that it may not show. It is an
	// ErrIdentity: with keys of its own for each of us it could tell us apart.
	ErrIssuer = fmt.Errorf("the relay shows other keys for tokens than before: %w", ErrIdentity)
)

// Purpose says what a token pays for. It is bound into the token.
//
// spec: token.md
type Purpose byte

// Purposes, and the binding that goes with each.
const (
	PayPut    Purpose = 1 // put context: its id, 16 bytes
	PayWatch  Purpose = 2 // watch connection: 16 random bytes
	PayTake   Purpose = 3 // taking what is parked: 16 random bytes
	PayBlob   Purpose = 4 // storing a blob: its id, 32 bytes
	PayWake   Purpose = 5 // forwarding a wake ticket: its SHA-256
	PayInvite Purpose = 6 // making a realm invite: hash of its secret, 32 bytes
)

// Issuer is a public key that tokens are issued under.
type Issuer struct {
	Kind  byte   // 1 member, 2 guest
	Epoch uint32 // UTC day for members, ⌊UTC day / 7⌋ for guests
	Key   [32]byte
}

// Announcement is what a relay says of its tokens. Without Issuers it wants none.
type Announcement struct {
	Issuers []Issuer
	Class   uint64 // tokens that a device may have for a day, at most
	Since   uint64 // UTC day on which the issuer's seed began
	Gate    string // "open", "invite" or "closed"
}

// Payer pays one relay for what it wants a token for. Its methods may be called
// from any goroutine and do not use the network.
type Payer interface {
	// Announced is called with what the relay's signed descriptor says, every
	// time that it was fetched and before anything is paid. An error means that
	// the relay must not be dealt with.
	Announced(ctx context.Context, a Announcement) error
	// Ready reports whether Pay would find a token: nil, or ErrEmpty. It is asked
	// before a connection is made that would need one.
	Ready(ctx context.Context, p Purpose) error
	// Pay takes a token and presents it for one request: 53 bytes. The token is
	// gone for good when Pay returns, whatever becomes of the request. It fails
	// with ErrEmpty.
	Pay(ctx context.Context, p Purpose, binding []byte) (presented []byte, err error)
}
