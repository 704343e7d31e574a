package addr

import (
	"encoding/binary"

	"github.com/tacet-chat/tacet/internal/key"
)

// ChainSize is the size of a chain's state: kind 1 ‖ live period length 2 ‖
// base 8 ‖ public 32 ‖ secret of the base period 32.
const ChainSize = 1 + 2 + 8 + 32 + 32

// Chain holds the secrets of one route from a base period on. Going forward is
// a hash; going back is impossible, which is all the forward secrecy there is:
// whoever has the state can compute every period from the base on.
//
// A Chain is for one goroutine at a time.
type Chain struct {
	kind   Kind
	length uint16 // L of the offer, whatever the kind
	public Public
	base   uint64
	secret key.Route // s_base
}

// NewChain starts a chain of the kind at the offer's birth: at Birth itself for
// Live, at the day in which that period began for Park. The offer is not kept.
//
// spec: route.md#periods
func NewChain(o *Offer, k Kind) *Chain {
	c := &Chain{kind: k, length: o.Period, public: o.Public, base: o.Birth}
	if k == Park {
		c.base = o.Birth * uint64(o.Period) / DaySeconds
	}
	c.secret = key.Derive[key.RouteRole](o.Secret.Bytes(), labelStart, []byte{byte(k)})
	return c
}

// Kind returns which periods the chain counts.
func (c *Chain) Kind() Kind { return c.kind }

// Public returns the route's public half.
func (c *Chain) Public() Public { return c.public }

// Base returns the earliest period that At still answers.
func (c *Chain) Base() uint64 { return c.base }

// PeriodAt returns the number of the chain's period that the unix second lies in.
func (c *Chain) PeriodAt(unix int64) uint64 {
	if c.kind == Park {
		return DayAt(unix)
	}
	return PeriodAt(unix, c.length)
}

// At computes period t. It fails with ErrForgotten below the base, and with
// ErrFar beyond base + MaxAhead. The chain stays as it is.
func (c *Chain) At(t uint64) (*Period, error) {
	if !c.secret.Valid() || t < c.base {
		return nil, ErrForgotten
	}
	if t-c.base > MaxAhead {
		return nil, ErrFar
	}
	s := advance(c.secret.Clone(), t-c.base)
	defer s.Wipe()
	return newPeriod(t, c.public, s)
}

// Forget moves the base up to before, overwriting the secrets of all earlier
// periods. It never moves down, and by at most MaxAhead at once.
//
// spec: route.md#forgetting
func (c *Chain) Forget(before uint64) {
	if !c.secret.Valid() || before <= c.base {
		return
	}
	n := min(before-c.base, MaxAhead)
	c.secret = advance(c.secret, n)
	c.base += n
}

// advance moves s on by n periods and wipes every secret that it leaves behind.
func advance(s key.Route, n uint64) key.Route {
	for ; n > 0; n-- {
		next := key.Derive[key.RouteRole](s.Bytes(), labelNext)
		s.Wipe()
		s = next
	}
	return s
}

// Clone returns an independent copy.
func (c *Chain) Clone() *Chain {
	d := *c
	d.secret = c.secret.Clone()
	return &d
}

// Wipe overwrites the secret. At then fails with ErrForgotten.
func (c *Chain) Wipe() { c.secret.Wipe() }

// Append appends the state of the chain, ChainSize bytes, secret included. A
// wiped chain has no state: it appends what ParseChain refuses.
func (c *Chain) Append(b []byte) []byte {
	b = append(b, byte(c.kind))
	b = binary.BigEndian.AppendUint16(b, c.length)
	b = binary.BigEndian.AppendUint64(b, c.base)
	b = append(b, c.public[:]...)
	return append(b, c.secret.Bytes()...)
}

// ParseChain reads a state of exactly ChainSize bytes. It fails with ErrState.
func ParseChain(b []byte) (*Chain, error) {
	if len(b) != ChainSize {
		return nil, ErrState
	}
	c := &Chain{
		kind: Kind(b[0]), length: binary.BigEndian.Uint16(b[1:]),
		base: binary.BigEndian.Uint64(b[3:]), public: Public(b[11:]),
	}
	// A chain may be some way past the highest birth: Forget moves it there.
	if (c.kind != Live && c.kind != Park) || !validLength(c.length) || c.base > 2*MaxPeriod || c.public.Check() != nil {
		return nil, ErrState
	}
	s, err := key.New[key.RouteRole](b[43:])
	if err != nil {
		return nil, ErrState
	}
	c.secret = s
	return c, nil
}
