package relay

import (
	"testing"
	"time"
)

func TestSleepIsSeenByEitherClock(t *testing.T) {
	for _, c := range []struct {
		monotonic, wall time.Duration
		want            bool
	}{
		{lookEvery, lookEvery, false},
		{lookEvery + time.Second, lookEvery + time.Second, false}, // a busy machine
		{lookEvery, 8 * time.Hour, true},                          // a lid was shut
		{8 * time.Hour, 8 * time.Hour, true},                      // a process was stopped
		{8 * time.Hour, lookEvery, true},                          // and the clock was put back
		{lookEvery, -8 * time.Hour, false},                        // it alone was put back
	} {
		if got := slept(c.monotonic, c.wall); got != c.want {
			t.Errorf("%v on the monotonic clock and %v on the wall: got slept %v, want %v", c.monotonic, c.wall, got, c.want)
		}
	}
}
