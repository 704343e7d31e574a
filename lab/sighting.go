package lab

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Sighting is one piece of what passed between people and a relay.
type Sighting struct {
	At      time.Time
	Peer    string // network address of the person's end
	Path    string // of the request that opened the connection
	ToRelay bool
	Payload []byte // of a frame, without the mask that WebSocket puts on it

	op byte
}

// What a sighting is: opcodes of RFC 6455, and two of our own.
const (
	opBinary = 0x2
	opClose  = 0x8
	opHead   = 0xF0 // the head of a request or an answer
	opBody   = 0xF1 // other bytes
)

// Kind says what passed.
type Kind string

// Kinds.
const (
	KindHead     Kind = "head"
	KindBody     Kind = "body"
	KindControl  Kind = "control" // ping, pong, close
	KindPut      Kind = "put"
	KindAnswer   Kind = "answer"
	KindGreeting Kind = "greeting"
	KindCell     Kind = "cell" // to a watching device
	KindWatched  Kind = "watched"
	KindRefused  Kind = "refused"
	KindWatch    Kind = "watch"
	KindUnwatch  Kind = "unwatch"
	KindEcho     Kind = "echo"
	KindOther    Kind = "other"
)

// Kind says what the sighting is, as anybody can tell who reads the
// specification.
//
// spec: relay-api.md#put
func (s *Sighting) Kind() Kind {
	switch {
	case s.op == opHead:
		return KindHead
	case s.op == opBody:
		return KindBody
	case s.op != opBinary:
		return KindControl
	case s.Path == "/v1/put" && s.ToRelay && len(s.Payload)%wire.PutSize == 0:
		return KindPut
	case s.Path == "/v1/put" && !s.ToRelay && len(s.Payload)%wire.AnswerSize == 0:
		return KindAnswer
	case s.Path != "/v1/watch" || len(s.Payload) == 0:
		return KindOther
	}
	kinds := map[wire.FrameKind]Kind{
		wire.FrameGreeting: KindGreeting, wire.FrameDeliver: KindCell, wire.FrameWatched: KindWatched, wire.FrameRefused: KindRefused,
		wire.FrameWatch: KindWatch, wire.FrameUnwatch: KindUnwatch, wire.FrameEcho: KindEcho,
	}
	if k, ok := kinds[wire.FrameKind(s.Payload[0])]; ok {
		return k
	}
	return KindOther
}

// Cell is one cell that passed, with the address beside it.
type Cell struct {
	Address wire.Address
	Cell    wire.Cell
}

// Cells returns the cells of a put or of what is parked, in which there may be several, or of a delivery.
func (s *Sighting) Cells() (all []Cell) {
	switch s.Kind() {
	case KindPut:
		for b := s.Payload; len(b) > 0; b = b[wire.PutSize:] {
			b := b[wire.PutIDSize:]
			all = append(all, Cell{wire.Address(b[:wire.AddressSize]), wire.Cell(b[wire.AddressSize:][:wire.CellSize])})
		}
	case KindBody:
		if s.Path == "/v1/park" && s.ToRelay {
			_, items, _ := wire.ParsePark(s.Payload) // none if the body came in pieces
			for i := range items {
				all = append(all, Cell{items[i].Address, items[i].Cell})
			}
		}
	case KindCell:
		if len(s.Payload) == wire.DeliverSize {
			b := s.Payload[1+wire.EchoNonceSize:]
			all = append(all, Cell{wire.Address(b[:wire.AddressSize]), wire.Cell(b[wire.AddressSize:])})
		}
	}
	return all
}

// Answers returns the answers to puts.
func (s *Sighting) Answers() (all []wire.Answer) {
	if s.Kind() != KindAnswer {
		return nil
	}
	for b := s.Payload; len(b) > 0; b = b[wire.AnswerSize:] {
		if a, err := wire.ParseAnswer(b[:wire.AnswerSize]); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// Addresses returns every address in the sighting: where cells go, and what is watched.
func (s *Sighting) Addresses() (all []wire.Address) {
	for _, c := range s.Cells() {
		all = append(all, c.Address)
	}
	if s.Kind() == KindWatch {
		for b := s.Payload[wire.WatchHeader:]; len(b) >= wire.ProofSize; b = b[wire.ProofSize:] {
			all = append(all, wire.Address(b[:wire.AddressSize]))
		}
	}
	return all
}

var errFrame = errors.New("not a frame that a client or a relay sends")

// readFrame reads one WebSocket frame: as it is, and its payload unmasked.
func readFrame(r *bufio.Reader) (raw []byte, op byte, payload []byte, err error) {
	raw = make([]byte, 2, 2+8+4)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, 0, nil, err
	}
	more := map[byte]int{126: 2, 127: 8}[raw[1]&0x7F]
	if raw[1]&0x80 != 0 {
		more += 4
	}
	raw = raw[:2+more]
	if _, err := io.ReadFull(r, raw[2:]); err != nil {
		return nil, 0, nil, err
	}
	n, rest := uint64(raw[1]&0x7F), raw[2:]
	switch n {
	case 126:
		n, rest = uint64(binary.BigEndian.Uint16(rest)), rest[2:]
	case 127:
		n, rest = binary.BigEndian.Uint64(rest), rest[8:]
	}
	if n > wire.MaxFrame {
		return nil, 0, nil, errFrame
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, 0, nil, err
	}
	mask := bytes.Clone(rest) // 4 bytes or none
	op = raw[0] & 0x0F
	raw = append(raw, body...)
	if len(mask) == 4 {
		for i := range body {
			body[i] ^= mask[i%4]
		}
	}
	return raw, op, body, nil
}
