// Package ratchet is the Double Ratchet with encrypted headers (Signal's
// specification, revision 1, Section 4): state in, state out, one message at a
// time.
//
// AES-256-GCM with random nonces throughout, so that a state restored from an
// old disk never uses a (key, nonce) pair twice. Decryption works on a copy that
// replaces the state only when the message opened; every failure is the one
// error ErrDecrypt and changes nothing. Keys of messages that are still on their
// way are kept within bounds, and for 30 days.
//
// In the header travels the field of the braid, the post-quantum ratchet, and
// every message key is made of a key of each: so a message is safe while one of
// the two is. Ratchets of suite 1, of which devices still keep states, have no
// braid: its field is zeros there and its key is zeros. None begins any more.
//
// The package has no clock, no disk and no idea of who talks to whom, and it
// does not remove duplicates: a message opens once.
//
// Spec: docs/spec/session.md.
package ratchet

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Size is the size of a message, in bytes: encrypted header 146, encrypted
// block 1,052.
const Size = wire.PairSize // 1,198

// Bounds.
const (
	// MaxChain is how many messages one sending chain has: the sender stops
	// there until the other side answers, so that a receiver who missed all of
	// them never has more than that many steps to catch up.
	MaxChain = 1 << 15
	// MaxSkippedChain is how many skipped keys of one chain are kept.
	MaxSkippedChain = 1000
	// MaxSkipped is how many skipped keys are kept in all.
	MaxSkipped = 2000
	// SkippedSeconds is how long a skipped key is kept: 30 days.
	SkippedSeconds = 30 * 24 * 3600
)

// Labels of this package.
//
// spec: session.md#keys-and-labels
const (
	labelBegin   = "tacet/v1/ratchet/begin"   // SK to root key and the first two header keys
	labelBraid   = "tacet/v1/ratchet/braid"   // SK to the secret that the braid begins with
	labelRoot    = "tacet/v1/ratchet/root"    // KDF_RK: root key and DH to root, chain and next header key
	labelChain   = "tacet/v1/ratchet/chain"   // KDF_CK: chain key to chain key and EC key of a message
	labelMessage = "tacet/v1/ratchet/message" // EC key and braid key to message key
)

var (
	// ErrDecrypt is the one error of a message that does not open, whatever the
	// reason: forged, damaged, opened before, too old or not for this session.
	ErrDecrypt = errors.New("message does not open")
	// ErrBlock is returned for a block that does not have wire.BlockSize bytes.
	ErrBlock = errors.New("block has the wrong size")
	// ErrNoChain is returned by Encrypt before a responder has opened anything.
	ErrNoChain = errors.New("nothing was received yet")
	// ErrFull is returned by Encrypt when the chain has MaxChain messages and the
	// other side has answered none of them.
	ErrFull = errors.New("too many messages without an answer")
)

// State is one end of a ratchet. It is not safe for concurrent use. After Wipe
// nothing may be done with it.
type State struct {
	core
	skipped store
	braid   *braid.State // nil in suite 1
}

// core is the state without the skipped keys: what one step changes. Names in
// brackets are the specification's.
type core struct {
	root      key.Chain    // [RK]
	own       key.DH       // [DHRs]
	ownPublic key.DHPublic // its public half, kept so that it is not computed again
	peer      key.DHPublic // [DHRr] of the receiving chain; zeros without one

	send, recv         key.Chain  // [CKs, CKr] absent until there is a chain
	headSend, headRecv key.Header // [HKs, HKr] likewise
	nextSend, nextRecv key.Header // [NHKs, NHKr]

	ns, nr, pn uint32 // [Ns, Nr, PN]

	sentBefore, recvBefore uint32 // messages of all earlier chains
}

// NewInitiator begins the ratchet of who began the handshake: sk is its secret,
// peerSigned the responder's signed prekey. It fails with key.ErrPublic, with
// key.ErrSize if the secret is absent, and with the error of rand.
//
// spec: session.md#beginning
func NewInitiator(rand io.Reader, sk key.Shared, peerSigned key.DHPublic) (*State, error) {
	s, err := beginInitiator(rand, sk, peerSigned)
	if err != nil {
		return nil, err
	}
	s.braid = beginBraid(sk, true)
	return s, nil
}

// beginInitiator is NewInitiator without a braid.
func beginInitiator(rand io.Reader, sk key.Shared, peerSigned key.DHPublic) (*State, error) {
	if !sk.Valid() {
		return nil, key.ErrSize
	}
	s := new(State)
	var hka, nhkb key.Header
	s.root, hka, nhkb = begin(sk)
	own, public, z, err := key.NewDH(rand, peerSigned)
	if err != nil {
		s.Wipe()
		hka.Wipe()
		nhkb.Wipe()
		return nil, fmt.Errorf("making a ratchet key: %w", err)
	}
	s.own, s.ownPublic = own, public
	s.headSend, s.nextRecv = hka, nhkb
	s.send, s.nextSend = s.stepRoot(z)
	return s, nil
}

