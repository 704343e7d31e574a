package token

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

const noon = int64(day)*DaySeconds + 43_200

func judgeOf(t testing.TB, name string) *Judge {
	t.Helper()
	j, err := NewJudge(seedOf(name), MinWork)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func challengeOf(t testing.TB, j *Judge, name string) Challenge {
	t.Helper()
	c, err := j.Challenge(PuzzleTokens, *seedOf("binding"), MinStamp, noon, stream(name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// solved is one solution of the judge "judge", made once.
var solved = sync.OnceValues(func() (Solution, error) {
	j, err := NewJudge(seedOf("judge"), MinWork)
	if err != nil {
		return Solution{}, err
	}
	c, err := j.Challenge(PuzzleTokens, *seedOf("binding"), MinStamp, noon, stream("challenge"))
	if err != nil {
		return Solution{}, err
	}
	return Solve(c, *seedOf("binding"), 0, nil)
})

func solutionOf(t testing.TB) Solution {
	t.Helper()
	s, err := solved()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASolvedPuzzleIsGoodOnce(t *testing.T) {
	j, s := judgeOf(t, "judge"), solutionOf(t)
	binding, b := *seedOf("binding"), s.Append(nil)
	if len(b) != SolutionSize || len(s.Challenge.Append(nil)) != ChallengeSize {
		t.Fatalf("got %d bytes", len(b))
	}
	a, err := j.Claim(b, PuzzleTokens, binding, noon+5)
	if err != nil {
		t.Fatal(err)
	}
	if a.Effort < MinStamp {
		t.Errorf("got effort %d", a.Effort)
	}
	if err := j.Judge(a, noon+5); err != nil {
		t.Fatal(err)
	}
	for _, later := range []int64{5, 6, PuzzleLife - 1} {
		if _, err := j.Claim(b, PuzzleTokens, binding, noon+later); !errors.Is(err, ErrPuzzleUsed) {
			t.Errorf("again after %d s: got %v", later, err)
		}
	}
	for _, later := range []int64{PuzzleLife, PuzzleLife + 1, 1 << 40} {
		if _, err := j.Claim(b, PuzzleTokens, binding, noon+later); !errors.Is(err, ErrPuzzleLate) {
			t.Errorf("after %d s: got %v", later, err)
		}
	}
	// Another node with the same secret knows the challenge.
	if _, err := judgeOf(t, "judge").Claim(b, PuzzleTokens, binding, noon); err != nil {
		t.Errorf("another node: got %v", err)
	}
}

func TestAPuzzleIsForItsAskerAlone(t *testing.T) {
	s := solutionOf(t)
	b := s.Append(nil)
	for name, claim := range map[string]func() (*Answer, error){
		"binding": func() (*Answer, error) { return judgeOf(t, "judge").Claim(b, PuzzleTokens, *seedOf("x"), noon) },
		"purpose": func() (*Answer, error) { return judgeOf(t, "judge").Claim(b, PuzzleShelf, *seedOf("binding"), noon) },
		"realm":   func() (*Answer, error) { return judgeOf(t, "other").Claim(b, PuzzleTokens, *seedOf("binding"), noon) },
		"no time": func() (*Answer, error) { return judgeOf(t, "judge").Claim(b, PuzzleTokens, *seedOf("binding"), -1) },
	} {
		if _, err := claim(); err == nil {
			t.Errorf("another %s: got no error", name)
		}
	}
}

// Every byte that was changed makes an answer bad, and nearly always before any
// Argon2id is evaluated.
func TestAChangedAnswerIsRefused(t *testing.T) {
	s, binding := solutionOf(t), *seedOf("binding")
	good, cheap := s.Append(nil), 0
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x11
		j := judgeOf(t, "judge")
		a, err := j.Claim(b, PuzzleTokens, binding, noon)
		if err != nil {
			cheap++
			continue
		}
		if err := j.Judge(a, noon); !errors.Is(err, ErrPuzzle) {
			t.Errorf("byte %d changed: got %v", i, err)
		}
	}
	if cheap < len(good)-1 {
		t.Errorf("%d of %d were refused by the stamp or before, want nearly all", cheap, len(good))
	}
	for _, b := range [][]byte{nil, good[1:], good[:len(good)-1], append(bytes.Clone(good), 0)} {
		if _, err := judgeOf(t, "judge").Claim(b, PuzzleTokens, binding, noon); !errors.Is(err, ErrPuzzle) {
			t.Errorf("%d bytes: got %v", len(b), err)
		}
	}
}

// An answer with a good stamp over bad nonces costs the judge as many evaluations
// as nonces are good, and one. It stays answered.
func TestABadSubPuzzleIsRefused(t *testing.T) {
	binding := *seedOf("binding")
	for bad := range SubPuzzles {
		s := solutionOf(t)
		for n := uint64(1000); ; n++ {
			if workBits(&s.Challenge, binding, bad, n) < s.Challenge.Work {
				s.Nonces[bad] = n
				break
			}
		}
		s, err := s.Restamp(binding, MinStamp)
		if err != nil {
			t.Fatal(err)
		}
		j := judgeOf(t, "judge")
		a, err := j.Claim(s.Append(nil), PuzzleTokens, binding, noon)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Judge(a, noon); !errors.Is(err, ErrPuzzle) {
			t.Errorf("sub-puzzle %d bad: got %v", bad, err)
		}
		if j.load.at(noon) != 0 {
			t.Error("a bad answer counts as load")
		}
		good := solutionOf(t)
		if _, err := j.Claim(good.Append(nil), PuzzleTokens, binding, noon); !errors.Is(err, ErrPuzzleUsed) {
			t.Errorf("the challenge of a bad answer again: got %v", err)
		}
	}
}

func TestAReleasedAnswerMayComeAgain(t *testing.T) {
	j, s, binding := judgeOf(t, "judge"), solutionOf(t), *seedOf("binding")
	a, err := j.Claim(s.Append(nil), PuzzleTokens, binding, noon)
	if err != nil {
		t.Fatal(err)
	}
	j.Release(a)
	better, err := s.Restamp(binding, MinStamp+3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := j.Claim(better.Append(nil), PuzzleTokens, binding, noon)
	if err != nil || b.Effort < MinStamp+3 {
		t.Fatalf("got %v, %v", b, err)
	}
	if err := j.Judge(b, noon); err != nil {
		t.Error(err)
	}
	if _, err := s.Restamp(binding, MaxEffort+1); !errors.Is(err, ErrPuzzleStopped) {
		t.Errorf("too many bits: got %v", err)
	}
}

func TestASolverStops(t *testing.T) {
	j := judgeOf(t, "judge")
	c, binding := challengeOf(t, j, "stops"), *seedOf("binding")
	c.Work = MaxWork
	calls := 0
	_, err := Solve(c, binding, 0, func(done, expected uint64) bool {
		if done != uint64(calls) || expected != SubPuzzles<<MaxWork {
			t.Errorf("call %d: got %d of %d", calls, done, expected)
		}
		calls++
		return calls < 3
	})
	if !errors.Is(err, ErrPuzzleStopped) || calls != 3 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	if _, err := Solve(c, binding, 2, nil); !errors.Is(err, ErrPuzzleStopped) {
		t.Errorf("beyond its cap: got %v", err)
	}
	for name, change := range map[string]func(*Challenge){
		"work": func(c *Challenge) { c.Work = MaxWork + 1 }, "no work": func(c *Challenge) { c.Work = 0 },
		"stamp": func(c *Challenge) { c.Stamp = MaxStamp + 1 }, "purpose": func(c *Challenge) { c.Purpose = 3 },
		"overflow": func(c *Challenge) { c.Work = 256 + MinWork },
	} {
		d := c
		change(&d)
		if _, err := Solve(d, binding, 1, nil); !errors.Is(err, ErrPuzzle) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAJudgeRemembersABoundedNumber(t *testing.T) {
	j, s, binding := judgeOf(t, "judge"), solutionOf(t), *seedOf("binding")
	j.maxUsed = 3
	j.turn(noon) // the first look at the clock forgets nothing of what follows
	for i := range 3 {
		j.used[0][[16]byte{byte(i)}] = struct{}{}
	}
	if _, err := j.Claim(s.Append(nil), PuzzleTokens, binding, noon); !errors.Is(err, ErrPuzzleBusy) {
		t.Errorf("full: got %v", err)
	}
	// A life later there is room, and what was remembered still is for another life.
	if _, err := j.Claim(s.Append(nil), PuzzleTokens, binding, noon+PuzzleLife-1); !errors.Is(err, ErrPuzzleBusy) {
		t.Errorf("still full: got %v", err)
	}
	j.turn(noon + PuzzleLife)
	if len(j.used[0]) != 0 || len(j.used[1]) != 3 {
		t.Errorf("after a life: got %d and %d", len(j.used[0]), len(j.used[1]))
	}
	j.turn(noon + 2*PuzzleLife)
	if len(j.used[0])+len(j.used[1]) != 0 {
		t.Error("after two lives something is remembered")
	}
	// A clock that goes back and forth neither keeps for ever nor forgets early.
	j.used[0][[16]byte{1}] = struct{}{}
	j.turn(noon - 1_000_000)
	if len(j.used[0]) != 1 {
		t.Error("a clock that went back forgot an answer")
	}
	j.turn(noon - 1_000_000 + 2*PuzzleLife)
	if len(j.used[0])+len(j.used[1]) != 0 {
		t.Error("a clock that went back keeps answers for ever")
	}
}

// No answer is forgotten while its challenge can still be claimed.
func TestNoAnswerIsForgottenEarly(t *testing.T) {
	for at := int64(0); at < 3*PuzzleLife; at += 7 {
		j := judgeOf(t, "judge")
		for s := int64(0); s <= at; s += 50 {
			j.turn(noon + s)
		}
		j.turn(noon + at)
		j.used[0][[16]byte{1}] = struct{}{}
		for s := at; s < at+PuzzleLife; s += 13 {
			j.turn(noon + s)
		}
		j.turn(noon + at + PuzzleLife - 1)
		if len(j.used[0])+len(j.used[1]) != 1 {
			t.Fatalf("an answer of second %d is forgotten within its life", at)
		}
	}
}

func TestWorkFollowsTheLoadAndComesDown(t *testing.T) {
	var l Load
	if got := l.Work(CalmWork, noon); got != CalmWork {
		t.Errorf("no load: got %d", got)
	}
	last, steps := CalmWork, 0
	for i := range 10_000 {
		l.Add(noon)
		w := l.Work(CalmWork, noon)
		if i < CalmLoad && w != CalmWork {
			t.Fatalf("after %d: got %d", i+1, w)
		}
		if w < last || w > last+1 || w > MaxWork {
			t.Fatalf("after %d: from %d to %d", i+1, last, w)
		}
		if w > last {
			steps++
		}
		last = w
	}
	if last != MaxWork || steps != MaxWork-CalmWork {
		t.Errorf("got %d in %d steps", last, steps)
	}
	for half := int64(1); half <= 8; half++ {
		w := l.Work(CalmWork, noon+half*LoadHalf)
		if w > last || w < last-1 {
			t.Errorf("after %d halves: from %d to %d", half, last, w)
		}
		last = w
	}
	if last != CalmWork {
		t.Errorf("after 40 minutes: got %d", last)
	}
	if before := l.at(noon); l.at(noon-500) != before {
		t.Error("a clock that went back changed the load")
	}
	// A steady nine a minute stay easy; forty a minute do not.
	for perMinute, hard := range map[int64]bool{8: false, 40: true} {
		var l Load
		for s := range int64(3600) {
			if s*perMinute/60 != (s+1)*perMinute/60 {
				l.Add(noon + s)
			}
		}
		if got := l.Work(CalmWork, noon+3600) > CalmWork; got != hard {
			t.Errorf("%d a minute: hard is %v", perMinute, got)
		}
	}
}

func TestStampFollowsTheLine(t *testing.T) {
	for _, c := range []struct{ waiting, places, want int }{
		{0, 128, 14}, {16, 128, 15}, {64, 128, 18}, {127, 128, 21}, {128, 128, 22}, {1000, 128, 22}, {-1, 128, 14}, {0, 0, 22},
	} {
		if got := StampBits(c.waiting, c.places); got != c.want {
			t.Errorf("%d of %d: got %d, want %d", c.waiting, c.places, got, c.want)
		}
	}
	j := judgeOf(t, "judge")
	for asked, want := range map[int]int{-1: MinStamp, 0: MinStamp, 20: 20, 99: MaxStamp} {
		if c, err := j.Challenge(PuzzleShelf, [32]byte{}, asked, noon, stream("x")); err != nil || c.Stamp != want {
			t.Errorf("%d bits: got %d, %v", asked, c.Stamp, err)
		}
	}
	for _, least := range []int{-1, MaxWork + 1} {
		if _, err := NewJudge(seedOf("x"), least); !errors.Is(err, ErrPuzzle) {
			t.Errorf("least %d: got %v", least, err)
		}
	}
	if _, err := j.Challenge(3, [32]byte{}, 14, noon, stream("x")); !errors.Is(err, ErrPuzzle) {
		t.Errorf("purpose 3: got %v", err)
	}
	if _, err := j.Challenge(PuzzleShelf, [32]byte{}, 14, noon, bytes.NewReader(make([]byte, 15))); err == nil {
		t.Error("short randomness: got no error")
	}
}

// A flood of cheap answers, a hundred times what is judged, displaces itself: who
// makes the effort that the line asks for is always next but for who did as much.
func TestAFloodDisplacesItself(t *testing.T) {
	l := NewLine[int](128)
	const honest = -1
	served, refused, out := 0, 0, 0
	for i := range 100_000 {
		if left, gone := l.Push(MinStamp+i%4, i); gone { // luck makes some stamps better
			if left == honest {
				refused++
			}
			out++
		}
		if i%1000 == 500 {
			if left, gone := l.Push(StampBits(l.Len(), l.Places()), honest); gone && left == honest {
				refused++
			}
		}
		if i%100 == 99 { // one in a hundred is judged
			if v, ok := l.Pop(); ok && v == honest {
				served++
			}
		}
		if l.Len() > l.Places() {
			t.Fatalf("%d wait", l.Len())
		}
	}
	if served != 100 || refused != 0 {
		t.Errorf("honest people: got %d served, %d refused, want 100 and 0", served, refused)
	}
	t.Logf("of 100,000 cheap answers %d were turned away; 100 honest ones were all served", out)
}

func TestALineIsInOrder(t *testing.T) {
	l := NewLine[string](3)
	if _, ok := l.Pop(); ok {
		t.Error("an empty line gave somebody")
	}
	l.Push(14, "a")
	l.Push(15, "b")
	l.Push(14, "c")
	if left, out := l.Push(14, "d"); !out || left != "d" {
		t.Errorf("got %q out", left)
	}
	if left, out := l.Push(16, "e"); !out || left != "c" {
		t.Errorf("got %q out, want the last of the least", left)
	}
	for _, want := range []string{"e", "b", "a"} {
		if got, ok := l.Pop(); !ok || got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if left, out := NewLine[int](0).Push(99, 7); !out || left != 7 {
		t.Error("a line without places kept somebody")
	}
}

func TestSizesAreThoseOfTheWire(t *testing.T) {
	if headSize+32 != wire.ChallengeSize || ChallengeSize+noncesSize+8 != wire.SolutionSize ||
		BlindedSize != wire.TokenBlindedSize || ResponseSize != wire.TokenAnswerSize || MaxParts != 16 {
		t.Error("sizes differ")
	}
}
