package link

import (
	"crypto/subtle"
	"encoding/binary"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/stream"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Session is what both devices share after the reveal.
type Session struct {
	First  key.Link // from the answer on: for the reveal and for giving up
	Root   key.Link // from the reveal on
	Digits string   // shown on the new device, typed on the old one
}

// SameDigits compares what a person typed with the digits, in constant time.
// Blanks in it do not count.
func (s *Session) SameDigits(typed string) bool {
	var d []byte
	for _, c := range []byte(typed) {
		if c != ' ' && c != '-' {
			d = append(d, c)
		}
	}
	return subtle.ConstantTimeCompare(d, []byte(s.Digits)) == 1
}

// Reveal returns where the reveal lies.
func (s *Session) Reveal() wire.BlobID { return revealAt(s.First).id }

// Capability returns what deletes a blob of this link that is not offer or answer.
func (s *Session) Capability() (out [32]byte) {
	key.KDF(out[:], s.First.Bytes(), labelDelete)
	return out
}

// Stream returns the key of the pack.
func (s *Session) Stream() key.Stream {
	return key.Derive[key.StreamRole](s.Root.Bytes(), labelStream)
}

// Context is that of the pack's stream.
const Context = "tacet/v1/link/pack"

// HelloSize is the size in bytes of a hello on the local network: nonce 32 ‖ proof 32.
const HelloSize = 64

// Hello appends what the new device says first on a connection of its own to the
// old one: random to everybody else.
//
// spec: link.md#on-the-local-network
func (s *Session) Hello(rand io.Reader) ([HelloSize]byte, error) {
	var h [HelloSize]byte
	if _, err := io.ReadFull(rand, h[:32]); err != nil {
		return h, err
	}
	key.KDF(h[32:], s.Root.Bytes(), labelHello, h[:32])
	return h, nil
}

// Knows reports whether a hello is by who shares this session.
func (s *Session) Knows(h [HelloSize]byte) bool {
	var want [32]byte
	key.KDF(want[:], s.Root.Bytes(), labelHello, h[:32])
	return subtle.ConstantTimeCompare(want[:], h[32:]) == 1
}

// Wipe forgets the secrets.
func (s *Session) Wipe() {
	s.First.Wipe()
	s.Root.Wipe()
	s.Digits = ""
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Down names message n of the old device, from 0: where it lies if it goes by
// the relay. Pieces of the pack and controls share the numbers.
func (s *Session) Down(n uint32) wire.BlobID { return s.down(n).id }

func (s *Session) down(n uint32) place { return placeOf(s.Root.Bytes(), []byte("down"), number(n)) }

// Up names status n of the new device, as Down.
func (s *Session) Up(n uint32) wire.BlobID { return s.up(n).id }

func (s *Session) up(n uint32) place { return placeOf(s.Root.Bytes(), []byte("up"), number(n)) }

// GaveUp names where either device says that it has given the link up: "old" or
// "new" says which.
func (s *Session) GaveUp(old bool) wire.BlobID { return gaveUp(s.First, old).id }

// GaveUp is the session's, for a new device that has no session yet.
func (a *Answering) GaveUp(old bool) wire.BlobID { return gaveUp(a.First, old).id }

func gaveUp(first key.Link, old bool) place {
	if old {
		return placeOf(first.Bytes(), []byte("given up"), []byte("old"))
	}
	return placeOf(first.Bytes(), []byte("given up"), []byte("new"))
}

// Kind says what a control of the old device is.
type Kind byte

// Kinds of controls.
const (
	Begin    Kind = 1 // the digits were right: the pack follows
	Admitted Kind = 2 // the manifest in which the new device stands
)

// Control is a message of the old device that is no piece of the pack.
type Control struct {
	Kind   Kind
	Header stream.Header // Begin: of the pack
	Rows   uint64        // Begin: how many rows there are now, to show progress
	Body   []byte        // Admitted: the manifest, at most MaxBody bytes
}

// MaxBody bounds what a control or status carries, in bytes.
const MaxBody = plainSize - 1 - 1 - 4 - 2

// SealDown seals a control as message n.
//
// spec: link.md#messages
func (s *Session) SealDown(rand io.Reader, n uint32, c Control) ([]byte, error) {
	b := []byte{byte(c.Kind)}
	switch c.Kind {
	case Begin:
		b = binary.BigEndian.AppendUint64(append(b, c.Header[:]...), c.Rows)
	case Admitted:
		if len(c.Body) > MaxBody {
			return nil, ErrMessage
		}
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(c.Body))), c.Body...)
	default:
		return nil, ErrMessage
	}
	return s.down(n).seal(rand, b)
}

