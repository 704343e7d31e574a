package mls

import (
	"bytes"
	"iter"
)

const (
	stateVersion = 1
	// MaxState is the largest stored state that is read, 256 MiB.
	MaxState = 1 << 28
)

// Append appends the stored form of the group, which is secret:
//
//	version 1 ‖ public<V> ‖ secret<V>
//	public: GroupContext ‖ ratchet tree ‖ self 4 ‖ removed 1 ‖ optional ReInit ‖ proposals<V>
//	secret: private keys ‖ epoch secrets ‖ signer<V> ‖ updates<V> ‖ resumption<V> ‖ messages
//
// <V> is the length of RFC 9420, Section 2.1.2. Of a group that this device was
// removed from, secret is empty. It is written after every call that changed the
// group, before what the call made leaves.
func (g *Group) Append(b []byte) []byte {
	b = append(b, stateVersion)
	b = appendVec(b, g.AppendPublic(nil))
	secret := g.AppendSecret(nil)
	b = appendVec(b, secret)
	clear(secret)
	return b
}

// AppendPublic appends the part of the stored form that is not secret. It changes with
// a merged commit and with a proposal only, and is most of the whole: who stores the
// two parts on their own writes the secret one alone after a message.
func (g *Group) AppendPublic(b []byte) []byte {
	b = g.context.append(b)
	b = appendNodes(b, g.tree.nodes())
	b = appendU32(b, uint32(g.self))
	b = appendPresent(b, g.removed)
	b = appendPresent(b, g.reinit != nil)
	if g.reinit != nil {
		b = ReInitProposal(*g.reinit).Append(b)
	}
	return appendList(b, g.proposals.list, func(b []byte, p pendingProposal) []byte {
		return p.proposal.Append(p.sender.append(appendVec(b, []byte(p.ref))))
	})
}

// AppendSecret appends the part of the stored form that is secret.
func (g *Group) AppendSecret(b []byte) []byte {
	if g.removed {
		return b
	}
	b = g.private.append(b)
	b = g.secrets.append(b)
	b = appendVec(b, g.signer.Bytes())
	b = appendList(b, g.updates, func(b []byte, u pendingUpdate) []byte {
		b = appendVec(appendVec(b, u.encryptionKey), u.private.Bytes())
		return appendVec(b, u.signer.Bytes())
	})
	b = appendList(b, g.resumption, func(b []byte, r resumptionPSK) []byte {
		return appendVec(appendU64(b, r.epoch), r.psk.Bytes())
	})
	return g.messages.append(b)
}

// ParseGroup reads what [Group.Append] wrote. States of one group that are to live
// side by side are read with one [Lineage]; nil is a new one. Nothing of b is kept. It
// fails with ErrState.
func ParseGroup(b []byte, l *Lineage) (*Group, error) {
	damaged := fail(ErrState, "", "group")
	if len(b) > MaxState {
		return nil, damaged
	}
	r := reader{b: b}
	version, public, secret := r.u8(), r.vec(), r.vec()
	if r.err("") != nil || version != stateVersion {
		return nil, damaged
	}
	return ParseGroupParts(public, secret, l)
}

// ParseGroupParts is [ParseGroup] for parts that were stored on their own. Parts of two
// groups, or of two epochs, are refused.
func ParseGroupParts(public, secret []byte, l *Lineage) (*Group, error) {
	if len(public)+len(secret) > MaxState {
		return nil, fail(ErrState, "", "group")
	}
	p, err := ParsePublic(public)
	if err != nil {
		return nil, err
	}
	return p.Group(secret, l)
}

// Public is the part of a group's stored form that is not secret, as it was read. To read
// it takes a hash for each node of the tree; it never changes, and any number of groups
// are made of one for the cost of their secrets.
type Public struct{ g Group } // of it, what readPublic fills in

// ParsePublic reads what [Group.AppendPublic] wrote. Nothing of b is kept. It fails with
// ErrState.
func ParsePublic(b []byte) (*Public, error) {
	p := &Public{}
	if len(b) > MaxState || !p.g.readPublic(bytes.Clone(b)) {
		return nil, fail(ErrState, "", "group")
	}
	return p, nil
}

// Public is the part of the group that is not secret, as it is now.
func (g *Group) Public() *Public { return &Public{g.publicPart()} }

func (g *Group) publicPart() Group {
	return Group{p: g.p, context: g.context, tree: g.tree, self: g.self, removed: g.removed, reinit: g.reinit, proposals: g.proposals.clone()}
}

