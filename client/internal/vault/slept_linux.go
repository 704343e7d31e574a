package vault

import (
	"time"

	"golang.org/x/sys/unix"
)

// slept returns how long the machine has slept since it was started: the clock of a
// process stands still meanwhile, and no setting of the clock on the wall changes it.
func slept() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	// Read one after the other, they differ by a moment on a machine that never slept.
	return max(0, time.Duration(boot.Nano()-mono.Nano()).Round(time.Second))
}
