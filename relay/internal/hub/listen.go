package hub

import (
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"
)

// Listen returns a listener whose connections a hub can serve without holding a
// buffer for each. With a configuration they speak TLS 1.3 without session
// tickets, which would link two connections of one client; without one they are
// those of ln. They are *tls.Conn, as net/http expects them.
func Listen(ln net.Listener, cfg *tls.Config) net.Listener {
	if cfg == nil {
		return ln
	}
	cfg = cfg.Clone()
	cfg.MinVersion = tls.VersionTLS13
	cfg.SessionTicketsDisabled = true
	cfg.DynamicRecordSizingDisabled = true
	return &listener{ln, cfg, make(turns, runtime.GOMAXPROCS(0))}
}

type listener struct {
	net.Listener
	cfg   *tls.Config
	turns turns // of handshakes
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&inner{Conn: c, turns: l.turns}, l.cfg), nil
}

// handshakeBytes is what a client may send in a handshake: a ClientHello has two
// thousand or so. Without a bound crypto/tls would keep 256 KiB of a message.
const handshakeBytes = 16 << 10

// Handshake does the TLS handshake of a connection of Listen, until a deadline
// and within a number of bytes. Without TLS it does nothing. As many handshakes
// compute at one moment as there are cores; what waits for a client does not
// count, so a flood of handshakes is a few goroutines to everybody else.
func Handshake(c net.Conn, deadline time.Time) error {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	in, ok := t.NetConn().(*inner)
	if !ok {
		return t.Handshake()
	}
	in.left, in.shaking = handshakeBytes, true
	in.Conn.SetDeadline(deadline)
	err := t.Handshake()
	in.Conn.SetDeadline(time.Time{})
	in.rest()
	in.shaking = false
	return err
}

// cipherLimit bounds what TLS may have to say on its own account, in bytes,
// beside a piece of the queue: a peer can ask for new keys and never read.
const cipherLimit = cipherBuffer + 64<<10

var errFlood = errors.New("too much waits in TLS")

// inner stands between crypto/tls and a socket. Once started it never waits:
// reading gives what was fed to it and then a temporary error, which crypto/tls
// hands on without breaking; writing only collects, and one flusher at a time
// takes what was collected to the socket.
//
// So everything that crypto/tls writes, on the reader's account (new keys, RFC
// 8446, Section 4.6.3) or the writer's, leaves in the order in which it was
// encrypted: crypto/tls holds its own lock from sealing a record to Write.
type inner struct {
	net.Conn
	started bool // set before the connection has more than one goroutine
	bye     bool // the flusher's: the end was announced to TLS

	in      []byte // the reader's: fed and not yet read
	shaking bool   // the reader's: the handshake is under way
	left    int    // the reader's: bytes that it may still take
	has     bool   // the reader's: one of turns
	turns   turns

	mu     sync.Mutex // guards the rest
	out    *buffer    // collected and not yet taken
	buffer *pool
}

// dry says that there is nothing to read for now.
type dry struct{}

func (dry) Error() string   { return "nothing to read yet" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

// start ends the handshake's way of reading and writing.
func (c *inner) start(p *pool) { c.started, c.buffer = true, p }

func (c *inner) Read(b []byte) (int, error) {
	if c.shaking {
		if c.left == 0 {
			return 0, errFlood
		}
		c.rest()
		n, err := c.Conn.Read(b[:min(len(b), c.left)])
		c.left -= n
		c.compute()
		return n, err
	}
	if !c.started {
		return c.Conn.Read(b)
	}
	if len(c.in) == 0 {
		return 0, dry{}
	}
	n := copy(b, c.in)
	c.in = c.in[n:]
	return n, nil
}

// compute takes a turn to compute.
func (c *inner) compute() {
	c.turns <- struct{}{}
	c.has = true
}

// rest gives it back.
func (c *inner) rest() {
	if c.has {
		<-c.turns
		c.has = false
	}
}

func (c *inner) Write(b []byte) (int, error) {
	if c.shaking && c.has { // a client that does not read makes us wait, and nobody else
		c.rest()
		defer c.compute()
	}
	if !c.started {
		return c.Conn.Write(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		c.out = c.buffer.get()
	}
	if len(c.out.b)+len(b) > cipherLimit {
		return 0, errFlood
	}
	c.out.b = append(c.out.b, b...)
	return len(b), nil
}

// SetWriteDeadline does nothing once started: crypto/tls sets one when it says
// that it ends, and the flusher sets its own on the socket.
func (c *inner) SetWriteDeadline(t time.Time) error {
	if !c.started {
		return c.Conn.SetWriteDeadline(t)
	}
	return nil
}

// pending reports whether anything was collected.
func (c *inner) pending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out != nil
}

// take returns what was collected, or nil.
func (c *inner) take() *buffer {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.out
	c.out = nil
	return x
}
