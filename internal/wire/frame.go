package wire

import (
	"encoding/binary"
	"errors"
	"time"
)

// Timing of the live path. These are part of the protocol: a relay that
// answered sooner or later than AnswerAfter would tell who is online.
const (
	AnswerAfter = 1500 * time.Millisecond // a put is answered exactly this long after receipt
	EchoWithin  = 1400 * time.Millisecond // a receipt echo counts until then
	PingDefault = 60 * time.Second        // silence after which a relay pings
	PongWithin  = 3 * time.Second         // an unanswered ping ends the connection
	WindowSpan  = time.Minute             // what a relay keeps for replay
)

// Sizes of the frames between client and relay, in bytes. A frame is the
// payload of one binary WebSocket message, never fragmented.
const (
	PutIDSize   = 8
	PutSize     = PutIDSize + AddressSize + CellSize // put id 8 ‖ address 32 ‖ cell 1,280
	AnswerSize  = PutIDSize + 2 + 1                  // put id 8 ‖ delivered 2 ‖ complete 1
	MaxPuts     = 64                                 // put frames in one message
	ContextSize = 16                                 // secret id of a put context
	PostPutSize = ContextSize + PutSize              // body of POST /v1/put

	ServerNonceSize = 32
	BindingSize     = 32                                         // TLS exporter, or zeros
	SecondSize      = 8 + 64                                     // unix seconds 8 ‖ signature 64
	GreetingSize    = 1 + ServerNonceSize + SecondSize           // kind 1 ‖ server nonce 32 ‖ second 72
	EchoNonceSize   = 8                                          // counter of this watch connection
	DeliverSize     = 1 + EchoNonceSize + AddressSize + CellSize // kind 1 ‖ echo nonce 8 ‖ address 32 ‖ cell 1,280
	WatchedSize     = 1 + 2 + 4                                  // kind 1 ‖ addresses 2 ‖ replay reach in seconds 4
	RefusedSize     = 1 + 1                                      // kind 1 ‖ reason 1
	ProofSize       = AddressSize + 64                           // address 32 ‖ signature 64
	WatchHeader     = 1 + 1 + 8                                  // kind 1 ‖ flags 1 ‖ period 8
	MaxWatch        = 512                                        // proofs in one watch frame
	MaxWatched      = 4096                                       // addresses on one connection
	MaxEchoes       = 1024                                       // nonces in one echo frame
	MaxFrame        = MaxPuts * PutSize                          // the largest frame of all, 84,480
)

// FrameKind is the first byte of every frame on a watch connection.
type FrameKind byte

// Frames from the relay.
const (
	FrameGreeting FrameKind = 0x01
	FrameDeliver  FrameKind = 0x02
	FrameWatched  FrameKind = 0x03
	FrameRefused  FrameKind = 0x04
)

// Frames from the client.
const (
	FrameWatch   FrameKind = 0x10 // kind 1 ‖ flags 1 ‖ period 8 ‖ k × (address 32 ‖ signature 64)
	FrameUnwatch FrameKind = 0x11 // kind 1 ‖ k × address 32
	FrameEcho    FrameKind = 0x12 // kind 1 ‖ k × echo nonce 8
)

// FlagReplay in a watch frame asks for the cells of these addresses that are
// still in the relay's window.
const FlagReplay = 0x01

// Reason says why a watch was refused.
type Reason byte

// Reasons of a refusal.
const (
	ReasonProof  Reason = 1 // an ownership proof does not verify
	ReasonPeriod Reason = 2 // not the current period or one beside it, or a second period on one connection
	ReasonLimit  Reason = 3 // too many addresses or connections
	ReasonFrame  Reason = 4 // a frame that is not well-formed
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case ReasonProof:
		return "ownership proof does not verify"
	case ReasonPeriod:
		return "period is not current"
	case ReasonLimit:
		return "over a limit"
	}
	return "malformed frame"
}

// ErrFrame is returned for a frame that is not well-formed.
var ErrFrame = errors.New("frame is malformed")

// Labels of what a relay signs and what an owner proves.
const (
	LabelProof      = "tacet/v1/proof"
	LabelSecond     = "tacet/v1/relay/second"
	LabelDescriptor = "tacet/v1/relay/descriptor"
	LabelReceipt    = "tacet/v1/blob/receipt"
	LabelCapability = "tacet/v1/blob/capability"
	// ExporterLabel is the TLS exporter of the channel binding (RFC 5705).
	ExporterLabel = "EXPORTER-tacet-v1-proof"
)

// Verb is what an ownership proof allows.
type Verb byte

// Verbs.
const (
	VerbWatch Verb = 1
	VerbTake  Verb = 2
	VerbAck   Verb = 3
)

// Proof is what an owner signs for one address on one connection.
type Proof struct {
	Realm   [32]byte
	Binding [BindingSize]byte
	Nonce   [ServerNonceSize]byte
	Address Address
	Verb    Verb
	Period  uint64
}

// Append appends the message to sign: label ‖ 0 ‖ realm key 32 ‖ binding 32 ‖
// server nonce 32 ‖ address 32 ‖ verb 1 ‖ period 8.
func (p *Proof) Append(b []byte) []byte {
	b = append(append(b, LabelProof...), 0)
	b = append(b, p.Realm[:]...)
	b = append(b, p.Binding[:]...)
	b = append(b, p.Nonce[:]...)
	b = append(b, p.Address[:]...)
	b = append(b, byte(p.Verb))
	return binary.BigEndian.AppendUint64(b, p.Period)
}

// Answer is what a relay says of one put.
type Answer struct {
	ID        [PutIDSize]byte
	Delivered uint16
	Complete  bool
}

// Append appends the answer, AnswerSize bytes.
func (a Answer) Append(b []byte) []byte {
	b = append(b, a.ID[:]...)
	b = binary.BigEndian.AppendUint16(b, a.Delivered)
	if a.Complete {
		return append(b, 1)
	}
	return append(b, 0)
}

// ParseAnswer reads an answer of exactly AnswerSize bytes.
func ParseAnswer(b []byte) (Answer, error) {
	if len(b) != AnswerSize || b[10] > 1 {
		return Answer{}, ErrFrame
	}
	return Answer{ID: [8]byte(b), Delivered: binary.BigEndian.Uint16(b[8:]), Complete: b[10] == 1}, nil
}
