package braid

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// dice is a seeded generator for schedules.
func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// TestFieldIsAField compares with multiplication of polynomials and long division
// by 0x1100b, and holds the field to its laws.
func TestFieldIsAField(t *testing.T) {
	slow := func(a, b uint16) uint16 {
		var p uint32
		for i := range 16 {
			if b>>i&1 == 1 {
				p ^= uint32(a) << i
			}
		}
		for i := 31; i >= 16; i-- {
			if p>>i&1 == 1 {
				p ^= 0x1100b << (i - 16)
			}
		}
		return uint16(p)
	}
	d := dice(1)
	for range 50_000 {
		a, b, c := uint16(d.Uint32()), uint16(d.Uint32()), uint16(d.Uint32())
		if got, want := mul(a, b), slow(a, b); got != want {
			t.Fatalf("%#x · %#x: got %#x, want %#x", a, b, got, want)
		}
		if mul(a, b) != mul(b, a) || mul(a, mul(b, c)) != mul(mul(a, b), c) || mul(a, b^c) != mul(a, b)^mul(a, c) {
			t.Fatalf("%#x, %#x, %#x break a law", a, b, c)
		}
	}
	for a := 1; a < 1<<16; a++ {
		if mul(uint16(a), inverse(uint16(a))) != 1 || mul(uint16(a), 1) != uint16(a) {
			t.Fatalf("%#x has no inverse", a)
		}
	}
	if inverse(0) != 0 {
		t.Error("got an inverse of 0")
	}
}

func TestLanesAreElements(t *testing.T) {
	d := dice(2)
	for range 2000 {
		var a, b, want chunk
		for i := range a {
			a[i], b[i] = byte(d.Uint32()), byte(d.Uint32())
		}
		f := uint16(d.Uint32())
		for i := 0; i < chunkSize; i += 2 {
			x := mul(f, uint16(b[i])<<8|uint16(b[i+1]))
			want[i], want[i+1] = a[i]^byte(x>>8), a[i+1]^byte(x)
		}
		v := a.lanes()
		v.addScaled(b.lanes(), f)
		if got := v.chunk(); got != want {
			t.Fatalf("%x + %#x · %x: got %x, want %x", a, f, b, got, want)
		}
	}
}

var texts = []int{headerSize + macSize, ekSize, ct1Size, ct2Size + macSize}

func text(size int, d *rand.Rand) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return b
}

// TestAnyNChunksGiveTheText tries random choices of chunks among all that there
// are, in any order, and the hard ones: none of the text's own, all but one of
// them, the very last.
func TestAnyNChunksGiveTheText(t *testing.T) {
	const all = 2 * (maxPair + 1)
	for _, size := range texts {
		n := size / chunkSize
		d := dice(uint64(size))
		choices := [][]int{}
		for i := range 60 {
			limit := []int{n + 1, 2 * n, all}[i%3]
			choices = append(choices, d.Perm(limit)[:n])
		}
		var high, last []int
		for i := range n {
			high, last = append(high, n+i), append(last, all-1-i)
		}
		choices = append(choices, high, last)
		for _, points := range choices {
			data := text(size, d)
			dec := decoder{size: size}
			var got []byte
			for i, x := range points {
				c := encode(data, uint16(x))
				if x < n && !bytes.Equal(c[:], data[x*chunkSize:][:chunkSize]) {
					t.Fatalf("chunk %d of %d: got %x, want that of the text", x, n, c)
				}
				if got = dec.add(uint16(x), c); (got != nil) != (i == n-1) {
					t.Fatalf("size %d: got a text of %d chunks after %d", size, len(got)/chunkSize, i+1)
				}
				if i < n-1 && dec.add(uint16(x), chunk{}) != nil {
					t.Fatalf("size %d: got a text by a chunk that was there", size)
				}
			}
			if !bytes.Equal(got, data) {
				t.Fatalf("size %d, chunks %v: got another text", size, points)
			}
		}
	}
}

// TestEncoderGoesRound: pairs come in order and begin anew after the last.
func TestEncoderGoesRound(t *testing.T) {
	data := text(texts[0], dice(3))
	e := encoder{data: data}
	first := e.take()
	if first[0] != chunk(data) || first[1] != chunk(data[chunkSize:]) || e.next != 1 {
		t.Error("got other chunks than the first two of the text")
	}
	e.next = maxPair
	if got, want := e.take(), encode(data, 2*maxPair+1); got[1] != want || e.next != 0 {
		t.Errorf("got next pair %d, want 0", e.next)
	}
	if got := e.take(); got != first {
		t.Error("got another first pair")
	}
}

// TestClonesOfADecoderGoTheirOwnWays: what is shared is never changed.
func TestClonesOfADecoderGoTheirOwnWays(t *testing.T) {
	d := dice(4)
	data, other := text(ekSize, d), text(ekSize, d)
	var a decoder
	a.size = ekSize
	for x := range uint16(20) {
		a.add(2*x, encode(data, 2*x))
	}
	b := a
	before := fmt.Sprint(a.have)
	for x := range uint16(15) {
		b.add(2*x+1, encode(other, 2*x+1))
	}
	if fmt.Sprint(a.have) != before || len(a.have) != 20 || len(b.have) != 35 {
		t.Error("got a decoder that changed with its clone")
	}
	var got []byte
	for x := uint16(100); got == nil; x++ {
		got = a.add(x, encode(data, x))
	}
	if !bytes.Equal(got, data) {
		t.Error("got another text")
	}
}

func TestDecoderIsInOrder(t *testing.T) {
	d := decoder{size: ekSize}
	for _, x := range dice(5).Perm(60)[:35] {
		d.add(uint16(x), chunk{})
	}
	if !slices.IsSortedFunc(d.have, func(a, b piece) int { return int(a.x) - int(b.x) }) {
		t.Error("got chunks out of order")
	}
}
