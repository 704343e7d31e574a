package addr

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

func TestBothEndsComputeTheSamePeriods(t *testing.T) {
	_, offer := route(t, "two ends")
	theirs, err := ParseOffer(offer.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []Kind{Live, Park} {
		mine, yours := NewChain(offer, k), NewChain(&theirs, k)
		yours.Forget(yours.Base() + 3)
		for n := uint64(3); n < 8; n++ {
			p, q := at(t, mine, mine.Base()+n), at(t, yours, mine.Base()+n)
			if p.Address != q.Address || !p.Seal.Equal(q.Seal) || p.T != q.T {
				t.Errorf("kind %d, period +%d: the two ends differ", k, n)
			}
		}
	}
}

func TestKindsHaveNothingInCommon(t *testing.T) {
	_, offer := route(t, "kinds")
	offer.Birth = 0 // both bases are 0 then, so that only the kind differs
	live, park := NewChain(offer, Live), NewChain(offer, Park)
	p, q := at(t, live, 0), at(t, park, 0)
	if p.Address == q.Address || p.Seal.Equal(q.Seal) {
		t.Error("live and park share a period")
	}
}

func TestProofVerifiesAsPlainEd25519(t *testing.T) {
	o, offer := route(t, "proof")
	c := NewChain(offer, Live)
	r := stream("proof randomness")
	for n := range uint64(50) {
		p := at(t, c, c.Base()+n)
		msg := bytes.Repeat([]byte{byte(n)}, int(n))
		sig, err := p.Sign(o, r, msg)
		if err != nil {
			t.Fatal(err)
		}
		if !Verify(p.Address, msg, sig[:]) {
			t.Fatalf("period +%d: proof does not verify", n)
		}
		if Verify(p.Address, append(msg, 0), sig[:]) {
			t.Error("proof verifies for another message")
		}
		if q := at(t, c, c.Base()+n+1); Verify(q.Address, msg, sig[:]) {
			t.Error("proof verifies for another period")
		}
		sig[7] ^= 1
		if Verify(p.Address, msg, sig[:]) || Verify(p.Address, msg, sig[:63]) || Verify(p.Address, msg, nil) {
			t.Error("a damaged proof verifies")
		}
	}
}

func TestOnlyTheOwnerProves(t *testing.T) {
	o, offer := route(t, "owner")
	stranger, _ := route(t, "stranger")
	p := at(t, NewChain(offer, Live), offer.Birth)
	for name, who := range map[string]key.Owner{"stranger": stranger, "nobody": {}} {
		if sig, err := p.Sign(who, stream("x"), []byte("m")); !errors.Is(err, ErrOwner) || sig != [64]byte{} {
			t.Errorf("%s: got %x, %v, want no signature and %v", name, sig, err, ErrOwner)
		}
	}
	if _, err := p.Sign(o, bytes.NewReader(make([]byte, 31)), []byte("m")); err == nil {
		t.Error("got a signature without 32 random bytes, want an error")
	}
	p.Wipe()
	if _, err := p.Sign(o, stream("x"), []byte("m")); !errors.Is(err, ErrForgotten) {
		t.Errorf("wiped period: got %v, want %v", err, ErrForgotten)
	}
}

func TestPeriodsOfTheClock(t *testing.T) {
	for _, c := range []struct {
		unix int64
		L    uint16
		want uint64
	}{
		{-1, 1800, 0}, {0, 600, 0}, {599, 600, 0}, {600, 600, 1}, {1799, 1800, 0}, {1800, 1800, 1},
		{1_796_000_000, 3600, 498_888}, {1<<63 - 1, 600, MaxPeriod},
	} {
		if got := PeriodAt(c.unix, c.L); got != c.want {
			t.Errorf("PeriodAt(%d, %d): got %d, want %d", c.unix, c.L, got, c.want)
		}
	}
	if got := DayAt(86_400*20_000 + 86_399); got != 20_000 {
		t.Errorf("DayAt: got %d, want 20000", got)
	}
	_, offer := route(t, "clock")
	if got := NewChain(offer, Live).PeriodAt(1800*990_000 + 5); got != 990_000 {
		t.Errorf("live chain: got %d, want 990000", got)
	}
	park := NewChain(offer, Park)
	if want := DayAt(1800 * 990_000); park.Base() != want || park.PeriodAt(1800*990_000) != want {
		t.Errorf("park chain: got base %d, want %d", park.Base(), want)
	}
}
