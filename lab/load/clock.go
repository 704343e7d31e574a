package load

import "time"

var began = time.Now()

// now is the time in nanoseconds since 1970, and never goes back within this
// process. Another process on the machine has the same time within microseconds.
func now() int64 { return began.UnixNano() + int64(time.Since(began)) }

// wait sleeps until now is at least at.
func wait(at int64) {
	if d := at - now(); d > 0 {
		sleep(time.Duration(d))
	}
}
