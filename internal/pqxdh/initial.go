package pqxdh

import (
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
)

// InitialSize is the size of an Initial, in bytes.
const InitialSize = 1 + 1 + key.DHPublicSize + key.KEMCiphertextSize // 1,122

// ErrInitial is returned for bytes that are not an Initial.
var ErrInitial = errors.New("handshake message is malformed")

// Initial is what the initiator sends: with it and the private prekeys the
// responder has the same Result.
//
// spec: session.md#initial
type Initial struct {
	Suite     byte
	Ephemeral key.DHPublic // EK_A, fresh for this handshake
	OneTime   bool         // the one-time prekey was used
	KEM       [key.KEMCiphertextSize]byte
}

// Append appends suite 1 ‖ one-time 1 ‖ ephemeral 32 ‖ KEM ciphertext 1,088.
func (in *Initial) Append(b []byte) []byte {
	b = append(b, in.Suite, bit(in.OneTime))
	b = append(b, in.Ephemeral[:]...)
	return append(b, in.KEM[:]...)
}

// ParseInitial reads exactly InitialSize bytes. It fails with ErrSuite if the
// suite, which comes first, is not known, and else with ErrInitial.
func ParseInitial(b []byte) (Initial, error) {
	if len(b) > 0 && b[0] != Suite {
		return Initial{}, ErrSuite
	}
	if len(b) != InitialSize || b[1] > 1 {
		return Initial{}, ErrInitial
	}
	in := Initial{Suite: b[0], OneTime: b[1] == 1, Ephemeral: key.DHPublic(b[2:]), KEM: [key.KEMCiphertextSize]byte(b[34:])}
	if in.Ephemeral.Check() != nil {
		return Initial{}, ErrInitial
	}
	return in, nil
}

// bit is the one encoding of a bool.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
