package sealed

import (
	"bytes"
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

func TestHostileHellosAreRefused(t *testing.T) {
	r := stream("hostile hello")
	k, err := key.Generate[key.XWingRole](r)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := key.Generate[key.XWingRole](r)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := SealHello(key.XWingPublicOf(k), []byte("info"), []byte("plain"))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, k key.XWing, whole []byte) {
		t.Helper()
		if got, err := OpenHello(k, []byte("info"), whole); got != nil || !errors.Is(err, ErrOpen) {
			t.Errorf("%s: got %x, %v, want %v", what, got, err, ErrOpen)
		}
	}
	refused("empty", k, nil)
	refused("short", k, whole[:len(whole)-1])
	refused("long", k, append(bytes.Clone(whole), 0))
	refused("a stranger's key", stranger, whole)
	refused("no key", key.XWing{}, whole)
	for _, i := range []int{0, 500, 1087, 1088, 1119, 1120, 3000, len(whole) - 16, len(whole) - 1} {
		b := bytes.Clone(whole)
		b[i] ^= 0x40
		refused("flipped bit", k, b)
	}
	zeroPoint := bytes.Clone(whole)
	clear(zeroPoint[1088:1120]) // the X25519 share, of low order
	refused("low order", k, zeroPoint)
}

func TestSealHelloRefusesWhatDoesNotFit(t *testing.T) {
	k, err := key.Generate[key.XWingRole](stream("fit"))
	if err != nil {
		t.Fatal(err)
	}
	pub := key.XWingPublicOf(k)
	if _, err := SealHello(pub, nil, make([]byte, MaxHello+1)); !errors.Is(err, ErrSize) {
		t.Errorf("long plain: got %v, want %v", err, ErrSize)
	}
	if _, err := SealHello(pub, make([]byte, MaxInfo+1), nil); !errors.Is(err, ErrSize) {
		t.Errorf("long info: got %v, want %v", err, ErrSize)
	}
	if _, err := OpenHello(k, make([]byte, MaxInfo+1), make([]byte, wire.HelloSize)); !errors.Is(err, ErrOpen) {
		t.Errorf("opening with a long info: got %v, want %v", err, ErrOpen)
	}
	over := pub
	for i := range 1152 { // coefficients that are not reduced mod 3,329
		over[i] = 0xff
	}
	if _, err := SealHello(over, nil, nil); !errors.Is(err, key.ErrPublic) {
		t.Errorf("unreduced key: got %v, want %v", err, key.ErrPublic)
	}
	low := pub
	clear(low[1184:]) // X25519 point of low order
	if _, err := SealHello(low, nil, nil); !errors.Is(err, key.ErrPublic) {
		t.Errorf("key of low order: got %v, want %v", err, key.ErrPublic)
	}
}

func TestPaddingOfAHelloHasOneForm(t *testing.T) {
	block := func(n int, fill byte) []byte {
		b := make([]byte, HelloPlain)
		binary.BigEndian.PutUint16(b, uint16(n))
		b[len(b)-1] = fill
		return b
	}
	for name, b := range map[string][]byte{
		"empty": {}, "short": make([]byte, HelloPlain-1), "long": make([]byte, HelloPlain+1),
		"length too large": block(MaxHello+1, 0), "length 65535": block(0xffff, 0),
		"no zero at the end": block(0, 1), "plain is shorter than what follows": block(MaxHello-1, 1),
	} {
		if got, err := unpadHello(b); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: got %d bytes, %v, want %v", name, len(got), err, ErrOpen)
		}
	}
	if got, err := unpadHello(block(MaxHello, 1)); err != nil || len(got) != MaxHello || got[MaxHello-1] != 1 {
		t.Errorf("full: got %d bytes, %v, want %d", len(got), err, MaxHello)
	}
}

func FuzzUnpadHello(f *testing.F) {
	f.Add([]byte{0, 3, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, head []byte) {
		block := make([]byte, HelloPlain)
		copy(block, head)
		plain, err := unpadHello(block)
		if err != nil {
			return
		}
		again := make([]byte, HelloPlain)
		binary.BigEndian.PutUint16(again, uint16(len(plain)))
		copy(again[2:], plain)
		if !bytes.Equal(again, block) {
			t.Errorf("two forms for %d bytes", len(plain))
		}
	})
}

// The public vectors of HPKE with post-quantum KEMs: one of thirteen has the
// suite of a hello. Its receiving side is deterministic.
func TestHPKEVectors(t *testing.T) {
	type vector struct {
		Mode        int
		KEM         uint16         `json:"kem_id"`
		KDF         uint16         `json:"kdf_id"`
		AEAD        uint16         `json:"aead_id"`
		Info        vectortest.Hex `json:"info"`
		SkRm        vectortest.Hex `json:"skRm"`
		PkRm        vectortest.Hex `json:"pkRm"`
		Enc         vectortest.Hex `json:"enc"`
		Encryptions []struct{ Aad, Ct, Pt vectortest.Hex }
		Exports     []struct {
			Context vectortest.Hex `json:"exporter_context"`
			L       int
			Value   vectortest.Hex `json:"exported_value"`
		}
	}
	kem, kdf, aead := suite()
	ran, other := 0, 0
	for _, v := range vectortest.Load[[]vector](t, "hpke-go-std/hpke-pq.json", 13) {
		if v.Mode != 0 || v.KEM != kem.ID() || v.KDF != kdf.ID() || v.AEAD != aead.ID() {
			other++
			continue
		}
		ran++
		k, err := key.New[key.XWingRole](v.SkRm)
		if err != nil {
			t.Fatal(err)
		}
		if pub := key.XWingPublicOf(k); !bytes.Equal(pub[:], v.PkRm) {
			t.Errorf("public key: got %x, want %x", pub, v.PkRm)
		}
		sk, err := kem.NewPrivateKey(k.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		recipient, err := hpke.NewRecipient(v.Enc, sk, kdf, aead, v.Info)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range v.Encryptions {
			if got, err := recipient.Open(e.Aad, e.Ct); err != nil || !bytes.Equal(got, e.Pt) {
				t.Errorf("message %d: got %x, %v, want %x", i, got, err, e.Pt)
			}
		}
		for i, e := range v.Exports {
			if got, err := recipient.Export(string(e.Context), e.L); err != nil || !bytes.Equal(got, e.Value) {
				t.Errorf("export %d: got %x, %v, want %x", i, got, err, e.Value)
			}
		}
		if len(v.Encryptions) != 10 || len(v.Exports) != 5 {
			t.Errorf("got %d messages, %d exports, want 10 and 5", len(v.Encryptions), len(v.Exports))
		}
	}
	t.Logf("ran %d vector; %d not applicable: another suite", ran, other)
	if ran != 1 || other != 12 {
		t.Errorf("got %d run, %d not applicable, want 1 and 12", ran, other)
	}
}
