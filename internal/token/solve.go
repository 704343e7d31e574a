package token

// Caps of a solver.
const (
	// MaxSpread is how many times the mean a solver tries before it gives up: the
	// chance that an honest puzzle needs more is below 2^-50.
	MaxSpread = 12
	// MaxEffort is the most zero bits of a stamp that Restamp makes, for who wants
	// to be ahead of a line of others: some seconds.
	MaxEffort = 26
)

// Solve finds the nonces of a challenge that is bound to binding, then its stamp.
// most is the number of Argon2id evaluations it makes in all, at most (0: MaxSpread
// times the mean). progress, if not nil, is called before each evaluation with how
// many were made and how many are to be expected; false ends it. It fails with
// ErrPuzzleStopped. Each evaluation takes some 10 ms and 8 MiB.
//
// spec: token.md#puzzles
func Solve(c Challenge, binding [32]byte, most uint64, progress func(done, expected uint64) bool) (Solution, error) {
	if again, err := ParseChallenge(c.Append(nil)); err != nil || again != c {
		return Solution{}, ErrPuzzle // one that nobody read
	}
	expected := uint64(SubPuzzles) << c.Work
	if most == 0 {
		most = expected * MaxSpread
	}
	s, done := Solution{Challenge: c}, uint64(0)
	for i := range s.Nonces {
		for n := uint64(0); ; n++ {
			if done >= most || progress != nil && !progress(done, expected) {
				return Solution{}, ErrPuzzleStopped
			}
			done++
			if workBits(&c, binding, i, n) >= c.Work {
				s.Nonces[i] = n
				break
			}
		}
	}
	return s.Restamp(binding, c.Stamp)
}

// Restamp makes a stamp of more bits for the same answer: who was told that
// too many wait asks for another challenge, sees there how many bits are wanted
// now, and does not need to solve again. It fails with ErrPuzzleStopped for more
// than MaxEffort bits.
//
// spec: token.md#puzzles
func (s Solution) Restamp(binding [32]byte, bits int) (Solution, error) {
	if bits > MaxEffort {
		return Solution{}, ErrPuzzleStopped
	}
	answer := s.stamped(binding)
	for n := range uint64(1) << (MaxEffort + 6) { // e^-64 that it needs more
		if stampBits(answer, n) >= bits {
			s.Stamp = n
			return s, nil
		}
	}
	return Solution{}, ErrPuzzleStopped
}
