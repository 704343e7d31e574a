// Package key holds Tacet's typed keys and the few operations that the
// protocol packages build on: labelled hashing and key derivation (SHA-256,
// HKDF-SHA256), Ed25519 signatures, X25519, ML-KEM-768 and X-Wing seeds.
//
// A secret lives behind a pointer, has a type of its own per role, cannot be
// compared with ==, prints as [secret] and refuses to be marshalled: the only
// way to its bytes is the explicit Bytes. The package has no clock and no
// randomness of its own, and it does not store anything.
//
// Spec: docs/spec/session.md#keys-and-labels.
package key

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// ErrSize is returned when the bytes of a key have the wrong length.
var ErrSize = errors.New("key has the wrong size")

// ErrMarshal is returned by everything that would write a secret by accident.
var ErrMarshal = errors.New("a secret is only written through Bytes")

// Role says what a secret is for, and how many bytes it has.
type Role interface{ size() int }

// maxSize is the largest secret, in bytes.
const maxSize = 64

// Secret is a secret of one role. The zero value is no secret; Valid tells.
//
// The bytes are behind two pointers because fmt does not call Format on
// unexported fields of somebody else's struct. It prints a pointer in there as
// an address, but for a verb that does not fit (%s, %d) it prints what the
// pointer points at: another pointer.
type Secret[R Role] struct {
	_ [0]func() // not comparable
	p *held
}

type held struct{ b *[maxSize]byte }

func hold() *held { return &held{b: new([maxSize]byte)} }

// Roles, named where New, Generate and Derive are called. Sizes are in bytes.
type (
	// SignRole is the role of an Ed25519 seed.
	SignRole struct{}
	// DHRole is the role of an X25519 private key.
	DHRole struct{}
	// KEMRole is the role of an ML-KEM-768 seed.
	KEMRole struct{}
	// XWingRole is the role of an X-Wing seed.
	XWingRole struct{}
	// RouteRole is the role of the secret of a route at one period.
	RouteRole struct{}
	// OwnerRole is the role of the private half of a route.
	OwnerRole struct{}
	// BlindRole is the role of the blinding factor of a route at one period.
	BlindRole struct{}
	// SealRole is the role of the key of a route seal.
	SealRole struct{}
	// SlotRole is the role of the key that seals an epoch's slot.
	SlotRole struct{}
	// SharedRole is the role of the outcome of a key agreement.
	SharedRole struct{}
	// ChainRole is the role of a root or chain key.
	ChainRole struct{}
	// HeaderRole is the role of a header key.
	HeaderRole struct{}
	// MessageRole is the role of the key of one message.
	MessageRole struct{}
	// BraidRole is the role of the braid key of one message.
	BraidRole struct{}
	// AuthRole is the role of the root and the MAC key of the braid's authenticator.
	AuthRole struct{}
	// EncapsRole is the role of the message m of an encapsulation that is under way.
	EncapsRole struct{}
	// BundleRole is the role of the key of a bundle.
	BundleRole struct{}
	// VaultRole is the role of a key of the vault.
	VaultRole struct{}
	// WakeRole is the role of what push keys, or the proofs of a gateway, are derived from.
	WakeRole struct{}
	// StreamRole is the role of what the keys of a sealed stream are derived from.
	StreamRole struct{}
	// LinkRole is the role of what two devices that are being linked share.
	LinkRole struct{}
)

func (SignRole) size() int    { return 32 }
func (DHRole) size() int      { return 32 }
func (KEMRole) size() int     { return 64 }
func (XWingRole) size() int   { return 32 }
func (RouteRole) size() int   { return 32 }
func (OwnerRole) size() int   { return 64 }
func (BlindRole) size() int   { return 32 }
func (SealRole) size() int    { return 32 }
func (SlotRole) size() int    { return 32 }
func (SharedRole) size() int  { return 32 }
func (ChainRole) size() int   { return 32 }
func (HeaderRole) size() int  { return 32 }
func (MessageRole) size() int { return 32 }
func (BraidRole) size() int   { return 32 }
func (AuthRole) size() int    { return 32 }
func (EncapsRole) size() int  { return 32 }
func (BundleRole) size() int  { return 32 }
func (VaultRole) size() int   { return 32 }
func (WakeRole) size() int    { return 32 }
func (StreamRole) size() int  { return 32 }
func (LinkRole) size() int    { return 32 }

