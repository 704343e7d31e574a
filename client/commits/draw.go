package commits

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// draw is a stream of chance that is drawn from a number and a name: what one
// stream gives does not depend on how often others were asked.
type draw struct{ *rand.Rand }

func newDraw(seed uint64, name string) draw {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64([]byte(name), seed))
	return draw{rand.New(rand.NewChaCha8([32]byte(h.Sum(nil))))}
}

func (d draw) chance(p float64) bool { return p > 0 && d.Float64() < p }

// between is a duration from lo to hi.
func (d draw) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.Float64()*float64(hi-lo))
}

// entropy is the randomness of one device. How far it was read is all its state,
// so that Explore can go back.
type entropy struct {
	seed  [32]byte
	at    uint64
	spoil bool // commits made with it are rubbish for every second leaf
}

func (e *entropy) spoils(leaf uint32) bool { return e.spoil && leaf&1 == 1 }

func (e *entropy) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		e.at++
		h := sha256.Sum256(binary.BigEndian.AppendUint64(e.seed[:], e.at))
		n += copy(p[n:], h[:])
	}
	return len(p), nil
}
