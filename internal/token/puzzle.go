package token

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/bits"

	"golang.org/x/crypto/argon2"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of puzzles.
const (
	SubPuzzles    = 4                  // of one puzzle: four of them spread less than one of four times the work
	ChallengeSize = wire.ChallengeSize // head 28 ‖ MAC 32
	SolutionSize  = wire.SolutionSize  // challenge 60 ‖ 4 × nonce 8 ‖ stamp nonce 8
	MinStamp      = 14                 // zero bits of a stamp where nobody waits: some milliseconds
	MaxStamp      = 22                 // zero bits of a stamp where the line is full: less than a second
	MinWork       = 1                  // zero bits of a sub-puzzle, at least
	CalmWork      = 4                  // zero bits of a sub-puzzle while little is bought: 64 evaluations in the mean
	MaxWork       = 10                 // zero bits of a sub-puzzle, at most: 4,096 evaluations in the mean
	PuzzleLife    = 600                // seconds in which a challenge is to be answered
	WorkMemory    = 8 << 10            // KiB of one Argon2id evaluation, one pass, one lane

	puzzleVersion = 1
	headSize      = 1 + 1 + 1 + 1 + 8 + 16 // version 1 ‖ purpose 1 ‖ stamp bits 1 ‖ work bits 1 ‖ expiry 8 ‖ id 16
	noncesSize    = SubPuzzles * 8
)

// Labels of puzzles.
const (
	labelChallenge = "tacet/v1/puzzle/challenge" // MAC, parts: head 28, binding 32
	labelWork      = "tacet/v1/puzzle/work"      // sub-puzzle, parts: challenge 60, binding 32, index 1, nonce 8
	labelStamp     = "tacet/v1/puzzle/stamp"     // stamp, parts: challenge 60, binding 32, nonces 32
	labelBuys      = "tacet/v1/puzzle/tokens"    // binding of a purchase, parts: kind 1, epoch 4, part 1, H(blinded) 32
)

// Errors of puzzles that callers branch on.
var (
	// ErrPuzzle: a challenge or solution is malformed, not ours, for something else, or wrong.
	ErrPuzzle = errors.New("puzzle is not solved")
	// ErrPuzzleUsed: the challenge was answered before. A new one is needed.
	ErrPuzzleUsed = errors.New("puzzle was answered before")
	// ErrPuzzleLate: the challenge is too old. A new one is needed.
	ErrPuzzleLate = errors.New("puzzle is too old")
	// ErrPuzzleBusy: more answers are remembered or wait than there is room for.
	ErrPuzzleBusy = errors.New("too many puzzle answers wait")
	// ErrPuzzleStopped: solving was stopped or went beyond its cap.
	ErrPuzzleStopped = errors.New("solving the puzzle was stopped")
)

// PuzzlePurpose says what a solved puzzle buys.
type PuzzlePurpose byte

// Purposes of puzzles, with what a challenge is bound to.
const (
	PuzzleTokens PuzzlePurpose = 1 // BuyBinding of the request
	PuzzleShelf  PuzzlePurpose = 2 // the asker's ephemeral key, to which the answer is sealed
)

func (p PuzzlePurpose) valid() bool { return p == PuzzleTokens || p == PuzzleShelf }

// BuyBinding binds a puzzle to one request for tokens: its solution buys these
// blinded elements and no others, so nobody can use or resell it.
//
// spec: token.md#puzzles
func BuyBinding(k Kind, epoch uint32, part byte, blinded []byte) [32]byte {
	kind, number := scope(k, epoch)
	sum := sha256.Sum256(blinded)
	return key.Hash(labelBuys, kind, number, []byte{part}, sum[:])
}

// Challenge is a puzzle as the asker gets it.
type Challenge struct {
	Purpose PuzzlePurpose
	Stamp   int    // zero bits of the stamp, MinStamp to MaxStamp
	Work    int    // zero bits of each sub-puzzle, MinWork to MaxWork
	Expiry  uint64 // unix second from which it is too old
	ID      [16]byte
	MAC     [32]byte
}

