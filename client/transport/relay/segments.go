//go:build linux || darwin || freebsd || netbsd || openbsd

package relay

import "syscall"

// narrowed is a net.Dialer's Control that keeps what both ends put into one
// packet below narrowSegment bytes.
func narrowed(_, _ string, c syscall.RawConn) (err error) {
	if control := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, narrowSegment)
	}); control != nil {
		return control
	}
	return err
}
