package pad

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

func TestHostileBlocksAreRefused(t *testing.T) {
	good := appended(t, sample())
	with := func(pos int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[pos:], b)
		return c
	}
	full := sample()
	full.Content = text(MaxContent)
	filled := appended(t, full)
	for name, p := range map[string][]byte{
		"empty": nil, "short": good[:wire.BlockSize-1], "long": append(bytes.Clone(good), 0),
		"length one more than there is room": func() []byte { c := bytes.Clone(filled); c[0], c[1] = 0x03, 0xdd; return c }(),
		"length 65535":                       with(0, 0xff, 0xff),
		"length shorter than the content":    with(0, 0, 4),
		"no zero after the content":          with(41, 1), "no zero at the end": with(1023, 1),
		"parts 0": with(2, 0, 0), "parts 65": func() []byte { c := bytes.Clone(filled); c[3] = 65; return c }(),
		"65th part": with(2, 64, 65), "256th part": with(2, 254, 255), "part at parts": with(2, 1, 1), "part beyond": with(2, 64, 64),
		"first part not full": with(2, 0, 2), "last part empty": append([]byte{0, 0, 1, 2}, make([]byte, 1020)...),
	} {
		if b, err := Parse(p); !errors.Is(err, ErrBlock) {
			t.Errorf("%s: got %v, %v, want %v", name, b, err, ErrBlock)
		}
	}
	for name, change := range map[string]func(b *Block){
		"long": func(b *Block) { b.Content = text(MaxContent + 1) }, "parts 0": func(b *Block) { b.Parts = 0 },
		"parts 65": func(b *Block) { b.Parts, b.Content = 65, text(MaxContent) }, "part at parts": func(b *Block) { b.Part = 1 },
		"first part not full": func(b *Block) { b.Parts = 2 }, "last part empty": func(b *Block) { b.Part, b.Parts, b.Content = 1, 2, nil },
	} {
		b := sample()
		change(b)
		if p, err := b.Append(nil); p != nil || !errors.Is(err, ErrBlock) {
			t.Errorf("appending %s: got %d bytes, %v, want %v", name, len(p), err, ErrBlock)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(appended(f, sample())[:64], byte(0))
	f.Add([]byte{3, 0xdc, 0, 2}, byte(7))
	f.Fuzz(func(t *testing.T, head []byte, fill byte) {
		p := bytes.Repeat([]byte{fill}, wire.BlockSize)
		copy(p, head)
		b, err := Parse(p)
		if err != nil {
			return
		}
		if got, err := b.Append(nil); err != nil || !bytes.Equal(got, p) {
			t.Errorf("got %x, %v, want %x", got, err, p)
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add(uint32(0))
	f.Add(uint32(MaxLogical))
	f.Fuzz(func(t *testing.T, n uint32) {
		n %= 2 * MaxLogical
		parts, err := Split(make([]byte, n))
		if (err != nil) != (n > MaxLogical) || len(parts) > MaxParts {
			t.Errorf("%d bytes: got %d parts, %v", n, len(parts), err)
		}
	})
}
