package addr

import (
	"bytes"
	"errors"
	"testing"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/key"
)

// add returns p + q.
func add(p, q *edwards25519.Point) *edwards25519.Point {
	return new(edwards25519.Point).Add(p, q)
}

// torsion returns the eight points of small order, the identity first, as
// multiples of one of order eight.
func torsion(t testing.TB) []*edwards25519.Point {
	t.Helper()
	minus := new(edwards25519.Scalar).Negate(smallScalar(1))
	for y := byte(0); y < 255; y++ {
		q, err := new(edwards25519.Point).SetBytes(append([]byte{y}, make([]byte, 31)...))
		if err != nil {
			continue
		}
		// [L]Q has only Q's torsion left.
		e := add(new(edwards25519.Point).ScalarMult(minus, q), q)
		list := []*edwards25519.Point{edwards25519.NewIdentityPoint()}
		for p := e; p.Equal(identity) != 1 && len(list) < 8; p = add(p, e) {
			list = append(list, p)
		}
		if len(list) == 8 {
			return list
		}
	}
	t.Fatal("no point of order eight found")
	return nil
}

// overPrime returns the encodings of 2^255 − 19 + y for y below 19 that decode
// to a point, with both signs, and the two that give x = 0 a sign.
func overPrime(t testing.TB) (list [][]byte) {
	t.Helper()
	for y := byte(0); y < 19; y++ {
		for _, sign := range []byte{0x00, 0x80} {
			b := append(bytes.Repeat([]byte{0xff}, 31), 0x7f|sign)
			b[0] = 0xed + y
			if _, err := new(edwards25519.Point).SetBytes(b); err == nil {
				list = append(list, b)
			}
		}
	}
	one := append([]byte{1}, append(make([]byte, 30), 0x80)...)
	minusOne := append([]byte{0xec}, append(bytes.Repeat([]byte{0xff}, 30), 0xff)...)
	return append(list, one, minusOne)
}

func TestHostileKeysOfARouteAreRefused(t *testing.T) {
	_, offer := route(t, "hostile")
	good, err := offer.Public.point()
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string][][]byte{
		"no point":    {bytes.Repeat([]byte{2}, 32), append([]byte{2}, make([]byte, 31)...)},
		"all ones":    {bytes.Repeat([]byte{0xff}, 32)},
		"over prime":  overPrime(t),
		"small order": nil, "mixed order": nil,
	}
	for i, e := range torsion(t) {
		refused["small order"] = append(refused["small order"], e.Bytes()) // the identity is the first
		if i > 0 {
			refused["mixed order"] = append(refused["mixed order"], add(good, e).Bytes())
		}
	}
	for name, list := range refused {
		if len(list) == 0 {
			t.Errorf("%s: nothing to try", name)
		}
		for _, b := range list {
			if err := Public(b).Check(); !errors.Is(err, ErrPublic) {
				t.Errorf("%s %x: got %v, want %v", name, b, err, ErrPublic)
			}
			o := *offer
			o.Public = Public(b)
			if _, err := ParseOffer(o.Append(nil)); !errors.Is(err, ErrPublic) {
				t.Errorf("%s %x in an offer: got %v, want %v", name, b, err, ErrPublic)
			}
			if _, err := ParseChain(NewChain(&o, Live).Append(nil)); !errors.Is(err, ErrState) {
				t.Errorf("%s %x in a state: got %v, want %v", name, b, err, ErrState)
			}
			if _, err := NewChain(&o, Live).At(o.Birth); !errors.Is(err, ErrPublic) {
				t.Errorf("%s %x in a chain: got %v, want %v", name, b, err, ErrPublic)
			}
		}
	}
	if err := offer.Public.Check(); err != nil {
		t.Errorf("good key: got %v", err)
	}
}

// No key fails by its encoding alone: what has a second encoding has torsion or
// is the identity. So the condition on encodings is a second lock, and no
// hostile key can show that it is missing.
func TestSecondEncodingsFailTwice(t *testing.T) {
	minus := new(edwards25519.Scalar).Negate(smallScalar(1))
	for _, b := range overPrime(t) {
		q, err := new(edwards25519.Point).SetBytes(b)
		if err != nil {
			t.Fatal(err)
		}
		pure := add(new(edwards25519.Point).ScalarMult(minus, q), q).Equal(identity) == 1
		if bytes.Equal(q.Bytes(), b) || pure && q.Equal(identity) != 1 {
			t.Errorf("%x is canonical, or fails by its encoding alone", b)
		}
	}
}

