package hub

import (
	"bytes"
	"time"
)

// flush writes what waits, without ever blocking its caller: what the system
// does not take at once is left to a goroutine.
func (c *conn) flush() {
	c.mu.Lock()
	c.flushLocked()
}

// flushOwn is flush for the goroutine that reads the connection. If somebody else
// is about to flush, more is about to come, and all of it leaves in one write.
func (c *conn) flushOwn() {
	c.mu.Lock()
	if c.promised { // looked at and flushed under one lock: between two, a putter could begin
		c.mu.Unlock()
		return
	}
	c.flushLocked()
}

// flushLocked is flush for who holds mu, which it gives back.
func (c *conn) flushLocked() {
	c.promised = false
	if c.flushing || c.state == closed || !c.waiting() {
		c.mu.Unlock()
		return
	}
	c.flushing = true
	c.mu.Unlock()
	c.pump(0, false)
}

// waiting reports whether there is anything to write. Callers hold mu.
func (c *conn) waiting() bool {
	return len(c.queue) > 0 || c.inner != nil && c.inner.pending()
}

// todo is what a flusher does next.
type todo byte

const (
	stop     todo = iota
	write         // a piece, or what TLS has to say on its own account
	farewell      // tell TLS that it ends
	finish
)

// next takes a piece of the queue. written is the size of the piece before it.
// The piece is nil if there is only what TLS has to say on its own account.
func (c *conn) next(written int) (*buffer, todo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued -= written
	c.hub.backlog.wrote(written)
	if c.room != nil {
		c.room.Broadcast()
	}
	switch {
	case c.state == closed:
		c.flushing = false
		return nil, stop
	case len(c.queue) > 0:
		x := c.queue[0]
		n := copy(c.queue, c.queue[1:])
		c.queue[n] = nil
		c.queue = c.queue[:n]
		return x, write
	case c.waiting():
		return nil, write
	case c.state == ending && c.tls != nil && !c.inner.bye:
		c.inner.bye = true
		return nil, farewell
	}
	c.flushing = false
	if c.state == ending {
		c.state = said
		return nil, finish
	}
	if cap(c.queue) > 1 {
		c.queue = nil
	}
	return nil, stop
}

// pump writes until nothing waits. Whoever set flushing calls it, and it or the
// goroutine it leaves the rest to clears flushing. written is the size of a
// piece that was written before; patient says that the caller may wait.
func (c *conn) pump(written int, patient bool) {
	for {
		x, todo := c.next(written)
		switch todo {
		case stop:
			return
		case finish:
			c.finish()
			return
		case farewell:
			c.tls.CloseWrite() // which is collected, and written next
		}
		written = 0
		if x != nil {
			written = len(x.b)
		}
		rest, err := c.push(x)
		switch {
		case err != nil:
			c.hub.backlog.wrote(written)
			c.abort(true)
			return
		case len(rest) == 0:
		case !patient:
			if !c.hub.spawn(func() {
				c.hub.backlog.behind(c)
				defer c.hub.backlog.caughtUp(c)
				if c.wait(rest) {
					c.pump(written, true)
				} else {
					c.hub.backlog.wrote(written)
				}
			}) {
				c.hub.backlog.wrote(written)
				c.abort(true)
			}
			return
		case !c.wait(rest):
			c.hub.backlog.wrote(written)
			return
		}
	}
}

// push writes a piece, encrypting it first where we do that. It returns a copy
// of what the system did not take, and gives the piece back.
func (c *conn) push(x *buffer) (rest []byte, err error) {
	from := &c.hub.puts
	if c.inner != nil {
		if x != nil {
			_, err = c.tls.Write(x.b)
			from.put(x)
		}
		if x, from = c.inner.take(), &c.hub.ciphers; x == nil || err != nil {
			return nil, err
		}
	}
	if c.raw != nil {
		c.out, c.taken, c.outErr = x.b, 0, nil
		err = c.raw.Write(c.attempt)
		c.out = nil
		if err == nil {
			err = c.outErr
		}
	}
	if err == nil && c.taken < len(x.b) {
		rest = bytes.Clone(x.b[c.taken:])
	}
	from.put(x)
	return rest, err
}

// writeOnce is called by the runtime's poller with the socket.
func (c *conn) writeOnce(fd uintptr) bool {
	c.taken, c.outErr = writeFD(fd, c.out)
	return true
}

// wait writes what the system did not take at once and waits until it has, or
// cuts off a peer that reads too slowly.
func (c *conn) wait(rest []byte) bool {
	to := c.nc
	if c.tls == nil {
		to = c.stream
	}
	to.SetWriteDeadline(time.Now().Add(writeWithin))
	_, err := to.Write(rest)
	clear(rest)
	if err != nil {
		c.abort(true)
		return false
	}
	to.SetWriteDeadline(time.Time{}) // else the next try without waiting would fail
	return true
}
