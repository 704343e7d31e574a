package token

import (
	"crypto/rand"
	"testing"
)

func BenchmarkCheck(b *testing.B) {
	d := dealOf(b)
	request := RequestHash(Watch, make([]byte, 16))
	p := d.tokens[0].Present(Member, day, request)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.issuer.Check(&p, request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPresent(b *testing.B) {
	d := dealOf(b)
	for b.Loop() {
		d.tokens[0].Present(Member, day, RequestHash(Watch, make([]byte, 16)))
	}
}

func BenchmarkDeriveIssuer(b *testing.B) {
	for b.Loop() {
		issuerOf(b, "issuer", Member, day)
	}
}

func BenchmarkBlind1024(b *testing.B) {
	for b.Loop() {
		if _, err := NewBatch(seedOf("batch"), Member, day, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluate1024(b *testing.B) {
	d := dealOf(b)
	blinded := d.batch.Blinded()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.issuer.Evaluate(blinded, rand.Reader); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFinish1024(b *testing.B) {
	d := dealOf(b)
	for b.Loop() {
		if _, err := d.batch.Finish(d.issuer.Public(), d.response); err != nil {
			b.Fatal(err)
		}
	}
}

// A claim that the stamp refuses: what a flood costs.
func BenchmarkRefuseStamp(b *testing.B) {
	j, s := judgeOf(b, "judge"), solutionOf(b)
	s.Stamp++
	bad := s.Append(nil)
	for b.Loop() {
		if _, err := j.Claim(bad, PuzzleTokens, *seedOf("binding"), noon); err == nil {
			b.Fatal("claimed")
		}
	}
}

func BenchmarkClaim(b *testing.B) {
	j, s := judgeOf(b, "judge"), solutionOf(b)
	good := s.Append(nil)
	for b.Loop() {
		a, err := j.Claim(good, PuzzleTokens, *seedOf("binding"), noon)
		if err != nil {
			b.Fatal(err)
		}
		j.Release(a)
	}
}

func BenchmarkSubPuzzle(b *testing.B) {
	s, binding := solutionOf(b), *seedOf("binding")
	b.ReportAllocs()
	for b.Loop() {
		workBits(&s.Challenge, binding, 0, s.Nonces[0])
	}
}

func BenchmarkStamp14(b *testing.B) { stampOf(b, MinStamp) }
func BenchmarkStamp22(b *testing.B) { stampOf(b, MaxStamp) }

// stampOf makes stamps of other answers each time: one alone is lucky or not.
func stampOf(b *testing.B, bits int) {
	s := solutionOf(b)
	for b.Loop() {
		s.Nonces[0]++
		if _, err := s.Restamp([32]byte{}, bits); err != nil {
			b.Fatal(err)
		}
	}
}
