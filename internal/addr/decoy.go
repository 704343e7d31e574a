package addr

import (
	"fmt"
	"io"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Decoy makes an address that no route has, with the means to prove it, to pad
// a watch set. Its scalar is uniform below the group order, which is how the
// scalar of a blinded address is distributed, and proofs come from the same
// code: nothing tells the two apart. rand is also read by every signature.
//
// spec: route.md#decoys
func Decoy(rand io.Reader) (wire.Address, func(msg []byte) ([]byte, error), error) {
	o, public, err := NewOwner(rand)
	if err != nil {
		return wire.Address{}, nil, fmt.Errorf("making decoy: %w", err)
	}
	a := wire.Address(public)
	return a, func(msg []byte) ([]byte, error) { return signDecoy(o, a, rand, msg) }, nil
}

func signDecoy(o key.Owner, a wire.Address, rand io.Reader, msg []byte) ([]byte, error) {
	p, prefix, err := splitOwner(o)
	if err != nil {
		return nil, err
	}
	defer p.Set(zeroScalar)
	// A real proof multiplies by a blinding factor and checks its address.
	// Do the same work, so that the time of a set does not count its decoys.
	q := new(edwards25519.Scalar).Multiply(p, smallScalar(1))
	defer q.Set(zeroScalar)
	if wire.Address(new(edwards25519.Point).ScalarBaseMult(q).Bytes()) != a {
		return nil, ErrOwner
	}
	sig, err := sign(q, prefix, a, rand, msg)
	if err != nil {
		return nil, err
	}
	return sig[:], nil
}
