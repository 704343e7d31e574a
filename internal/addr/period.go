package addr

import (
	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Period is one route in one period: where its cells go and what seals them.
type Period struct {
	T       uint64       // number of the period, of the chain's kind
	Address wire.Address // A_t
	Seal    key.Seal     // k_seal,t

	blind key.Blind // b_t
}

// newPeriod derives what the secret s_t of period t gives for P.
//
// spec: route.md#address
func newPeriod(t uint64, public Public, s key.Route) (*Period, error) {
	point, err := public.point()
	if err != nil {
		return nil, err
	}
	var wide [64]byte
	defer clear(wide[:])
	key.KDF(wide[:], s.Bytes(), labelBlind, public[:])
	b, err := uniform(wide[:])
	if err != nil {
		return nil, err
	}
	defer b.Set(zeroScalar)
	p := &Period{T: t, Address: blinded(point, b)}
	if p.blind, err = key.New[key.BlindRole](b.Bytes()); err != nil {
		return nil, err
	}
	p.Seal = key.Derive[key.SealRole](s.Bytes(), labelSeal)
	return p, nil
}

// blinded returns [8]([b/8 mod L] P): b·P, without whatever torsion P has. P is
// checked before, so this is the second lock on the same door.
func blinded(p *edwards25519.Point, b *edwards25519.Scalar) wire.Address {
	part := new(edwards25519.Scalar).Multiply(b, eighth)
	q := new(edwards25519.Point).ScalarMult(part, p)
	part.Set(zeroScalar)
	return wire.Address(q.MultByCofactor(q).Bytes())
}

// Wipe overwrites the secrets of the period.
func (p *Period) Wipe() {
	p.Seal.Wipe()
	p.blind.Wipe()
}