// The secrets of Tacet, by role.
type (
	// Sign is an Ed25519 seed: a root or a device's signing key. 32 bytes.
	Sign = Secret[SignRole]
	// DH is an X25519 private key. 32 bytes.
	DH = Secret[DHRole]
	// KEM is an ML-KEM-768 seed. 64 bytes.
	KEM = Secret[KEMRole]
	// XWing is an X-Wing seed: it opens what was sealed by HPKE. 32 bytes.
	XWing = Secret[XWingRole]
	// Route is the secret s_t of a route at one period. 32 bytes.
	Route = Secret[RouteRole]
	// Owner is the private half of a route: scalar p 32, nonce prefix 32.
	Owner = Secret[OwnerRole]
	// Blind is the factor b_t of a route at one period, a scalar. 32 bytes.
	Blind = Secret[BlindRole]
	// Seal is the key of the route seal on cells for one period. 32 bytes.
	Seal = Secret[SealRole]
	// Slot seals the commit that ends an epoch.
	Slot = Secret[SlotRole]
	// Shared is the outcome of a key agreement. 32 bytes.
	Shared = Secret[SharedRole]
	// Chain is a root or chain key of the ratchet or the braid. 32 bytes.
	Chain = Secret[ChainRole]
	// Header is a header key of the ratchet. 32 bytes.
	Header = Secret[HeaderRole]
	// Message is the key of one message. 32 bytes.
	Message = Secret[MessageRole]
	// Braid is the key that the braid adds to that of one message. 32 bytes.
	Braid = Secret[BraidRole]
	// Auth is the root or the MAC key of the braid's authenticator. 32 bytes.
	Auth = Secret[AuthRole]
	// Encaps is the message m of an ML-KEM encapsulation that is under way: its
	// outcome follows from it. 32 bytes.
	Encaps = Secret[EncapsRole]
	// Bundle encrypts the bundle that an invite names. 32 bytes.
	Bundle = Secret[BundleRole]
	// Vault wraps or encrypts the vault. 32 bytes.
	Vault = Secret[VaultRole]
	// Wake is what push keys, or the proofs of a gateway, are derived from. 32 bytes.
	Wake = Secret[WakeRole]
	// Stream is what the keys of a sealed stream are derived from. 32 bytes.
	Stream = Secret[StreamRole]
	// Link is what two devices that are being linked share. 32 bytes.
	Link = Secret[LinkRole]
)

// New copies b into a secret. It fails with ErrSize unless b has the role's size.
func New[R Role](b []byte) (Secret[R], error) {
	var r R
	if len(b) != r.size() {
		return Secret[R]{}, ErrSize
	}
	s := Secret[R]{p: hold()}
	copy(s.p.b[:], b)
	return s, nil
}

// Generate reads a new secret from rand.
func Generate[R Role](rand io.Reader) (Secret[R], error) {
	var r R
	s := Secret[R]{p: hold()}
	if _, err := io.ReadFull(rand, s.p.b[:r.size()]); err != nil {
		return Secret[R]{}, fmt.Errorf("reading randomness: %w", err)
	}
	return s, nil
}

// Valid reports whether s holds a secret that was not wiped.
func (s Secret[R]) Valid() bool { return s.p != nil }

// Bytes returns the secret's own bytes: they are wiped with it. It returns nil
// when there is no secret.
func (s Secret[R]) Bytes() []byte {
	if s.p == nil {
		return nil
	}
	var r R
	return s.p.b[:r.size()]
}

// Clone returns an independent copy.
func (s Secret[R]) Clone() Secret[R] {
	if s.p == nil {
		return s
	}
	c := Secret[R]{p: hold()}
	*c.p.b = *s.p.b
	return c
}

// Equal compares two secrets in constant time. Two absent secrets are equal.
func (s Secret[R]) Equal(o Secret[R]) bool {
	return subtle.ConstantTimeCompare(s.Bytes(), o.Bytes()) == 1
}

// Wipe overwrites the secret and forgets it. Copies made by Clone stay.
func (s *Secret[R]) Wipe() {
	if s.p != nil {
		clear(s.p.b[:])
		runtime.KeepAlive(s.p.b)
		s.p = nil
	}
}

// Format prints [secret], whatever the verb.
func (s Secret[R]) Format(f fmt.State, _ rune) { io.WriteString(f, "[secret]") }

// MarshalText refuses: JSON and structured logs ask for it.
func (s Secret[R]) MarshalText() ([]byte, error) { return nil, ErrMarshal }

// MarshalBinary refuses: CBOR and gob ask for it.
func (s Secret[R]) MarshalBinary() ([]byte, error) { return nil, ErrMarshal }
