package pqxdh

import (
	"crypto/mlkem"
	"crypto/mlkem/mlkemtest"
	"crypto/sha3"
	"encoding/hex"
	"io"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// stream is a reader of SHAKE256(seed): the same bytes on every run.
func stream(seed string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte(seed))
	return h
}

// device is one device with all its secrets.
type device struct {
	party Party
	sign  key.Sign
	dh    key.DH
}

func newDevice(t testing.TB, seed string) *device {
	t.Helper()
	r := stream(seed)
	root, err := key.Generate[key.SignRole](r)
	sign, err2 := key.Generate[key.SignRole](r)
	dh, err3 := key.Generate[key.DHRole](r)
	if err != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err2, err3)
	}
	d := &device{sign: sign, dh: dh}
	d.party = Party{Root: key.SignPublicOf(root), Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh)}
	io.ReadFull(r, d.party.Manifest[:])
	return d
}

func (d *device) prekeys(t testing.TB, seed string, oneTime bool) (*Private, *Prekeys) {
	t.Helper()
	v, p, err := NewPrekeys(stream(seed), d.sign, oneTime)
	if err != nil {
		t.Fatal(err)
	}
	return v, p
}

// encapsulate is key.Encapsulate with its randomness named.
func encapsulate(t testing.TB, p key.KEMPublic, m []byte) (key.Shared, [key.KEMCiphertextSize]byte) {
	t.Helper()
	ek, err := mlkem.NewEncapsulationKey768(p[:])
	if err != nil {
		t.Fatal(err)
	}
	ss, ct, err := mlkemtest.Encapsulate768(ek, m)
	if err != nil {
		t.Fatal(err)
	}
	s, err := key.New[key.SharedRole](ss)
	if err != nil {
		t.Fatal(err)
	}
	return s, [key.KEMCiphertextSize]byte(ct)
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
