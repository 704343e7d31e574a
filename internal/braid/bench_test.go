package braid

import (
	"crypto/rand"
	"testing"
)

// exchange is what the braid adds to one message: sending on one side; copying,
// receiving and dropping what it replaces on the other.
func exchange(b *testing.B, from, to *State) *State {
	field, k, err := from.Send(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	k.Wipe()
	c := to.Clone()
	if k, err = c.Receive(start, field[:]); err != nil {
		b.Fatal(err)
	}
	k.Wipe()
	to.Wipe()
	return c
}

// BenchmarkMessage is what the braid adds to one message on average, epochs
// included, when both talk in turns.
func BenchmarkMessage(b *testing.B) {
	x, y := pair(b, "bench")
	for b.Loop() {
		y = exchange(b, x, y)
		x, y = y, x
	}
	b.ReportMetric(float64(x.Epoch())/float64(b.N), "epochs/op")
}

// BenchmarkOneSided is the same when one side sends ten messages for one answer:
// most chunks then are of the kind that has to be computed.
func BenchmarkOneSided(b *testing.B) {
	x, y := pair(b, "bench")
	for n := 0; b.Loop(); n++ {
		if n%11 == 10 {
			x = exchange(b, y, x)
		} else {
			y = exchange(b, x, y)
		}
	}
	b.ReportMetric(float64(x.Epoch())/float64(b.N), "epochs/op")
}

// BenchmarkFullStore is a message for a state that keeps as many skipped keys as
// it may.
func BenchmarkFullStore(b *testing.B) {
	x, y := pair(b, "bench")
	for epoch := range uint64(2) {
		for range MaxSkipped / 2 {
			if _, _, err := x.Send(rand.Reader); err != nil {
				b.Fatal(err)
			}
		}
		for x.Epoch() == epoch || y.Epoch() == epoch {
			y = exchange(b, x, y)
			x = exchange(b, y, x)
		}
	}
	if y.Skipped() != MaxSkipped {
		b.Fatalf("got %d keys, want %d", y.Skipped(), MaxSkipped)
	}
	for b.Loop() {
		y = exchange(b, x, y)
	}
}

// BenchmarkState is writing and reading the largest state without skipped keys.
func BenchmarkState(b *testing.B) {
	x, y := pair(b, "bench")
	for y.phase != ct1Sampled {
		y = exchange(b, x, y)
		x = exchange(b, y, x)
	}
	var space [4096]byte
	for b.Loop() {
		s, err := Parse(y.Append(space[:0]))
		if err != nil {
			b.Fatal(err)
		}
		s.Wipe()
	}
}

// BenchmarkLongestJump is the most work that a partner can cause with one field.
func BenchmarkLongestJump(b *testing.B) {
	_, y := pair(b, "bench")
	for b.Loop() {
		c := y.Clone()
		c.skip(0, MaxJump, 0)
		c.Wipe()
	}
}

// The pieces of an epoch.
func BenchmarkKeys(b *testing.B) {
	x, _ := pair(b, "bench")
	for b.Loop() {
		x.phase = keysUnsampled
		if err := x.sampleKeys(rand.Reader); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncapsulation(b *testing.B) {
	seed, m := testKeys(b, stream("bench"))
	header, ek := split(seed)
	for b.Loop() {
		ct1, _ := encapsulate1(header, m)
		if _, ok := encapsulate2(header, ek, ct1, m); !ok {
			b.Fatal("got no second half")
		}
	}
}

func BenchmarkDecapsulation(b *testing.B) {
	seed, m := testKeys(b, stream("bench"))
	header, ek := split(seed)
	ct1, _ := encapsulate1(header, m)
	ct2, _ := encapsulate2(header, ek, ct1, m)
	for b.Loop() {
		decapsulate(seed, ct1, ct2)
	}
}

// BenchmarkEncode is one computed chunk of the longest text, BenchmarkDecode a
// whole one of computed chunks alone.
func BenchmarkEncode(b *testing.B) {
	data := make([]byte, ekSize)
	rand.Read(data)
	for b.Loop() {
		encode(data, 1000)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := make([]byte, ekSize)
	rand.Read(data)
	var have []piece
	for i := range uint16(ekSize / chunkSize) {
		have = append(have, piece{1000 + i, encode(data, 1000+i)})
	}
	for b.Loop() {
		decode(have)
	}
}
