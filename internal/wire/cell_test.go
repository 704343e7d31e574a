package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

// body returns a good body of the kind.
func body(k Kind) *Body {
	n, _ := k.size()
	b := &Body{Kind: k, ID: MessageID{1, 2, 3, 4, 5, 6, 7, 8}, Count: 1, Payload: bytes.Repeat([]byte{0xaa}, n)}
	if k == KindHello {
		b.Index, b.Count = 3, HelloCells
	}
	return b
}

func encoded(t testing.TB, b *Body) []byte {
	t.Helper()
	p, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSizesOfTheCell(t *testing.T) {
	for name, c := range map[string][2]int{
		"cell": {CellSize, 1280}, "body": {BodySize, 1240}, "payload": {PayloadSize, 1229}, "pair": {PairSize, 1198},
		"block": {BlockSize, 1024}, "hello": {HelloSize, 4916},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %d, want %d", name, c[0], c[1])
		}
	}
}

func TestEveryKindMakesOneSize(t *testing.T) {
	for _, k := range []Kind{KindPair, KindGroup, KindHello, KindDrop} {
		b := body(k)
		p := encoded(t, b)
		if len(p) != BodySize {
			t.Errorf("kind %d: got %d bytes, want %d", k, len(p), BodySize)
		}
		got, err := ParseBody(p)
		if err != nil {
			t.Errorf("kind %d: %v", k, err)
			continue
		}
		if got.Kind != k || got.ID != b.ID || got.Index != b.Index || got.Count != b.Count || !bytes.Equal(got.Payload, b.Payload) {
			t.Errorf("kind %d: got %+v, want %+v", k, got, *b)
		}
		if cap(got.Payload) != len(got.Payload) {
			t.Errorf("kind %d: appending to the payload would write over the body", k)
		}
	}
}

func TestExampleOfTheSpecification(t *testing.T) {
	want := vectortest.Example(t, "cell.md", "drop-body")
	want = append(want, make([]byte, BodySize-len(want))...)
	if got := encoded(t, body(KindDrop)); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestHostileBodiesAreRefused(t *testing.T) {
	with := func(k Kind, pos int, v ...byte) []byte {
		b := encoded(t, body(k))
		copy(b[pos:], v)
		return b
	}
	for name, b := range map[string][]byte{
		"empty": nil, "short": encoded(t, body(KindPair))[:BodySize-1], "long": append(encoded(t, body(KindPair)), 0),
		"zeros": make([]byte, BodySize), "kind 5": with(KindGroup, 0, 5), "kind 255": with(KindGroup, 0, 255),
		"count 0": with(KindGroup, 10, 0), "index at count": with(KindGroup, 9, 1, 1), "index beyond": with(KindGroup, 9, 255, 254),
		"pair of two": with(KindPair, 10, 2), "drop of two": with(KindDrop, 10, 2), "hello of three": with(KindHello, 9, 0, 3),
		"hello of five": with(KindHello, 10, 5), "hello beyond": with(KindHello, 9, 4),
		"drop with a payload": with(KindDrop, 11, 1), "no zero after a pair": with(KindPair, 11+PairSize, 1),
		"no zero at the end of a pair": with(KindPair, BodySize-1, 1), "no zero at the end of a drop": with(KindDrop, BodySize-1, 1),
	} {
		if got, err := ParseBody(b); !errors.Is(err, ErrBody) {
			t.Errorf("%s: got %+v, %v, want %v", name, got, err, ErrBody)
		}
	}
	for name, change := range map[string]func(b *Body){
		"short": func(b *Body) { b.Payload = b.Payload[1:] }, "long": func(b *Body) { b.Payload = append(b.Payload, 0) },
		"nothing": func(b *Body) { b.Payload = nil }, "count 0": func(b *Body) { b.Count = 0 },
		"count 2": func(b *Body) { b.Count = 2 }, "index": func(b *Body) { b.Index = 1 }, "kind": func(b *Body) { b.Kind = 9 },
	} {
		b := body(KindPair)
		change(b)
		if p, err := b.Append(nil); p != nil || !errors.Is(err, ErrBody) {
			t.Errorf("appending %s: got %d bytes, %v, want %v", name, len(p), err, ErrBody)
		}
	}
}

func FuzzParseBody(f *testing.F) {
	for _, k := range []Kind{KindPair, KindGroup, KindHello, KindDrop} {
		p := encoded(f, body(k))
		n, _ := k.size()
		f.Add(p[:bodyHeader], p[BodySize-1], uint16(n))
	}
	f.Fuzz(func(t *testing.T, head []byte, fill byte, n uint16) {
		p := make([]byte, BodySize)
		for i := range min(int(n)+bodyHeader, BodySize) {
			p[i] = fill
		}
		copy(p, head)
		b, err := ParseBody(p)
		if err != nil {
			return
		}
		if got, err := b.Append(nil); err != nil || !bytes.Equal(got, p) {
			t.Errorf("got %x, %v, want %x", got, err, p)
		}
	})
}