// OpenDown reads a control. It fails with ErrMessage or ErrVersion.
func (s *Session) OpenDown(n uint32, blob []byte) (Control, error) {
	b, err := s.down(n).open(blob)
	if err != nil {
		return Control{}, err
	}
	return parseControl(b)
}

func parseControl(b []byte) (c Control, err error) {
	c.Kind, b = Kind(b[0]), b[1:]
	switch c.Kind {
	case Begin:
		c.Header, b = stream.Header(b), b[stream.HeaderSize:]
		c.Rows, b = binary.BigEndian.Uint64(b), b[8:]
	case Admitted:
		n := int(binary.BigEndian.Uint16(b))
		if b = b[2:]; n > MaxBody {
			return Control{}, ErrMessage
		}
		c.Body, b = append([]byte(nil), b[:n]...), b[n:]
	default:
		return Control{}, ErrVersion
	}
	if !zero(b) {
		return Control{}, ErrMessage
	}
	return c, nil
}

// Phase says how far the new device is.
type Phase byte

// Phases, in their order.
const (
	Receiving Phase = 1 // what comes is being taken
	Complete  Phase = 2 // the pack is here, whole
	Linked    Phase = 3 // the manifest, too: this device works
)

// Status is what the new device says. The latest says all: Next and Phase never
// go back.
type Status struct {
	Phase Phase
	Next  uint32 // number of the first message that is not here yet
	Body  []byte // what the client of the new device wants known, at most MaxBody bytes
}

// SealUp seals a status. By the relay it is number n; on the local network 0.
func (s *Session) SealUp(rand io.Reader, n uint32, st Status) ([]byte, error) {
	if st.Phase < Receiving || st.Phase > Linked || len(st.Body) > MaxBody {
		return nil, ErrMessage
	}
	b := binary.BigEndian.AppendUint32([]byte{byte(st.Phase)}, st.Next)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(st.Body))), st.Body...)
	return s.up(n).seal(rand, b)
}

// OpenUp reads a status. It fails with ErrMessage or ErrVersion.
func (s *Session) OpenUp(n uint32, blob []byte) (Status, error) {
	b, err := s.up(n).open(blob)
	if err != nil {
		return Status{}, err
	}
	return parseStatus(b)
}

func parseStatus(b []byte) (Status, error) {
	st := Status{Phase: Phase(b[0]), Next: binary.BigEndian.Uint32(b[1:])}
	n := int(binary.BigEndian.Uint16(b[5:]))
	switch b = b[7:]; {
	case st.Phase < Receiving || st.Phase > Linked:
		return Status{}, ErrVersion
	case n > MaxBody || !zero(b[n:]):
		return Status{}, ErrMessage
	}
	st.Body = append([]byte(nil), b[:n]...)
	return st, nil
}

// Why says why a device gave a link up.
type Why byte

// Reasons.
const (
	Cancelled Why = 1 // its person did
	Mismatch  Why = 2 // the digits differed
	Late      Why = 3 // its time was over
	Failed    Why = 4 // what came was not right, or could not be kept
)

// SealGaveUp seals that a device gave up. first is the session's or the answer's.
func SealGaveUp(rand io.Reader, first key.Link, old bool, w Why) ([]byte, error) {
	return gaveUp(first, old).seal(rand, []byte{byte(w)})
}

// OpenGaveUp reads it. An unknown reason is Failed.
func OpenGaveUp(first key.Link, old bool, blob []byte) (Why, error) {
	b, err := gaveUp(first, old).open(blob)
	if err != nil {
		return 0, err
	}
	if w := Why(b[0]); w >= Cancelled && w <= Failed {
		return w, nil
	}
	return Failed, nil
}
