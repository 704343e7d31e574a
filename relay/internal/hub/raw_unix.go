//go:build unix

package hub

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawOf returns the way to a socket that lets us try to read and write without
// waiting, so that an idle connection holds no buffer; nil if there is none.
func rawOf(nc net.Conn) syscall.RawConn {
	s, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// readFD tries to read. again says that there is nothing yet; 0 bytes without
// an error are the end.
func readFD(fd uintptr, b []byte) (n int, again bool, err error) {
	for {
		n, err = syscall.Read(int(fd), b)
		switch err {
		case nil:
			return n, false, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, true, nil
		default:
			return 0, false, err
		}
	}
}

// dryFD reports whether reading would find nothing yet: no bytes, no end, no error.
func dryFD(fd uintptr) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p[:], 0)
	return n == 0 && err == nil
}

// writeFD tries to write and returns how many bytes the system took.
func writeFD(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return 0, err
		}
	}
}