// A torsion component would mark the addresses of a route for whoever made the
// key. Blinding removes it even behind the check's back.
func TestBlindingRemovesTorsion(t *testing.T) {
	o, offer := route(t, "torsion")
	good, err := offer.Public.point()
	if err != nil {
		t.Fatal(err)
	}
	b, err := uniform(bytes.Repeat([]byte{7}, 64))
	if err != nil {
		t.Fatal(err)
	}
	want := blinded(good, b)
	for i, e := range torsion(t) {
		mixed := add(good, e)
		if got := blinded(mixed, b); got != want {
			t.Errorf("torsion %d: got %x, want %x", i, got, want)
		}
		naive := new(edwards25519.Point).ScalarMult(b, mixed).Bytes()
		if i > 0 && bytes.Equal(naive, want[:]) {
			t.Errorf("torsion %d: plain multiplication hides it too, so this test shows nothing", i)
		}
	}
	p, _, err := splitOwner(o)
	if err != nil {
		t.Fatal(err)
	}
	a := new(edwards25519.Scalar).Multiply(b, p)
	if got := new(edwards25519.Point).ScalarBaseMult(a).Bytes(); !bytes.Equal(got, want[:]) {
		t.Errorf("owner's side: got %x, want %x", got, want)
	}
}

func TestOwnerScalarIsCanonicalAndNotZero(t *testing.T) {
	order := append([]byte{
		0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
	}, append(make([]byte, 15), 0x10)...)
	for name, scalar := range map[string][]byte{
		"zero": make([]byte, 32), "order": order, "all ones": bytes.Repeat([]byte{0xff}, 32),
		"clamped": new(edwards25519.Scalar).Negate(smallScalar(1)).Bytes(), // made so below
	} {
		if name == "clamped" {
			scalar[0], scalar[31] = scalar[0]&248, scalar[31]&63|64
		}
		o, err := key.New[key.OwnerRole](append(bytes.Clone(scalar), make([]byte, 32)...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := PublicOf(o); !errors.Is(err, ErrOwner) {
			t.Errorf("%s: got %v, want %v", name, err, ErrOwner)
		}
	}
	if _, err := PublicOf(key.Owner{}); !errors.Is(err, ErrOwner) {
		t.Errorf("no owner: got %v, want %v", err, ErrOwner)
	}
	for _, wide := range [][]byte{make([]byte, 64), append(bytes.Clone(order), make([]byte, 32)...)} {
		if _, err := uniform(wide); !errors.Is(err, ErrOwner) {
			t.Errorf("zero mod the order: got %v, want %v", err, ErrOwner)
		}
	}
	if _, _, err := NewOwner(bytes.NewReader(make([]byte, 96))); !errors.Is(err, ErrOwner) {
		t.Errorf("randomness of zeros: got %v, want %v", err, ErrOwner)
	}
	if _, _, err := NewOwner(bytes.NewReader(bytes.Repeat([]byte{1}, 95))); err == nil {
		t.Error("too little randomness: got an owner, want an error")
	}
}

func TestNewOwnersScalarsAreUniform(t *testing.T) {
	r := stream("uniform")
	var ones [256]int
	const n = 2000
	for range n {
		o, p, err := NewOwner(r)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := PublicOf(o); err != nil || q != p || p.Check() != nil {
			t.Fatalf("got %x, %v, want %x", q, err, p)
		}
		for i, b := range o.Bytes()[:32] {
			for j := range 8 {
				ones[8*i+j] += int(b >> j & 1)
			}
		}
	}
	// Below bit 252 each bit is a fair coin: six standard deviations of 2,000
	// tosses are 134. A clamped scalar has bits 0 to 2 clear and bit 254 set.
	for i, k := range ones {
		switch {
		case i < 252 && (k < n/2-134 || k > n/2+134):
			t.Errorf("bit %d: set %d times of %d", i, k, n)
		case i >= 253 && k != 0:
			t.Errorf("bit %d: set %d times, want never", i, k)
		}
	}
}
