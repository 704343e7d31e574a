package mls

import "crypto/subtle"

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

const pastVersion = 1

// Append appends the state, which is secret: version 1 ‖ GroupContext ‖ own leaf 4 ‖
// signature key<V> ‖ members<V> ‖ messages. A member is an optional of signature_key
// and credential; blanks at the end are left out.
func (p *PastEpoch) Append(b []byte) []byte {
	e := p.m.e
	b = appendU32(append(append(b, pastVersion), e.context...), uint32(e.self))
	b = appendU32(appendVec(b, e.signer.Bytes()), e.leaves.width())
	var list []*LeafNode
	blank := 0 // at the end of list
	for i := range e.leaves.width() {
		l := e.leaves.leaf(LeafIndex(i))
		if list, blank = append(list, l), blank+1; l != nil {
			blank = 0
		}
	}
	b = appendList(b, list[:len(list)-blank], func(b []byte, l *LeafNode) []byte {
		if b = appendPresent(b, l != nil); l == nil {
			return b
		}
		return l.Credential.append(appendVec(b, l.SignatureKey))
	})
	return p.m.append(b)
}

// ParsePastEpoch reads the state of a past epoch into a lineage (nil is a new one). It
// fails with ErrState.
func ParsePastEpoch(b []byte, l *Lineage) (*PastEpoch, error) {
	r := reader{b: append([]byte(nil), b...)} // messages share the members' keys
	if r.u8() != pastVersion {
		return nil, fail(ErrState, "", "past epoch")
	}
	context := readGroupContext(&r)
	v := epochView{suite: context.Suite.params(), context: &context, self: LeafIndex(r.u32())}
	signer := r.vec()
	v.signer = NewSecret(signer)
	clear(signer)
	defer v.signer.Wipe()
	was := pastLeaves{n: r.u32()}
	was.list = list(&r, func(r *reader) *LeafNode {
		if !r.present() {
			return nil
		}
		return &LeafNode{SignatureKey: r.vec(), Credential: readCredential(r)}
	})
	v.leaves = was
	rest := r.b
	defer clear(rest)
	if v.suite == nil || r.fail || !was.ok() || v.self >= LeafIndex(len(was.list)) || was.list[v.self] == nil {
		return nil, fail(ErrState, "", "past epoch")
	}
	public, err := SignaturePublic(context.Suite, v.signer)
	if err != nil || subtle.ConstantTimeCompare(public, was.list[v.self].SignatureKey) != 1 {
		return nil, fail(ErrState, "", "past epoch")
	}
	m := readMessagesOf(&r, v, l, true)
	if m == nil || r.err("") != nil {
		if m != nil {
			m.drop()
		}
		return nil, fail(ErrState, "", "past epoch")
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
