package session

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

// Sizes of a hello, in bytes.
const (
	MaxRoute = 255 // what says where to answer
	MaxName  = 64

	helloFixed = 1 + 1 + 2 + pqxdh.InitialSize + 1 + 1 + MessageSize // 2,326: all but manifest, route and name
	// MaxHello is the size of the largest hello.
	MaxHello = helloFixed + manifest.MaxSize + MaxRoute + MaxName // 3,559
)

// ErrHello is returned for a hello that is not well-formed.
var ErrHello = errors.New("hello is malformed")

// Hello is what starts a session. It travels sealed, and all of it but First is
// bound into every message of the session.
//
// spec: hello.md#plaintext
type Hello struct {
	Suite    byte
	Device   byte // the sender's place in its manifest
	Manifest *manifest.Manifest
	Initial  pqxdh.Initial
	Route    []byte // 1 … MaxRoute: where the sender can be answered; not read here
	Name     string // at most MaxName bytes of UTF-8; nobody vouches for it
	First    [MessageSize]byte
}

// check refuses what Append could not write in the one way there is.
func (h *Hello) check() error {
	if h.Manifest == nil || len(h.Route) == 0 || len(h.Route) > MaxRoute || len(h.Name) > MaxName || !utf8.ValidString(h.Name) {
		return ErrHello
	}
	return nil
}

// appendHead appends all of the hello but First. The suite of the handshake comes
// with it and is the same.
func (h *Hello) appendHead(b []byte) []byte {
	b = append(b, h.Suite, h.Device)
	at := len(b)
	b = h.Manifest.Append(append(b, 0, 0))
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	b = h.Initial.Append(b)
	b = append(append(b, byte(len(h.Route))), h.Route...)
	return append(append(b, byte(len(h.Name))), h.Name...)
}

// bind is the associated data of the session: the handshake's transcript and all
// of the hello but First.
//
// spec: session.md#session
func (h *Hello) bind(transcript [32]byte) [32]byte {
	return key.Hash(labelAD, transcript[:], h.appendHead(nil))
}

// Append appends the hello, at most MaxHello bytes. It fails with ErrHello.
func (h *Hello) Append(b []byte) ([]byte, error) {
	if err := h.check(); err != nil || h.Suite != h.Initial.Suite {
		return b, ErrHello
	}
	return append(h.appendHead(b), h.First[:]...), nil
}

// ParseHello reads a hello that fills b. It fails with ErrSuite if the suite,
// which comes first, is not known, and else with ErrHello. No signature is checked
// here: Accept does.
func ParseHello(b []byte) (*Hello, error) {
	if len(b) > 0 && b[0] != pqxdh.Suite {
		return nil, ErrSuite
	}
	if len(b) < 4 || len(b) > MaxHello {
		return nil, ErrHello
	}
	h := &Hello{Suite: b[0], Device: b[1]}
	r := b[4:]
	part := func(n int) []byte {
		if n > len(r) {
			r = nil
			return nil
		}
		v := r[:n:n]
		r = r[n:]
		return v
	}
	short := func() int {
		if p := part(1); p != nil {
			return int(p[0])
		}
		return 0
	}
	m, err := manifest.Parse(part(int(binary.BigEndian.Uint16(b[2:]))))
	if err != nil {
		return nil, ErrHello
	}
	if h.Initial, err = pqxdh.ParseInitial(part(pqxdh.InitialSize)); err != nil {
		return nil, ErrHello
	}
	h.Manifest = m
	h.Route = append([]byte(nil), part(short())...)
	h.Name = string(part(short()))
	if len(r) != MessageSize || h.check() != nil {
		return nil, ErrHello
	}
	copy(h.First[:], r)
	return h, nil
}
