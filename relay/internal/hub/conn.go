package hub

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

const (
	queueLimit   = 512 << 10 // bytes that may wait for a slow reader before it is dropped
	queuesLimit  = 64 << 20  // bytes that may wait for all slow readers
	maxParts     = 32 << 20  // bytes of large frames that have not come whole
	writeWithin  = 5 * time.Second
	firstWithin  = 5 * time.Second  // what a connection is for must begin by then
	frameWithin  = 30 * time.Second // a frame that has begun must be whole by then
	goodbyeAfter = time.Second      // how long a peer has to answer a close frame
)

// role is what a connection is for. All but idle, leave and gone are called by
// the goroutine that reads.
type role interface {
	// largest returns the size of the largest message in bytes.
	largest() int
	// greet says what the relay says first.
	greet()
	// message handles one binary message. A code ends the connection.
	message(p []byte, now int64) ws.Code
	// settle is called when all messages of one read were handled.
	settle()
	// idle is called now and then by the connection's wheel.
	idle(now int64)
	// leave is called when the hub is to be empty soon.
	leave()
	// gone is called last: nothing uses the connection any more.
	gone()
}

// state of a connection. It only goes up.
type state byte

const (
	open   state = iota
	ending       // a close frame is the last thing in the queue
	said         // everything was written: the peer's turn
	closed
)

// conn is one connection, put or watch.
type conn struct {
	hub     *Hub
	role    role
	what    gate.What
	release func() // of the limiter
	remote  string // whom it is for, as net/http or a proxy that is believed has it: for shares
	wheel   *wheel
	born    int64

	nc     net.Conn        // the socket; under TLS what TLS runs over
	turn   turn            // the reader's
	stream net.Conn        // what frames go through: nc, or TLS over it
	raw    syscall.RawConn // nil: nc can only be waited for
	tls    *tls.Conn       // with raw: TLS over inner
	inner  *inner

	started atomic.Bool  // a message has come
	busy    atomic.Bool  // the reader works on something long and hears nothing
	over    atomic.Bool  // not open: what comes is not listened to
	byPeer  atomic.Bool  // the peer sent the close frame
	seen    atomic.Int64 // when the last frame came
	partial atomic.Int64 // when the frame began that has not come whole, 0: there is none

	mu       sync.Mutex // guards the fields up to the blank line
	state    state
	queue    []*buffer // what waits, in pieces
	queued   int       // bytes in the queue and on their way into the socket
	promised bool      // somebody will flush
	behind   bool      // a goroutine waits for its reader
	flushing bool      // somebody writes, and will look at the queue again
	room     *sync.Cond
	pushed   int64 // when the first cell went that no frame came after, 0: there is none
	last     int64 // when the last cell went
	pinged   int64 // when the ping went that is not answered, 0: there is none
	lifeAt   int64 // what life is set to

	life timer

	attempt func(fd uintptr) bool // bound once: the flusher's one try at writing out
	out     []byte                // these three are the flusher's
	taken   int
	outErr  error
}

// init makes a connection of a stream. Nothing has been read from it beyond its
// handshake.
func (c *conn) init(h *Hub, nc net.Conn, what gate.What, r role) {
	c.hub, c.role, c.what, c.nc, c.stream = h, r, what, nc, nc
	if t, ok := nc.(*tls.Conn); ok {
		c.nc = t.NetConn()
		if in, ok := c.nc.(*inner); ok {
			c.nc = in.Conn
			if c.raw = rawOf(in.Conn); c.raw != nil {
				c.tls, c.inner = t, in
				in.start(&h.ciphers)
			}
		}
	} else {
		c.raw = rawOf(nc)
	}
	c.attempt = c.writeOnce
	c.wheel = h.wheels[h.turn.Add(1)%uint32(len(h.wheels))]
	c.born = h.now()
	c.seen.Store(c.born)
	c.life.fire = c.check
}

// serve is the life of a connection, on a goroutine of its own.
func (c *conn) serve() {
	h := c.hub
	defer h.leave()
	c.mu.Lock()
	c.visitBefore(c.born + int64(firstWithin))
	c.mu.Unlock()
	c.role.greet()
	c.read()
	c.abort(false)
	c.wheel.disarm(&c.life)
	c.role.gone()
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
	c.release()
}

// space returns n bytes at the end of the queue, or nil if the connection takes
// no more. A peer that reads too slowly is cut off here. Callers hold mu.
func (c *conn) space(n int) []byte {
	if c.state != open {
		return nil
	}
	if c.queued+n > queueLimit {
		c.shut(true)
		return nil
	}
	k := len(c.queue)
	if k == 0 || len(c.queue[k-1].b)+n > putBuffer {
		if !c.hub.backlog.take(c.behind) {
			c.shut(true)
			return nil
		}
		c.queue = append(c.queue, c.hub.puts.get())
		k++
	}
	x := c.queue[k-1]
	at := len(x.b)
	x.b = x.b[:at+n]
	c.queued += n
	return x.b[at:]
}

// frame queues a frame of n bytes and returns where its payload goes, or nil as
// space does. Callers hold mu.
func (c *conn) frame(op ws.Op, n int) []byte {
	var header [ws.MaxHeader]byte
	head := ws.AppendHeader(header[:0], op, n)
	b := c.space(len(head) + n)
	if b == nil {
		return nil
	}
	return b[copy(b, head):]
}

// send queues a frame and gets it written.
func (c *conn) send(op ws.Op, payload []byte) {
	c.mu.Lock()
	copy(c.frame(op, len(payload)), payload)
	c.mu.Unlock()
	c.flush()
}

// end closes the connection in good order: what waits is written, then a close
// frame, then the peer has a moment to say goodbye as well.
func (c *conn) end(code ws.Code) {
	c.mu.Lock()
	if b := c.space(4); b != nil {
		ws.AppendClose(b[:0], code)
		c.state = ending
		c.over.Store(true)
		c.lifeAt = c.hub.now() + int64(goodbyeAfter)
		c.wheel.arm(&c.life, c.lifeAt)
	}
	c.mu.Unlock()
	c.flush()
}

// finish is called by the flusher when everything has been written after end.
func (c *conn) finish() {
	w, ok := c.nc.(interface{ CloseWrite() error })
	if ok && c.raw != nil && !c.byPeer.Load() && w.CloseWrite() == nil {
		return // closing now could destroy what the peer has not read yet
	}
	c.abort(false)
}

// abort ends the connection at once. reset says that the system need not bring
// home what was written. The goroutine that reads ends soon after.
func (c *conn) abort(reset bool) {
	c.mu.Lock()
	c.shut(reset)
	c.mu.Unlock()
}

// shut is abort for holders of mu. Closing a socket can wait for whoever uses
// it, so that is done by somebody else.
func (c *conn) shut(reset bool) {
	if c.state == closed {
		return
	}
	c.state = closed
	c.over.Store(true)
	for _, x := range c.queue {
		c.hub.puts.put(x)
	}
	c.hub.backlog.give(len(c.queue))
	c.queue = nil
	if c.room != nil {
		c.room.Broadcast()
	}
	c.hub.spawn(func() {
		if t, ok := c.nc.(interface{ SetLinger(int) error }); ok && reset {
			t.SetLinger(0)
		}
		c.nc.Close()
	})
}
