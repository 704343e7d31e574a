package token

import "math"

const (
	// LoadHalf is after how many seconds half of a load is forgotten.
	LoadHalf = 300
	// CalmLoad is the load up to which puzzles stay easy: nine purchases a minute
	// for a long time, or 64 at once.
	CalmLoad = 64
)

// Load counts what was bought of late, in the whole realm and by nobody in
// particular: each purchase counts one and half as much after LoadHalf seconds.
// Only good answers count, so to make puzzles harder for others one has to solve
// them. The zero value is no load. It is for one goroutine at a time.
//
// spec: token.md#work
type Load struct {
	sum  float64
	unix int64 // when sum was right
}

// Add counts a purchase.
func (l *Load) Add(unix int64) {
	l.sum = l.at(unix) + 1
	l.unix = unix
}

// at returns the load. A clock that goes back forgets nothing.
func (l *Load) at(unix int64) float64 {
	return l.sum * math.Exp2(-float64(max(unix-l.unix, 0))/LoadHalf)
}

// Work returns the bits of a sub-puzzle: least while the load is at most CalmLoad,
// and one more each time it doubles, MaxWork at most.
func (l *Load) Work(least int, unix int64) int {
	bits := least
	for load := l.at(unix); load > CalmLoad && bits < MaxWork; load /= 2 {
		bits++
	}
	return bits
}
