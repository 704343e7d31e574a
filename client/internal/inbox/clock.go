package inbox

import (
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
)

// Distances of a signed time from the local clock.
const (
	inStep = 10 * time.Second // less is no correction: the overlap of periods covers it
	steady = 5 * time.Second  // less is no change of a correction
)

// clock is the local clock, corrected by a signed time as far as that is to be
// believed: a relay may move what addresses are derived from by one period at
// the most, and does not move a clock that is right at all.
//
// spec: delivery.md#time
type clock struct {
	live time.Duration

	mu     sync.Mutex // guards the two below
	offset time.Duration
	lied   bool // the last signed time was not believed
}

// now returns the corrected time, without a monotonic reading: boundaries are on
// the wall.
func (c *clock) now() time.Time { return time.Now().Round(0).Add(c.correction()) }

func (c *clock) correction() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// learn takes in a signed time. It fails with transport.ErrTime for the first of
// those that are not to be believed: they change nothing.
func (c *clock) learn(unix int64) (changed bool, err error) {
	local := time.Now().Round(0)
	limit := int64(c.live / time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	// Compared in this form, no unix time overflows.
	if unix > local.Unix()+limit || unix < local.Unix()-limit {
		lied := c.lied
		c.lied = true
		if lied {
			return false, nil
		}
		return false, transport.ErrTime
	}
	c.lied = false
	d := time.Unix(unix, 0).Sub(local)
	d = max(min(d, c.live), -c.live)
	if d.Abs() < inStep {
		d = 0
	}
	if (d-c.offset).Abs() < steady || d == c.offset {
		return false, nil
	}
	c.offset = d
	return true, nil
}

// TimeDoubted reports whether the last signed time is not to be believed: the
// relay's clock or the local one is wrong by more than a live period.
func (n *Inbox) TimeDoubted() bool {
	n.clock.mu.Lock()
	defer n.clock.mu.Unlock()
	return n.clock.lied
}

// period returns the live period of a corrected time.
func (n *Inbox) period(now time.Time) uint64 {
	return addr.PeriodAt(now.Unix(), uint16(n.cfg.Live/time.Second))
}

// boundary returns when a period begins.
func (n *Inbox) boundary(period uint64) time.Time {
	return time.Unix(int64(period)*int64(n.cfg.Live/time.Second), 0)
}
