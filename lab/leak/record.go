package leak

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Kind says what an observation is.
type Kind byte

// Kinds of observations.
const (
	Watched   Kind = iota + 1 // a watch frame: addresses, with their period
	Unwatched                 // an unwatch frame
	PutCell                   // a cell to an address, from the client
	Delivered                 // a cell to who watches its address, from the relay
	Echoed                    // a receipt echo: the number of the delivery on this connection
	Confirmed                 // the relay's word on how many addresses a connection watches
	Answered                  // an answer to a put, with its count
	Ping                      // from the relay
	Pong                      // from the client
	Other                     // any other frame or part of a body; only its size is kept
)

// Event is one thing that a relay sees on a connection.
type Event struct {
	At     time.Duration // since the recorder began
	Kind   Kind
	In     bool  // from the client
	Size   int   // bytes
	Addr   int   // number of the address; of a watch frame the first in Conn.Set
	Count  int   // of Watched: addresses; of Confirmed: addresses; of Answered: devices; of Echoed: the nonce
	Period int64 // of Watched
	Nonce  int   // of Delivered
	Cell   int64 // of PutCell and Delivered: the first eight bytes of the cell, which no other has
}

// Conn is one connection as its relay sees it.
type Conn struct {
	From   netip.Addr    // network address of the other end
	Opened time.Duration // when it was accepted
	Closed time.Duration // when either end closed it; 0 while it is open
	Path   string        // of its request, and the blob's id with it
	Method string
	Events []Event
	Set    []int  // numbers of addresses that were watched over it, in order
	owner  int    // whose it is: known to the lab alone, for scoring
	bytes  [2]int // carried, in and out
	pieces [2]int // reads and writes of the relay that carried them
}

// Owner is whose connection it is, by number. Only who made the people may know.
func (c *Conn) Owner() int { return c.owner }

// Carried returns the bytes from the client and from the relay, and in how many
// pieces the relay read and wrote them.
func (c *Conn) Carried() (bytes, pieces [2]int) { return c.bytes, c.pieces }

// Recorder keeps what passes a relay's connections, as the relay itself reads and
// writes it. Numbers stand for addresses: the same number is the same address.
type Recorder struct {
	mu      sync.Mutex // guards all below
	began   time.Time
	conns   []*Conn
	numbers map[wire.Address]int
}

// NewRecorder begins now.
func NewRecorder() *Recorder {
	return &Recorder{began: time.Now(), numbers: map[wire.Address]int{}}
}

// attach records a connection's end at the relay.
func (r *Recorder) attach(c net.Conn, from netip.Addr, owner int) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := &Conn{From: from, Opened: time.Since(r.began), owner: owner}
	r.conns = append(r.conns, k)
	return &recorded{Conn: c, r: r, to: k}
}

func (r *Recorder) number(a wire.Address) int {
	n, ok := r.numbers[a]
	if !ok {
		n = len(r.numbers) + 1
		r.numbers[a] = n
	}
	return n
}

// Trace returns what was recorded.
func (r *Recorder) Trace() *Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Trace{Conns: r.conns, End: time.Since(r.began), first: r.began.Unix() / livePeriod}
}

// recorded is a connection that is listened to.
type recorded struct {
	net.Conn
	r     *Recorder
	to    *Conn
	parts [2]parser // in, out: guarded by the recorder's mutex
}

// Read takes what the client sent.
func (c *recorded) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.heard(0, b[:n])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		c.ended()
	}
	return n, err
}

// Write takes what the relay says, before it is said: else the answer to it could
// be seen first.
func (c *recorded) Write(b []byte) (int, error) {
	c.heard(1, b)
	return c.Conn.Write(b)
}

// Close notes the time.
func (c *recorded) Close() error {
	c.ended()
	return c.Conn.Close()
}

func (c *recorded) ended() {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if c.to.Closed == 0 {
		c.to.Closed = max(1, time.Since(c.r.began)) // 0 stands for open
	}
}

