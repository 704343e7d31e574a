// Package addr makes routes: rotating addresses that only their owner can
// prove, that only the two ends can compute, and of which no two have anything
// in common for anybody else.
//
// A route is a public key P, whose private half p stays on the receiving
// device, and a secret s that both ends know. Each period t has a secret s_t,
// from it a blinding factor b_t, an address A_t = b_t·P and a seal key. A relay
// checks a proof of ownership with plain Ed25519 under A_t and needs to know
// nothing else.
//
// The package does not watch a clock, does not decide when an old secret goes
// and does not store or send anything.
//
// Spec: docs/spec/route.md.
package addr

import (
	"errors"

	"filippo.io/edwards25519"
)

// Labels of this room.
const (
	labelStart = "tacet/v1/route/start" // s_0 from s, part: kind 1
	labelNext  = "tacet/v1/route/next"  // s_(t+1) from s_t
	labelBlind = "tacet/v1/route/blind" // b_t from s_t, part: P 32
	labelSeal  = "tacet/v1/route/seal"  // seal key from s_t
	labelSign  = "tacet/v1/route/sign"  // nonce of an ownership proof
)

// Bounds.
const (
	// MaxAhead is how many periods beyond its base a chain computes, at most:
	// four years of half hours. It bounds the work a far period can cause.
	MaxAhead = 70_000
	// MaxPeriod is the highest period number anywhere, so that no arithmetic
	// on periods and seconds overflows: 81,000 years of 600 s.
	MaxPeriod = 1<<32 - 1
	// DaySeconds is the length of a park period.
	DaySeconds = 86_400
)

// Errors that callers branch on.
var (
	// ErrPublic: a route's public key is not canonical, has torsion or is the identity.
	ErrPublic = errors.New("public key of a route is not acceptable")
	// ErrOffer: a route offer is not well-formed.
	ErrOffer = errors.New("route offer is malformed")
	// ErrState: the stored state of a chain is not well-formed.
	ErrState = errors.New("state of a route is malformed")
	// ErrOwner: a private half is not one, or does not belong to the address.
	ErrOwner = errors.New("owner key does not fit the route")
	// ErrForgotten: the period lies before the chain's base; its secret is gone.
	ErrForgotten = errors.New("period of a route is forgotten")
	// ErrFar: the period lies more than MaxAhead beyond the chain's base.
	ErrFar = errors.New("period of a route is too far ahead")
)

// Kind says which sequence of periods a chain counts.
type Kind byte

// Kinds of chains.
const (
	Live Kind = 1 // periods of L seconds, L named by the offer
	Park Kind = 2 // periods of a day
)

// validLength reports whether l is a live period length that a realm may name.
func validLength(l uint16) bool { return l == 600 || l == 1800 || l == 3600 }

// PeriodAt returns the live period that the unix second lies in, for a period
// length L of 600, 1,800 or 3,600 seconds. Seconds before 1970 are in period 0,
// and beyond MaxPeriod there is none: MaxPeriod is returned.
func PeriodAt(unix int64, L uint16) uint64 { return periodOf(unix, int64(L)) }

// DayAt returns the park period that the unix second lies in.
func DayAt(unix int64) uint64 { return periodOf(unix, DaySeconds) }

func periodOf(unix, length int64) uint64 {
	if unix < 0 {
		return 0
	}
	return min(uint64(unix/length), MaxPeriod)
}

// zeroScalar and identity are compared with, never written to.
var (
	zeroScalar = edwards25519.NewScalar()
	identity   = edwards25519.NewIdentityPoint()
	// eighth is 1/8 mod L. Multiplying by it, then by the cofactor, leaves a
	// point of the prime-order group as it is and removes any torsion.
	eighth = new(edwards25519.Scalar).Invert(smallScalar(8))
)

func smallScalar(n byte) *edwards25519.Scalar {
	s, err := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{n}, make([]byte, 31)...))
	if err != nil {
		panic("addr: " + err.Error()) // n is below L
	}
	return s
}
