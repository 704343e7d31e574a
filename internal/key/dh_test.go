package key

import (
	"bytes"
	"errors"
	"testing"
)

func TestNewDHIsGenerateAndAgree(t *testing.T) {
	seed := bytes.Repeat([]byte{0x5a}, 32)
	peer, err := New[DHRole](bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	s, own, z, err := NewDH(bytes.NewReader(seed), DHPublicOf(peer))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Bytes(), seed) || own != DHPublicOf(s) {
		t.Error("got another key, want the one that rand gave")
	}
	if want, err := Agree(peer, own); err != nil || !z.Equal(want) {
		t.Errorf("got another outcome than the peer (%v), want the same", err)
	}
}

func TestNewDHRefusesWhatAgreeRefuses(t *testing.T) {
	for name, p := range map[string]DHPublic{"zero": {}, "one": {1}, "prime": DHPublic(fieldPrime), "top bit": {0: 9, 31: 0x80}} {
		s, _, z, err := NewDH(bytes.NewReader(make([]byte, 32)), p)
		if !errors.Is(err, ErrPublic) || s.Valid() || z.Valid() {
			t.Errorf("%s: got %v, want %v and no secrets", name, err, ErrPublic)
		}
	}
	if _, _, _, err := NewDH(bytes.NewReader(make([]byte, 31)), DHPublic{9}); err == nil || errors.Is(err, ErrPublic) {
		t.Errorf("short randomness: got %v, want its own error", err)
	}
}
