package addr

import (
	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
)

// Agree is what the owners of two routes have in common and nobody else: 8·p·P, with
// p the private half of one and P the public half of the other, 32 bytes. It is no
// key: derive one from it, with both public halves in it.
//
// The eight takes away what somebody put into P to learn about p, so P needs no
// Check. That p also signs proofs of ownership does no harm: the two are used under
// labels of their own (for Ed25519 and X25519 that is shown in eprint 2021/509).
//
// It fails with ErrOwner, and with ErrPublic for what is no point, or one of which
// nothing is left.
//
// spec: route.md#agreement
func Agree(o key.Owner, other Public) (key.Shared, error) {
	p, _, err := splitOwner(o)
	if err != nil {
		return key.Shared{}, err
	}
	defer p.Set(zeroScalar)
	q, err := new(edwards25519.Point).SetBytes(other[:])
	if err != nil {
		return key.Shared{}, ErrPublic
	}
	q.ScalarMult(p, q)
	if q.MultByCofactor(q); q.Equal(identity) == 1 {
		return key.Shared{}, ErrPublic
	}
	b := q.Bytes()
	defer clear(b)
	return key.New[key.SharedRole](b)
}