func (c *recorded) heard(way int, b []byte) {
	if len(b) == 0 {
		return
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.to.bytes[way] += len(b)
	c.to.pieces[way]++
	p := &c.parts[way]
	p.rest = append(p.rest, b...)
	for c.take(p, way == 0) {
	}
}

// parser holds what has not come whole.
type parser struct {
	rest []byte
	head bool // the head of the request or answer has passed
	plan bool // what follows is no frames
}

// take handles the next whole piece, if there is one. Callers hold the mutex.
func (c *recorded) take(p *parser, in bool) bool {
	if !p.head {
		i := bytes.Index(p.rest, []byte("\r\n\r\n"))
		if i < 0 {
			return false
		}
		head := string(p.rest[:i])
		if in {
			f := strings.Fields(head)
			if len(f) > 1 {
				c.to.Method, c.to.Path = f[0], f[1]
			}
			p.plan = !strings.Contains(strings.ToLower(head), "upgrade: websocket")
		} else {
			p.plan = !strings.HasPrefix(head, "HTTP/1.1 101 ")
		}
		p.head = true
		p.rest = p.rest[i+4:]
		return len(p.rest) > 0
	}
	if len(p.rest) == 0 {
		return false
	}
	if p.plan {
		c.note(Event{Kind: Other, In: in, Size: len(p.rest)})
		p.rest = p.rest[:0]
		return false
	}
	op, payload, n := frame(p.rest)
	if n == 0 {
		return false
	}
	c.frame(op, payload, in)
	p.rest = p.rest[:copy(p.rest, p.rest[n:])]
	return len(p.rest) > 0
}

func (c *recorded) note(e Event) {
	e.At = time.Since(c.r.began)
	c.to.Events = append(c.to.Events, e)
}

// frame reads one WebSocket frame (RFC 6455, Section 5.2) at the start of b, and
// unmasks it in place. n is 0 if it is not whole.
func frame(b []byte) (op byte, payload []byte, n int) {
	if len(b) < 2 {
		return 0, nil, 0
	}
	size, at := int(b[1]&0x7F), 2
	switch size {
	case 126:
		if len(b) < 4 {
			return 0, nil, 0
		}
		size, at = int(binary.BigEndian.Uint16(b[2:])), 4
	case 127:
		if len(b) < 10 {
			return 0, nil, 0
		}
		size, at = int(binary.BigEndian.Uint64(b[2:])), 10
	}
	var mask []byte
	if b[1]&0x80 != 0 {
		if len(b) < at+4 {
			return 0, nil, 0
		}
		mask, at = b[at:at+4], at+4
	}
	if len(b) < at+size {
		return 0, nil, 0
	}
	payload = b[at : at+size]
	if mask != nil {
		for i := range payload {
			payload[i] ^= mask[i%4]
		}
	}
	return b[0] & 0x0F, payload, at + size
}

// frame notes what a frame says, as anybody can tell who reads the specification.
//
// spec: relay-api.md#watch
func (c *recorded) frame(op byte, p []byte, in bool) {
	e := Event{Kind: Other, In: in, Size: len(p)}
	switch {
	case op == 0x9:
		e.Kind = Ping
	case op == 0xA:
		e.Kind = Pong
	case op != 0x2:
	case c.to.Path == "/v1/put" && in:
		for ; len(p) >= wire.PutSize; p = p[wire.PutSize:] {
			c.note(Event{Kind: PutCell, In: true, Size: wire.PutSize, Addr: c.r.number(wire.Address(p[wire.PutIDSize:])),
				Cell: int64(binary.BigEndian.Uint64(p[wire.PutIDSize+wire.AddressSize:]))})
		}
		return
	case c.to.Path == "/v1/put":
		for ; len(p) >= wire.AnswerSize; p = p[wire.AnswerSize:] {
			a, _ := wire.ParseAnswer(p[:wire.AnswerSize])
			c.note(Event{Kind: Answered, Size: wire.AnswerSize, Count: int(a.Delivered)})
		}
		return
	case len(p) == 0:
	default:
		c.watching(wire.FrameKind(p[0]), p, &e)
		if e.Kind == 0 {
			return
		}
	}
	c.note(e)
}

// watching reads a frame of a watch connection. It clears the kind of an event
// that it has noted itself.
func (c *recorded) watching(kind wire.FrameKind, p []byte, e *Event) {
	switch kind {
	case wire.FrameWatch:
		if len(p) < wire.WatchHeader {
			return
		}
		e.Kind, e.Addr, e.Period = Watched, len(c.to.Set), int64(binary.BigEndian.Uint64(p[2:]))
		for q := p[wire.WatchHeader:]; len(q) >= wire.ProofSize; q = q[wire.ProofSize:] {
			c.to.Set = append(c.to.Set, c.r.number(wire.Address(q)))
			e.Count++
		}
	case wire.FrameUnwatch:
		e.Kind = Unwatched
	case wire.FrameWatched:
		if len(p) >= 3 {
			e.Kind, e.Count = Confirmed, int(binary.BigEndian.Uint16(p[1:]))
		}
	case wire.FrameDeliver:
		if len(p) != wire.DeliverSize {
			return
		}
		e.Kind = Delivered
		e.Nonce = int(binary.BigEndian.Uint64(p[1:]))
		e.Addr = c.r.number(wire.Address(p[1+wire.EchoNonceSize:]))
		e.Cell = int64(binary.BigEndian.Uint64(p[1+wire.EchoNonceSize+wire.AddressSize:]))
	case wire.FrameEcho:
		for q := p[1:]; len(q) >= wire.EchoNonceSize; q = q[wire.EchoNonceSize:] {
			c.note(Event{Kind: Echoed, In: true, Size: wire.EchoNonceSize, Count: int(binary.BigEndian.Uint64(q))})
		}
		e.Kind = 0
	}
}
