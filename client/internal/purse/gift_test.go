package purse

import (
	"bytes"
	"testing"

	"github.com/tacet-chat/tacet/internal/token"
)

func FuzzParseGift(f *testing.F) {
	for _, n := range []int{0, 1, 2, MaxGift, MaxGift + 1} {
		g := Gift{Pin: [32]byte{1}, Epoch: 2937, Tokens: make([]token.Raw, n)}
		f.Add(g.Append(nil))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseGift(b)
		if err != nil {
			return
		}
		if got := g.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
		if len(g.Tokens) < 1 || len(g.Tokens) > MaxGift {
			t.Errorf("got %d tokens", len(g.Tokens))
		}
	})
}

func TestParseGiftRefuses(t *testing.T) {
	g := Gift{Epoch: 1, Tokens: make([]token.Raw, 3)}
	good := g.Append(nil)
	if _, err := ParseGift(good); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"nothing":         nil,
		"a byte less":     good[:len(good)-1],
		"a byte more":     append(bytes.Clone(good), 0),
		"another number":  append(append(bytes.Clone(good[:36]), 2), good[37:]...),
		"no tokens":       append(bytes.Clone(good[:36]), 0),
		"more than there": (&Gift{Tokens: make([]token.Raw, MaxGift+1)}).Append(nil),
	} {
		if _, err := ParseGift(b); err != ErrGift {
			t.Errorf("%s: got %v, want %v", name, err, ErrGift)
		}
	}
}
