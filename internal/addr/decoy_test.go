package addr

import (
	"bytes"
	"testing"

	"filippo.io/edwards25519"

	"github.com/tacet-chat/tacet/internal/wire"
)

// form says what is wrong with an address as the key of a blinded route, seen by
// a relay that looks closely, or "".
func form(a wire.Address) string {
	q, err := new(edwards25519.Point).SetBytes(a[:])
	switch {
	case err != nil:
		return "not on the curve"
	case !bytes.Equal(q.Bytes(), a[:]):
		return "not canonical"
	case Public(a).Check() != nil:
		return "torsion"
	}
	return ""
}

func TestDecoysHaveTheFormOfAddresses(t *testing.T) {
	o, offer := route(t, "form")
	c := NewChain(offer, Live)
	r := stream("decoys")
	msg := []byte("the same message")
	for n := range uint64(100) {
		p := at(t, c, c.Base()+n)
		real, err := p.Sign(o, r, msg)
		if err != nil {
			t.Fatal(err)
		}
		a, proof, err := Decoy(r)
		if err != nil {
			t.Fatal(err)
		}
		fake, err := proof(msg)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			who string
			a   wire.Address
			sig []byte
		}{{"address", p.Address, real[:]}, {"decoy", a, fake}} {
			if got := form(x.a); got != "" {
				t.Errorf("%s: %s", x.who, got)
			}
			if !Verify(x.a, msg, x.sig) {
				t.Errorf("%s: proof does not verify", x.who)
			}
			if got := form(wire.Address(x.sig[:32])); got != "" {
				t.Errorf("%s: R of the proof: %s", x.who, got)
			}
		}
		if again, err := proof(msg); err != nil || bytes.Equal(again[:32], fake[:32]) {
			t.Errorf("decoy uses a nonce twice, or fails: %v", err)
		}
	}
	// Planted: what a careless maker of decoys would take.
	careless := 0
	for range 100 {
		var a wire.Address
		if _, err := r.Read(a[:]); err != nil {
			t.Fatal(err)
		}
		if form(a) != "" {
			careless++
		}
	}
	if careless < 70 { // 1 − 1/16 of random strings fail
		t.Errorf("random strings as decoys: %d of 100 caught, want most", careless)
	}
	good, err := offer.Public.point()
	if err != nil {
		t.Fatal(err)
	}
	if got := form(wire.Address(add(good, torsion(t)[1]).Bytes())); got != "torsion" {
		t.Errorf("decoy with torsion: got %q, want torsion", got)
	}
}

// Over many, each bit of addresses and of decoys is the same fair coin (the top
// three bits of a byte string below 2^255 − 19 with a sign included).
func TestBitsDoNotTellDecoysFromAddresses(t *testing.T) {
	const n = 1000
	_, offer := route(t, "bits")
	c := NewChain(offer, Live)
	r := stream("bits of decoys")
	tally := func(next func() wire.Address) (ones [256]int) {
		for range n {
			for i, b := range next() {
				for j := range 8 {
					ones[8*i+j] += int(b >> j & 1)
				}
			}
		}
		return ones
	}
	real := tally(func() wire.Address {
		p := at(t, c, c.Base())
		c.Forget(c.Base() + 1)
		return p.Address
	})
	fake := tally(func() wire.Address {
		a, _, err := Decoy(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
	for i := range real { // six standard deviations: 95
		for who, k := range map[string]int{"addresses": real[i], "decoys": fake[i]} {
			if k < n/2-95 || k > n/2+95 {
				t.Errorf("bit %d of %s: set %d times of %d", i, who, k, n)
			}
		}
	}
}

func TestDecoyNeedsRandomness(t *testing.T) {
	if _, _, err := Decoy(bytes.NewReader(make([]byte, 95))); err == nil {
		t.Error("got a decoy from too little randomness, want an error")
	}
	_, proof, err := Decoy(bytes.NewReader(bytes.Repeat([]byte{3}, 96)))
	if err != nil {
		t.Fatal(err)
	}
	if sig, err := proof([]byte("m")); err == nil {
		t.Errorf("got proof %x without randomness, want an error", sig)
	}
}
