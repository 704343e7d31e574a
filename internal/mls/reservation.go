package mls

import (
	"fmt"
	"io"
	"sync/atomic"
)

// Reservation is one generation of this member's own ratchet, with its key, which is
// nowhere else any more. It is made before there is anything to encrypt: what a group
// writes down after Reserve has moved past it, so that no crash, and no clone, can
// use the key again. It seals once, also after its group has moved on.
type Reservation struct {
	e          *epochShared
	kind       ratchetKind
	generation uint32
	key        messageKey
	used       atomic.Bool
}

// reserve takes the next generation of the ratchet for a content. No clone will get it
// again. It fails with ErrArgument after 2^32-1 messages in an epoch.
func (m *messages) reserve(t ContentType) (*Reservation, error) {
	kind := kindOf(t)
	g, err := m.e.lineage.next(m.e.spoken, kind, m.tree.next(m.e.self, kind))
	if err != nil {
		return nil, err
	}
	return &Reservation{e: m.e.share(false), kind: kind, generation: g, key: m.tree.take(m.e.self, kind, g)}, nil
}

// seal makes the PrivateMessage of a signed content, with zeros as padding (RFC 9420,
// Section 6.3). The reservation is spent, also if it fails: with ErrArgument, and
// with the error of rand.
func (r *Reservation) seal(rand io.Reader, a *authenticatedContent, padding int) (*privateMessage, error) {
	if r.used.Swap(true) {
		return nil, fail(ErrArgument, "9.2", "reservation was spent")
	}
	defer r.wipe()
	c := a.Content
	if a.Wire != WirePrivate || kindOf(c.Type) != r.kind || c.Sender != (Sender{Type: SenderMember, Leaf: r.e.self}) ||
		!equal(c.GroupID, r.e.groupID) || c.Epoch != r.e.epoch {
		return nil, fail(ErrArgument, "6.3", "content that is not for this reservation")
	}
	if padding < 0 || padding > MaxMessage {
		return nil, fail(ErrArgument, "6.3.1", "padding")
	}
	s := senderData{Leaf: r.e.self, Generation: r.generation}
	if _, err := io.ReadFull(rand, s.ReuseGuard[:]); err != nil {
		return nil, fmt.Errorf("drawing a reuse guard: %w", err)
	}
	r.key.guard(s.ReuseGuard)
	pm := &privateMessage{GroupID: c.GroupID, Epoch: c.Epoch, Type: c.Type, AuthenticatedData: c.AuthenticatedData}
	plain := make([]byte, 0, len(c.Application)+len(a.Auth.Signature)+padding+128)
	plain = a.Auth.append(c.appendContent(plain), c.Type)
	plain = append(plain, make([]byte, padding)...)
	pm.Ciphertext = r.e.suite.seal(r.key.key, r.key.nonce[:], pm.contentAAD(), plain)
	clear(plain)
	pm.sealSender(r.e.suite, r.e.senderData, s)
	return pm, nil
}

// Seal signs and encrypts application data as a PrivateMessage. The reservation is
// spent, also if it fails: with ErrArgument, and with the error of env.Rand.
func (r *Reservation) Seal(env Env, application []byte, f Framing) (*Message, error) {
	if r.used.Load() {
		return nil, fail(ErrArgument, "9.2", "reservation was spent")
	}
	if f.Public || r.kind != applicationRatchet {
		r.Drop()
		return nil, fail(ErrArgument, "6.2", "application data is always encrypted")
	}
	c := &framedContent{Type: ContentApplication, Application: application, AuthenticatedData: f.AuthenticatedData}
	a, err := r.e.sign(env.Rand, WirePrivate, c)
	if err != nil {
		r.Drop()
		return nil, err
	}
	pm, err := r.seal(env.Rand, a, f.Padding)
	if err != nil {
		return nil, err
	}
	return &Message{Wire: WirePrivate, private: pm}, nil
}

// Drop wipes the key of a reservation that is not used. Its generation stays spent.
func (r *Reservation) Drop() {
	if !r.used.Swap(true) {
		r.wipe()
	}
}

func (r *Reservation) wipe() {
	r.key.wipe()
	r.e.release(false)
}
