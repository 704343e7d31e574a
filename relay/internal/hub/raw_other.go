//go:build !unix

package hub

import (
	"errors"
	"net"
	"syscall"
)

// rawOf returns nil: here sockets can only be waited for, which costs every
// connection a buffer while it is idle.
func rawOf(net.Conn) syscall.RawConn { return nil }

func readFD(uintptr, []byte) (int, bool, error) { return 0, false, errors.ErrUnsupported }

func writeFD(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func dryFD(uintptr) bool { return false }
