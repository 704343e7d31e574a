package key

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

func TestInfoIsPrefixFree(t *testing.T) {
	split := [][][]byte{
		{}, {{}}, {{}, {}}, {[]byte("a")}, {[]byte("a"), {}}, {{}, []byte("a")}, {[]byte("ab")}, {[]byte("a"), []byte("b")},
		{{0}}, {{0, 0}}, {{0, 1, 'a'}}, {[]byte("a\x00\x01b")}, {bytes.Repeat([]byte{'a'}, 256)}, {bytes.Repeat([]byte{'a'}, 65535)},
	}
	type input struct {
		label string
		parts [][]byte
	}
	var inputs []input
	for _, label := range []string{"tacet/v1/x", "tacet/v1/xa", "tacet/v1/"} {
		for _, parts := range split {
			inputs = append(inputs, input{label, parts})
		}
	}
	for i, a := range inputs {
		for k, b := range inputs {
			x, y := Info(nil, a.label, a.parts...), Info(nil, b.label, b.parts...)
			if i != k && bytes.Equal(x, y) {
				t.Errorf("%q %.20q and %q %.20q have one encoding", a.label, a.parts, b.label, b.parts)
			}
			// Between different labels not even a prefix, whatever follows.
			if a.label != b.label && bytes.HasPrefix(x, Info(nil, b.label)) {
				t.Errorf("%q starts like %q", a.label, b.label)
			}
		}
	}
	if got, want := Info([]byte("x"), "l", []byte("ab"), nil), []byte("xl\x00\x00\x02ab\x00\x00"); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTooLongAPartIsOurOwnBug(t *testing.T) {
	for name, f := range map[string]func(){
		"part": func() { Info(nil, "tacet/v1/x", make([]byte, 65536)) },
		"dst":  func() { KDF(make([]byte, 255*32+1), []byte("secret"), "tacet/v1/x") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: got no panic, want one", name)
				}
			}()
			f()
		}()
	}
	KDF(make([]byte, 255*32), []byte("secret"), "tacet/v1/x") // the most there is
}

func TestDerivationsAreWhatTheySay(t *testing.T) {
	secret, salt := []byte("secret"), []byte("salt")
	parts := [][]byte{[]byte("part"), nil, make([]byte, 300)}
	info := Info(nil, "tacet/v1/test", parts...)
	if got, want := Hash("tacet/v1/test", parts...), sha256.Sum256(info); got != want {
		t.Errorf("Hash: got %x, want %x", got, want)
	}
	for _, n := range []int{0, 1, 32, 64, 100} {
		got := make([]byte, n)
		SaltedKDF(got, secret, salt, "tacet/v1/test", parts...)
		if want := byHand(secret, salt, info, n); !bytes.Equal(got, want) {
			t.Errorf("SaltedKDF of %d: got %x, want %x", n, got, want)
		}
		KDF(got, secret, "tacet/v1/test", parts...)
		if want := byHand(secret, nil, info, n); !bytes.Equal(got, want) {
			t.Errorf("KDF of %d: got %x, want %x", n, got, want)
		}
	}
	if got, want := Derive[KEMRole](secret, "tacet/v1/test", parts...).Bytes(), byHand(secret, nil, info, 64); !bytes.Equal(got, want) {
		t.Errorf("Derive: got %x, want %x", got, want)
	}
	if got := Derive[SealRole](secret, "tacet/v1/test", parts...).Bytes(); len(got) != 32 {
		t.Errorf("Derive: got %d bytes, want 32", len(got))
	}
}

