//go:build unix

package rpc

import "syscall"

// narrow takes all rights of others off new files until restore is called.
func narrow() (restore func()) {
	old := syscall.Umask(0o177)
	return func() { syscall.Umask(old) }
}
