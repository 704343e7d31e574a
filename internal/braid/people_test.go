package braid

import (
	"bytes"
	"crypto/sha3"
	"io"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

var start = time.Unix(1_800_000_000, 0)

// stream is a reader of SHAKE256(seed): the same bytes on every run.
func stream(seed string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("braid test " + seed))
	return h
}

// pair makes both ends of a new braid: a is the initiator's.
func pair(t testing.TB, seed string) (a, b *State) {
	t.Helper()
	secret, err := key.Generate[key.SharedRole](stream("pair " + seed))
	if err != nil {
		t.Fatal(err)
	}
	if a, err = New(secret, true); err != nil {
		t.Fatal(err)
	}
	if b, err = New(secret, false); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// sent is a message: its field, and the key that it was given.
type sent struct {
	field [Size]byte
	key   []byte
}

func send(t testing.TB, s *State, r io.Reader) sent {
	t.Helper()
	f, k, err := s.Send(r)
	if err != nil {
		t.Fatal(err)
	}
	return sent{f, k.Bytes()}
}

// receives expects m to be given the key that it was sent with.
func receives(t testing.TB, s *State, now time.Time, m sent) {
	t.Helper()
	k, err := s.Receive(now, m.field[:])
	if err != nil || !bytes.Equal(k.Bytes(), m.key) {
		t.Fatalf("got %v, want the key of the message", err)
	}
}

func TestPingPong(t *testing.T) {
	a, b := pair(t, "ping-pong")
	r := stream("ping-pong")
	for range 500 {
		receives(t, b, start, send(t, a, r))
		receives(t, a, start, send(t, b, r))
	}
	if a.Epoch() < 10 || b.Epoch() < 10 {
		t.Errorf("got epochs %d and %d after 500 round trips, want ten", a.Epoch(), b.Epoch())
	}
}
