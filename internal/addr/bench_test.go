package addr

import "testing"

func BenchmarkPeriod(b *testing.B) {
	_, offer := route(b, "bench")
	c := NewChain(offer, Live)
	b.ReportAllocs()
	for b.Loop() {
		at(b, c, c.Base()+1)
	}
}

func BenchmarkSign(b *testing.B) {
	o, offer := route(b, "bench")
	p := at(b, NewChain(offer, Live), offer.Birth)
	r, msg := stream("bench"), make([]byte, 152)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Sign(o, r, msg); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	o, offer := route(b, "bench")
	p := at(b, NewChain(offer, Live), offer.Birth)
	msg := make([]byte, 152)
	sig, err := p.Sign(o, stream("bench"), msg)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !Verify(p.Address, msg, sig[:]) {
			b.Fatal("proof does not verify")
		}
	}
}

func BenchmarkDecoy(b *testing.B) {
	r := stream("bench")
	for b.Loop() {
		if _, _, err := Decoy(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkForgetYear(b *testing.B) { // 17,520 half hours
	_, offer := route(b, "bench")
	for b.Loop() {
		NewChain(offer, Live).Forget(offer.Birth + 17_520)
	}
}