// NewResponder begins the ratchet of who answers the handshake: signed is its
// own signed prekey, which is copied. It can encrypt once it has decrypted. It
// fails with key.ErrSize if a secret is absent.
//
// spec: session.md#beginning
func NewResponder(sk key.Shared, signed key.DH) (*State, error) {
	s, err := beginResponder(sk, signed)
	if err != nil {
		return nil, err
	}
	s.braid = beginBraid(sk, false)
	return s, nil
}

// beginResponder is NewResponder without a braid.
func beginResponder(sk key.Shared, signed key.DH) (*State, error) {
	if !sk.Valid() || !signed.Valid() {
		return nil, key.ErrSize
	}
	s := new(State)
	s.root, s.nextRecv, s.nextSend = begin(sk)
	s.own, s.ownPublic = signed.Clone(), key.DHPublicOf(signed)
	return s, nil
}

// Encrypt encrypts a block of wire.BlockSize bytes into a message of Size bytes
// and moves the sending chain on. ad is bound and does not travel. The state must
// be on disk before the message leaves. It fails with ErrBlock, ErrNoChain,
// ErrFull and the error of rand, and changes nothing then.
//
// spec: session.md#message
func (s *State) Encrypt(rand io.Reader, ad, block []byte) ([]byte, error) {
	switch {
	case len(block) != wire.BlockSize:
		return nil, ErrBlock
	case !s.send.Valid():
		return nil, ErrNoChain
	case s.ns >= MaxChain, s.sentBefore > math.MaxUint32-MaxChain:
		return nil, ErrFull
	}
	var nonces [2 * nonceSize]byte
	if _, err := io.ReadFull(rand, nonces[:]); err != nil {
		return nil, fmt.Errorf("reading nonces: %w", err)
	}
	h := header{dh: s.ownPublic, pn: s.pn, n: s.ns}
	var bk key.Braid
	if s.braid != nil {
		// Last of what can fail: it moves the braid on.
		var err error
		h.braid, bk, err = s.braid.Send(rand)
		if errors.Is(err, braid.ErrFull) {
			return nil, ErrFull
		}
		if err != nil {
			return nil, err
		}
	}
	next, ec := stepChain(s.send)
	mk := messageKey(ec, bk)
	bk.Wipe()
	ec.Wipe()
	msg := h.seal(make([]byte, 0, Size), s.headSend, nonces[:nonceSize])
	msg = sealBlock(msg, mk, nonces[nonceSize:], ad, block)
	mk.Wipe()
	s.send.Wipe()
	s.send = next
	s.ns++
	return msg, nil
}

// Sent is how many messages were encrypted since the session began, over all
// chains. A peer whose Highest is above it has seen a later state of ours: our
// disk went back.
func (s *State) Sent() uint32 { return s.sentBefore + s.ns }

// Highest is how many messages the other side must have encrypted since the
// session began, over all chains, for us to have opened what we opened.
func (s *State) Highest() uint32 { return s.recvBefore + s.nr }

// Room is how many messages can be encrypted before Encrypt says ErrFull. It
// grows to MaxChain with the first message of every new chain that comes in. Who
// sends cover leaves half of it to messages.
func (s *State) Room() int {
	if !s.send.Valid() {
		return 0
	}
	return MaxChain - int(s.ns)
}

// Skipped is how many EC keys of messages that may still come are kept.
func (s *State) Skipped() int { return s.skipped.len() }

// Suite is 2, or 1 for a ratchet without a braid.
func (s *State) Suite() byte {
	if s.braid == nil {
		return stateVersion1
	}
	return stateVersion2
}

// Epoch is how many epochs of the braid are complete: with each, the keys that
// follow come to depend on a fresh ML-KEM secret. It is 0 in suite 1.
func (s *State) Epoch() uint64 {
	if s.braid == nil {
		return 0
	}
	return s.braid.Epoch()
}

// Stalled reports whether no epoch of the braid will be completed any more. It
// is false in suite 1.
//
// spec: braid.md#an-epoch-that-stands-still
func (s *State) Stalled() bool { return s.braid != nil && s.braid.Stalled() }

// Clone returns an independent copy.
func (s *State) Clone() *State {
	c := &State{core: s.core.clone(), skipped: s.skipped.clone()}
	if s.braid != nil {
		c.braid = s.braid.Clone()
	}
	return c
}

// Wipe overwrites all secrets.
func (s *State) Wipe() {
	s.core.wipe()
	s.skipped.wipe()
	if s.braid != nil {
		s.braid.Wipe()
	}
}

func (c *core) clone() core {
	d := *c
	d.root, d.own = c.root.Clone(), c.own.Clone()
	d.send, d.recv = c.send.Clone(), c.recv.Clone()
	d.headSend, d.headRecv = c.headSend.Clone(), c.headRecv.Clone()
	d.nextSend, d.nextRecv = c.nextSend.Clone(), c.nextRecv.Clone()
	return d
}

func (c *core) wipe() {
	c.root.Wipe()
	c.own.Wipe()
	c.send.Wipe()
	c.recv.Wipe()
	c.headSend.Wipe()
	c.headRecv.Wipe()
	c.nextSend.Wipe()
	c.nextRecv.Wipe()
}
