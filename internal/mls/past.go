package mls

import (
	"bytes"
	"crypto/subtle"
)

// PastEpoch is what is left of an epoch once the group has moved on: enough to open
// messages that come late and to say something again, and nothing that leads to any
// other epoch or to exported secrets. It is a value as a [Group] is.
type PastEpoch struct{ m *messages }

// PastMessage is application data of a past epoch.
type PastMessage struct {
	Sender            LeafIndex // in that epoch
	AuthenticatedData []byte
	Application       []byte
}

// pastOf makes a PastEpoch of a clone of m.
func (m *messages) pastOf() *PastEpoch {
	return &PastEpoch{&messages{e: m.e.share(false), tree: m.tree.clone(), past: true}}
}

// GroupID is the group's id.
func (p *PastEpoch) GroupID() []byte { return p.m.e.groupID }

// Epoch is the epoch's number.
func (p *PastEpoch) Epoch() uint64 { return p.m.e.epoch }

// Self is this member's leaf in that epoch.
func (p *PastEpoch) Self() LeafIndex { return p.m.e.self }

// Member is who was at a leaf then.
func (p *PastEpoch) Member(i LeafIndex) (signatureKey []byte, c Credential, ok bool) {
	l := p.m.e.leaf(i)
	if l == nil {
		return nil, Credential{}, false
	}
	return l.SignatureKey, l.Credential, true
}

// Open opens application data and deletes its key. Proposals and commits of a past
// epoch change nothing any more: ErrPastEpoch, as for older epochs. Otherwise it fails
// with ErrWrongGroup, ErrFutureEpoch, ErrDecrypt, ErrUsed, ErrTooFar, ErrOwn,
// ErrMalformed and ErrInvalid.
func (p *PastEpoch) Open(m *Message) (*PastMessage, error) {
	if m.private == nil {
		return nil, invalid("6.2", "application data comes in a PrivateMessage")
	}
	if m.private.Type != ContentApplication {
		if err := p.m.e.here(m.private.GroupID, m.private.Epoch); err != nil {
			return nil, err
		}
		return nil, fail(ErrPastEpoch, "", "proposal or commit")
	}
	o, err := p.m.openPrivate(m.private)
	if err != nil {
		return nil, err
	}
	o.consume()
	c := o.content.Content
	return &PastMessage{Sender: c.Sender.Leaf, AuthenticatedData: c.AuthenticatedData, Application: c.Application}, nil
}

// Reserve takes the next generation of this member's own ratchet. The epoch is to be
// written down before what it seals leaves. It fails with ErrArgument after 2^32-1
// messages.
func (p *PastEpoch) Reserve() (*Reservation, error) { return p.m.reserve(ContentApplication) }

// Clone is an independent copy that shares what does not change.
func (p *PastEpoch) Clone() *PastEpoch { return &PastEpoch{p.m.clone()} }

// Drop wipes what no clone holds. p is not used after it.
func (p *PastEpoch) Drop() { p.m.drop() }

const pastVersion = 2

// Append appends the state, which is secret: version 2 ‖ public<V> ‖ secret<V>.
func (p *PastEpoch) Append(b []byte) []byte {
	b = appendVec(append(b, pastVersion), p.Public().Append(nil))
	secret := p.AppendSecret(nil)
	b = appendVec(b, secret)
	clear(secret)
	return b
}

// AppendSecret appends the part of the state that is secret, which changes with each
// message: signature key<V> ‖ messages.
func (p *PastEpoch) AppendSecret(b []byte) []byte {
	return p.m.append(appendVec(b, p.m.e.signer.Bytes()))
}

// ParsePastEpoch reads the state of a past epoch into a lineage (nil is a new one). It
// fails with ErrState.
func ParsePastEpoch(b []byte, l *Lineage) (*PastEpoch, error) {
	r := reader{b: b}
	version, public, secret := r.u8(), r.vec(), r.vec()
	if r.err("") != nil || version != pastVersion {
		return nil, fail(ErrState, "", "past epoch")
	}
	p, err := ParsePastPublic(public)
	if err != nil {
		return nil, err
	}
	return p.Epoch(secret, l)
}

