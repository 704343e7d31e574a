package addr

import (
	"crypto/sha512"
	"fmt"
	"io"
	"testing"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// collected is what a partner and a relay have together of one proof: the
// blinding factor, the message and the signature.
type collected struct {
	a    wire.Address
	b    *edwards25519.Scalar
	msg  []byte
	sig  [64]byte
	k, s *edwards25519.Scalar // challenge and response: S = r + k·b·p
}

// solve looks for p. Two proofs whose nonces are tied by r2 = c·r1 + d, with c
// and d known, are two equations with two unknowns; one whose nonce comes from
// public values is one with one. It tries every pair with every tie that a
// faulty signer is likely to make, and believes only p·B = P.
func solve(t testing.TB, public Public, list []collected) *edwards25519.Scalar {
	t.Helper()
	one := smallScalar(1)
	minus := new(edwards25519.Scalar).Negate(one)
	right := func(p *edwards25519.Scalar) bool {
		return Public(new(edwards25519.Point).ScalarBaseMult(p).Bytes()) == public
	}
	for _, x := range list {
		for _, r := range publicNonces(t, x) {
			kb := new(edwards25519.Scalar).Multiply(x.k, x.b)
			p := new(edwards25519.Scalar).Subtract(x.s, r)
			if p.Multiply(p, kb.Invert(kb)); right(p) {
				return p
			}
		}
	}
	for i, x := range list {
		for _, y := range list[i+1:] {
			ratio := new(edwards25519.Scalar).Invert(x.b)
			ratio.Multiply(ratio, y.b)
			back := new(edwards25519.Scalar).Invert(ratio)
			for _, c := range []*edwards25519.Scalar{one, minus, ratio, back} {
				for _, d := range []*edwards25519.Scalar{zeroScalar, one, minus} {
					// p = (S2 − c·S1 − d) / (k2·b2 − c·k1·b1)
					top := new(edwards25519.Scalar).Multiply(c, x.s)
					top.Subtract(y.s, top).Subtract(top, d)
					left := new(edwards25519.Scalar).Multiply(x.k, x.b)
					left.Multiply(left, c)
					low := new(edwards25519.Scalar).Multiply(y.k, y.b)
					low.Subtract(low, left)
					if p := top.Multiply(top, low.Invert(low)); right(p) {
						return p
					}
				}
			}
		}
	}
	return nil
}

// publicNonces returns nonces that a signer without a secret prefix might use.
func publicNonces(t testing.TB, x collected) (list []*edwards25519.Scalar) {
	t.Helper()
	zeros := make([]byte, 32)
	for _, parts := range [][][]byte{
		{x.msg}, {x.a[:], x.msg}, {key.Info(nil, labelSign), x.a[:], x.msg},
		{key.Info(nil, labelSign), zeros, x.a[:], zeros, x.msg}, {key.Info(nil, labelSign), x.a[:], zeros, x.msg},
	} {
		list = append(list, hashed(t, parts...))
	}
	for n := range byte(16) {
		list = append(list, smallScalar(n))
	}
	return list
}

func hashed(t testing.TB, parts ...[]byte) *edwards25519.Scalar {
	t.Helper()
	h := sha512.New()
	for _, p := range parts {
		h.Write(p)
	}
	s, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// collect gathers two proofs of each of eight periods from a signer: of one
// message that is the same in all, and of one that is not.
func collect(t testing.TB, offer *Offer, signer func(p *Period, msg []byte) [64]byte) (list []collected) {
	t.Helper()
	c := NewChain(offer, Live)
	for n := range uint64(8) {
		p := at(t, c, c.Base()+n)
		for _, msg := range []string{"the same", fmt.Sprint("another ", n)} {
			x := collected{a: p.Address, b: factor(t, p), msg: []byte(msg)}
			x.sig = signer(p, x.msg)
			if !Verify(x.a, x.msg, x.sig[:]) {
				t.Fatal("a signer under test makes no valid proof")
			}
			x.k = challenge(t, x.a, x.sig, x.msg)
			s, err := new(edwards25519.Scalar).SetCanonicalBytes(x.sig[32:])
			if err != nil {
				t.Fatal(err)
			}
			x.s = s
			list = append(list, x)
		}
	}
	return list
}

// The controls: signers with one fault each. If the solver does not break them,
// its failure against the real signer means nothing.
func TestSolverBreaksFaultySigners(t *testing.T) {
	o, offer := route(t, "solver")
	own, prefix, err := splitOwner(o)
	if err != nil {
		t.Fatal(err)
	}
	base := hashed(t, prefix)
	counter := new(edwards25519.Scalar).Set(base)
	random := stream("faulty signers")
	fresh := func() *edwards25519.Scalar {
		var wide [64]byte
		if _, err := io.ReadFull(random, wide[:]); err != nil {
			t.Fatal(err)
		}
		s, err := uniform(wide[:])
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	calls := 0
	for name, nonce := range map[string]func(p *Period, msg []byte) *edwards25519.Scalar{
		"one nonce for all":       func(*Period, []byte) *edwards25519.Scalar { return base },
		"one reuse among many":    func(*Period, []byte) *edwards25519.Scalar { calls++; return reuse(calls, base, fresh) },
		"no address in the nonce": func(_ *Period, m []byte) *edwards25519.Scalar { return hashed(t, prefix, m) },
		"nonce blinded like the key": func(p *Period, _ []byte) *edwards25519.Scalar {
			return new(edwards25519.Scalar).Multiply(factor(t, p), base)
		},
		"counter":                       func(*Period, []byte) *edwards25519.Scalar { return counter.Add(counter, smallScalar(1)) },
		"no secret in the nonce":        func(p *Period, m []byte) *edwards25519.Scalar { return hashed(t, p.Address[:], m) },
		"no secret and no randomness":   func(p *Period, m []byte) *edwards25519.Scalar { return unkeyed(t, p, m) },
		"a sign changes between proofs": func(*Period, []byte) *edwards25519.Scalar { return base.Negate(base) },
	} {
		list := collect(t, offer, func(p *Period, msg []byte) [64]byte {
			a := new(edwards25519.Scalar).Multiply(factor(t, p), own)
			return signWith(t, a, nonce(p, msg), p.Address, msg)
		})
		if got := solve(t, offer.Public, list); got == nil || got.Equal(own) != 1 {
			t.Errorf("%s: the solver does not find the private half", name)
		}
	}
}

// reuse returns the same nonce at the third and the twelfth call.
func reuse(call int, base *edwards25519.Scalar, fresh func() *edwards25519.Scalar) *edwards25519.Scalar {
	if call == 3 || call == 12 {
		return base
	}
	return fresh()
}

func unkeyed(t testing.TB, p *Period, msg []byte) *edwards25519.Scalar {
	zeros := make([]byte, 32)
	return hashed(t, key.Info(nil, labelSign), zeros, p.Address[:], zeros, msg)
}

// A partner that has s, hence every blinding factor, and a relay that has every
// proof, together do not get p: not from a healthy signer and not from one
// whose randomness is stuck.
func TestSolverDoesNotBreakTheSigner(t *testing.T) {
	o, offer := route(t, "solver")
	for name, rand := range map[string]io.Reader{"healthy": stream("solver"), "stuck at zero": stuck(0), "stuck": stuck(7)} {
		list := collect(t, offer, func(p *Period, msg []byte) [64]byte {
			sig, err := p.Sign(o, rand, msg)
			if err != nil {
				t.Fatal(err)
			}
			return sig
		})
		if got := solve(t, offer.Public, list); got != nil {
			t.Errorf("%s randomness: the solver finds the private half", name)
		}
	}
}
