package ratchet

import (
	"crypto/rand"
	"testing"
)

// BenchmarkChain is one message in a running chain: encrypt and decrypt.
func BenchmarkChain(b *testing.B) {
	x, y := pair(b, "bench")
	opens(b, y, rand.Reader, start, encrypt(b, x, rand.Reader, 0), 0)
	for n := 0; b.Loop(); n++ {
		if x.Room() == 0 {
			x, y = pair(b, "bench")
		}
		opens(b, y, rand.Reader, start, encrypt(b, x, rand.Reader, n), n)
	}
}

// BenchmarkPingPong is one message with a turn of the DH ratchet: the most
// expensive kind.
func BenchmarkPingPong(b *testing.B) {
	x, y := pair(b, "bench")
	for n := 0; b.Loop(); n++ {
		opens(b, y, rand.Reader, start, encrypt(b, x, rand.Reader, n), n)
		x, y = y, x
	}
}

// BenchmarkState is writing and reading a state without skipped keys.
func BenchmarkState(b *testing.B) {
	x, y := pair(b, "bench")
	opens(b, y, rand.Reader, start, encrypt(b, x, rand.Reader, 0), 0)
	var space [1024]byte
	for b.Loop() {
		if _, err := ParseState(y.Append(space[:0])); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLongestJump is the most work that a partner can cause with one cell.
func BenchmarkLongestJump(b *testing.B) {
	x, y := pair(b, "bench")
	opens(b, y, rand.Reader, start, encrypt(b, x, rand.Reader, 0), 0)
	for b.Loop() {
		d := draft{core: y.core.clone(), was: y}
		d.skip(MaxChain)
		d.wipe()
	}
}
