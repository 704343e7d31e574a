package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"github.com/tacet-chat/tacet/internal/key"
)

// MaxUsed is how many answers a judge remembers of each PuzzleLife, at most. Two
// verifiers check fewer in that time, and no answer is remembered that was not
// checked, so a flood cannot fill it. 48 bytes each or so.
const MaxUsed = 1 << 17

// Judge makes challenges and judges answers. It keeps no state of a challenge,
// only which ones were answered, and how much was bought of late. What it is good
// for across restarts and nodes is its secret alone. It may be used by several
// goroutines at a time.
type Judge struct {
	secret [32]byte
	least  int

	mu      sync.Mutex
	used    [2]map[[16]byte]struct{} // of this PuzzleLife and the one before
	turned  int64                    // unix second of the last turn
	load    Load
	maxUsed int
}

// NewJudge makes a judge with a secret of the realm, which all of its nodes share,
// and the least work of a sub-puzzle in bits (0: CalmWork). It fails with ErrPuzzle
// for less than MinWork or more than MaxWork.
func NewJudge(secret *[32]byte, least int) (*Judge, error) {
	if least == 0 {
		least = CalmWork
	}
	if least < MinWork || least > MaxWork {
		return nil, ErrPuzzle
	}
	j := &Judge{secret: *secret, least: least, maxUsed: MaxUsed}
	j.used[0], j.used[1] = map[[16]byte]struct{}{}, map[[16]byte]struct{}{}
	return j, nil
}

// StampBits says how many bits a stamp must have while waiting of places in the
// line are taken: MinStamp if it is empty, MaxStamp if it is full.
func StampBits(waiting, places int) int {
	if places <= 0 || waiting >= places {
		return MaxStamp
	}
	return MinStamp + (MaxStamp-MinStamp)*max(waiting, 0)/places
}

// Challenge makes a challenge of that many stamp bits (StampBits), bound to
// purpose and binding. Of rand it reads 16 bytes. It fails with ErrPuzzle for a
// purpose that there is not, and with the error of rand.
//
// spec: token.md#puzzles
func (j *Judge) Challenge(p PuzzlePurpose, binding [32]byte, stamp int, unix int64, rand io.Reader) (Challenge, error) {
	if !p.valid() || unix < 0 {
		return Challenge{}, ErrPuzzle
	}
	c := Challenge{Purpose: p, Stamp: min(max(stamp, MinStamp), MaxStamp), Expiry: uint64(unix) + PuzzleLife}
	if _, err := io.ReadFull(rand, c.ID[:]); err != nil {
		return Challenge{}, fmt.Errorf("reading randomness: %w", err)
	}
	j.mu.Lock()
	c.Work = j.load.Work(j.least, unix)
	j.mu.Unlock()
	c.MAC = j.mac(&c, binding)
	return c, nil
}

func (j *Judge) mac(c *Challenge, binding [32]byte) (m [32]byte) {
	h := hmac.New(sha256.New, j.secret[:])
	h.Write(key.Info(nil, labelChallenge, c.Append(nil)[:headSize], binding[:]))
	h.Sum(m[:0])
	return m
}

// Answer is a solution whose stamp is good and whose challenge is ours. It is not
// checked yet.
type Answer struct {
	solution Solution
	binding  [32]byte
	Effort   int // zero bits of the stamp: who made more goes first
}

// Claim looks at a solution as far as that is cheap (a microsecond or two, no
// Argon2id), and marks it as answered: size, purpose, age, MAC, stamp, then
// whether it was answered before. Whoever claims an answer must Judge it, or
// Release it if it had to leave the line unjudged. It fails with ErrPuzzle,
// ErrPuzzleLate, ErrPuzzleUsed or ErrPuzzleBusy.
//
// spec: token.md#puzzles
func (j *Judge) Claim(solution []byte, p PuzzlePurpose, binding [32]byte, unix int64) (*Answer, error) {
	s, err := ParseSolution(solution)
	if err != nil {
		return nil, err
	}
	c := &s.Challenge
	if want := j.mac(c, binding); c.Purpose != p || !hmac.Equal(want[:], c.MAC[:]) {
		return nil, ErrPuzzle
	}
	if unix < 0 || uint64(unix) >= c.Expiry {
		return nil, ErrPuzzleLate
	}
	effort := stampBits(s.stamped(binding), s.Stamp)
	if effort < c.Stamp {
		return nil, ErrPuzzle
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.turn(unix)
	for _, u := range j.used {
		if _, ok := u[c.ID]; ok {
			return nil, ErrPuzzleUsed
		}
	}
	if len(j.used[0]) >= j.maxUsed {
		return nil, ErrPuzzleBusy
	}
	j.used[0][c.ID] = struct{}{}
	return &Answer{solution: s, binding: binding, Effort: effort}, nil
}

// turn forgets answers whose challenge is too old anyway.
func (j *Judge) turn(unix int64) {
	for range 2 {
		if unix-j.turned < PuzzleLife {
			break
		}
		j.used[1], j.used[0] = j.used[0], map[[16]byte]struct{}{}
		j.turned = max(j.turned+PuzzleLife, unix-PuzzleLife)
	}
	j.turned = min(j.turned, unix) // a clock that went back must not keep them for ever
}

// Release forgets an answer that had to leave the line unjudged, so that it can
// come again with a better stamp.
func (j *Judge) Release(a *Answer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, u := range j.used {
		delete(u, a.solution.Challenge.ID)
	}
}

// Judge checks the four sub-puzzles, stopping at the first bad one: at most four
// Argon2id evaluations of 8 MiB. At most two should run at a time. A good answer
// counts as load. A bad one stays marked as answered. It fails with ErrPuzzle.
//
// spec: token.md#puzzles
func (j *Judge) Judge(a *Answer, unix int64) error {
	if err := a.check(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.load.Add(unix)
	return nil
}

func (a *Answer) check() error {
	for i, n := range a.solution.Nonces {
		if workBits(&a.solution.Challenge, a.binding, i, n) < a.solution.Challenge.Work {
			return ErrPuzzle
		}
	}
	return nil
}
