package proxy

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Bounds of a listener.
const (
	headerWithin = 5 * time.Second // a header must have come by then
	maxPending   = 512             // connections that were not handed on yet
)

// Listen returns a listener for connections that begin with a PROXY header. A
// connection of it has the address that its header named as its remote address,
// and else is what ln accepted: a hub can read and write it without waiting.
// Peers that trust does not have, and those whose header is none, are cut off.
func Listen(ln net.Listener, trust Trust) net.Listener {
	return listen(ln, trust, func(h Header, peer net.Addr) (net.Addr, bool) {
		if !h.Client.IsValid() {
			return peer, true
		}
		return net.TCPAddrFromAddrPort(h.Client), true
	})
}

// circuits is where Tor puts the number of a circuit, in the last 32 bits, when
// a service is set to HiddenServiceExportCircuitID haproxy.
var circuits = netip.MustParsePrefix("fc00:dead:beef:4dad::/96")

// ListenOnion is Listen for the headers that Tor sends for an onion service.
// They name circuits, not addresses. Each becomes a network of its own, for
// limits: its number moves up to where the first 56 bits hold it.
func ListenOnion(ln net.Listener, trust Trust) net.Listener {
	return listen(ln, trust, func(h Header, _ net.Addr) (net.Addr, bool) {
		from := h.Client.Addr()
		if !circuits.Contains(from) {
			return nil, false
		}
		in := from.As16()
		var out [16]byte
		out[0] = 0xfc // unique local addresses whose assignment was never defined (RFC 4193, Section 3.2)
		binary.BigEndian.PutUint32(out[3:], binary.BigEndian.Uint32(in[12:]))
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom16(out), 0)), true
	})
}

// named makes the remote address of a connection of what its header said.
type named func(h Header, peer net.Addr) (net.Addr, bool)

type listener struct {
	net.Listener
	trust Trust
	named named

	ready   chan net.Conn // with their headers read
	pending chan struct{} // a token for each that was not handed on
	end     chan struct{} // closed by Close
	failed  chan struct{} // closed when accepting failed, with err
	err     error
	closing sync.Once

	mu      sync.Mutex // guards waiting
	waiting map[net.Conn]struct{}
}

func listen(ln net.Listener, trust Trust, by named) net.Listener {
	l := &listener{
		Listener: ln, trust: trust, named: by,
		ready: make(chan net.Conn), pending: make(chan struct{}, maxPending),
		end: make(chan struct{}), failed: make(chan struct{}), waiting: map[net.Conn]struct{}{},
	}
	go l.run()
	return l
}

// run accepts until that fails for good.
func (l *listener) run() {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if t, ok := err.(interface{ Temporary() bool }); ok && t.Temporary() {
				select { // out of files: some will be given back
				case <-time.After(10 * time.Millisecond):
					continue
				case <-l.end:
				}
			}
			l.err = err
			close(l.failed)
			return
		}
		if !l.trust.Has(c.RemoteAddr()) {
			c.Close()
			continue
		}
		select { // the rest waits in the system: these peers send their header at once
		case l.pending <- struct{}{}:
			l.mu.Lock()
			l.waiting[c] = struct{}{}
			l.mu.Unlock()
			go l.read(c)
		case <-l.end:
			c.Close()
		}
	}
}

// read reads the header of one connection and hands that on.
func (l *listener) read(c net.Conn) {
	defer func() { <-l.pending }()
	out := l.header(c)
	l.mu.Lock()
	delete(l.waiting, c)
	l.mu.Unlock()
	if out == nil {
		c.Close()
		return
	}
	select {
	case l.ready <- out:
	case <-l.end:
		c.Close()
	}
}

func (l *listener) header(c net.Conn) net.Conn {
	select {
	case <-l.end: // Close may have looked before we were there
		return nil
	default:
	}
	c.SetReadDeadline(time.Now().Add(headerWithin))
	h, err := Read(c)
	if err != nil {
		return nil
	}
	from, ok := l.named(h, c.RemoteAddr())
	if !ok {
		return nil
	}
	c.SetReadDeadline(time.Time{})
	return With(c, from)
}

// Accept returns the next connection whose header has come.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.failed:
		return nil, l.err
	case <-l.end:
		return nil, net.ErrClosed
	}
}

// Close ends the listener and every connection whose header has not come.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.closing.Do(func() {
		close(l.end)
		l.mu.Lock()
		defer l.mu.Unlock()
		for c := range l.waiting {
			c.Close()
		}
	})
	return err
}

// Only returns a listener for connections of peers that trust has: proxies that
// say for whom they speak in every request. They have no remote address that
// would be somebody's.
func Only(ln net.Listener, trust Trust) net.Listener { return &only{ln, trust} }

type only struct {
	net.Listener
	trust Trust
}

func (l *only) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.trust.Has(c.RemoteAddr()) {
			return With(c, &net.UnixAddr{Net: "unix"}), nil
		}
		c.Close()
	}
}

// With returns c with another remote address. A TCP or unix connection stays
// one: whoever looks for the system's own way to it finds it.
func With(c net.Conn, from net.Addr) net.Conn {
	switch c := c.(type) {
	case *net.TCPConn:
		return &tcp{c, from}
	case *net.UnixConn:
		return &unix{c, from}
	}
	return &other{c, from}
}

type (
	tcp struct {
		*net.TCPConn
		from net.Addr
	}
	unix struct {
		*net.UnixConn
		from net.Addr
	}
	other struct {
		net.Conn
		from net.Addr
	}
)

func (c *tcp) RemoteAddr() net.Addr   { return c.from }
func (c *unix) RemoteAddr() net.Addr  { return c.from }
func (c *other) RemoteAddr() net.Addr { return c.from }

var (
	_ syscall.Conn = (*tcp)(nil)
	_ syscall.Conn = (*unix)(nil)
)
