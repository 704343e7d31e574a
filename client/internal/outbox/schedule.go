package outbox

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// Bounds of what is in flight, in copies. One is a goroutine and a cell.
const (
	Window  = 256  // to one device
	Flights = 1024 // in all

	// The last quarter of the flights is for devices with few of them, so that
	// a few long queues behind a link that hangs do not hold up everybody else.
	reserve = Flights / 4
	few     = 16

	// MaxPark is how many copies are parked at a time.
	MaxPark = 16

	// parallel is how many cells of one hello are put at a time.
	parallel = 4
)

// Times of the schedule.
//
// spec: delivery.md#schedule
const (
	Rest = 10 * time.Minute // no retry after a live device took it, at the least

	probeMax   = 15 * time.Minute // between probes of a silent device
	linkMax    = time.Minute      // between tries of a broken link
	vainMax    = time.Minute      // between flushes that do not help one copy
	heldFor    = 15 * time.Minute // between tries of what was refused
	storeAfter = time.Minute      // until the store is asked again

	takesWithin = 30 * time.Second // until a device that came back should have acked what was parked
	parkSoon    = time.Minute      // until parking is tried again that failed; doubles
	parkMax     = time.Hour        // up to this
	fullFor     = time.Hour        // until a copy is tried again that there was no room for

	// putWithin is how long a transport may take to give an answer.
	putWithin = time.Minute
	// parkWithin is how long parking a batch may take.
	parkWithin = 2 * time.Minute
	// sweepMax is the longest time between looks at lifetimes: they go by the
	// clock on the wall, which timers do not follow.
	sweepMax = time.Minute
)

// burst is how long the first repetitions to a silent device come after each
// other, in seconds.
var burst = [...]time.Duration{1, 2, 4, 8, 15, 30}

// silence returns the delay before the n-th repetition to a silent device, n
// from 0: the burst, then probes.
func silence(n int) time.Duration {
	if n < len(burst) {
		return burst[n] * time.Second
	}
	// One minute doubled four times is past the limit.
	return min(time.Minute<<min(n-len(burst), 4), probeMax)
}

// uniform returns a number in [0, 1).
func (o *Outbox) uniform() float64 {
	var b [8]byte
	if _, err := io.ReadFull(o.cfg.Rand, b[:]); err != nil {
		o.broken = fmt.Errorf("reading randomness: %w", err)
		o.kick()
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// jitter returns d × U(0.5, 1.5).
func (o *Outbox) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.5 + o.uniform()))
}

// rest returns Rest × U(1, 1.5): it is a time in which nothing is repeated, so
// the jitter only makes it longer.
func (o *Outbox) rest() time.Duration {
	return time.Duration(float64(Rest) * (1 + o.uniform()/2))
}
