package addr

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"io"
	"testing"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// stuck is randomness that never changes.
type stuck byte

func (s stuck) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

// factor returns the blinding factor of a period as a scalar.
func factor(t testing.TB, p *Period) *edwards25519.Scalar {
	t.Helper()
	b, err := new(edwards25519.Scalar).SetCanonicalBytes(p.blind.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// challenge returns SHA-512(R ‖ A ‖ M) mod L of a signature.
func challenge(t testing.TB, a wire.Address, sig [64]byte, msg []byte) *edwards25519.Scalar {
	t.Helper()
	h := sha512.New()
	h.Write(sig[:32])
	h.Write(a[:])
	h.Write(msg)
	k, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signWith is textbook signing with a given scalar and nonce.
func signWith(t testing.TB, a, r *edwards25519.Scalar, A wire.Address, msg []byte) (sig [64]byte) {
	t.Helper()
	copy(sig[:], new(edwards25519.Point).ScalarBaseMult(r).Bytes())
	k := challenge(t, A, sig, msg)
	copy(sig[32:], new(edwards25519.Scalar).MultiplyAdd(k, a, r).Bytes())
	return sig
}

func TestClampedScalarWouldNotVerify(t *testing.T) {
	o, offer := route(t, "clamped")
	c := NewChain(offer, Live)
	msg := []byte("message")
	r, err := uniform(bytes.Repeat([]byte{9}, 64))
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := splitOwner(o)
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(20) {
		p := at(t, c, c.Base()+n)
		a := new(edwards25519.Scalar).Multiply(factor(t, p), own)
		if sig := signWith(t, a, r, p.Address, msg); !Verify(p.Address, msg, sig[:]) {
			t.Fatal("the textbook signature does not verify")
		}
		clamped, err := new(edwards25519.Scalar).SetBytesWithClamping(a.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if sig := signWith(t, clamped, r, p.Address, msg); Verify(p.Address, msg, sig[:]) {
			t.Error("a signature by the clamped scalar verifies")
		}
		// Clamping p itself before blinding fails as well.
		own8, err := new(edwards25519.Scalar).SetBytesWithClamping(own.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		own8.Multiply(own8, factor(t, p))
		if sig := signWith(t, own8, r, p.Address, msg); Verify(p.Address, msg, sig[:]) {
			t.Error("a signature by a clamped private half verifies")
		}
	}
}

func TestNonceIsNeverUsedTwice(t *testing.T) {
	o, offer := route(t, "nonce")
	c := NewChain(offer, Live)
	good := stream("nonce")
	seen := map[[32]byte]string{}
	try := func(what string, p *Period, rand io.Reader, msg string) {
		t.Helper()
		sig, err := p.Sign(o, rand, []byte(msg))
		if err != nil {
			t.Fatal(err)
		}
		R := [32]byte(sig[:32])
		if old, ok := seen[R]; ok {
			t.Errorf("%s has the nonce of %s", what, old)
		}
		seen[R] = what
	}
	p, q := at(t, c, c.Base()), at(t, c, c.Base()+1)
	for range 100 {
		try("equal message", p, good, "same")
	}
	// Randomness that is stuck takes one of the three away, not all.
	try("stuck", p, stuck(5), "same")
	try("stuck, other message", p, stuck(5), "other")
	try("stuck, other period", q, stuck(5), "same")
	try("stuck elsewhere", p, stuck(6), "same")
	other, offer2 := route(t, "nonce of another owner")
	o = other
	try("stuck, other owner", at(t, NewChain(offer2, Live), offer2.Birth), stuck(5), "same")
}

// The nonce must fill the whole group: a lattice finds the key behind nonces
// that are short by a few bits. Who knows the scalar can look at the nonce.
func TestNonceFillsTheGroup(t *testing.T) {
	o, offer := route(t, "full nonce")
	p := at(t, NewChain(offer, Live), offer.Birth)
	own, _, err := splitOwner(o)
	if err != nil {
		t.Fatal(err)
	}
	a := new(edwards25519.Scalar).Multiply(factor(t, p), own)
	r := stream("full nonce")
	msg := []byte("message")
	nonce := func(sig [64]byte) []byte {
		S, err := new(edwards25519.Scalar).SetCanonicalBytes(sig[32:])
		if err != nil {
			t.Fatal(err)
		}
		ka := new(edwards25519.Scalar).Multiply(challenge(t, p.Address, sig, msg), a)
		return new(edwards25519.Scalar).Subtract(S, ka).Bytes()
	}
	real := uneven(t, func() []byte {
		sig, err := p.Sign(o, r, msg)
		if err != nil {
			t.Fatal(err)
		}
		return nonce(sig)
	})
	if len(real) > 0 {
		t.Errorf("bits of the nonce that are no fair coin: %v", real)
	}
	short := uneven(t, func() []byte { // the planted fault: 248 bits
		var b [64]byte
		if _, err := io.ReadFull(r, b[:31]); err != nil {
			t.Fatal(err)
		}
		s, err := uniform(b[:])
		if err != nil {
			t.Fatal(err)
		}
		return nonce(signWith(t, a, s, p.Address, msg))
	})
	if len(short) != 4 {
		t.Errorf("a nonce of 248 bits: got uneven bits %v, want the four at the top", short)
	}
}

// uneven returns which of the lower 252 bits of 1,000 samples are no fair coin,
// at six standard deviations.
func uneven(t testing.TB, sample func() []byte) (bits []int) {
	t.Helper()
	const n = 1000
	var ones [252]int
	for range n {
		b := sample()
		for i := range ones {
			ones[i] += int(b[i/8] >> (i % 8) & 1)
		}
	}
	for i, k := range ones {
		if k < n/2-95 || k > n/2+95 {
			bits = append(bits, i)
		}
	}
	return bits
}

func TestVerifyIsPlainEd25519(t *testing.T) {
	pub, priv, err := ed25519.GenerateKey(stream("plain"))
	if err != nil {
		t.Fatal(err)
	}
	msg := []byte("message")
	if !Verify(wire.Address(pub), msg, ed25519.Sign(priv, msg)) {
		t.Error("a signature of the standard library does not verify")
	}
}

func TestWycheproofEd25519(t *testing.T) {
	type group struct {
		PublicKey struct{ Pk vectortest.Hex }
		Tests     []struct {
			TcID     int
			Msg, Sig vectortest.Hex
			Result   string
		}
	}
	ran := 0
	for _, g := range vectortest.Wycheproof[group](t, "ed25519_test.json", 151) {
		for _, v := range g.Tests {
			if got, want := Verify(wire.Address(g.PublicKey.Pk), v.Msg, v.Sig), v.Result == "valid"; got != want {
				t.Errorf("test %d: got %v, want %v", v.TcID, got, want)
			}
			ran++
		}
	}
	if ran != 151 {
		t.Errorf("got %d vectors run, want 151", ran)
	}
}
