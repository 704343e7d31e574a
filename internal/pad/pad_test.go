package pad

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// text returns n bytes that differ from place to place.
func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func sample() *Block {
	return &Block{
		Logical: wire.MessageID{1, 2, 3, 4, 5, 6, 7, 8}, Parts: 1,
		Ours:    Ref{Sequence: 7, Hash: [8]byte{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7}},
		Theirs:  Ref{Sequence: 9, Hash: [8]byte{0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7}},
		Content: []byte("hello"),
	}
}

func appended(t testing.TB, b *Block) []byte {
	t.Helper()
	p, err := b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestExampleOfTheSpecification(t *testing.T) {
	want := vectortest.Example(t, "cell.md", "block")
	want = append(want, make([]byte, wire.BlockSize-len(want))...)
	if got := appended(t, sample()); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestEveryLengthMakesTheSameSize(t *testing.T) {
	for _, n := range []int{0, 1, 900, MaxContent} {
		b := sample()
		b.Content = text(n)
		p := appended(t, b)
		if len(p) != wire.BlockSize {
			t.Errorf("%d bytes: got a block of %d, want %d", n, len(p), wire.BlockSize)
		}
		got, err := Parse(p)
		if err != nil || !bytes.Equal(got.Content, b.Content) {
			t.Errorf("%d bytes: got %d, %v, want them back", n, len(got.Content), err)
		}
		got.Content, b.Content = nil, nil
		if fmt.Sprint(got) != fmt.Sprint(*b) {
			t.Errorf("got %v, want %v", got, *b)
		}
	}
}

func TestSplitCutsInOneWay(t *testing.T) {
	for _, c := range []struct{ n, parts int }{
		{0, 1}, {1, 1}, {MaxContent, 1}, {MaxContent + 1, 2}, {2 * MaxContent, 2}, {MaxLogical - 1, MaxParts}, {MaxLogical, MaxParts},
	} {
		whole := text(c.n)
		parts, err := Split(whole)
		if err != nil || len(parts) != c.parts {
			t.Fatalf("%d bytes: got %d parts, %v, want %d", c.n, len(parts), err, c.parts)
		}
		if !bytes.Equal(bytes.Join(parts, nil), whole) {
			t.Errorf("%d bytes: the parts are not the whole", c.n)
		}
		for i, p := range parts {
			b := sample()
			b.Part, b.Parts, b.Content = byte(i), byte(len(parts)), p
			appended(t, b)
		}
	}
	if _, err := Split(make([]byte, MaxLogical+1)); !errors.Is(err, ErrSize) {
		t.Errorf("one byte too many: got %v, want %v", err, ErrSize)
	}
}
