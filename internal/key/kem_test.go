package key

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/mlkem"
	"crypto/mlkem/mlkemtest"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

func TestEncapsulationReachesItsKey(t *testing.T) {
	s := secretOf[KEMRole](t, 1)
	ours, ct, err := Encapsulate(KEMPublicOf(s))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := Decapsulate(s, ct)
	if err != nil || !ours.Equal(theirs) {
		t.Errorf("the two ends differ, or %v", err)
	}
	other, err := Decapsulate(secretOf[KEMRole](t, 2), ct)
	if err != nil || other.Equal(ours) {
		t.Errorf("another key: got the same secret, or %v", err)
	}
	ct[5] ^= 1
	spoiled, err := Decapsulate(s, ct)
	if err != nil || spoiled.Equal(ours) {
		t.Errorf("spoiled ciphertext: got the same secret, or %v", err)
	}
	if _, err := Decapsulate(KEM{}, ct); err == nil {
		t.Error("decapsulated without a key")
	}
	var over KEMPublic
	for i := range over {
		over[i] = 0xff
	}
	if _, _, err := Encapsulate(over); !errors.Is(err, ErrPublic) {
		t.Errorf("unreduced key: got %v, want %v", err, ErrPublic)
	}
}

type kemGroup struct {
	Tests []struct {
		TcID              int
		Seed, Ek, C, K, M vectortest.Hex
		Result            string
	}
}

func TestWycheproofMLKEM768Keys(t *testing.T) {
	ran := 0
	for _, g := range vectortest.Wycheproof[kemGroup](t, "mlkem_768_keygen_seed_test.json", 100) {
		for _, v := range g.Tests {
			ran++
			s, err := New[KEMRole](v.Seed)
			if err != nil {
				t.Fatal(err)
			}
			if p := KEMPublicOf(s); !bytes.Equal(p[:], v.Ek) {
				t.Errorf("test %d: got %x, want %x", v.TcID, p, v.Ek)
			}
		}
	}
	if ran != 100 {
		t.Errorf("got %d vectors run, want 100", ran)
	}
}

func TestWycheproofMLKEM768Decapsulation(t *testing.T) {
	var opened, badSeed, badSize int
	for _, g := range vectortest.Wycheproof[kemGroup](t, "mlkem_768_test.json", 193) {
		for _, v := range g.Tests {
			s, err := New[KEMRole](v.Seed)
			if len(v.Seed) != 64 {
				if badSeed++; !errors.Is(err, ErrSize) || v.Result == "valid" {
					t.Errorf("test %d: got %v for %d bytes, want %v", v.TcID, err, len(v.Seed), ErrSize)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(v.C) != KEMCiphertextSize {
				// Our type has no room for it: what parses a message refuses. The
				// standard library beneath refuses as well.
				badSize++
				k, err := mlkem.NewDecapsulationKey768(v.Seed)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := k.Decapsulate(v.C); err == nil || v.Result == "valid" {
					t.Errorf("test %d: a ciphertext of %d bytes is taken", v.TcID, len(v.C))
				}
				continue
			}
			opened++
			if p := KEMPublicOf(s); len(v.Ek) > 0 && !bytes.Equal(p[:], v.Ek) {
				t.Errorf("test %d: got key %x, want %x", v.TcID, p, v.Ek)
			}
			if got, err := Decapsulate(s, [KEMCiphertextSize]byte(v.C)); err != nil || !bytes.Equal(got.Bytes(), v.K) {
				t.Errorf("test %d: got %x, %v, want %x", v.TcID, got.Bytes(), err, v.K)
			}
		}
	}
	t.Logf("opened %d; refused %d seeds and %d ciphertexts of a wrong size", opened, badSeed, badSize)
	if opened != 153 || badSeed != 20 || badSize != 20 {
		t.Errorf("got %d, %d, %d, want 153, 20, 20", opened, badSeed, badSize)
	}
}

func TestWycheproofMLKEM768Encapsulation(t *testing.T) {
	var made, refused int
	for _, g := range vectortest.Wycheproof[kemGroup](t, "mlkem_768_encaps_test.json", 265) {
		for _, v := range g.Tests {
			if v.Result != "valid" {
				refused++
				if len(v.Ek) != KEMPublicSize { // no room in our type
					if _, err := mlkem.NewEncapsulationKey768(v.Ek); err == nil {
						t.Errorf("test %d: a key of %d bytes is taken", v.TcID, len(v.Ek))
					}
				} else if _, _, err := Encapsulate(KEMPublic(v.Ek)); !errors.Is(err, ErrPublic) {
					t.Errorf("test %d: got %v, want %v", v.TcID, err, ErrPublic)
				}
				continue
			}
			made++
			ek, err := mlkem.NewEncapsulationKey768(v.Ek)
			if err != nil {
				t.Fatalf("test %d: %v", v.TcID, err)
			}
			k, c, err := mlkemtest.Encapsulate768(ek, v.M)
			if err != nil || !bytes.Equal(k, v.K) || !bytes.Equal(c, v.C) {
				t.Errorf("test %d: got %x, %v, want %x", v.TcID, k, err, v.K)
			}
		}
	}
	t.Logf("made %d, refused %d", made, refused)
	if made != 133 || refused != 132 {
		t.Errorf("got %d made, %d refused, want 133 and 132", made, refused)
	}
}

// Expanded private keys do not exist here: keys are seeds.
func TestWycheproofMLKEM768ExpandedKeysAreNoSeeds(t *testing.T) {
	type group struct {
		Tests []struct {
			TcID int
			Dk   vectortest.Hex
		}
	}
	n := 0
	for _, g := range vectortest.Wycheproof[group](t, "mlkem_768_semi_expanded_decaps_test.json", 9) {
		for _, v := range g.Tests {
			n++
			if _, err := New[KEMRole](v.Dk); !errors.Is(err, ErrSize) {
				t.Errorf("test %d: got %v, want %v", v.TcID, err, ErrSize)
			}
		}
	}
	t.Logf("%d not applicable: expanded private keys", n)
}

// AES-GCM is used with 32-byte keys, 12-byte nonces and 16-byte tags only.
func TestWycheproofAESGCM(t *testing.T) {
	type group struct {
		IvSize, KeySize, TagSize int
		Tests                    []struct {
			TcID                       int
			Key, Iv, Aad, Msg, Ct, Tag vectortest.Hex
			Result                     string
		}
	}
	ran, other := 0, 0
	for _, g := range vectortest.Wycheproof[group](t, "aes_gcm_test.json", 316) {
		if g.IvSize != 96 || g.KeySize != 256 || g.TagSize != 128 {
			other += len(g.Tests)
			continue
		}
		for _, v := range g.Tests {
			ran++
			block, err := aes.NewCipher(v.Key)
			if err != nil {
				t.Fatal(err)
			}
			aead, err := cipher.NewGCM(block)
			if err != nil {
				t.Fatal(err)
			}
			whole := append(bytes.Clone(v.Ct), v.Tag...)
			got, err := aead.Open(nil, v.Iv, whole, v.Aad)
			if v.Result != "valid" {
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
	t.Logf("ran %d vectors; %d not applicable: other sizes of key, nonce or tag", ran, other)
	if ran != 66 || other != 250 {
		t.Errorf("got %d run, %d not applicable, want 66 and 250", ran, other)
	}
}
