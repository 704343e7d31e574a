//go:build unix

package relay

import "golang.org/x/sys/unix"

// fileLimit returns how many files this program may have open.
func fileLimit() (n uint64, ok bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return uint64(l.Cur), true
}
