//go:build unix

package main

import "golang.org/x/sys/unix"

// harden keeps the memory of a crashed relay off the disk and its files to its
// user. A system that refuses the first serves all the same: the unit file says
// it too.
func harden() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	unix.Umask(0o077)
}
