package load

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"time"
	"unsafe"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes of read buffers, in bytes.
const (
	busyRead = 128 << 10
	idleRead = 2 << 10
	maxRead  = 1 << 20 // a message longer than this is an error
)

// dialTimeout is for a connection and all that is said until it is ready.
const dialTimeout = time.Minute

// mailbox is an address as each protocol knows it.
type mailbox struct {
	private ed25519.PrivateKey
	address wire.Address
	name    string // a subject, topic or channel: 54 characters
}

func newMailbox() *mailbox {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:])
	return mailboxOf(seed)
}

func mailboxOf(seed [ed25519.SeedSize]byte) *mailbox {
	m := &mailbox{private: ed25519.NewKeyFromSeed(seed[:])}
	copy(m.address[:], m.private[ed25519.SeedSize:])
	m.name = "c." + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(m.address[:]))
	return m
}

// The beginning of each cell says when it was due, and by whom: due 8 ‖ sender 4 ‖ number 8.
const stampSize = 8 + 4 + 8

func stamp(cell []byte, due int64, sender uint32, number uint64) {
	binary.BigEndian.PutUint64(cell, uint64(due))
	binary.BigEndian.PutUint32(cell[8:], sender)
	binary.BigEndian.PutUint64(cell[12:], number)
}

func stamped(cell []byte) (due int64, sender uint32, number uint64) {
	return int64(binary.BigEndian.Uint64(cell)), binary.BigEndian.Uint32(cell[8:]), binary.BigEndian.Uint64(cell[12:])
}

// dialect is what the clients of one server say.
type dialect interface {
	// watch opens a connection that receives what is put to the mailboxes, and
	// returns when the server has promised so. It echoes if echo is set.
	watch(s *server, boxes []*mailbox, echo bool) (*line, error)
	// put opens a connection that puts cells. inbox is where echoes go, where
	// the server has no way of its own.
	put(s *server, inbox *mailbox, echo bool) (*line, error)
}

// line is one connection of a client that is ready.
type line struct {
	net.Conn
	early []byte // came with the last answer of the handshake
	talk
}

// talk is the protocol on one connection. It is for one reading goroutine,
// except for appendPut, which is for one writing goroutine.
type talk interface {
	// parse takes whole messages from the front of b and returns the rest.
	parse(b []byte, on *events) ([]byte, error)
	// owed appends what the client has to say to what it took: pongs, echoes.
	owed(out []byte) []byte
	// appendPut appends one put to a mailbox.
	appendPut(out []byte, to *mailbox, id uint64, cell []byte) []byte
}

// events are what a client hears.
type events struct {
	cell   func(cell []byte)                                // it came; valid until cell returns
	answer func(id uint64, delivered uint16, complete bool) // of a put; nil if nobody asks
	read   func()                                           // before the first cell of each read
	done   func(cells int)                                  // after all of them were echoed
}

// listen reads until the connection ends.
func (l *line) listen(size int, on *events) error {
	buf := make([]byte, size)
	n := copy(buf, l.early)
	if n < len(l.early) {
		return fmt.Errorf("a server sent %d bytes ahead", len(l.early))
	}
	l.early = nil
	cells := 0
	each := *on
	each.cell = func(cell []byte) { cells++; on.cell(cell) }
	var out []byte
	for {
		if on.read != nil {
			on.read()
		}
		rest, err := l.parse(buf[:n], &each)
		if err != nil {
			return err
		}
		if n = copy(buf, rest); n == len(buf) {
			if n >= maxRead {
				return errFrame
			}
			buf = append(buf, make([]byte, n)...)
		}
		if out = l.owed(out[:0]); len(out) > 0 {
			if _, err := l.Write(out); err != nil {
				return err
			}
		}
		if cells > 0 && on.done != nil {
			on.done(cells)
			cells = 0
		}
		k, err := l.Read(buf[n:])
		if err != nil {
			return err
		}
		n += k
	}
}

// tries is how often a client asks for a connection before it gives up. A machine
// that stands still for some seconds makes a server refuse one.
const tries = 3

// join is watch for those who come again when they were refused.
func (s *server) join(boxes []*mailbox, echo bool) (l *line, err error) {
	for range tries {
		if l, err = s.watch(s, boxes, echo); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// dial opens a connection to s, with TLS 1.3 if s has it. Who answers is not
// checked: we started it, and a load has no secrets.
func (s *server) dial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", s.addr, dialTimeout)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(dialTimeout))
	if !s.tls {
		return c, nil
	}
	t := tls.Client(c, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true})
	if err := t.Handshake(); err != nil {
		c.Close()
		return nil, fmt.Errorf("opening TLS: %w", err)
	}
	return t, nil
}

// ready ends the time that a handshake may take.
func ready(c net.Conn, early []byte, t talk) (*line, error) {
	return &line{Conn: c, early: early, talk: t}, c.SetDeadline(time.Time{})
}

// text is b as a string that shares its bytes.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
