package mls

import (
	"crypto/rand"
	"testing"
	"time"
)

// testEnv accepts every credential; its external PSKs are those of the map, by id.
func testEnv(psks map[string][]byte) Env {
	return Env{
		Now:          time.Unix(1_700_000_000, 0),
		Rand:         rand.Reader,
		Authenticate: func(Credential, []byte) error { return nil },
		Successor:    func(_, _ Credential) error { return nil },
		PSK: func(id PreSharedKeyID) (Secret, error) {
			if psk, ok := psks[string(id.ID)]; ok && id.Type == PSKExternal {
				return NewSecret(psk), nil
			}
			return Secret{}, &PSKError{ID: id}
		},
	}
}

// parseAs reads a message of one wire format.
func parseAs(t *testing.T, b []byte, wire WireFormat) *Message {
	t.Helper()
	m, err := ParseMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	if m.Wire != wire {
		t.Fatalf("got wire format %d, want %d", m.Wire, wire)
	}
	same(t, "message", m.Append(nil), b)
	return m
}
