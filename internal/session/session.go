// Package session is a pair session between two devices: the handshake of pqxdh
// and the ratchet joined. One side starts it with a hello, the other accepts the
// hello, then both seal and open blocks of one size. Sessions begin in suite 2;
// stored ones of suite 1, which has no post-quantum ratchet, go on as they are.
//
// It does not cut or pad content, does not seal hellos or cells for their way,
// keeps nothing, does not know which prekeys or hellos were used and does not
// remove duplicates. Whether a person is who they should be is the caller's to
// decide, by the root of the peer.
//
// Spec: docs/spec/session.md and docs/spec/hello.md.
package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/ratchet"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Suite is the one in which sessions begin.
const Suite = pqxdh.Suite

// MessageSize is the size of a sealed message, in bytes.
const MessageSize = wire.PairSize // 1,198

// Labels of this package.
//
// spec: session.md#keys-and-labels
const (
	labelAD    = "tacet/v1/session/ad"    // associated data of every message
	labelInner = "tacet/v1/session/inner" // names a message that was opened
)

var (
	// ErrOpen is the one error of a message that does not open.
	ErrOpen = ratchet.ErrDecrypt
	// ErrFull is returned by Seal until the other side has answered.
	ErrFull = ratchet.ErrFull
	// ErrSuite is returned for a suite this program does not know.
	ErrSuite = pqxdh.ErrSuite
	// ErrPrekey is returned when prekeys do not fit or were used up.
	ErrPrekey = pqxdh.ErrPrekey
	// ErrDevice is returned for a device that the manifest does not have, or has
	// revoked.
	ErrDevice = errors.New("device is not active")
)

// Self is our own end.
type Self struct {
	Manifest *manifest.Manifest
	Device   int // our place in it
	DH       key.DH
}

// Peer is the other end, as its bundle says. The caller has verified the manifest.
type Peer struct {
	Manifest *manifest.Manifest
	Device   int // its place in it
	Prekeys  *pqxdh.Prekeys
	Bundle   [32]byte // hash of the bundle that the prekeys stood in
}

// End names one end of a session for good, as it was when the session began.
type End struct {
	Root     key.SignPublic // the person
	Sign     key.SignPublic // the device
	Sequence uint32         // of the manifest
	Manifest [32]byte       // its hash
}

// Session is one end of a pair session. It is not safe for concurrent use. After
// Wipe nothing may be done with it.
type Session struct {
	initiator  bool
	ad         [32]byte
	self, peer End
	ratchet    *ratchet.State
}

// Start begins a session with a peer. route, 1 to MaxRoute bytes, says where it
// can answer, name, at most MaxName bytes of UTF-8, who we say we are, first is
// the first block. The session must be on disk before the hello leaves.
//
// It fails with ErrDevice, ErrHello for a route, name or block that a hello
// cannot have, and with the errors of pqxdh.Initiate.
//
// spec: session.md#session
func Start(rand io.Reader, self Self, peer Peer, route []byte, name string, first []byte) (*Session, *Hello, error) {
	a, ourEnd, err := party(self.Manifest, self.Device)
	if err != nil {
		return nil, nil, fmt.Errorf("starting as our own device: %w", err)
	}
	b, theirEnd, err := party(peer.Manifest, peer.Device)
	if err != nil {
		return nil, nil, fmt.Errorf("starting with their device: %w", err)
	}
	h := &Hello{Suite: pqxdh.Suite, Device: byte(self.Device), Manifest: self.Manifest, Route: bytes.Clone(route), Name: name}
	if err := h.check(); err != nil || len(first) != wire.BlockSize {
		return nil, nil, ErrHello
	}
	in, result, err := pqxdh.Initiate(rand, a, self.DH, b, peer.Prekeys, peer.Bundle)
	if err != nil {
		return nil, nil, err
	}
	defer result.Wipe()
	h.Initial = *in
	s := &Session{initiator: true, ad: h.bind(result.AD), self: ourEnd, peer: theirEnd}
	if s.ratchet, err = ratchet.NewInitiator(rand, result.Secret, peer.Prekeys.Signed); err != nil {
		return nil, nil, err
	}
	m, err := s.Seal(rand, first)
	if err != nil {
		s.Wipe()
		return nil, nil, err
	}
	copy(h.First[:], m)
	return s, h, nil
}

