// Package braid is the post-quantum ratchet of a pair session: a sparse
// continuous key agreement with ML-KEM-768 in erasure-coded chunks (Signal's
// ML-KEM Braid). Every message carries two chunks in a field of constant size
// and gets a key of the braid; after some dozens of messages in both directions
// an epoch is complete and the keys that follow depend on a fresh ML-KEM secret.
//
// The package is bytes in, bytes out. It encrypts nothing: whoever uses it joins
// its keys with those of another ratchet, which also authenticates the field.
// Receive is done on a copy of the state, which replaces the state when the
// message opened. Whatever a field holds, it does not panic, keeps its bounds
// and fails with one error.
//
// Keys and decapsulation are the standard library's; the two halves of the
// encapsulation, which it does not have, are made with circl's Kyber, and the
// other end's standard library refuses what differs from its own.
//
// Spec: docs/spec/braid.md.
package braid

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tacet-chat/tacet/internal/key"
)

// Size is the size of the field, in bytes.
const Size = 78

// Bounds.
const (
	// MaxJump is how many messages of the other side may be missing between two
	// that arrive. A ratchet whose chains have at most 32,768 messages never
	// leaves more.
	MaxJump = 1 << 16
	// MaxSkipped is how many skipped keys are kept. There is no bound for one
	// chain: several chains of the other ratchet fall into one of ours, and a key
	// that is dropped here makes one that is kept there useless.
	MaxSkipped = 2000
	// SkippedSeconds is how long a skipped key is kept: 30 days.
	SkippedSeconds = 30 * 24 * 3600
	// MaxEpoch is the last epoch that is agreed on.
	MaxEpoch = 1 << 31
	// StallAfter is how many messages each way, in one epoch, are too many: with
	// 19 of 20 lost an epoch takes about half as many.
	StallAfter = 1024
)

// Labels of this package.
//
// spec: braid.md#labels
const (
	labelBegin      = "tacet/v1/braid/begin"         // the session's secret to authenticator, root and first chains
	labelEpoch      = "tacet/v1/braid/epoch"         // ML-KEM secret to epoch key
	labelAuth       = "tacet/v1/braid/authenticator" // authenticator and epoch key to authenticator
	labelChains     = "tacet/v1/braid/chains"        // root and epoch key to root and the epoch's chains
	labelStep       = "tacet/v1/braid/step"          // chain key to chain key and key of a message
	labelHeader     = "tacet/v1/braid/header"        // MAC over rho and H(ek)
	labelCiphertext = "tacet/v1/braid/ciphertext"    // MAC over ct1 and ct2
)

var (
	// ErrField is the one error of a field that does not fit, whatever the reason.
	ErrField = errors.New("braid field does not fit")
	// ErrFull is returned by Send when a chain or the epochs are used up, which
	// the 2³² messages of a ratchet never reach.
	ErrFull = errors.New("braid is used up")
)

// State is one end of a braid. It is not safe for concurrent use. After Wipe
// nothing may be done with it.
type State struct {
	initiator bool
	epoch     uint32 // being agreed on, from 1
	phase     phase
	auth      auth
	chains    chains
	skipped   *store

	// What the phase has, by the table contents.
	seed   key.KEM    // of our key
	m      key.Encaps // of our encapsulation
	header []byte     // of the other side's key: rho 32 ‖ H(ek) 32
	ek     []byte     // of the other side's key: t 1,152
	ct1    []byte     // first half of the ciphertext, 960
	out    encoder    // what we send
	in     decoder    // what we collect
}

// New begins a braid. The secret is known to the two ends alone and used for
// nothing else; initiator says which end this is. It fails with key.ErrSize if
// the secret is absent.
//
// spec: braid.md#beginning
func New(secret key.Shared, initiator bool) (*State, error) {
	if !secret.Valid() {
		return nil, key.ErrSize
	}
	s := &State{initiator: initiator, epoch: 1, skipped: newStore(nil)}
	s.begin(secret)
	s.rest()
	return s, nil
}

// rest puts s where an epoch begins: the initiator sends the key of the first,
// the responder that of the second, and so on in turns.
func (s *State) rest() {
	if s.initiator == (s.epoch%2 == 1) {
		s.phase = keysUnsampled
	} else {
		s.phase, s.in = noHeaderReceived, decoder{size: headerSize + macSize}
	}
}

// Epoch returns how many epochs are complete: the newest whose key both ends
// are known to have. It is the epoch of the next message that is sent.
func (s *State) Epoch() uint64 { return uint64(s.epoch) - 1 }

// Stalled reports whether both ends have sent more than StallAfter messages in
// the epoch and it is not complete: it never will be. A disk that went back, a
// partner who lies and a thief who sent something can each bring that about, and
// only a new session helps.
//
// spec: braid.md#an-epoch-that-stands-still
func (s *State) Stalled() bool {
	return s.chains.sent > StallAfter && s.chains.received > StallAfter && !s.lags()
}

// Skipped returns how many keys of messages still on their way are kept.
func (s *State) Skipped() int { return s.skipped.len() }

// Send moves the sending chain on and returns the field and the braid key of one
// message. The state must be on disk before the message leaves. It fails with
// ErrFull and the error of rand, and changes nothing then.
//
// spec: braid.md#sending
func (s *State) Send(rand io.Reader) (field [Size]byte, k key.Braid, err error) {
	if s.chains.sent == math.MaxUint32 {
		return field, k, ErrFull
	}
	switch s.phase {
	case keysUnsampled:
		err = s.sampleKeys(rand)
	case headerReceived:
		err = s.sampleCt1(rand)
	}
	if err != nil {
		return field, k, fmt.Errorf("beginning an epoch: %w", err)
	}
	m := message{epoch: s.epoch - 1, number: s.chains.sent, previous: s.chains.sentBefore, kind: kindOf[s.phase]}
	if s.out.data != nil {
		m.pair = s.out.next
		m.chunks = s.out.take()
	}
	k = s.chains.stepSend()
	return m.bytes(), k, nil
}

// Clone returns an independent copy. What is public is shared, since nobody
// changes it in place.
func (s *State) Clone() *State {
	c := *s
	c.auth = s.auth.clone()
	c.chains = s.chains.clone()
	c.skipped = s.skipped.clone()
	c.seed, c.m = s.seed.Clone(), s.m.Clone()
	return &c
}

// Wipe overwrites all secrets.
func (s *State) Wipe() {
	s.auth.wipe()
	s.chains.wipe()
	s.skipped.wipe()
	s.seed.Wipe()
	s.m.Wipe()
}
