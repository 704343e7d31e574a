package braid

import "encoding/binary"

// The field GF(2^16) with the polynomial x^16 + x^12 + x^3 + x + 1, and chunks of
// 16 of its elements. There are no tables: sixteen doublings are fast enough.
//
// spec: braid.md#erasure-code

// poly is the polynomial below x^16: 0x1100b is the whole of it.
const poly = 0x100b

// mul multiplies.
func mul(a, b uint16) (p uint16) {
	for ; b != 0; b >>= 1 {
		p ^= a & -(b & 1)
		a = a<<1 ^ poly&-(a>>15)
	}
	return p
}

// inverse returns a^(2^16−2), which is 1/a; of 0 it is 0.
func inverse(a uint16) uint16 {
	p := uint16(1)
	for range 15 { // 2^16−2 is fifteen ones and a zero
		a = mul(a, a)
		p = mul(p, a)
	}
	return p
}

// chunkSize is the size of a chunk in bytes: 16 elements of 2 bytes.
const chunkSize = 32

type chunk [chunkSize]byte

// lanes are the elements of a chunk, four in a word.
type lanes [chunkSize / 8]uint64

func (c *chunk) lanes() (v lanes) {
	for i := range v {
		v[i] = binary.BigEndian.Uint64(c[8*i:])
	}
	return v
}

func (v *lanes) chunk() (c chunk) {
	for i := range v {
		binary.BigEndian.PutUint64(c[8*i:], v[i])
	}
	return c
}

// addScaled adds f times c to v, in each of the sixteen places.
func (v *lanes) addScaled(c lanes, f uint16) {
	for ; f != 0; f >>= 1 {
		take := -uint64(f & 1)
		for i := range v {
			v[i] ^= c[i] & take
			over := c[i] >> 15 & 0x0001000100010001
			c[i] = c[i]<<1&0xfffefffefffefffe ^ over*poly
		}
	}
}