// Accept answers a hello that came for the prekeys priv and pre, which stood in
// the bundle of that hash, and opens its first block. The manifest of the hello is
// verified under its own root: that the root is somebody we want is the caller's
// to see. Nothing is changed: the caller wipes one-time prekeys when it has
// committed the session.
//
// It fails with ErrSuite, ErrDevice, ErrPrekey, ErrOpen, and the errors of
// manifest.Verify and pqxdh.Respond. To the other side they are all silence.
//
// spec: hello.md#accepting
func Accept(rand io.Reader, now time.Time, self Self, priv *pqxdh.Private, pre *pqxdh.Prekeys, bundle [32]byte, h *Hello) (*Session, []byte, error) {
	if h.Suite != pqxdh.Suite {
		return nil, nil, ErrSuite
	}
	if err := h.check(); err != nil {
		return nil, nil, err
	}
	if err := h.Manifest.Verify(h.Manifest.Root, now); err != nil {
		return nil, nil, fmt.Errorf("verifying manifest: %w", err)
	}
	b, ourEnd, err := party(self.Manifest, self.Device)
	if err != nil {
		return nil, nil, fmt.Errorf("accepting as our own device: %w", err)
	}
	a, theirEnd, err := party(h.Manifest, int(h.Device))
	if err != nil {
		return nil, nil, fmt.Errorf("accepting their device: %w", err)
	}
	result, err := pqxdh.Respond(b, self.DH, priv, pre, bundle, a, &h.Initial)
	if err != nil {
		return nil, nil, err
	}
	defer result.Wipe()
	s := &Session{ad: h.bind(result.AD), self: ourEnd, peer: theirEnd}
	if s.ratchet, err = ratchet.NewResponder(result.Secret, priv.Signed); err != nil {
		return nil, nil, err
	}
	block, err := s.Open(rand, now, h.First[:])
	if err != nil {
		s.Wipe()
		return nil, nil, err
	}
	return s, block, nil
}

// party is the device at place i of a manifest, as the handshake and as the
// session name it.
func party(m *manifest.Manifest, i int) (pqxdh.Party, End, error) {
	d, ok := m.Active(i)
	if !ok {
		return pqxdh.Party{}, End{}, ErrDevice
	}
	hash := m.Hash()
	return pqxdh.Party{Root: m.Root, Sign: d.Sign, DH: d.DH, Manifest: hash},
		End{Root: m.Root, Sign: d.Sign, Sequence: m.Sequence, Manifest: hash}, nil
}

// Seal seals a block of wire.BlockSize bytes into a message of MessageSize bytes.
// The session must be on disk before the message leaves. It fails with ErrFull,
// ratchet.ErrBlock and the error of rand, and changes nothing then.
func (s *Session) Seal(rand io.Reader, block []byte) ([]byte, error) {
	return s.ratchet.Encrypt(rand, s.ad[:], block)
}

// Open opens a message of the other side and returns its block. The session must
// be on disk before the message is acked. Every message that does not open fails
// with ErrOpen and changes nothing; the only other error is that of rand.
func (s *Session) Open(rand io.Reader, now time.Time, msg []byte) ([]byte, error) {
	return s.ratchet.Decrypt(rand, now, s.ad[:], msg)
}

// InnerHash names a message, or a whole hello, among those that were opened, so
// that a duplicate can be acked again without being opened.
//
// spec: session.md#session
func InnerHash(msg []byte) [16]byte {
	h := key.Hash(labelInner, msg)
	return [16]byte(h[:])
}

// Initiator reports whether we started the session.
func (s *Session) Initiator() bool { return s.initiator }

// Self is our end as it was when the session began.
func (s *Session) Self() End { return s.self }

// Peer is the other end as it was when the session began.
func (s *Session) Peer() End { return s.peer }

// Sent is how many messages we sealed, the first block included.
func (s *Session) Sent() uint32 { return s.ratchet.Sent() }

// Highest is how many messages the other side must have sealed for us to have
// opened what we opened: lost ones count. It is what an ack carries; a peer whose
// Highest is above our Sent has seen a later state of ours.
func (s *Session) Highest() uint32 { return s.ratchet.Highest() }

// Room is how many messages can be sealed before the other side has to answer.
func (s *Session) Room() int { return s.ratchet.Room() }

// Suite is the suite that the session was begun in: 2, or 1 for one of before
// there was a braid. Nothing in a session changes its suite.
func (s *Session) Suite() byte { return s.ratchet.Suite() }

// Epoch is how many epochs of the braid are complete; 0 in suite 1.
func (s *Session) Epoch() uint64 { return s.ratchet.Epoch() }

// Stalled reports whether no epoch of the braid will be completed any more, so
// that only a new session heals. It is false in suite 1.
//
// spec: braid.md#an-epoch-that-stands-still
func (s *Session) Stalled() bool { return s.ratchet.Stalled() }

// Clone returns an independent copy.
func (s *Session) Clone() *Session {
	c := *s
	c.ratchet = s.ratchet.Clone()
	return &c
}

// Wipe overwrites all secrets.
func (s *Session) Wipe() {
	if s.ratchet != nil {
		s.ratchet.Wipe()
	}
}
