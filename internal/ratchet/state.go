package ratchet

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
)

// Layout of a state.
//
// spec: session.md#state
const (
	stateVersion1 byte = 1 // of suite 1
	stateVersion2 byte = 2 // of suite 2: with the braid's state at the end

	stateHead = 1 + 1 + 5*4 + 10*32                            // 342: up to the skipped keys
	chainHead = 32 + 2                                         // header key 32 ‖ number of keys 2
	keySize   = 4 + 8 + 32                                     // number 4 ‖ time 8 ‖ EC key 32
	maxState1 = stateHead + 2 + MaxSkipped*(chainHead+keySize) // 156,344: every key in a chain of its own
	MaxState  = maxState1 + braid.MaxState                     // 254,839
)

// phases: which chains a state has.
const (
	phaseResponder byte = 0 // none: nothing was received yet
	phaseInitiator byte = 1 // sending only: nothing was received yet
	phaseBoth      byte = 2
)

// ErrState is returned for bytes that are not a state.
var ErrState = errors.New("ratchet state is malformed")

func (c *core) phase() byte {
	switch {
	case c.recv.Valid():
		return phaseBoth
	case c.send.Valid():
		return phaseInitiator
	}
	return phaseResponder
}

// Append appends the state, at most MaxState bytes: they are secrets. It panics
// if s was wiped.
func (s *State) Append(b []byte) []byte {
	if !s.root.Valid() {
		panic("ratchet: writing a state that was wiped")
	}
	b = append(b, s.Suite(), s.phase())
	for _, n := range [...]uint32{s.ns, s.nr, s.pn, s.sentBefore, s.recvBefore} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = appendSecret(b, s.root)
	b = appendSecret(b, s.own)
	b = append(b, s.ownPublic[:]...)
	b = append(b, s.peer[:]...)
	b = appendSecret(b, s.send)
	b = appendSecret(b, s.recv)
	b = appendSecret(b, s.headSend)
	b = appendSecret(b, s.headRecv)
	b = appendSecret(b, s.nextSend)
	b = appendSecret(b, s.nextRecv)
	b = binary.BigEndian.AppendUint16(b, uint16(len(s.skipped.chains)))
	for i := range s.skipped.chains {
		c := &s.skipped.chains[i]
		b = appendSecret(b, c.head)
		b = binary.BigEndian.AppendUint16(b, uint16(len(c.keys)))
		for j := range c.keys {
			b = binary.BigEndian.AppendUint32(b, c.keys[j].n)
			b = binary.BigEndian.AppendUint64(b, c.keys[j].at)
			b = appendSecret(b, c.keys[j].ec)
		}
	}
	if s.braid != nil {
		b = s.braid.Append(b)
	}
	return b
}

// appendSecret appends 32 bytes: a secret, or zeros for none.
func appendSecret[R key.Role](b []byte, s key.Secret[R]) []byte {
	if !s.Valid() {
		return append(b, make([]byte, 32)...)
	}
	return append(b, s.Bytes()...)
}

// ParseState reads a state. It fails with ErrState.
func ParseState(b []byte) (*State, error) {
	if len(b) < stateHead+2 || len(b) > MaxState || b[0] != stateVersion1 && b[0] != stateVersion2 || b[1] > phaseBoth {
		return nil, ErrState
	}
	version := b[0]
	s := new(State)
	r := reader{b: b[2:]}
	for _, n := range []*uint32{&s.ns, &s.nr, &s.pn, &s.sentBefore, &s.recvBefore} {
		*n = r.uint32()
	}
	phase := b[1]
	sending, receiving := phase != phaseResponder, phase == phaseBoth
	s.root = secret[key.ChainRole](&r, true)
	s.own = secret[key.DHRole](&r, true)
	s.ownPublic = key.DHPublic(r.take(32))
	s.peer = key.DHPublic(r.take(32))
	s.send = secret[key.ChainRole](&r, sending)
	s.recv = secret[key.ChainRole](&r, receiving)
	s.headSend = secret[key.HeaderRole](&r, sending)
	s.headRecv = secret[key.HeaderRole](&r, receiving)
	s.nextSend = secret[key.HeaderRole](&r, true)
	s.nextRecv = secret[key.HeaderRole](&r, true)
	s.skipped.parse(&r)
	if version == stateVersion2 && !r.bad {
		s.braid, _ = braid.Parse(r.b)
		r.b, r.bad = nil, s.braid == nil
	}
	if r.bad || len(r.b) != 0 || !s.sound() {
		s.Wipe()
		return nil, ErrState
	}
	return s, nil
}

// sound refuses what no run of the ratchet leads to.
func (s *State) sound() bool {
	switch s.phase() {
	case phaseResponder:
		if s.ns != 0 {
			return false
		}
		fallthrough
	case phaseInitiator:
		if s.nr != 0 || s.pn != 0 || s.sentBefore != 0 || s.recvBefore != 0 || s.peer != (key.DHPublic{}) || s.skipped.chains != nil {
			return false
		}
	}
	return s.ns <= MaxChain && s.nr <= MaxChain && s.pn <= MaxChain &&
		uint64(s.sentBefore)+uint64(s.ns) <= math.MaxUint32 && s.recvBefore <= math.MaxUint32-MaxChain
}

// parse reads the skipped keys: bounded, in order, no chain without a key.
func (s *store) parse(r *reader) {
	all, last := 0, uint64(0)
	for range r.uint16() {
		if r.bad {
			return
		}
		c := chain{head: secret[key.HeaderRole](r, true)}
		n := int(r.uint16())
		all += n
		if n == 0 || n > MaxSkippedChain || all > MaxSkipped || n*keySize > len(r.b) {
			r.bad = true
			c.wipe()
			return
		}
		for i := range n {
			k := skipped{n: r.uint32(), at: r.uint64(), ec: secret[key.MessageRole](r, true)}
			if k.n >= MaxChain || k.at < last || i > 0 && k.n <= c.keys[i-1].n {
				r.bad = true
			}
			last = k.at
			c.keys = append(c.keys, k)
		}
		s.chains = append(s.chains, c)
	}
}

// reader takes fields off the front of b. Past the end it gives zeros and says so.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if len(r.b) < n {
		r.bad = true
		return make([]byte, n)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) uint16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

// secret reads 32 bytes: a secret, or the zeros that stand for none. No secret is
// zeros.
func secret[R key.Role](r *reader, there bool) key.Secret[R] {
	b := r.take(32)
	if none := [32]byte(b) == [32]byte{}; none == there {
		r.bad = true
	}
	if !there {
		return key.Secret[R]{}
	}
	return cut[R](b)
}
