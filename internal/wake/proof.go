package wake

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
)

// Sizes of the proof that an endpoint is the device's own, in bytes.
const (
	CodeSize    = 8 + sha256.Size                                // unix seconds 8 ‖ tag 32
	ProveSize   = 1 + 1 + PointSize + AuthSize + 2 + MaxEndpoint // version 1 ‖ kind 1 ‖ point 65 ‖ auth 16 ‖ endpoint length 2 ‖ endpoint ‖ zeros
	ConfirmSize = CodeSize + 2 + MaxEndpoint                     // code 40 ‖ endpoint length 2 ‖ endpoint ‖ zeros
	messageSize = 64                                             // version 1 ‖ kind 1 ‖ code 40 ‖ zeros 22
)

// CodeLife is how long a code is good, in seconds: a push service may be slow.
const CodeLife = 3600

const (
	labelCode = "tacet/v1/wake/code"
	labelMAC  = "tacet/v1/wake/mac"
)

// ErrProof is returned for a proof that is not well-formed.
var ErrProof = errors.New("proof of an endpoint is malformed")

// Prover gives out and checks codes and MACs. It keeps nothing but its key: what
// it gave out proves itself.
//
// spec: wake.md#proof
type Prover struct{ key key.Wake }

// NewProver returns a Prover with a gateway's secret.
func NewProver(k key.Wake) *Prover { return &Prover{k} }

func (p *Prover) sum(label string, parts ...[]byte) (out [sha256.Size]byte) {
	m := hmac.New(sha256.New, p.key.Bytes())
	m.Write(key.Info(nil, label, parts...))
	m.Sum(out[:0])
	return out
}

// Code returns what is pushed to an endpoint as a challenge.
func (p *Prover) Code(unix uint64, endpoint string) (c [CodeSize]byte) {
	binary.BigEndian.PutUint64(c[:], unix)
	tag := p.sum(labelCode, c[:8], []byte(endpoint))
	copy(c[8:], tag[:])
	return c
}

// CodeGood reports whether a code is this gateway's, for the endpoint, and not
// older than CodeLife.
func (p *Prover) CodeGood(c [CodeSize]byte, unix uint64, endpoint string) bool {
	made := binary.BigEndian.Uint64(c[:])
	want := p.Code(made, endpoint)
	return hmac.Equal(want[:], c[:]) && made <= unix && unix-made <= CodeLife
}

// MAC says that whoever has it had a code that was pushed to the endpoint.
func (p *Prover) MAC(endpoint string) [MACSize]byte { return p.sum(labelMAC, []byte(endpoint)) }

// MACGood reports whether a MAC is this gateway's, for the endpoint.
func (p *Prover) MACGood(mac [MACSize]byte, endpoint string) bool {
	want := p.MAC(endpoint)
	return hmac.Equal(want[:], mac[:])
}

// Service says what sort of push service an endpoint is of.
type Service byte

// Sorts of push services.
const (
	WebPush     Service = 1 // RFC 8030 alone
	UnifiedPush Service = 2 // and says so when it is asked
)

// Prove asks a gateway to push a challenge.
type Prove struct {
	Service Service
	Subscription
}

// Append appends the request, ProveSize bytes. It fails for an endpoint that
// cannot be one.
func (p *Prove) Append(b []byte) ([]byte, error) {
	if err := CheckEndpoint(p.Endpoint); err != nil {
		return b, err
	}
	b = append(b, version, byte(p.Service))
	b = append(append(b, p.Point[:]...), p.Auth[:]...)
	return appendEndpoint(b, p.Endpoint), nil
}

// ParseProve reads a request that fills b.
func ParseProve(b []byte) (p Prove, err error) {
	if len(b) != ProveSize || b[0] != version || b[1] != byte(WebPush) && b[1] != byte(UnifiedPush) {
		return Prove{}, ErrProof
	}
	p.Service = Service(b[1])
	copy(p.Point[:], b[2:])
	copy(p.Auth[:], b[2+PointSize:])
	if p.Endpoint, err = readEndpoint(b[2+PointSize+AuthSize:]); err != nil || !onCurve(&p.Point) {
		return Prove{}, ErrProof
	}
	return p, nil
}

// Confirm answers a challenge.
type Confirm struct {
	Code     [CodeSize]byte
	Endpoint string
}

// Append appends the request, ConfirmSize bytes.
func (c *Confirm) Append(b []byte) ([]byte, error) {
	if err := CheckEndpoint(c.Endpoint); err != nil {
		return b, err
	}
	return appendEndpoint(append(b, c.Code[:]...), c.Endpoint), nil
}

// ParseConfirm reads a request that fills b.
func ParseConfirm(b []byte) (c Confirm, err error) {
	if len(b) != ConfirmSize {
		return Confirm{}, ErrProof
	}
	copy(c.Code[:], b)
	if c.Endpoint, err = readEndpoint(b[CodeSize:]); err != nil {
		return Confirm{}, ErrProof
	}
	return c, nil
}

func appendEndpoint(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(append(b, s...), make([]byte, MaxEndpoint-len(s))...)
}

// Message is what is pushed. All messages have one size, and those that wake say
// nothing: the push service, which cannot read them, sees them all alike.
type Message struct {
	Challenge bool
	Code      [CodeSize]byte // zeros but for a challenge
}

// Kinds of messages.
const (
	kindWake      = 1
	kindChallenge = 2
)

// append appends the message, messageSize bytes.
//
// spec: wake.md#push
func (m Message) append(b []byte) []byte {
	kind := byte(kindWake)
	if m.Challenge {
		kind = kindChallenge
	}
	b = append(append(b, version, kind), m.Code[:]...)
	return append(b, make([]byte, messageSize-2-CodeSize)...)
}

// parseMessage reads a message that fills b.
func parseMessage(b []byte) (m Message, err error) {
	if len(b) != messageSize || b[0] != version || b[1] != kindWake && b[1] != kindChallenge || !zeros(b[2+CodeSize:]) {
		return Message{}, ErrPush
	}
	m.Challenge = b[1] == kindChallenge
	copy(m.Code[:], b[2:])
	if !m.Challenge && m.Code != [CodeSize]byte{} {
		return Message{}, ErrPush
	}
	return m, nil
}
