package braid

import (
	"bytes"
	"compress/gzip"
	"crypto/mlkem"
	"crypto/mlkem/mlkemtest"
	"crypto/sha3"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

// testKeys makes what the two ends of an encapsulation have.
func testKeys(t testing.TB, r io.Reader) (key.KEM, key.Encaps) {
	t.Helper()
	seed, err := key.Generate[key.KEMRole](r)
	if err != nil {
		t.Fatal(err)
	}
	m, err := key.Generate[key.EncapsRole](r)
	if err != nil {
		t.Fatal(err)
	}
	return seed, m
}

// headerOf is split for a key without its seed.
func headerOf(ek []byte) (header, t []byte) {
	h := sha3.Sum256(ek)
	return append(bytes.Clone(ek[ekSize:]), h[:]...), ek[:ekSize]
}

// halves encapsulates as the braid does: the first half sees the header alone.
func halves(t testing.TB, ek []byte, m key.Encaps) (ct, ss []byte) {
	t.Helper()
	header, vector := headerOf(ek)
	ct1, k := encapsulate1(header, m)
	if !fits(header, vector) {
		t.Fatal("got a key that does not fit its header, want one that does")
	}
	ct2, ok := encapsulate2(header, vector, ct1, m)
	if !ok || len(ct1) != ct1Size || len(ct2) != ct2Size {
		t.Fatalf("got %v and halves of %d and %d bytes, want %d and %d", ok, len(ct1), len(ct2), ct1Size, ct2Size)
	}
	return append(bytes.Clone(ct1), ct2...), k.Bytes()
}

// TestHalvesAreTheStandardLibrarys compares every step with the standard library
// for 500 keys: header, both halves, secret, and what decapsulation makes of them.
func TestHalvesAreTheStandardLibrarys(t *testing.T) {
	r := stream("halves")
	for i := range 500 {
		seed, m := testKeys(t, r)
		dk, err := mlkem.NewDecapsulationKey768(seed.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		ek := dk.EncapsulationKey()
		header, vector := split(seed)
		if h, v := headerOf(ek.Bytes()); !bytes.Equal(header, h) || !bytes.Equal(vector, v) {
			t.Fatalf("key %d: got header %x, want %x", i, header, h)
		}
		wantSS, wantCT, err := mlkemtest.Encapsulate768(ek, m.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		ct, ss := halves(t, ek.Bytes(), m)
		if !bytes.Equal(ct, wantCT) || !bytes.Equal(ss, wantSS) {
			t.Fatalf("key %d: got another ciphertext or secret than the standard library", i)
		}
		if got := decapsulate(seed, ct[:ct1Size], ct[ct1Size:]); !bytes.Equal(got.Bytes(), wantSS) {
			t.Fatalf("key %d: got another secret at the other end", i)
		}
	}
}

// TestDecapsulationSeesEveryBit: a ciphertext that is not the one that the
// standard library would make itself gives another secret.
func TestDecapsulationSeesEveryBit(t *testing.T) {
	seed, m := testKeys(t, stream("bits"))
	p := key.KEMPublicOf(seed)
	ct, ss := halves(t, p[:], m)
	for i := range ct {
		ct[i] ^= 1 << (i % 8)
		if got := decapsulate(seed, ct[:ct1Size], ct[ct1Size:]); bytes.Equal(got.Bytes(), ss) {
			t.Errorf("byte %d: got the same secret, want another", i)
		}
		ct[i] ^= 1 << (i % 8)
	}
}

func TestKeyMustFitItsHeader(t *testing.T) {
	seed, m := testKeys(t, stream("fit"))
	header, ek := split(seed)
	ct1, _ := encapsulate1(header, m)
	with := func(b []byte, i int) []byte {
		b = bytes.Clone(b)
		b[i] ^= 1
		return b
	}
	if !fits(header, ek) {
		t.Fatal("got a key that does not fit, want one that does")
	}
	for i := range ek {
		if fits(header, with(ek, i)) {
			t.Errorf("byte %d of the key: taken, want refused", i)
		}
	}
	for i := range header {
		if fits(with(header, i), ek) {
			t.Errorf("byte %d of the header: taken, want refused", i)
		}
	}
	for name, ok := range map[string]bool{
		"another key":         second(encapsulate2(header, with(ek, 0), with(ct1, 0), m)),
		"another first half":  second(encapsulate2(header, ek, with(ct1, 7), m)),
		"another header":      second(encapsulate2(with(header, 40), ek, ct1, m)),
		"another seed of A":   second(encapsulate2(with(header, 0), ek, ct1, m)),
		"a first half of one": second(encapsulate2(header, ek, ct1[:1], m)),
	} {
		if ok {
			t.Errorf("%s: got a second half, want none", name)
		}
	}
}

func second(_ []byte, ok bool) bool { return ok }

type kemGroup struct {
	Tests []struct {
		TcID              int
		Seed, Ek, C, K, M vectortest.Hex
		Result            string
	}
}

func TestWycheproofEncapsulation(t *testing.T) {
	var made, unreduced, size int
	for _, g := range vectortest.Wycheproof[kemGroup](t, "mlkem_768_encaps_test.json", 265) {
		for _, v := range g.Tests {
			switch {
			case len(v.Ek) != key.KEMPublicSize: // the code has one size
				size++
			case v.Result != "valid":
				unreduced++
				if header, vector := headerOf(v.Ek); fits(header, vector) {
					t.Errorf("test %d: taken, want refused", v.TcID)
				}
			default:
				made++
				m, err := key.New[key.EncapsRole](v.M)
				if err != nil {
					t.Fatal(err)
				}
				if ct, ss := halves(t, v.Ek, m); !bytes.Equal(ct, v.C) || !bytes.Equal(ss, v.K) {
					t.Errorf("test %d: got another ciphertext or secret", v.TcID)
				}
			}
		}
	}
	t.Logf("made %d, refused %d; SKIPPED %d vectors: keys of another size", made, unreduced, size)
	if made != 133 || made+unreduced+size != 265 {
		t.Errorf("got %d made, %d refused, %d not applicable, want 133 of 265 made", made, unreduced, size)
	}
}

func TestWycheproofDecapsulation(t *testing.T) {
	var opened, size int
	for _, g := range vectortest.Wycheproof[kemGroup](t, "mlkem_768_test.json", 193) {
		for _, v := range g.Tests {
			if len(v.Seed) != 64 || len(v.C) != key.KEMCiphertextSize {
				size++
				continue
			}
			opened++
			seed, err := key.New[key.KEMRole](v.Seed)
			if err != nil {
				t.Fatal(err)
			}
			if got := decapsulate(seed, v.C[:ct1Size], v.C[ct1Size:]); !bytes.Equal(got.Bytes(), v.K) {
				t.Errorf("test %d: got another secret", v.TcID)
			}
		}
	}
	t.Logf("opened %d; SKIPPED %d vectors: seeds or ciphertexts of another size", opened, size)
	if opened != 153 || size != 40 {
		t.Errorf("got %d opened, %d not applicable, want 153 and 40", opened, size)
	}
}

// cctv reads the byte strings of a CCTV file; of a name that comes twice the
// first counts.
func cctv(t *testing.T, file string) map[string][]byte {
	t.Helper()
	v := make(map[string][]byte)
	for line := range strings.Lines(string(vectortest.Read(t, "cctv-mlkem/"+file, 1))) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if b, err := hex.DecodeString(text); err == nil && v[name] == nil {
			v[name] = b
		}
	}
	return v
}

func TestCCTV(t *testing.T) {
	for _, file := range []string{"intermediate_ML-KEM-768.txt", "unluckysample_ML-KEM-768.txt"} {
		v := cctv(t, file)
		m, err := key.New[key.EncapsRole](v["m"])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if ct, ss := halves(t, v["ek"], m); !bytes.Equal(ct, v["c"]) || !bytes.Equal(ss, v["K"]) {
			t.Errorf("%s: got another ciphertext or secret", file)
		}
	}
	v := cctv(t, "intermediate_ML-KEM-768.txt")
	header, _ := headerOf(v["ek"])
	if !bytes.Equal(header, append(bytes.Clone(v["ρ"]), v["H(ek)"]...)) {
		t.Errorf("got header %x, want rho and H(ek)", header)
	}
	m, err := key.New[key.EncapsRole](v["m"])
	if err != nil {
		t.Fatal(err)
	}
	ct1, _ := encapsulate1(header, m)
	if ct2, _ := encapsulate2(header, v["ek"][:ekSize], ct1, m); !bytes.Equal(ct1, v["c1"]) || !bytes.Equal(ct2, v["c2"]) {
		t.Error("got other halves than c1 and c2")
	}
	t.Log("ran 2 vectors; SKIPPED 1 vector: strcmp_ML-KEM-768.txt has an expanded private key, and keys here are seeds")
}

// TestCCTVUnreducedKeys: every value from q to 4,095 and every place.
func TestCCTVUnreducedKeys(t *testing.T) {
	z, err := gzip.NewReader(bytes.NewReader(vectortest.Read(t, "cctv-mlkem/modulus_ML-KEM-768.txt.gz", 780)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		ek, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		n++
		header, vector := headerOf(ek)
		if fits(header, vector) {
			t.Errorf("key %d: taken, want refused", n)
		}
		_, m := testKeys(t, stream("unreduced"))
		ct1, _ := encapsulate1(header, m)
		if _, ok := encapsulate2(header, vector, ct1, m); ok {
			t.Errorf("key %d: got a second half, want none", n)
		}
	}
	if n != 780 {
		t.Errorf("got %d keys, want 780", n)
	}
}
