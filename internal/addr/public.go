package addr

import (
	"bytes"
	"fmt"
	"io"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
)

// Public is the public half P of a route: a point of edwards25519 in its
// prime-order group, 32 bytes. It is not an address and no relay ever sees it.
type Public [32]byte

// Check refuses with ErrPublic what is not the canonical encoding of a point
// of the prime-order group, and the identity. A torsion component would let
// whoever made the key recognise its addresses; a second encoding would give
// one route two transcripts (no such encoding happens to be of a point that the
// other conditions let through; the check costs nothing and needs no such luck).
//
// spec: route.md#keys
func (p Public) Check() error {
	_, err := p.point()
	return err
}

func (p Public) point() (*edwards25519.Point, error) {
	q, err := new(edwards25519.Point).SetBytes(p[:])
	if err != nil || !bytes.Equal(q.Bytes(), p[:]) || q.Equal(identity) == 1 {
		return nil, ErrPublic
	}
	// [L−1]P + P = 0 exactly when the order of P divides L.
	minus := new(edwards25519.Scalar).Negate(smallScalar(1))
	if new(edwards25519.Point).Add(new(edwards25519.Point).ScalarMult(minus, q), q).Equal(identity) != 1 {
		return nil, ErrPublic
	}
	return q, nil
}

// NewOwner makes the two halves of a route: a scalar p uniform below the group
// order with a 32-byte nonce prefix, and P = p·B. It reads 96 bytes of rand.
func NewOwner(rand io.Reader) (key.Owner, Public, error) {
	var wide [64 + 32]byte
	defer clear(wide[:])
	if _, err := io.ReadFull(rand, wide[:]); err != nil {
		return key.Owner{}, Public{}, fmt.Errorf("reading randomness: %w", err)
	}
	p, err := uniform(wide[:64])
	if err != nil {
		return key.Owner{}, Public{}, err
	}
	defer p.Set(zeroScalar)
	var half [64]byte
	defer clear(half[:])
	copy(half[:32], p.Bytes())
	copy(half[32:], wide[64:])
	o, err := key.New[key.OwnerRole](half[:])
	if err != nil {
		return key.Owner{}, Public{}, err
	}
	return o, Public(new(edwards25519.Point).ScalarBaseMult(p).Bytes()), nil
}

// PublicOf returns the public half of o. It fails with ErrOwner if o holds no
// scalar between 1 and L − 1.
func PublicOf(o key.Owner) (Public, error) {
	p, _, err := splitOwner(o)
	if err != nil {
		return Public{}, err
	}
	defer p.Set(zeroScalar)
	return Public(new(edwards25519.Point).ScalarBaseMult(p).Bytes()), nil
}

// splitOwner returns a copy of the scalar, for the caller to overwrite, and the
// owner's own prefix.
func splitOwner(o key.Owner) (p *edwards25519.Scalar, prefix []byte, err error) {
	b := o.Bytes()
	if len(b) != 64 {
		return nil, nil, ErrOwner
	}
	// Canonical and never clamped: clamping would take p out of the arithmetic
	// mod L that blinding lives on.
	p, err = new(edwards25519.Scalar).SetCanonicalBytes(b[:32])
	if err != nil || p.Equal(zeroScalar) == 1 {
		return nil, nil, ErrOwner
	}
	return p, b[32:], nil
}

// uniform reduces 64 bytes mod L. Zero, which 64 random bytes do not hit, is an
// error rather than a key.
func uniform(wide []byte) (*edwards25519.Scalar, error) {
	s, err := new(edwards25519.Scalar).SetUniformBytes(wide)
	if err != nil || s.Equal(zeroScalar) == 1 {
		return nil, ErrOwner
	}
	return s, nil
}
