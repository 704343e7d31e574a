package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestTokenRequestIsExact(t *testing.T) {
	for how, n := range map[TokenHow]int{ByCredential: 32, ByPuzzle: 100} {
		r := TokenRequest{How: how, Kind: 2, Epoch: 0x01020304, Part: 15, Right: bytes.Repeat([]byte{7}, n), Blinded: bytes.Repeat([]byte{9}, TokenBlindedSize)}
		b, err := r.Append(nil)
		if err != nil || len(b) != 7+n+32768 || !bytes.Equal(b[:8], []byte{byte(how), 2, 1, 2, 3, 4, 15, 7}) {
			t.Fatalf("got %d bytes, %v", len(b), err)
		}
		got, err := ParseTokenRequest(b)
		if err != nil || got.How != how || got.Kind != 2 || got.Epoch != 0x01020304 || got.Part != 15 || !bytes.Equal(got.Right, r.Right) || !bytes.Equal(got.Blinded, r.Blinded) {
			t.Errorf("got another request, or %v", err)
		}
		for name, bad := range map[string][]byte{
			"empty": nil, "head": b[:7], "short": b[:len(b)-1], "long": append(bytes.Clone(b), 0), "how": append([]byte{3}, b[1:]...),
			"other how": append([]byte{3 - byte(how)}, b[1:]...), "kind 0": append([]byte{b[0], 0}, b[2:]...), "kind 3": append([]byte{b[0], 3}, b[2:]...),
			"part": append(append(bytes.Clone(b[:6]), 16), b[7:]...),
		} {
			if _, err := ParseTokenRequest(bad); !errors.Is(err, ErrTokenRequest) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		r.Right = r.Right[1:]
		if _, err := r.Append(nil); !errors.Is(err, ErrTokenRequest) {
			t.Errorf("a short right: got %v", err)
		}
	}
}

func TestPuzzleAskIsExact(t *testing.T) {
	a := PuzzleAsk{Purpose: 2, Binding: [32]byte{1, 2}}
	b := a.Append(nil)
	if got, err := ParsePuzzleAsk(b); err != nil || got != a || len(b) != PuzzleAskSize {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range [][]byte{nil, b[:32], append(bytes.Clone(b), 0), append([]byte{0}, b[1:]...), append([]byte{3}, b[1:]...)} {
		if _, err := ParsePuzzleAsk(bad); !errors.Is(err, ErrTokenRequest) {
			t.Errorf("%d bytes: got %v", len(bad), err)
		}
	}
}

// FuzzParseTokenRequest fills the elements up, which fuzzing should not have to.
func FuzzParseTokenRequest(f *testing.F) {
	f.Add(append([]byte{1, 1, 0, 0, 0, 1, 0}, make([]byte, 32)...), true)
	f.Add(append([]byte{2, 2, 0, 0, 0, 1, 15}, make([]byte, 100)...), true)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if whole {
			b = append(b, make([]byte, TokenBlindedSize)...)
		}
		if a, err := ParsePuzzleAsk(b); err == nil && !bytes.Equal(a.Append(nil), b) {
			t.Errorf("ask: got %x back", a.Append(nil))
		}
		r, err := ParseTokenRequest(b)
		if err != nil {
			return
		}
		if got, err := r.Append(nil); err != nil || !bytes.Equal(got, b) {
			t.Errorf("got another request back, or %v", err)
		}
	})
}
