package braid

import (
	"encoding/binary"
	"math"
)

// kind says what the chunks of a message belong to.
//
// spec: braid.md#field
type kind byte

const (
	kindNone     kind = 0 // nothing
	kindHdr      kind = 1 // header of a key, and its MAC
	kindEk       kind = 2 // the key
	kindEkCt1Ack kind = 3 // the key; all of ct1 is here
	kindCt1Ack   kind = 4 // nothing; all of ct1 is here
	kindCt1      kind = 5 // first half of the ciphertext
	kindCt2      kind = 6 // second half, and its MAC
)

// full reports whether messages of the kind carry chunks.
func (k kind) full() bool { return k != kindNone && k != kindCt1Ack }

// ofKey reports whether the kind comes from the end whose key an epoch agrees by.
func (k kind) ofKey() bool { return k >= kindHdr && k <= kindCt1Ack }

// message is a field, taken apart.
type message struct {
	epoch    uint32 // whose chain the key is of
	number   uint32 // in that chain, from 0
	previous uint32 // messages in the sender's chain of the epoch before
	kind     kind
	pair     uint16 // the chunks are number 2·pair and 2·pair+1
	chunks   [2]chunk
}

const (
	pairBits = 13
	maxPair  = 1<<pairBits - 1
)

func (m *message) bytes() (b [Size]byte) {
	binary.BigEndian.PutUint32(b[0:], m.epoch)                          // epoch 4
	binary.BigEndian.PutUint32(b[4:], m.number)                         // number 4
	binary.BigEndian.PutUint32(b[8:], m.previous)                       // previous 4
	binary.BigEndian.PutUint16(b[12:], uint16(m.kind)<<pairBits|m.pair) // kind: 3 bits, pair: 13 bits
	copy(b[14:], m.chunks[0][:])                                        // chunk 32
	copy(b[46:], m.chunks[1][:])                                        // chunk 32
	return b
}

// parseField reads a field. It refuses what bytes does not write.
func parseField(b []byte) (m message, ok bool) {
	if len(b) != Size {
		return m, false
	}
	x := binary.BigEndian.Uint16(b[12:])
	m = message{
		epoch: binary.BigEndian.Uint32(b), number: binary.BigEndian.Uint32(b[4:]), previous: binary.BigEndian.Uint32(b[8:]),
		kind: kind(x >> pairBits), pair: x & maxPair, chunks: [2]chunk{chunk(b[14:]), chunk(b[46:])},
	}
	if m.kind > kindCt2 || m.epoch >= MaxEpoch || m.epoch == 0 && m.previous != 0 || m.number == math.MaxUint32 {
		return m, false
	}
	return m, m.kind.full() || m.pair == 0 && m.chunks == [2]chunk{}
}