// byHand is HKDF-SHA256 from HMAC (RFC 5869).
func byHand(secret, salt, info []byte, n int) []byte {
	mac := func(key []byte, parts ...[]byte) []byte {
		h := hmac.New(sha256.New, key)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	if salt == nil {
		salt = make([]byte, 32)
	}
	prk := mac(salt, secret)
	var out, last []byte
	for i := byte(1); len(out) < n; i++ {
		last = mac(prk, last, info, []byte{i})
		out = append(out, last...)
	}
	return out[:n]
}

func TestDerivationsAreFrozen(t *testing.T) {
	secret := bytes.Repeat([]byte{7}, 32)
	kdf := make([]byte, 80)
	KDF(kdf, secret, "tacet/v1/test/kdf", []byte("part"))
	salted := make([]byte, 80)
	SaltedKDF(salted, secret, []byte("salt"), "tacet/v1/test/salted", []byte("part"), nil)
	hash := Hash("tacet/v1/test/hash", []byte("a"), []byte("bc"))
	sign, err := New[SignRole](secret)
	if err != nil {
		t.Fatal(err)
	}
	public := SignPublicOf(sign)
	sig := SignMessage(sign, "tacet/v1/test/sign", []byte("message"))
	dh, err := New[DHRole](secret)
	if err != nil {
		t.Fatal(err)
	}
	share := DHPublicOf(dh)
	kem, err := New[KEMRole](bytes.Repeat([]byte{7}, 64))
	if err != nil {
		t.Fatal(err)
	}
	pk := KEMPublicOf(kem)
	pkHash := sha256.Sum256(pk[:])
	xwing, err := New[XWingRole](secret)
	if err != nil {
		t.Fatal(err)
	}
	xpk := XWingPublicOf(xwing)
	xpkHash := sha256.Sum256(xpk[:])
	checkFrozen(t, map[string]string{
		"info": hex.EncodeToString(Info(nil, "tacet/v1/test/info", []byte("a"), nil)),
		"kdf":  hex.EncodeToString(kdf), "salted kdf": hex.EncodeToString(salted), "hash": hex.EncodeToString(hash[:]),
		"sign public": hex.EncodeToString(public[:]), "signature": hex.EncodeToString(sig[:]),
		"dh public": hex.EncodeToString(share[:]), "kem public, hash": hex.EncodeToString(pkHash[:]),
		"xwing public, hash": hex.EncodeToString(xpkHash[:]),
	})
}

func TestWycheproofHKDFSHA256(t *testing.T) {
	type group struct {
		Tests []struct {
			TcID            int
			Ikm, Salt, Info vectortest.Hex
			Size            int
			Okm             vectortest.Hex
			Result          string
		}
	}
	ran := 0
	for _, g := range vectortest.Wycheproof[group](t, "hkdf_sha256_test.json", 86) {
		for _, v := range g.Tests {
			ran++
			got, err := hkdf.Key(sha256.New, v.Ikm, v.Salt, string(v.Info), v.Size)
			if v.Result != "valid" {
				if err == nil {
					t.Errorf("test %d: got %d bytes, want an error", v.TcID, len(got))
				}
				continue
			}
			if err != nil || !bytes.Equal(got, v.Okm) {
				t.Errorf("test %d: got %x, %v, want %x", v.TcID, got, err, v.Okm)
			}
		}
	}
	if ran != 86 {
		t.Errorf("got %d vectors run, want 86", ran)
	}
}

func TestWycheproofHMACSHA256(t *testing.T) {
	type group struct {
		TagSize int
		Tests   []struct {
			TcID          int
			Key, Msg, Tag vectortest.Hex
			Result        string
		}
	}
	ran, short := 0, 0
	for _, g := range vectortest.Wycheproof[group](t, "hmac_sha256_test.json", 174) {
		for _, v := range g.Tests {
			if g.TagSize != 256 {
				short++ // nothing here cuts a tag
				continue
			}
			ran++
			h := hmac.New(sha256.New, v.Key)
			h.Write(v.Msg)
			if got, want := hmac.Equal(h.Sum(nil), v.Tag), v.Result == "valid"; got != want {
				t.Errorf("test %d: got %v, want %v", v.TcID, got, want)
			}
		}
	}
	t.Logf("ran %d vectors; %d not applicable: tags of 128 bits", ran, short)
	if ran != 87 || short != 87 {
		t.Errorf("got %d run, %d not applicable, want 87 and 87", ran, short)
	}
}
