// Package wake has what waking a sleeping device is made of: tickets, which a
// device seals to a wake gateway and gives to its contacts; the proof that an
// endpoint is the device's own; and the message that the gateway pushes, by
// RFC 8291 (encryption) and RFC 8292 (VAPID).
//
// Bytes in, bytes out: it dials nobody, keeps nothing and has no clock. A relay
// links it, and nothing in it can open a message. It does not decide how often a
// device may be woken or which endpoints are allowed.
//
// Spec: docs/spec/wake.md.
package wake

import (
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Sizes of a ticket, in bytes: version 1 ‖ name length 1 ‖ name 65 ‖ realm 32 ‖
// enc 1,120 ‖ ciphertext 813 ‖ tag 16.
const (
	TicketSize  = 2048
	MaxName     = 65 // of a gateway: as long as a relay's name in an invite
	headSize    = 1 + 1 + MaxName + 32
	innerSize   = TicketSize - headSize - key.XWingEncSize - wire.TagSize // 813
	fixedSize   = 8 + IDSize + FamilySize + MACSize + PointSize + AuthSize + 2
	MaxEndpoint = innerSize - fixedSize // 658
	IDSize      = 16
	FamilySize  = 16
	MACSize     = 32
	PointSize   = 65 // an uncompressed point of P-256
	AuthSize    = 16
)

// MaxLife is how far in the future the end of a ticket may lie, in seconds: for
// so long a gateway remembers which tickets were used.
const MaxLife = 7*86400 + 3600

const (
	version     = 1
	labelTicket = "tacet/v1/wake/ticket"
)

// Errors. Each is one fixed error: what exactly is wrong is nobody's business.
var (
	// ErrTicket is returned for a ticket that is not well-formed or does not open.
	ErrTicket = errors.New("wake ticket is not good")
	// ErrEndpoint is returned for what cannot be a push endpoint.
	ErrEndpoint = errors.New("not a push endpoint: https:// and at most 658 characters")
)

// Gateway names a wake gateway in the part of a ticket that all may read.
type Gateway struct {
	Name  string   // host or host:port, 1 … MaxName bytes
	Realm [32]byte // fingerprint of its realm key
}

// Subscription is where and for whose keys a message is pushed: what RFC 8030
// and RFC 8291 call a push subscription.
type Subscription struct {
	Endpoint string // an https URL of printable ASCII, at most MaxEndpoint bytes
	Point    [PointSize]byte
	Auth     [AuthSize]byte
}

// Ticket is what only the gateway reads.
type Ticket struct {
	Expires uint64           // unix seconds
	ID      [IDSize]byte     // random; spent by its use
	Family  [FamilySize]byte // random; the same in the tickets that share a limit
	MAC     [MACSize]byte    // the gateway's own, for this endpoint
	Subscription
}

// CheckEndpoint refuses what is no https URL of printable ASCII, or too long.
func CheckEndpoint(s string) error {
	const scheme = "https://"
	if len(s) <= len(scheme) || len(s) > MaxEndpoint || s[:len(scheme)] != scheme {
		return ErrEndpoint
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return ErrEndpoint
		}
	}
	return nil
}

func suite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.MLKEM768X25519(), hpke.HKDFSHA256(), hpke.ChaCha20Poly1305()
}

// Seal seals a ticket to a gateway's key: TicketSize bytes. The part that all may
// read is bound into the seal. The randomness is the standard library's.
//
// spec: wake.md#ticket
func Seal(pub key.XWingPublic, g Gateway, t *Ticket) ([]byte, error) {
	if !goodName([]byte(g.Name)) {
		return nil, ErrTicket
	}
	if err := CheckEndpoint(t.Endpoint); err != nil {
		return nil, err
	}
	kem, kdf, aead := suite()
	pk, err := kem.NewPublicKey(pub[:])
	if err != nil {
		return nil, key.ErrPublic
	}
	out := make([]byte, headSize, TicketSize)
	out[0], out[1] = version, byte(len(g.Name))
	copy(out[2:], g.Name)
	copy(out[2+MaxName:], g.Realm[:])
	var inner [innerSize]byte
	defer clear(inner[:])
	t.put(inner[:])
	sealed, err := hpke.Seal(pk, kdf, aead, key.Info(nil, labelTicket, out), inner[:])
	if err != nil {
		return nil, fmt.Errorf("sealing ticket: %w", key.ErrPublic)
	}
	return append(out, sealed...), nil
}

// put writes the inner part: expiry 8 ‖ id 16 ‖ family 16 ‖ MAC 32 ‖ point 65 ‖
// auth 16 ‖ endpoint length 2 ‖ endpoint ‖ zeros.
func (t *Ticket) put(b []byte) {
	b = b[copy(b, binary.BigEndian.AppendUint64(nil, t.Expires)):]
	for _, part := range [][]byte{t.ID[:], t.Family[:], t.MAC[:], t.Point[:], t.Auth[:]} {
		b = b[copy(b, part):]
	}
	binary.BigEndian.PutUint16(b, uint16(len(t.Endpoint)))
	copy(b[2:], t.Endpoint)
}

// ParseGateway reads the part of a ticket that all may read: where it goes.
func ParseGateway(ticket []byte) (Gateway, error) {
	if len(ticket) != TicketSize || ticket[0] != version {
		return Gateway{}, ErrTicket
	}
	n := int(ticket[1])
	if n > MaxName || !goodName(ticket[2:2+n]) || !zeros(ticket[2+n:2+MaxName]) {
		return Gateway{}, ErrTicket
	}
	return Gateway{Name: string(ticket[2 : 2+n]), Realm: [32]byte(ticket[2+MaxName:])}, nil
}

// Open opens a ticket. Every failure is ErrTicket. Whether it is still good, and
// whose endpoint it names, is for the caller to check.
func Open(k key.XWing, ticket []byte) (Ticket, error) {
	if _, err := ParseGateway(ticket); err != nil {
		return Ticket{}, err
	}
	kem, kdf, aead := suite()
	sk, err := kem.NewPrivateKey(k.Bytes())
	if err != nil {
		return Ticket{}, ErrTicket
	}
	inner, err := hpke.Open(sk, kdf, aead, key.Info(nil, labelTicket, ticket[:headSize]), ticket[headSize:])
	if err != nil {
		return Ticket{}, ErrTicket
	}
	defer clear(inner)
	return parseTicket(inner)
}

// parseTicket reads the inner part, in the one way it is written.
func parseTicket(b []byte) (t Ticket, err error) {
	if len(b) != innerSize {
		return Ticket{}, ErrTicket
	}
	t.Expires = binary.BigEndian.Uint64(b)
	b = b[8:]
	for _, part := range [][]byte{t.ID[:], t.Family[:], t.MAC[:], t.Point[:], t.Auth[:]} {
		b = b[copy(part, b):]
	}
	if t.Endpoint, err = readEndpoint(b); err != nil || !onCurve(&t.Point) {
		return Ticket{}, ErrTicket
	}
	return t, nil
}

// readEndpoint reads length 2 ‖ endpoint ‖ zeros, which fill b.
func readEndpoint(b []byte) (string, error) {
	n := int(binary.BigEndian.Uint16(b))
	if n > len(b)-2 || !zeros(b[2+n:]) {
		return "", ErrEndpoint
	}
	s := string(b[2 : 2+n])
	return s, CheckEndpoint(s)
}

// goodName takes what a host and port are written with, so that nothing in a
// name means something else where it is put into a URL.
func goodName(b []byte) bool {
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= MaxName
}

func zeros(b []byte) bool {
	for _, z := range b {
		if z != 0 {
			return false
		}
	}
	return true
}
