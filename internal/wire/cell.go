// Package wire has the bytes that travel: the cell and its body, and the
// frames between a client and a relay. It knows sizes and positions, appends
// and parses, and holds no key and no cryptography.
//
// All integers are big-endian. One way to encode each thing: what Parse
// accepts, Append gives back byte for byte.
//
// Spec: docs/spec/cell.md and docs/spec/relay-api.md.
package wire

import (
	"errors"
)

// Sizes of the cell, in bytes.
const (
	AddressSize = 32
	CellSize    = 1280                                // nonce 24 ‖ body 1,240 ‖ tag 16
	NonceSize   = 24                                  // XChaCha20-Poly1305
	TagSize     = 16                                  // Poly1305
	BodySize    = CellSize - NonceSize - TagSize      // 1,240
	bodyHeader  = 1 + MessageIDSize + 1 + 1           // kind 1 ‖ message id 8 ‖ index 1 ‖ count 1
	PayloadSize = BodySize - bodyHeader               // 1,229: the most that one cell carries
	PairSize    = 12 + 118 + 16 + 12 + BlockSize + 16 // 1,198: a pair message (session.md)
	BlockSize   = 1024                                // a content block (cell.md)

	MessageIDSize = 8
	HelloCells    = 4                        // a hello is always this many cells
	HelloSize     = HelloCells * PayloadSize // 4,916
)

type (
	// Address is where a cell goes: the blinded key of a route for one period.
	Address [AddressSize]byte
	// Cell is an envelope: random-looking to all but the route's two ends.
	Cell [CellSize]byte
	// MessageID names a message within one sender device: random, or for
	// fragments the first 8 bytes of H(whole).
	MessageID [MessageIDSize]byte
)

// Kind says what a body carries.
type Kind byte

// Kinds of bodies.
const (
	KindPair  Kind = 1 // one ratchet message, 1,198 bytes
	KindGroup Kind = 2 // an MLS message or a fragment of one
	KindHello Kind = 3 // a fragment of a hello, 1,229 bytes, four of them
	KindDrop  Kind = 4 // cover: a loop to oneself; no payload
)

// ErrBody is returned for a body that is not well-formed.
var ErrBody = errors.New("cell body is malformed")

// Body is what a cell's seal covers.
type Body struct {
	Kind    Kind
	ID      MessageID
	Index   byte // of this fragment, below Count
	Count   byte // fragments in all, at least 1
	Payload []byte
}

// size returns the payload size that a kind fixes, and whether the kind is known.
// A group payload is not fixed: it takes the whole room, and MLS finds its own end.
func (k Kind) size() (n int, ok bool) {
	switch k {
	case KindPair:
		return PairSize, true
	case KindGroup, KindHello:
		return PayloadSize, true
	case KindDrop:
		return 0, true
	}
	return 0, false
}

func (b *Body) check() error {
	n, ok := b.Kind.size()
	switch {
	case !ok, len(b.Payload) != n, b.Count == 0, b.Index >= b.Count:
		return ErrBody
	case b.Kind == KindHello && b.Count != HelloCells:
		return ErrBody
	case (b.Kind == KindPair || b.Kind == KindDrop) && b.Count != 1:
		return ErrBody
	}
	return nil
}

// Append appends the body, BodySize bytes. It fails with ErrBody if a size or
// count does not fit the kind.
func (b *Body) Append(dst []byte) ([]byte, error) {
	if err := b.check(); err != nil {
		return dst, err
	}
	dst = append(dst, byte(b.Kind)) // kind 1
	dst = append(dst, b.ID[:]...)   // message id 8
	dst = append(dst, b.Index, b.Count)
	dst = append(dst, b.Payload...)
	return append(dst, make([]byte, PayloadSize-len(b.Payload))...), nil
}

// ParseBody reads a body of exactly BodySize bytes; Payload aliases b. It fails
// with ErrBody, also when the zeros after the payload are not zeros.
func ParseBody(b []byte) (Body, error) {
	if len(b) != BodySize {
		return Body{}, ErrBody
	}
	v := Body{Kind: Kind(b[0]), ID: MessageID(b[1:]), Index: b[9], Count: b[10]}
	n, ok := v.Kind.size()
	if !ok {
		return Body{}, ErrBody
	}
	v.Payload = b[bodyHeader:][:n:n]
	for _, z := range b[bodyHeader+n:] {
		if z != 0 {
			return Body{}, ErrBody
		}
	}
	if err := v.check(); err != nil {
		return Body{}, err
	}
	return v, nil
}
