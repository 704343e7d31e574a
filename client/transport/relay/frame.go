package relay

import (
	"encoding/binary"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// The frames of a watch connection as a client reads and writes them. What
// parse accepts, append gives back; the appends of relay frames are in the
// tests, as only a relay needs them.
//
// spec: relay-api.md#watch

// greeting is the first frame: kind 1 ‖ server nonce 32 ‖ second 72.
type greeting struct {
	nonce  [wire.ServerNonceSize]byte
	second [wire.SecondSize]byte
}

// deliver is a cell that arrived: kind 1 ‖ echo nonce 8 ‖ address 32 ‖ cell 1,280.
type deliver struct {
	nonce   uint64
	address transport.Address
	cell    *transport.Cell // a copy
}

// watched answers a watch frame: kind 1 ‖ addresses 2 ‖ reach 4.
type watched struct {
	addresses int           // on the connection now
	reach     time.Duration // of a replay
}

// kindOf returns the kind of a frame if it has the size that the kind fixes.
func kindOf(b []byte) (wire.FrameKind, error) {
	size := 0
	if len(b) > 0 {
		switch wire.FrameKind(b[0]) {
		case wire.FrameGreeting:
			size = wire.GreetingSize
		case wire.FrameDeliver:
			size = wire.DeliverSize
		case wire.FrameWatched:
			size = wire.WatchedSize
		case wire.FrameRefused:
			size = wire.RefusedSize
		}
	}
	if size == 0 || len(b) != size {
		return 0, broken("a malformed frame")
	}
	return wire.FrameKind(b[0]), nil
}

// parseGreeting reads a frame whose kind was checked, as do the others here.
func parseGreeting(b []byte) (g greeting) {
	copy(g.nonce[:], b[1:])
	copy(g.second[:], b[1+wire.ServerNonceSize:])
	return g
}

func parseDeliver(b []byte) deliver {
	cell := transport.Cell(b[1+wire.EchoNonceSize+wire.AddressSize:])
	return deliver{
		nonce:   binary.BigEndian.Uint64(b[1:]),
		address: transport.Address(b[1+wire.EchoNonceSize:]),
		cell:    &cell,
	}
}

func parseWatched(b []byte) watched {
	return watched{
		addresses: int(binary.BigEndian.Uint16(b[1:])),
		reach:     time.Duration(binary.BigEndian.Uint32(b[3:])) * time.Second,
	}
}

// parseRefused returns what a refusal means for whoever watches. Only a limit
// passes: what is malformed, forged or of another period stays so.
func parseRefused(b []byte) error {
	switch reason := wire.Reason(b[1]); reason {
	case wire.ReasonLimit:
		return &fault{text: "watching is over a limit of the relay"}
	case wire.ReasonProof, wire.ReasonPeriod, wire.ReasonFrame:
		return refused(reason.String())
	}
	return broken("a malformed frame")
}

// appendWatch begins a watch frame: kind 1 ‖ flags 1 ‖ period 8. Proofs follow.
func appendWatch(b []byte, replay bool, period uint64) []byte {
	flags := byte(0)
	if replay {
		flags |= wire.FlagReplay
	}
	return binary.BigEndian.AppendUint64(append(b, byte(wire.FrameWatch), flags), period)
}

// appendEchoes appends an echo frame: kind 1 ‖ k × echo nonce 8.
func appendEchoes(b []byte, nonces []uint64) []byte {
	b = append(b, byte(wire.FrameEcho))
	for _, n := range nonces {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// parseAnswers reads a message of one answer or several in a row.
//
// spec: relay-api.md#put
func parseAnswers(b []byte) ([]wire.Answer, error) {
	if len(b) == 0 || len(b)%wire.AnswerSize != 0 {
		return nil, broken("a malformed answer")
	}
	answers := make([]wire.Answer, 0, len(b)/wire.AnswerSize)
	for ; len(b) > 0; b = b[wire.AnswerSize:] {
		a, err := wire.ParseAnswer(b[:wire.AnswerSize])
		if err != nil {
			return nil, broken("a malformed answer")
		}
		answers = append(answers, a)
	}
	return answers, nil
}
