package sealed

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// sealRaw seals any body bytes, well-formed or not, as SealCell would.
func sealRaw(t testing.TB, k key.Seal, a wire.Address, body []byte) *wire.Cell {
	t.Helper()
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c := new(wire.Cell)
	copy(c[:], count(9, 24))
	if got := aead.Seal(c[24:24], c[:24], body, a[:]); len(got) != wire.CellSize-24 {
		t.Fatalf("got %d sealed bytes, want %d", len(got), wire.CellSize-24)
	}
	return c
}

func TestNothingElseOpens(t *testing.T) {
	r := stream("nothing else")
	k, a := sealKey(t, random(t, r, 32)), wire.Address(random(t, r, 32))
	c, err := SealCell(k, a, pair(random(t, r, wire.PairSize)), r)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, k key.Seal, a wire.Address, c *wire.Cell) {
		t.Helper()
		if b, err := OpenCell(k, a, c); err != ErrOpen || b.Payload != nil {
			t.Errorf("%s: got %v, %v, want %v", what, b, err, ErrOpen)
		}
	}
	refused("another key", sealKey(t, random(t, r, 32)), a, c)
	refused("no key", key.Seal{}, a, c)
	refused("another address", k, wire.Address(random(t, r, 32)), c)
	for i := range wire.CellSize { // one bit in every byte: nonce, body, tag
		d := *c
		d[i] ^= 1 << (i % 8)
		refused("flipped bit", k, a, &d)
	}
	for i := range wire.AddressSize {
		b := a
		b[i] ^= 1 << (i % 8)
		refused("flipped bit of the address", k, b, c)
	}
	refused("zeros", k, a, new(wire.Cell))
	var noise wire.Cell
	copy(noise[:], random(t, r, wire.CellSize))
	refused("noise", k, a, &noise)
}

func TestMalformedBodyUnderAGoodSealIsTheSameError(t *testing.T) {
	r := stream("malformed")
	k, a := sealKey(t, random(t, r, 32)), wire.Address(random(t, r, 32))
	good, err := pair(random(t, r, wire.PairSize)).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCell(k, a, sealRaw(t, k, a, good)); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for name, change := range map[string]func(b []byte){
		"kind 0": func(b []byte) { b[0] = 0 }, "kind 5": func(b []byte) { b[0] = 5 },
		"drop with a payload": func(b []byte) { b[0] = 4 }, "index at count": func(b []byte) { b[9] = 1 },
		"count 0": func(b []byte) { b[10] = 0 }, "pair of two": func(b []byte) { b[10] = 2 },
		"hello of one": func(b []byte) { b[0] = 3 }, "no zero at the end": func(b []byte) { b[len(b)-1] = 1 },
		"no zero after the payload": func(b []byte) { b[11+wire.PairSize] = 1 },
	} {
		b := bytes.Clone(good)
		change(b)
		if got, err := OpenCell(k, a, sealRaw(t, k, a, b)); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, ErrOpen)
		}
	}
}

func TestSealRefusesWhatIsNoBody(t *testing.T) {
	r := stream("no body")
	k, a := sealKey(t, random(t, r, 32)), wire.Address(random(t, r, 32))
	for name, b := range map[string]*wire.Body{
		"nothing": {}, "short pair": pair(make([]byte, wire.PairSize-1)), "long pair": pair(make([]byte, wire.PairSize+1)),
		"long drop": {Kind: wire.KindDrop, Count: 1, Payload: []byte{0}},
	} {
		if c, err := SealCell(k, a, b, r); c != nil || !errors.Is(err, wire.ErrBody) {
			t.Errorf("%s: got %v, want %v", name, err, wire.ErrBody)
		}
	}
	b := pair(make([]byte, wire.PairSize))
	if c, err := SealCell(key.Seal{}, a, b, r); c != nil || !errors.Is(err, key.ErrSize) {
		t.Errorf("no key: got %v, want %v", err, key.ErrSize)
	}
	if c, err := SealCell(k, a, b, bytes.NewReader(make([]byte, 23))); c != nil || err == nil {
		t.Error("too little randomness: got a cell, want an error")
	}
}

// A retry seals the same body again: no two of the cells may have a nonce, or
// anything else, in common.
func TestRetriesHaveNothingInCommon(t *testing.T) {
	r := stream("retries")
	k, a := sealKey(t, random(t, r, 32)), wire.Address(random(t, r, 32))
	b := pair(make([]byte, wire.PairSize))
	seen := map[string]bool{}
	for range 50 {
		c, err := SealCell(k, a, b, r)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+8 <= len(c); i++ {
			piece := string(c[i : i+8])
			if seen[piece] {
				t.Fatalf("two cells share %x", piece)
			}
			seen[piece] = true
		}
	}
}

func TestWycheproofXChaCha20Poly1305(t *testing.T) {
	type group struct {
		IvSize, KeySize, TagSize int
		Tests                    []struct {
			TcID                       int
			Key, Iv, Aad, Msg, Ct, Tag vectortest.Hex
			Result                     string
		}
	}
	ran, refused, other := 0, 0, 0
	for _, g := range vectortest.Wycheproof[group](t, "xchacha20_poly1305_test.json", 315) {
		for _, v := range g.Tests {
			if len(v.Iv) != wire.NonceSize {
				other++ // another nonce size: a cell has no place for one
				if v.Result != "invalid" {
					t.Errorf("test %d: a nonce of %d bytes is said to be fine", v.TcID, len(v.Iv))
				}
				continue
			}
			aead, err := chacha20poly1305.NewX(v.Key)
			if err != nil {
				t.Fatal(err)
			}
			whole := append(bytes.Clone(v.Ct), v.Tag...)
			got, err := aead.Open(nil, v.Iv, whole, v.Aad)
			ran++
			if v.Result != "valid" {
				refused++
				if err == nil {
					t.Errorf("test %d: got %x, want an error", v.TcID, got)
				}
				continue
			}
			if err != nil || !bytes.Equal(got, v.Msg) {
				t.Errorf("test %d: got %x, %v, want %x", v.TcID, got, err, v.Msg)
			}
			if sealed := aead.Seal(nil, v.Iv, v.Msg, v.Aad); !bytes.Equal(sealed, whole) {
				t.Errorf("test %d: got %x, want %x", v.TcID, sealed, whole)
			}
		}
	}
	t.Logf("ran %d vectors (%d to refuse); %d not applicable: nonce is not 24 bytes", ran, refused, other)
	if ran != 306 || other != 9 {
		t.Errorf("got %d run, %d not applicable, want 306 and 9", ran, other)
	}
}

func FuzzOpenCell(f *testing.F) {
	k, a := sealKey(f, count(1, 32)), wire.Address(count(2, 32))
	for _, b := range []*wire.Body{pair(make([]byte, wire.PairSize)), {Kind: wire.KindDrop, Count: 1}} {
		body, err := b.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) != wire.BodySize {
			return
		}
		b, err := OpenCell(k, a, sealRaw(t, k, a, body))
		if err != nil {
			return
		}
		if got, err := b.Append(nil); err != nil || !bytes.Equal(got, body) {
			t.Errorf("got %x, %v, want %x", got, err, body)
		}
	})
}