// Append appends ChallengeSize bytes: version 1 ‖ purpose 1 ‖ stamp bits 1 ‖ work
// bits 1 ‖ expiry 8 ‖ id 16 ‖ MAC 32.
func (c *Challenge) Append(b []byte) []byte {
	b = append(b, puzzleVersion, byte(c.Purpose), byte(c.Stamp), byte(c.Work))
	b = binary.BigEndian.AppendUint64(b, c.Expiry)
	b = append(b, c.ID[:]...)
	return append(b, c.MAC[:]...)
}

// ParseChallenge reads exactly ChallengeSize bytes. It fails with ErrPuzzle, also
// for one that asks for more work than there may be.
func ParseChallenge(b []byte) (Challenge, error) {
	if len(b) != ChallengeSize || b[0] != puzzleVersion {
		return Challenge{}, ErrPuzzle
	}
	c := Challenge{
		Purpose: PuzzlePurpose(b[1]), Stamp: int(b[2]), Work: int(b[3]), Expiry: binary.BigEndian.Uint64(b[4:]),
		ID: [16]byte(b[12:]), MAC: [32]byte(b[headSize:]),
	}
	if !c.Purpose.valid() || c.Stamp < MinStamp || c.Stamp > MaxStamp || c.Work < MinWork || c.Work > MaxWork {
		return Challenge{}, ErrPuzzle
	}
	return c, nil
}

// Solution is an answered challenge.
type Solution struct {
	Challenge Challenge
	Nonces    [SubPuzzles]uint64
	Stamp     uint64 // nonce of the stamp
}

// Append appends SolutionSize bytes: challenge 60 ‖ 4 × nonce 8 ‖ stamp nonce 8.
func (s *Solution) Append(b []byte) []byte {
	b = s.Challenge.Append(b)
	b = append(b, s.nonces()...)
	return binary.BigEndian.AppendUint64(b, s.Stamp)
}

// ParseSolution reads exactly SolutionSize bytes. It fails with ErrPuzzle.
func ParseSolution(b []byte) (Solution, error) {
	if len(b) != SolutionSize {
		return Solution{}, ErrPuzzle
	}
	c, err := ParseChallenge(b[:ChallengeSize])
	if err != nil {
		return Solution{}, err
	}
	s := Solution{Challenge: c, Stamp: binary.BigEndian.Uint64(b[ChallengeSize+noncesSize:])}
	for i := range s.Nonces {
		s.Nonces[i] = binary.BigEndian.Uint64(b[ChallengeSize+8*i:])
	}
	return s, nil
}

func (s *Solution) nonces() []byte {
	b := make([]byte, 0, noncesSize)
	for _, n := range s.Nonces {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// stamped returns what the stamp's hash begins with: the whole answer.
func (s *Solution) stamped(binding [32]byte) [32]byte {
	return key.Hash(labelStamp, s.Challenge.Append(nil), binding[:], s.nonces())
}

// stampBits counts the leading zero bits of SHA-256(answer 32 ‖ nonce 8).
func stampBits(answer [32]byte, nonce uint64) int {
	var b [40]byte
	copy(b[:], answer[:])
	binary.BigEndian.PutUint64(b[32:], nonce)
	return zeros(sha256.Sum256(b[:]))
}

// workBits counts the leading zero bits of one Argon2id evaluation.
func workBits(c *Challenge, binding [32]byte, index int, nonce uint64) int {
	password := key.Info(make([]byte, 0, 192), labelWork, c.Append(nil), binding[:], []byte{byte(index)}, binary.BigEndian.AppendUint64(nil, nonce))
	return zeros([32]byte(argon2.IDKey(password, c.ID[:], 1, WorkMemory, 1, 32)))
}

// zeros counts leading zero bits, up to 64: nobody finds more.
func zeros(h [32]byte) int { return bits.LeadingZeros64(binary.BigEndian.Uint64(h[:])) }