// PastPublic is the part of a past epoch that is not secret: the group context, and the
// signature keys and credentials of its members. It never changes.
type PastPublic struct {
	context GroupContext
	self    LeafIndex
	was     pastLeaves
}

// Public is the part of the past epoch that is not secret.
func (p *PastEpoch) Public() *PastPublic {
	e := p.m.e
	r := reader{b: e.context}
	out := &PastPublic{context: readGroupContext(&r), self: e.self, was: pastLeaves{n: e.leaves.width()}}
	blank := 0 // at the end of the list
	for i := range out.was.n {
		l := e.leaves.leaf(LeafIndex(i))
		if blank++; l != nil {
			l, blank = &LeafNode{SignatureKey: l.SignatureKey, Credential: l.Credential}, 0
		}
		out.was.list = append(out.was.list, l)
	}
	out.was.list = out.was.list[:len(out.was.list)-blank]
	return out
}

// Append appends GroupContext ‖ own leaf 4 ‖ width 4 ‖ members<V>. A member is an optional
// of signature_key and credential; blanks at the end are left out.
func (p *PastPublic) Append(b []byte) []byte {
	b = appendU32(appendU32(p.context.append(b), uint32(p.self)), p.was.n)
	return appendList(b, p.was.list, func(b []byte, l *LeafNode) []byte {
		if b = appendPresent(b, l != nil); l == nil {
			return b
		}
		return l.Credential.append(appendVec(b, l.SignatureKey))
	})
}

// ParsePastPublic reads what [PastPublic.Append] wrote. Nothing of b is kept. It fails
// with ErrState.
func ParsePastPublic(b []byte) (*PastPublic, error) {
	if len(b) > MaxState {
		return nil, fail(ErrState, "", "past epoch")
	}
	r := reader{b: bytes.Clone(b)}
	p := &PastPublic{context: readGroupContext(&r), self: LeafIndex(r.u32())}
	p.was.n = r.u32()
	p.was.list = list(&r, func(r *reader) *LeafNode {
		if !r.present() {
			return nil
		}
		return &LeafNode{SignatureKey: r.vec(), Credential: readCredential(r)}
	})
	if r.err("") != nil || p.context.Suite.params() == nil || !p.was.ok() || p.was.leaf(p.self) == nil {
		return nil, fail(ErrState, "", "past epoch")
	}
	return p, nil
}

// Epoch makes a past epoch of the secret part that belongs to p, in a lineage (nil is a
// new one). Nothing of secret is kept. It fails with ErrState.
func (p *PastPublic) Epoch(secret []byte, l *Lineage) (*PastEpoch, error) {
	damaged := fail(ErrState, "", "past epoch")
	if len(secret) > MaxState {
		return nil, damaged
	}
	r := reader{b: secret}
	v := epochView{suite: p.context.Suite.params(), context: &p.context, leaves: p.was, self: p.self, signer: NewSecret(r.vec())}
	defer v.signer.Wipe()
	public, err := SignaturePublic(p.context.Suite, v.signer)
	if r.fail || err != nil || subtle.ConstantTimeCompare(public, p.was.leaf(p.self).SignatureKey) != 1 {
		return nil, damaged
	}
	m := readMessagesOf(&r, v, l, true)
	if m == nil || r.err("") != nil {
		if m != nil {
			m.drop()
		}
		return nil, damaged
	}
	return &PastEpoch{m}, nil
}

// pastLeaves are the members of a past epoch that was read back: their signature keys
// and credentials alone.
type pastLeaves struct {
	list []*LeafNode
	n    uint32
}

func (p pastLeaves) leaf(i LeafIndex) *LeafNode {
	if int(i) >= len(p.list) {
		return nil
	}
	return p.list[i]
}

func (p pastLeaves) width() uint32 { return p.n }

// ok reports whether the list fits the width and does not end in a blank.
func (p pastLeaves) ok() bool {
	n := len(p.list)
	return n > 0 && n <= int(p.n) && p.n <= MaxLeaves && p.list[n-1] != nil
}
