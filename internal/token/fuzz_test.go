package token

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

func FuzzParsePresented(f *testing.F) {
	f.Add(make([]byte, PresentedSize))
	p := (&Raw{}).Present(Guest, 9, [32]byte{})
	f.Add(p.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePresented(b)
		if err != nil {
			if !errors.Is(err, ErrToken) {
				t.Errorf("got %v", err)
			}
			return
		}
		if got := p.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x back, want %x", got, b)
		}
		if q, err := ParseHeader(p.Header()); err != nil || q != p {
			t.Errorf("header: got %v, %v", q, err)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	p := (&Raw{}).Present(Member, day, [32]byte{})
	f.Add(p.Header())
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParseHeader(s); err == nil && p.Header() != s {
			t.Errorf("got %q back, want %q", p.Header(), s)
		}
	})
}

func FuzzParseSolution(f *testing.F) {
	s := Solution{Challenge: Challenge{Purpose: PuzzleShelf, Stamp: 14, Work: 4, Expiry: 1}, Stamp: 7}
	f.Add(s.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseChallenge(b); err == nil && !bytes.Equal(c.Append(nil), b) {
			t.Errorf("challenge: got %x back, want %x", c.Append(nil), b)
		}
		s, err := ParseSolution(b)
		if err != nil {
			return
		}
		if got := s.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x back, want %x", got, b)
		}
		if s.Challenge.Work > MaxWork || s.Challenge.Stamp > MaxStamp {
			t.Errorf("got %d and %d bits", s.Challenge.Work, s.Challenge.Stamp)
		}
	})
}

// FuzzEvaluate: what is evaluated parses, and the answer fits the key.
func FuzzEvaluate(f *testing.F) {
	i := issuerOf(f, "issuer", Member, day)
	b, _ := small(f, i, "fuzz", 1)
	f.Add(b.Blinded())
	for _, bad := range badElements() {
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, asked []byte) {
		answer, err := i.evaluate(asked, 1, stream("fuzz"))
		if err != nil {
			if !errors.Is(err, ErrRequest) {
				t.Errorf("got %v", err)
			}
			return
		}
		e, ok := parseElement(asked)
		if !ok || len(answer) != ProofSize+ElementSize {
			t.Fatal("something that is no element was evaluated")
		}
		if want, _ := parseElement(answer[ProofSize:]); !e.Mul(e, i.secret).IsEqual(want) {
			t.Error("got another element")
		}
	})
}

// FuzzFinish: no answer but the honest elements is ever taken.
func FuzzFinish(f *testing.F) {
	i := issuerOf(f, "issuer", Member, day)
	b, honest := small(f, i, "fuzz", 1)
	f.Add(honest)
	f.Fuzz(func(t *testing.T, answer []byte) {
		if _, err := b.Finish(i.Public(), answer); err == nil && !bytes.Equal(answer[ProofSize:], honest[ProofSize:]) {
			t.Errorf("took %x", answer)
		}
	})
}

// FuzzLine compares a line with the plain rule: sort by effort, then by order.
func FuzzLine(f *testing.F) {
	f.Add([]byte{3, 14, 15, 14, 0, 14, 22})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		type one struct{ effort, id int }
		l, model := NewLine[int](int(b[0]%8)), []one{}
		for id, x := range b[1:] {
			if x == 0 {
				got, ok := l.Pop()
				if ok != (len(model) > 0) || ok && got != model[0].id {
					t.Fatalf("got %d, %v, want the first of %v", got, ok, model)
				}
				if ok {
					model = model[1:]
				}
				continue
			}
			at := len(model)
			for at > 0 && model[at-1].effort < int(x) {
				at--
			}
			model = append(model[:at:at], append([]one{{int(x), id}}, model[at:]...)...)
			left, out := l.Push(int(x), id)
			if out != (len(model) > l.Places()) || out && left != model[len(model)-1].id {
				t.Fatalf("got %d, %v out of %v", left, out, model)
			}
			model = model[:min(len(model), l.Places())]
			if l.Len() != len(model) {
				t.Fatalf("got %d waiting, want %d", l.Len(), len(model))
			}
		}
	})
}

// FuzzClaim: only what this judge made, for this asker, gets as far as a claim.
func FuzzClaim(f *testing.F) {
	s := solutionOf(f)
	good := s.Append(nil)
	f.Add(good, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, later uint16) {
		a, err := judgeOf(t, "judge").Claim(b, PuzzleTokens, *seedOf("binding"), noon+int64(later))
		if err != nil {
			return
		}
		if !bytes.Equal(b[:ChallengeSize], good[:ChallengeSize]) || a.Effort < MinStamp || later >= PuzzleLife {
			t.Errorf("claimed %x", b)
		}
		if got := stampBits(a.solution.stamped(a.binding), binary.BigEndian.Uint64(b[92:])); got != a.Effort {
			t.Errorf("got effort %d, want %d", a.Effort, got)
		}
	})
}