// Append appends what [Group.AppendPublic] wrote.
func (p *Public) Append(b []byte) []byte { return p.g.AppendPublic(b) }

// Extensions are the extensions of the group context.
func (p *Public) Extensions() []Extension { return p.g.Extensions() }

// Members are all members, from the left.
func (p *Public) Members() iter.Seq2[LeafIndex, *LeafNode] { return p.g.Members() }

// Group makes a group of the secret part that belongs to p, in a lineage (nil is a new
// one). Nothing of secret is kept. It fails with ErrState.
func (p *Public) Group(secret []byte, l *Lineage) (*Group, error) {
	made := p.g.publicPart()
	g := &made
	if len(secret) > MaxState || g.removed && len(secret) != 0 {
		return nil, fail(ErrState, "", "group")
	}
	if !g.removed && !g.readSecret(secret, l) {
		g.Drop()
		return nil, fail(ErrState, "", "group")
	}
	return g, nil
}

// readPublic reads the public part, which it keeps. The tree has to be that of the
// context, and to have a leaf for this member.
func (g *Group) readPublic(b []byte) bool {
	r := reader{b: b}
	g.context = readGroupContext(&r)
	g.p = g.context.Suite.params()
	nodes := readNodes(&r)
	if g.p == nil || r.fail {
		return false
	}
	var err error
	if g.tree, err = treeOf(g.p, nodes); err != nil || !equal(g.tree.hash(), g.context.TreeHash) {
		return false
	}
	g.self = LeafIndex(r.u32())
	g.removed = r.present()
	if r.present() {
		g.reinit = readProposal(&r).ReInit
		r.fail = r.fail || g.reinit == nil
	}
	for _, p := range list(&r, readPending) {
		n := len(g.proposals.list)
		if g.proposals.add(p.ref, p.sender, p.proposal) != nil || len(g.proposals.list) == n {
			return false
		}
	}
	return r.err("") == nil && g.tree.leaf(g.self) != nil
}

func readPending(r *reader) pendingProposal {
	return pendingProposal{ref: ProposalRef(r.vec()), sender: readSender(r), proposal: readProposal(r)}
}

// readSecret reads the secret part, of which it keeps copies only.
func (g *Group) readSecret(b []byte, l *Lineage) bool {
	r := &reader{b: b}
	g.private = readPrivateTree(r, g.tree)
	g.secrets = readEpochSecrets(r, g.p)
	g.signer = NewSecret(r.vec())
	g.updates = list(r, g.readUpdate)
	g.resumption = list(r, func(r *reader) resumptionPSK {
		return resumptionPSK{epoch: r.u64(), psk: r.secret(g.p.nh, false)}
	})
	if r.fail || !g.consistent() {
		return false
	}
	g.confirmationTag = g.p.confirmationTag(g.secrets, g.context.ConfirmedTranscriptHash)
	g.interim = g.p.interimHash(g.context.ConfirmedTranscriptHash, g.confirmationTag)
	g.messages = readMessages(r, g.view(), l)
	return r.err("") == nil
}

func (g *Group) readUpdate(r *reader) pendingUpdate {
	u := pendingUpdate{encryptionKey: bytes.Clone(r.vec()), private: NewSecret(r.vec()), signer: NewSecret(r.vec())}
	public, err := g.p.hpkePublic(u.private)
	if err != nil || !equal(public, u.encryptionKey) {
		r.fail = true
	}
	return u
}

// consistent reports whether the secrets that were read are those of a member in
// this epoch.
func (g *Group) consistent() bool {
	s := g.secrets
	for _, have := range []Secret{s.authenticator, s.external, s.confirmation, s.init} {
		if !have.Valid() {
			return false
		}
	}
	for _, taken := range []Secret{s.encryption, s.senderData, s.membership, s.resumption} {
		if taken.Valid() {
			return false // messages and the list have them
		}
	}
	for i, r := range g.resumption {
		if i > 0 && r.epoch <= g.resumption[i-1].epoch {
			return false
		}
	}
	n := len(g.resumption)
	if n == 0 || n > MaxResumption || g.resumption[n-1].epoch != g.context.Epoch || g.private.self != g.self {
		return false
	}
	public, err := SignaturePublic(g.context.Suite, g.signer)
	return err == nil && equal(public, g.tree.leaf(g.self).SignatureKey)
}
