package session

import (
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/ratchet"
)

// Layout of a stored session.
//
// spec: session.md#stored-session
const (
	stateVersion1 byte = 1 // of suite 1
	stateVersion2 byte = 2 // of suite 2

	endSize   = 32 + 32 + 4 + 32             // root 32 ‖ device 32 ‖ sequence 4 ‖ manifest hash 32
	stateHead = 1 + 1 + 32 + endSize*2       // 234
	MaxState  = stateHead + ratchet.MaxState // 255,073
)

// ErrState is returned for bytes that are not a session.
var ErrState = errors.New("stored session is malformed")

func (e *End) append(b []byte) []byte {
	b = append(b, e.Root[:]...)
	b = append(b, e.Sign[:]...)
	b = binary.BigEndian.AppendUint32(b, e.Sequence)
	return append(b, e.Manifest[:]...)
}

func parseEnd(b []byte) End {
	return End{
		Root: key.SignPublic(b), Sign: key.SignPublic(b[32:]),
		Sequence: binary.BigEndian.Uint32(b[64:]), Manifest: [32]byte(b[68:]),
	}
}

// Append appends the session, at most MaxState bytes: they are secrets. It panics
// if s was wiped.
func (s *Session) Append(b []byte) []byte {
	var initiator byte
	if s.initiator {
		initiator = 1
	}
	b = append(b, s.Suite(), initiator) // the version is the suite
	b = append(b, s.ad[:]...)
	b = s.self.append(b)
	b = s.peer.append(b)
	return s.ratchet.Append(b)
}

// Parse reads a session that fills b. It fails with ErrState.
func Parse(b []byte) (*Session, error) {
	if len(b) < stateHead || b[0] != stateVersion1 && b[0] != stateVersion2 || b[1] > 1 {
		return nil, ErrState
	}
	r, err := ratchet.ParseState(b[stateHead:])
	if err != nil {
		return nil, ErrState
	}
	if r.Suite() != b[0] {
		r.Wipe()
		return nil, ErrState
	}
	return &Session{
		initiator: b[1] == 1, ad: [32]byte(b[2:]),
		self: parseEnd(b[34:]), peer: parseEnd(b[34+endSize:]), ratchet: r,
	}, nil
}
