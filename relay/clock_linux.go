package relay

import "golang.org/x/sys/unix"

// From linux/timex.h, as adjtimex(2) has them.
const (
	timeError = 5    // the clock is not set by anybody
	unsynced  = 0x40 // STA_UNSYNC
)

// clockSync asks the kernel whether a time service sets its clock.
func clockSync() clockState {
	var t unix.Timex
	state, err := unix.Adjtimex(&t) // reads: no mode is set
	switch {
	case err != nil:
		return syncUnknown
	case state == timeError || t.Status&unsynced != 0:
		return syncNo
	}
	return syncYes
}
