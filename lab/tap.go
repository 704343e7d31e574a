package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// maxHead bounds the head of a request, in bytes.
const maxHead = 16 << 10

// Tap stands between people and a relay, where the relay itself stands: it
// reads every byte that the relay is given and gives, on loopback without TLS.
// It writes down what it saw, and it can cut, swallow and repeat. It does not
// alter a frame.
type Tap struct {
	ln     net.Listener
	target string
	tasks  sync.WaitGroup

	mu       sync.Mutex // guards all below
	closed   bool
	open     map[net.Conn]bool // both ends of everything
	shut     map[string]bool   // network addresses that do not get through
	record   bool
	seen     []Sighting
	mischief Mischief
	dice     *rand.Rand
	counts   Pranks
}

// Mischief says how often a tap does what a bad network or relay does to one
// frame: probabilities from 0 to 1.
type Mischief struct {
	Swallow float64 // a cell to a watching device, or its receipt echo, never arrives
	Repeat  float64 // a cell arrives at a watching device twice
	Cut     float64 // the connection breaks after a frame of any sort, or before it
}

// Pranks counts what a tap did.
type Pranks struct{ Swallowed, Repeated, Cut int }

// NewTap listens on a port of loopback for the relay at target.
func NewTap(target string, record bool, seed uint64) (*Tap, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the tap: %w", err)
	}
	t := &Tap{ln: ln, target: target, record: record, open: map[net.Conn]bool{}, dice: rand.New(rand.NewPCG(seed, seed))}
	t.tasks.Go(t.accept)
	return t, nil
}

// Name is what people call the relay: where the tap listens.
func (t *Tap) Name() string { return t.ln.Addr().String() }

// Close ends everything.
func (t *Tap) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	err := t.ln.Close()
	t.Cut()
	t.tasks.Wait()
	return err
}

// Cut breaks every connection there is.
func (t *Tap) Cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.open {
		c.Close()
	}
}

// Shut takes the network from whoever has an address, with every connection there is,
// or gives it back.
func (t *Tap) Shut(ip string, shut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut == nil {
		t.shut = map[string]bool{}
	}
	t.shut[ip] = shut
	for c := range t.open {
		if shut && t.barred(c) {
			c.Close()
		}
	}
}

// barred reports whether a connection to people is of one who is shut out. Callers
// hold mu.
func (t *Tap) barred(c net.Conn) bool {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	return ok && t.shut[a.IP.String()]
}

// Play begins mischief, or ends it with the zero Mischief.
func (t *Tap) Play(m Mischief) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mischief = m
}

// Pranks returns what was done so far.
func (t *Tap) Pranks() Pranks {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}

// Seen returns what was seen since a moment.
func (t *Tap) Seen(since time.Time) (all []Sighting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.seen {
		if !s.At.Before(since) {
			all = append(all, s)
		}
	}
	return all
}

func (t *Tap) accept() {
	for {
		c, err := t.ln.Accept()
		if err != nil {
			return
		}
		t.tasks.Go(func() { t.serve(c) })
	}
}

// keep takes a connection into those that Cut breaks.
func (t *Tap) keep(c net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	good := !t.closed && !t.barred(c)
	if good {
		t.open[c] = true
	}
	return good
}

func (t *Tap) drop(c net.Conn) {
	c.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

// serve carries one connection. Towards the relay it has the network address of
// whoever opened it.
func (t *Tap) serve(c net.Conn) {
	defer t.drop(c)
	if !t.keep(c) {
		return
	}
	peer := c.RemoteAddr().(*net.TCPAddr)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: peer.IP}, Timeout: 5 * time.Second, KeepAlive: -1}
	r, err := d.Dial("tcp", t.target)
	if err != nil {
		return
	}
	defer t.drop(r)
	if !t.keep(r) {
		return
	}
	l := &line{tap: t, peer: peer.String(), up: bufio.NewReader(c), down: bufio.NewReader(r), client: c, relay: r}
	l.run()
}

