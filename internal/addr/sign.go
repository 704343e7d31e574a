package addr

import (
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"
	"io"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sign proves ownership of the address: a signature over msg that verifies as
// plain Ed25519 under p.Address. It reads 32 bytes of rand. It fails with
// ErrOwner if o is not the private half of the route.
//
// spec: route.md#proof
func (p *Period) Sign(o key.Owner, rand io.Reader, msg []byte) (sig [64]byte, err error) {
	own, prefix, err := splitOwner(o)
	if err != nil {
		return sig, err
	}
	defer own.Set(zeroScalar)
	if !p.blind.Valid() {
		return sig, ErrForgotten
	}
	b, err := new(edwards25519.Scalar).SetCanonicalBytes(p.blind.Bytes())
	if err != nil {
		return sig, ErrOwner
	}
	defer b.Set(zeroScalar)
	a := new(edwards25519.Scalar).Multiply(b, own) // a_t = b_t·p mod L, never clamped
	defer a.Set(zeroScalar)
	// A signature whose challenge names another address than its key would be
	// one more equation about p than anybody should get.
	if wire.Address(new(edwards25519.Point).ScalarBaseMult(a).Bytes()) != p.Address {
		return sig, ErrOwner
	}
	return sign(a, prefix, p.Address, rand, msg)
}

// sign makes an Ed25519 signature with the scalar a of address A. The nonce is
// hedged: the secret prefix keeps it unknown when rand is weak, the randomness
// keeps it fresh when a message comes twice, and A keeps it apart between
// periods, whose scalars differ by a factor that the partner knows.
func sign(a *edwards25519.Scalar, prefix []byte, A wire.Address, rand io.Reader, msg []byte) (sig [64]byte, err error) {
	var fresh [32]byte
	defer clear(fresh[:])
	if _, err := io.ReadFull(rand, fresh[:]); err != nil {
		return sig, fmt.Errorf("reading randomness: %w", err)
	}
	// r = SHA-512(label ‖ 0 ‖ prefix 32 ‖ A_t 32 ‖ random 32 ‖ M) mod L
	h := sha512.New()
	h.Write(key.Info(nil, labelSign))
	h.Write(prefix)
	h.Write(A[:])
	h.Write(fresh[:])
	h.Write(msg)
	var wide [64]byte
	defer clear(wide[:])
	r, err := uniform(h.Sum(wide[:0]))
	if err != nil {
		return sig, err
	}
	defer r.Set(zeroScalar)
	copy(sig[:32], new(edwards25519.Point).ScalarBaseMult(r).Bytes())

	// S = r + SHA-512(R ‖ A ‖ M)·a mod L (RFC 8032, Section 5.1.6)
	h.Reset()
	h.Write(sig[:32])
	h.Write(A[:])
	h.Write(msg)
	k, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(wide[:0]))
	if err != nil {
		return [64]byte{}, err
	}
	copy(sig[32:], k.MultiplyAdd(k, a, r).Bytes())
	return sig, nil
}

// Verify reports whether sig proves ownership of a for msg: plain Ed25519, and
// all that a relay does.
func Verify(a wire.Address, msg, sig []byte) bool { return ed25519.Verify(a[:], msg, sig) }
