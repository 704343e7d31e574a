package mls

import (
	"crypto/sha256"
	"iter"
	"slices"
)

// MaxResumption is of how many epochs, the present one included, a group keeps the
// resumption PSK (RFC 9420, Section 8.6).
const MaxResumption = 64

// Group is one member's view of one epoch of a group. It is a value in the sense that
// [Group.Clone] gives an independent one for little; it is not copied otherwise. It is
// for one goroutine at a time; clones are independent. Whoever is done with one drops
// it, which wipes its secrets.
type Group struct {
	p       *suiteParams
	context GroupContext
	tree    tree
	private *privateTree // private keys of nodes
	secrets *epochSecrets
	self    LeafIndex
	signer  Secret

	messages        *messages // what seals and opens the messages of the epoch
	confirmationTag []byte
	interim         []byte // interim_transcript_hash (RFC 9420, Section 8.2)

	proposals  pendingProposals
	updates    []pendingUpdate
	resumption []resumptionPSK // ascending; the last is that of this epoch

	reinit  *ReInit // the group was reinitialised
	removed bool    // this device is no member any more: there are no secrets
}

// resumptionPSK is resumption_psk of an epoch of this group (RFC 9420, Section 8.6).
type resumptionPSK struct {
	epoch uint64
	psk   Secret
}

// pendingUpdate is the private side of an update that this member has proposed.
type pendingUpdate struct {
	encryptionKey []byte // of the leaf proposed
	private       Secret
	signer        Secret // absent if the signature key is to stay
}

// groupParts is what a group is made of at the beginning of an epoch. newGroup takes
// over what is secret.
type groupParts struct {
	p          *suiteParams
	context    GroupContext
	tree       tree
	private    *privateTree // its self is the own leaf
	signer     Secret
	secrets    *epochSecrets
	resumption []resumptionPSK // of epochs before
	lineage    *Lineage        // nil: a new one
	reinit     *ReInit
}

// newGroup begins an epoch. Its confirmation tag is computed; whoever got one from
// somebody else compares.
func newGroup(s groupParts) *Group {
	g := &Group{
		p: s.p, context: s.context, tree: s.tree, private: s.private, self: s.private.self,
		signer: s.signer, secrets: s.secrets, reinit: s.reinit,
	}
	g.confirmationTag = g.p.confirmationTag(g.secrets, g.context.ConfirmedTranscriptHash)
	g.interim = g.p.interimHash(g.context.ConfirmedTranscriptHash, g.confirmationTag)
	g.resumption = append(s.resumption, resumptionPSK{g.context.Epoch, g.secrets.resumption})
	g.secrets.resumption = Secret{} // the list owns it
	for len(g.resumption) > MaxResumption {
		g.resumption[0].psk.Wipe()
		g.resumption = slices.Delete(g.resumption, 0, 1)
	}
	g.messages = newMessages(g.view(), g.secrets, s.lineage)
	return g
}

func (g *Group) view() epochView {
	return epochView{suite: g.p, context: &g.context, leaves: g.tree, self: g.self, signer: g.signer}
}

// nextSecrets is the key schedule from one epoch to the next (RFC 9420, Section 8):
// with the init secret of the one before, and the GroupContext of the new one. The
// joiner secret goes into a Welcome; the caller wipes it.
func (p *suiteParams) nextSecrets(init, commit, psk Secret, context *GroupContext) (e *epochSecrets, joiner Secret) {
	c := context.append(nil)
	joiner = p.joinerSecret(init, commit, c)
	return p.epochOf(joiner, psk, c), joiner
}

// identity names the epoch on one branch of the group's history.
func (g *Group) identity() [32]byte {
	return sha256.Sum256(appendVec(g.context.append(nil), g.interim))
}

// usable fails for a group that goes no further.
func (g *Group) usable() error {
	switch {
	case g.removed:
		return fail(ErrRemoved, "", "group")
	case g.reinit != nil:
		return fail(ErrEnded, "11.2", "group")
	}
	return nil
}

// Suite is the cipher suite of the group.
func (g *Group) Suite() Suite { return g.context.Suite }

// GroupID is the identifier of the group. It is not written to.
func (g *Group) GroupID() []byte { return g.context.GroupID }

// Epoch is the number of the epoch, from 0.
func (g *Group) Epoch() uint64 { return g.context.Epoch }

// Context is the GroupContext of the epoch (RFC 9420, Section 8.1).
func (g *Group) Context() GroupContext { return g.context }

// Extensions are the extensions of the group context.
func (g *Group) Extensions() []Extension { return slices.Clone(g.context.Extensions) }

// Self is one's own leaf.
func (g *Group) Self() LeafIndex { return g.self }

// Leaf is the leaf node of a member; nil if there is none.
func (g *Group) Leaf(i LeafIndex) *LeafNode { return g.tree.leaf(i) }

// Members are all members, from the left.
func (g *Group) Members() iter.Seq2[LeafIndex, *LeafNode] { return g.tree.members() }

// Size is the number of members.
func (g *Group) Size() int { return g.tree.count() }

// ReInit is what was said about the successor by the commit that ended the group; nil
// if it goes on (RFC 9420, Section 11.2).
func (g *Group) ReInit() *ReInit { return g.reinit }

// Removed reports whether this device was removed from the group.
func (g *Group) Removed() bool { return g.removed }

// EpochAuthenticator is epoch_authenticator (RFC 9420, Section 8.7): who shows the
// same is in the same epoch. Nil once this device was removed.
func (g *Group) EpochAuthenticator() []byte {
	if g.removed {
		return nil
	}
	return slices.Clone(g.secrets.authenticator.Bytes())
}

// Export is MLS-Exporter (RFC 9420, Section 8.5): a secret of length bytes that all
// members of the epoch can derive. It fails with ErrRemoved, and with ErrArgument
// after [Group.DropExporter] and for lengths over 255 hashes.
func (g *Group) Export(label string, context []byte, length int) (Secret, error) {
	if g.removed {
		return Secret{}, fail(ErrRemoved, "8.5", "group")
	}
	return g.secrets.export(g.p, label, context, length)
}

// DropExporter wipes the exporter secret of this epoch, once all that is wanted was
// derived.
func (g *Group) DropExporter() {
	if !g.removed {
		g.secrets.exporter.Wipe()
	}
}