// note writes down what was seen.
func (t *Tap) note(s Sighting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.record {
		t.seen = append(t.seen, s)
	}
}

// fate is what becomes of one frame.
type fate int

const (
	pass fate = iota
	swallow
	repeat
	cutBefore
	cutAfter
)

// decide throws the dice for a frame.
func (t *Tap) decide(s *Sighting) fate {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.mischief
	kind := s.Kind()
	if m == (Mischief{}) || kind != KindPut && kind != KindCell && kind != KindEcho && kind != KindAnswer {
		return pass
	}
	switch u := t.dice.Float64(); {
	case u < m.Cut/2:
		t.counts.Cut++
		return cutBefore
	case u < m.Cut:
		t.counts.Cut++
		return cutAfter
	case u < m.Cut+m.Swallow && (kind == KindCell || kind == KindEcho):
		t.counts.Swallowed++
		return swallow
	case u > 1-m.Repeat && kind == KindCell:
		t.counts.Repeated++
		return repeat
	}
	return pass
}

// line is one connection through the tap.
type line struct {
	tap           *Tap
	peer          string
	path          string
	up, down      *bufio.Reader
	client, relay net.Conn
}

// run carries a request, then frames if it opened a WebSocket.
func (l *line) run() {
	head, err := readHead(l.up)
	if err != nil {
		return
	}
	if f := strings.Fields(string(head)); len(f) > 1 {
		l.path = f[1]
	}
	l.note(true, opHead, head)
	if _, err := l.relay.Write(head); err != nil {
		return
	}
	if !bytes.Contains(bytes.ToLower(head), []byte("\r\nupgrade: websocket\r\n")) {
		l.both(func() { l.copy(true, l.up, l.relay) }, func() { l.copy(false, l.down, l.client) })
		return
	}
	answer, err := readHead(l.down)
	if err != nil {
		return
	}
	l.note(false, opHead, answer)
	if _, err := l.client.Write(answer); err != nil {
		return
	}
	l.both(func() { l.frames(true, l.up, l.relay) }, func() { l.frames(false, l.down, l.client) })
}

// both runs the two directions; when one ends the other soon does.
func (l *line) both(up, down func()) {
	var wg sync.WaitGroup
	wg.Go(func() { up(); l.relay.(*net.TCPConn).CloseWrite() })
	wg.Go(func() {
		down()
		l.client.(*net.TCPConn).CloseWrite()
		l.relay.Close()
		l.client.(*net.TCPConn).CloseRead()
	})
	wg.Wait()
}

func (l *line) note(toRelay bool, op byte, payload []byte) Sighting {
	s := Sighting{At: time.Now(), Peer: l.peer, Path: l.path, ToRelay: toRelay, op: op, Payload: payload}
	l.tap.note(s)
	return s
}

// copy carries bytes that are no frames.
func (l *line) copy(toRelay bool, from *bufio.Reader, to net.Conn) {
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			l.note(toRelay, opBody, bytes.Clone(b[:n]))
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// frames carries frames.
func (l *line) frames(toRelay bool, from *bufio.Reader, to net.Conn) {
	for {
		raw, op, payload, err := readFrame(from)
		if err != nil {
			return
		}
		s := l.note(toRelay, op, payload)
		f := l.tap.decide(&s)
		if f == repeat {
			raw = append(raw, raw...)
		}
		if f == cutBefore {
			l.cut()
			return
		}
		if f != swallow {
			if _, err := to.Write(raw); err != nil {
				return
			}
		}
		if f == cutAfter {
			l.cut()
			return
		}
	}
}

func (l *line) cut() {
	l.client.Close()
	l.relay.Close()
}

// readHead reads the head of a request or an answer.
func readHead(r *bufio.Reader) (head []byte, err error) {
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		part, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if head = append(head, part...); len(head) > maxHead {
			return nil, io.ErrShortBuffer
		}
	}
	return head, nil
}
