package sealed

import (
	"crypto/rand"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

func BenchmarkSealCell(b *testing.B) {
	k, a, body := sealKey(b, count(1, 32)), wire.Address(count(2, 32)), pair(make([]byte, wire.PairSize))
	b.ReportAllocs()
	b.SetBytes(wire.CellSize)
	for b.Loop() {
		if _, err := SealCell(k, a, body, rand.Reader); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenCell(b *testing.B) {
	k, a, body := sealKey(b, count(1, 32)), wire.Address(count(2, 32)), pair(make([]byte, wire.PairSize))
	c, err := SealCell(k, a, body, rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(wire.CellSize)
	for b.Loop() {
		if _, err := OpenCell(k, a, c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSealHello(b *testing.B) {
	k, err := key.Generate[key.XWingRole](rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	pub := key.XWingPublicOf(k)
	for b.Loop() {
		if _, err := SealHello(pub, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenHello(b *testing.B) {
	k, err := key.Generate[key.XWingRole](rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	whole, err := SealHello(key.XWingPublicOf(k), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := OpenHello(k, nil, whole); err != nil {
			b.Fatal(err)
		}
	}
}
