package hub

import (
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// smallFrame is the largest frame, in bytes, of which a part is copied around.
// Parts of larger ones stay in a slice of their own that the socket is read into.
const smallFrame = 4 << 10

// muteLimit is how many bytes a peer may send in TLS, whose records are up to
// 16 KiB, without anything in them that is for us: TLS would keep them.
const muteLimit = 32 << 10

// reader is what the goroutine that reads a connection keeps. Between two reads
// it holds no buffer, only the part of a frame that has come.
type reader struct {
	c     *conn
	pool  *pool
	buf   *buffer // while reading
	carry []byte  // the start of a frame that has not come whole; with room for the rest if that is large

	fed    *buffer // under TLS, while reading: what came from the socket
	opened bool    // what came with the handshake was read
	give   func()  // gives back the room of a large carry
	mute   int     // bytes that TLS took since it last had something for us
	queue  bool    // the last try found no turn free
	n      int     // outcome of the last try
	err    error
	try    func(fd uintptr) bool // bound once
}

// read reads until the connection ends.
func (c *conn) read() {
	r := &reader{c: c, pool: &c.hub.words}
	if c.what == putRole && c.raw != nil {
		r.pool = &c.hub.puts
	}
	r.try = r.attempt
	for on := true; on; {
		on = r.next()
		c.flushOwn() // what was queued in answer, also by TLS
		c.role.settle()
		c.yield()
	}
	clear(r.carry)
	r.part(0)
}

// next waits until something has come and handles it: under TLS all records of
// one read, since crypto/tls gives one at a time. It reports whether the
// connection goes on. What came together with its end was handled all the same.
func (r *reader) next() bool {
	c := r.c
	defer r.release()
	if c.raw == nil { // and here we hold a buffer meanwhile
		r.n, r.err = c.stream.Read(r.target())
		r.took(r.n)
		return r.err == nil
	}
	if c.tls == nil || r.opened {
		for r.queue = true; r.queue; {
			if c.raw.Read(r.try) != nil {
				return false
			}
			if r.queue {
				c.queueUp()
			}
		}
		if r.err != nil || r.n == 0 {
			return false
		}
		if c.tls == nil {
			r.took(r.n)
			return true
		}
		r.fed.b = r.fed.b[:r.n]
		c.inner.in = r.fed.b
	}
	r.opened = true
	r.mute += len(c.inner.in)
	for {
		n, err := c.tls.Read(r.target())
		if r.took(n); n > 0 {
			r.mute = 0
		}
		if _, dry := err.(dry); dry {
			return r.mute <= muteLimit
		}
		if err != nil {
			return false
		}
	}
}

// attempt is called by the runtime's poller with the socket, until it is true.
func (r *reader) attempt(fd uintptr) bool {
	var again bool
	if r.c.turn.heavy() && !r.c.turn.has && dryFD(fd) {
		return false // nobody stands in line to see that there is nothing
	}
	if r.queue = !r.c.try(); r.queue {
		return true
	}
	if r.c.tls == nil {
		r.n, again, r.err = readFD(fd, r.target())
	} else {
		r.fed = r.pool.get()
		r.n, again, r.err = readFD(fd, r.fed.b[:cap(r.fed.b)])
	}
	if again {
		r.release()
		r.c.yield()
	}
	return !again
}

func (r *reader) direct() bool { return cap(r.carry) > smallFrame }

// target returns where the next bytes go.
func (r *reader) target() []byte {
	if r.direct() {
		return r.carry[len(r.carry):cap(r.carry)]
	}
	if r.buf == nil {
		r.buf = r.pool.get()
	}
	clear(r.buf.b)
	r.buf.b = append(r.buf.b[:0], r.carry...)
	return r.buf.b[len(r.buf.b):cap(r.buf.b)]
}

// release gives the buffers back.
func (r *reader) release() {
	if r.buf != nil {
		r.pool.put(r.buf)
	}
	if r.fed != nil {
		r.c.inner.in = nil
		r.pool.put(r.fed)
	}
	r.buf, r.fed = nil, nil
}

// took handles n bytes that were read into target.
func (r *reader) took(n int) {
	if n == 0 {
		return
	}
	c := r.c
	now := c.hub.now()
	c.seen.Store(now)
	c.turn.charge(n, now)
	var b []byte
	if r.direct() {
		r.carry = r.carry[:len(r.carry)+n]
		b = r.carry
	} else {
		r.buf.b = r.buf.b[:len(r.buf.b)+n]
		b = r.buf.b
	}
	rest, total := r.frames(b, now)
	if len(rest) == 0 {
		c.partial.Store(0)
	} else if len(rest) < len(b) || c.partial.Load() == 0 {
		c.partial.Store(now)
	}
	r.keep(rest, total)
}

// keep keeps the part of a frame of total bytes, or of an unknown size if 0.
func (r *reader) keep(rest []byte, total int) {
	old := r.carry
	room := max(len(rest), total, ws.MaxHeader)
	switch {
	case len(rest) == 0:
		r.carry = nil
		r.part(0)
	case r.direct() && len(old) < cap(old):
		return // it grew where it is
	case total > smallFrame: // no more room than twice what has come: a header alone is cheap to send
		room = min(total, max(2*len(rest), 2*smallFrame))
		if !r.part(room) {
			r.carry = nil
			r.c.end(ws.TryLater)
			break
		}
		fallthrough
	default:
		if total <= smallFrame {
			r.part(0)
		}
		r.carry = append(make([]byte, 0, room), rest...)
	}
	clear(old)
}

// part takes room for n bytes of a large frame, in place of what it has. It
// reports whether there was any.
func (r *reader) part(n int) (ok bool) {
	if r.give != nil {
		r.give()
		r.give = nil
	}
	if n > 0 {
		r.give, ok = r.c.hub.parts.Take(r.c.remote, int64(n))
	}
	return ok
}

// frames handles the whole frames in b and returns what comes after, and how
// large the frame is that begins there, 0 if that is not known.
func (r *reader) frames(b []byte, now int64) (rest []byte, total int) {
	c := r.c
	for len(b) > 0 && !c.over.Load() {
		h, code := ws.ParseHeader(b, c.role.largest())
		switch {
		case code != 0:
			c.end(code)
			return nil, 0
		case h.Size == 0:
			return b, 0
		case len(b) < h.Size+h.Length:
			return b, h.Size + h.Length
		}
		p := b[h.Size : h.Size+h.Length]
		c.turn.charge(perFrame, now)
		b = b[h.Size+h.Length:]
		ws.Mask(p, h.Key)
		if code := c.one(h.Op, p, now); code != 0 {
			c.end(code)
		}
	}
	return nil, 0
}

// one handles a frame. A code ends the connection.
func (c *conn) one(op ws.Op, p []byte, now int64) ws.Code {
	switch op {
	case ws.Binary:
		if !c.started.Load() {
			c.started.Store(true)
		}
		return c.role.message(p, now)
	case ws.Ping:
		c.mu.Lock()
		copy(c.frame(ws.Pong, len(p)), p)
		c.mu.Unlock()
	case ws.Close:
		c.byPeer.Store(true)
		return ws.Reply(p)
	}
	return 0
}
