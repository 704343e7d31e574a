package key

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

func secretOf[R Role](t testing.TB, fill byte) Secret[R] {
	t.Helper()
	var r R
	s, err := New[R](bytes.Repeat([]byte{fill}, r.size()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignaturesAreBoundToLabelAndParts(t *testing.T) {
	s := secretOf[SignRole](t, 1)
	p := SignPublicOf(s)
	const label = "tacet/v1/test"
	sig := SignMessage(s, label, []byte("ab"), []byte("c"))
	if !Verify(p, sig, label, []byte("ab"), []byte("c")) {
		t.Fatal("the signature does not verify")
	}
	if !ed25519.Verify(p[:], Info(nil, label, []byte("ab"), []byte("c")), sig[:]) {
		t.Error("the signature is not plain Ed25519 over the labelled parts")
	}
	for name, ok := range map[string]bool{
		"another label":  Verify(p, sig, "tacet/v1/tesu", []byte("ab"), []byte("c")),
		"parts moved":    Verify(p, sig, label, []byte("a"), []byte("bc")),
		"a part missing": Verify(p, sig, label, []byte("ab")),
		"a part more":    Verify(p, sig, label, []byte("ab"), []byte("c"), nil),
		"another signer": Verify(SignPublicOf(secretOf[SignRole](t, 2)), sig, label, []byte("ab"), []byte("c")),
		"no signature":   Verify(p, Signature{}, label, []byte("ab"), []byte("c")),
		"no signer":      Verify(SignPublic{}, sig, label, []byte("ab"), []byte("c")),
	} {
		if ok {
			t.Errorf("%s: the signature verifies", name)
		}
	}
	for i := range sig {
		bad := sig
		bad[i] ^= 1 << (i % 8)
		if Verify(p, bad, label, []byte("ab"), []byte("c")) {
			t.Errorf("bit flipped in byte %d: the signature verifies", i)
		}
	}
}

// prime is 2^255 − 19.
var prime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))

// littleEndian returns n as 32 bytes.
func littleEndian(n *big.Int) (p DHPublic) {
	b := n.FillBytes(p[:])
	slices.Reverse(b)
	return p
}

// canonical is what Check must say, by way of big integers.
func canonical(p DHPublic) bool {
	b := bytes.Clone(p[:])
	slices.Reverse(b)
	return new(big.Int).SetBytes(b).Cmp(prime) < 0
}

func TestOnlyCanonicalSharesPass(t *testing.T) {
	one, bit255 := big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 255)
	add := func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
	sub := func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
	for name, c := range map[string]struct {
		n  *big.Int
		ok bool
	}{
		"zero":                 {new(big.Int), true}, // canonical; of low order, which Agree sees
		"nine":                 {big.NewInt(9), true},
		"prime − 1":            {sub(prime, one), true},
		"prime":                {prime, false},
		"prime + 1":            {add(prime, one), false},
		"2^255 − 1":            {sub(bit255, one), false},
		"2^255":                {bit255, false},
		"nine with a top bit":  {add(bit255, big.NewInt(9)), false},
		"2^256 − 1":            {sub(new(big.Int).Lsh(one, 256), one), false},
		"prime − 256":          {sub(prime, big.NewInt(256)), true},
		"prime − 2^248":        {sub(prime, new(big.Int).Lsh(one, 248)), true},
		"top byte 7e, all set": {sub(sub(bit255, new(big.Int).Lsh(one, 248)), one), true},
	} {
		p := littleEndian(c.n)
		if err := p.Check(); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrPublic) {
			t.Errorf("%s: got %v, want ok %v", name, err, c.ok)
		}
		if canonical(p) != c.ok {
			t.Errorf("%s: the big integers disagree", name)
		}
		if _, err := Agree(secretOf[DHRole](t, 3), p); !c.ok && !errors.Is(err, ErrPublic) {
			t.Errorf("%s: agreeing: got %v, want %v", name, err, ErrPublic)
		}
	}
}

func FuzzDHPublicCheck(f *testing.F) {
	p := littleEndian(prime)
	f.Add(p[:])
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 32 {
			return
		}
		if got, want := DHPublic(b).Check() == nil, canonical(DHPublic(b)); got != want {
			t.Errorf("%x: got %v, want %v", b, got, want)
		}
	})
}

func TestAgreementIsMutual(t *testing.T) {
	a, b := secretOf[DHRole](t, 1), secretOf[DHRole](t, 2)
	x, err := Agree(a, DHPublicOf(b))
	if err != nil {
		t.Fatal(err)
	}
	y, err := Agree(b, DHPublicOf(a))
	if err != nil || !x.Equal(y) {
		t.Errorf("the two ends differ, or %v", err)
	}
	if _, err := Agree(DH{}, DHPublicOf(a)); err == nil {
		t.Error("agreed without a key")
	}
	if _, err := Agree(a, DHPublic{}); !errors.Is(err, ErrPublic) {
		t.Errorf("low order: got %v, want %v", err, ErrPublic)
	}
}

// Wycheproof calls 254 of its vectors acceptable: twisted curve points, low
// order and encodings that are not canonical. Agree takes the first, and refuses
// exactly the two others.
func TestWycheproofX25519(t *testing.T) {
	type group struct {
		Tests []struct {
			TcID                    int
			Public, Private, Shared vectortest.Hex
			Result                  string
			Flags                   []string
		}
	}
	var agreed, second, low int
	for _, g := range vectortest.Wycheproof[group](t, "x25519_test.json", 518) {
		for _, v := range g.Tests {
			s, err := New[DHRole](v.Private)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Agree(s, DHPublic(v.Public))
			zero := bytes.Equal(v.Shared, make([]byte, 32))
			switch {
			case !canonical(DHPublic(v.Public)): // 29, of which 16 are of low order too
				second++
			case zero:
				low++
			default:
				agreed++
				if err != nil || !bytes.Equal(got.Bytes(), v.Shared) {
					t.Errorf("test %d: got %x, %v, want %x", v.TcID, got.Bytes(), err, v.Shared)
				}
				continue
			}
			if !errors.Is(err, ErrPublic) || got.Valid() {
				t.Errorf("test %d: got %v, want %v", v.TcID, err, ErrPublic)
			}
			if v.Result == "valid" {
				t.Errorf("test %d %v: refused though valid", v.TcID, v.Flags)
			}
		}
	}
	t.Logf("agreed on %d; refused %d that are not canonical and %d of low order", agreed, second, low)
	if agreed != 474 || second != 29 || low != 15 {
		t.Errorf("got %d agreed, %d not canonical, %d of low order, want 474, 29 and 15", agreed, second, low)
	}
}
