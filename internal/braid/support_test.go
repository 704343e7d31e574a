package braid

import (
	"bytes"
	"crypto/sha3"
	"errors"
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

// post is a message: its field, and the key that it was given.
type post struct {
	field [Size]byte
	key   []byte
}

func send(t testing.TB, s *State, r io.Reader) post {
	t.Helper()
	f, k, err := s.Send(r)
	if err != nil {
		t.Fatal(err)
	}
	return post{f, k.Bytes()}
}

// receives expects the key that p was sent with, on a copy that then replaces
// the state.
func receives(t testing.TB, s *State, now time.Time, p post) {
	t.Helper()
	c := s.Clone()
	k, err := c.Receive(now, p.field[:])
	if err != nil || !bytes.Equal(k.Bytes(), p.key) {
		t.Fatalf("got %v, want the key of the message", err)
	}
	s.Wipe()
	*s = *c
}

// refuses expects the one error and no key.
func refuses(t testing.TB, what string, s *State, now time.Time, field []byte) {
	t.Helper()
	k, err := s.Clone().Receive(now, field)
	if err != ErrField || k.Valid() {
		t.Errorf("%s: got %v, want %v and no key", what, err, ErrField)
	}
}

// turns lets both talk in turns until both have completed the epoch.
func turns(t testing.TB, a, b *State, r io.Reader, now time.Time, epoch uint64) {
	t.Helper()
	for n := 0; a.Epoch() < epoch || b.Epoch() < epoch; n++ {
		if n > 500 {
			t.Fatalf("got epochs %d and %d after 500 turns, want %d", a.Epoch(), b.Epoch(), epoch)
		}
		receives(t, b, now, send(t, a, r))
		receives(t, a, now, send(t, b, r))
	}
}

// again writes and reads a state.
func again(t testing.TB, s *State) *State {
	t.Helper()
	b := s.Append(nil)
	if len(b) > MaxState {
		t.Fatalf("got %d bytes, want at most %d", len(b), MaxState)
	}
	c, err := Parse(b)
	if err != nil {
		t.Fatalf("reading a state of phase %d back: %v", s.phase, err)
	}
	if got := c.Append(nil); !bytes.Equal(got, b) {
		t.Fatalf("got %x, want %x", got, b)
	}
	if c.initiator != s.initiator || c.phase != s.phase || c.Epoch() != s.Epoch() {
		t.Fatal("got another role, phase or epoch back")
	}
	return c
}

var errBroken = errors.New("no entropy")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }
