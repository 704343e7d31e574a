package ratchet

import (
	"bytes"
	"crypto/sha3"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

var (
	ad    = bytes.Repeat([]byte{0xad}, 32)
	start = time.Unix(1_800_000_000, 0)
)

// stream is a reader of SHAKE256(seed): the same bytes on every run.
func stream(seed string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("ratchet test " + seed))
	return h
}

func secretOf[R key.Role](t testing.TB, r io.Reader) key.Secret[R] {
	t.Helper()
	s, err := key.Generate[R](r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pair makes both ends of a new ratchet: a began it, b answers.
func pair(t testing.TB, seed string) (a, b *State) {
	t.Helper()
	r := stream("pair " + seed)
	sk, signed := secretOf[key.SharedRole](t, r), secretOf[key.DHRole](t, r)
	return ends(t, stateVersion2, r, sk, signed)
}

// pair1 is pair without a braid.
func pair1(t testing.TB, seed string) (a, b *State) {
	t.Helper()
	r := stream("pair " + seed)
	sk, signed := secretOf[key.SharedRole](t, r), secretOf[key.DHRole](t, r)
	return ends(t, stateVersion1, r, sk, signed)
}

// ends makes both ends of a ratchet of that suite. None of suite 1 begins any
// more; those that devices keep go on.
func ends(t testing.TB, suite byte, r io.Reader, sk key.Shared, signed key.DH) (a, b *State) {
	t.Helper()
	initiate, respond := NewInitiator, NewResponder
	if suite == stateVersion1 {
		initiate, respond = beginInitiator, beginResponder
	}
	a, err := initiate(r, sk, key.DHPublicOf(signed))
	if err != nil {
		t.Fatal(err)
	}
	b, err = respond(sk, signed)
	if err != nil {
		t.Fatal(err)
	}
	if a.Suite() != suite || b.Suite() != suite {
		t.Fatalf("got suites %d and %d, want %d", a.Suite(), b.Suite(), suite)
	}
	return a, b
}

// block is a content block that tells which one it is.
func block(n int) []byte {
	b := make([]byte, wire.BlockSize)
	binary.BigEndian.PutUint64(b, uint64(n))
	return b
}

func encrypt(t testing.TB, s *State, r io.Reader, n int) []byte {
	t.Helper()
	m, err := s.Encrypt(r, ad, block(n))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// opens expects m to be message n.
func opens(t testing.TB, s *State, r io.Reader, now time.Time, m []byte, n int) {
	t.Helper()
	got, err := s.Decrypt(r, now, ad, m)
	if err != nil || !bytes.Equal(got, block(n)) {
		t.Fatalf("message %d: got %v, want its block", n, err)
	}
}

// refuses expects the one error, no block, and a state that is what it was.
func refuses(t testing.TB, what string, s *State, r io.Reader, now time.Time, bound, m []byte) {
	t.Helper()
	before := s.Append(nil)
	got, err := s.Decrypt(r, now, bound, m)
	if err != ErrDecrypt || got != nil {
		t.Errorf("%s: got %v and %d bytes, want %v and nothing", what, err, len(got), ErrDecrypt)
	}
	if !bytes.Equal(s.Append(nil), before) {
		t.Errorf("%s: got another state, want no change", what)
	}
}

// again writes and reads a state.
func again(t testing.TB, s *State) *State {
	t.Helper()
	b := s.Append(nil)
	c, err := ParseState(b)
	if err != nil {
		t.Fatalf("reading a state back: %v", err)
	}
	if got := c.Append(nil); !bytes.Equal(got, b) {
		t.Fatalf("got %x, want %x", got, b)
	}
	return c
}

// dice is a seeded generator for schedules.
func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

var errBroken = errors.New("no entropy")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

func hexOf(b []byte) string { return hex.EncodeToString(b) }
