package mls

import (
	"crypto/sha256"
	"io"
	"sync/atomic"
)

// leaves are the members of an epoch, by leaf; a tree is one.
type leaves interface {
	leaf(LeafIndex) *LeafNode // nil for a blank or absent one
	width() uint32            // a power of two
}

// epochView is what the messages of an epoch need and is not secret, but for signer,
// of which they keep a copy.
type epochView struct {
	suite   *suiteParams
	context *GroupContext
	leaves  leaves
	self    LeafIndex
	signer  Secret
}

// messages protects and opens the messages of one epoch (RFC 9420, Sections 6 and 9).
// Clones share what does not change, and the secret tree as long as neither changes
// it. One clone is for one goroutine at a time; two clones are independent.
type messages struct {
	e    *epochShared
	tree secretTree
	past bool // of a PastEpoch: it cannot come to a later epoch
}

// epochShared is what the clones of an epoch share. It does not change; the last of
// its holders wipes it.
type epochShared struct {
	refs    atomic.Int32
	suite   *suiteParams
	groupID []byte
	epoch   uint64
	context []byte // serialised GroupContext
	leaves  leaves
	self    LeafIndex

	signer     Secret
	senderData Secret // sender_data_secret
	membership Secret // membership_key

	lineage *Lineage
	spoken  *spoken // generations of this member in this epoch
}

// newMessages takes encryption_secret, sender_data_secret and membership_key out of s.
// It shares the counters of a lineage, that of the group that is moving on; nil is a
// new one.
func newMessages(v epochView, s *epochSecrets, l *Lineage) *messages {
	m := &messages{
		e:    newEpochShared(v, s.senderData, s.membership, l, true),
		tree: newSecretTree(v.suite, s.encryption, v.leaves.width()),
	}
	s.senderData, s.membership, s.encryption = Secret{}, Secret{}, Secret{}
	return m
}

func newEpochShared(v epochView, senderData, membership Secret, l *Lineage, advances bool) *epochShared {
	if l == nil {
		l = NewLineage()
	}
	e := &epochShared{
		suite: v.suite, groupID: v.context.GroupID, epoch: v.context.Epoch, context: v.context.append(nil),
		leaves: v.leaves, self: v.self, signer: v.signer.Clone(), senderData: senderData, membership: membership,
		lineage: l,
	}
	e.refs.Store(1)
	e.spoken = l.enter(e.id(), advances)
	return e
}

// id names the epoch in a lineage. Two clones with the same encryption_secret have the
// same GroupContext, which went into it.
func (e *epochShared) id() epochID {
	return epochID{e.epoch, sha256.Sum256(appendU32(e.context[:len(e.context):len(e.context)], uint32(e.self)))}
}

// share takes a reference; one that can advance to later epochs counts as such.
func (e *epochShared) share(advances bool) *epochShared {
	e.refs.Add(1)
	e.lineage.share(e.spoken, advances)
	return e
}

// release gives a reference back. The last one wipes the secrets.
func (e *epochShared) release(advances bool) {
	e.lineage.leave(e.spoken, advances)
	if e.refs.Add(-1) == 0 {
		wipe(e.signer, e.senderData, e.membership)
	}
}

// leaf is the member at i, or nil.
func (e *epochShared) leaf(i LeafIndex) *LeafNode {
	if uint32(i) >= e.leaves.width() {
		return nil
	}
	return e.leaves.leaf(i)
}

// here says whether a message is of this group and epoch.
func (e *epochShared) here(groupID []byte, epoch uint64) error {
	switch {
	case !equal(groupID, e.groupID):
		return fail(ErrWrongGroup, "", "message")
	case epoch < e.epoch:
		return fail(ErrPastEpoch, "", "message")
	case epoch > e.epoch:
		return fail(ErrFutureEpoch, "", "message")
	}
	return nil
}

// lineage is for the messages of the next epoch.
func (m *messages) lineage() *Lineage { return m.e.lineage }

// rehome moves the messages, with all that their lineage has counted, into another. It
// fails with ErrArgument if clones are in the old one: they would not count with these.
func (m *messages) rehome(l *Lineage) error {
	e := m.e
	if e.lineage == l {
		return nil
	}
	if e.refs.Load() != 1 {
		return fail(ErrArgument, "", "commit of another lineage, which has clones there")
	}
	entered := l.enter(e.id(), !m.past)
	l.merge(e.lineage.entriesNow())
	e.lineage.leave(e.spoken, !m.past)
	e.lineage, e.spoken = l, entered
	return nil
}

func (m *messages) clone() *messages {
	return &messages{e: m.e.share(!m.past), tree: m.tree.clone(), past: m.past}
}

// drop wipes what no clone, and no reservation, holds. m is not used after it.
func (m *messages) drop() {
	if m.tree.root != nil {
		m.tree.drop()
		m.e.release(!m.past)
	}
}

// sign signs a content of this member, whose group, epoch and sender it fills in.
func (m *messages) sign(rand io.Reader, wire WireFormat, c *framedContent) (*authenticatedContent, error) {
	return m.e.sign(rand, wire, c)
}

func (e *epochShared) sign(rand io.Reader, wire WireFormat, c *framedContent) (*authenticatedContent, error) {
	c.GroupID, c.Epoch, c.Sender = e.groupID, e.epoch, Sender{Type: SenderMember, Leaf: e.self}
	return e.suite.signFramed(rand, e.signer, wire, c, e.context)
}
