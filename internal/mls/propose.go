package mls

import (
	"io"
	"slices"
)

// AddProposal proposes that a device is added (RFC 9420, Section 12.1.1).
func AddProposal(k *KeyPackage) *Proposal { return &Proposal{Type: ProposalAdd, KeyPackage: k} }

// RemoveProposal proposes that a member is removed (RFC 9420, Section 12.1.3).
func RemoveProposal(i LeafIndex) *Proposal { return &Proposal{Type: ProposalRemove, Removed: i} }

// GroupContextProposal proposes that the extensions of the group context are these and
// no others (RFC 9420, Section 12.1.7).
func GroupContextProposal(extensions []Extension) *Proposal {
	return &Proposal{Type: ProposalGroupContext, Extensions: slices.Clone(extensions)}
}

// ReInitProposal proposes that the group ends and has a successor (RFC 9420, Section
// 12.1.5).
func ReInitProposal(r ReInit) *Proposal { return &Proposal{Type: ProposalReInit, ReInit: &r} }

// ExternalPSKProposal proposes that an external PSK goes into the key schedule (RFC
// 9420, Section 12.1.4). It fails with ErrUnsupported and the error of env.Rand.
func ExternalPSKProposal(env Env, s Suite, id []byte) (*Proposal, error) {
	return pskProposal(env.Rand, s, PreSharedKeyID{Type: PSKExternal, ID: slices.Clone(id)})
}

// ResumptionPSKProposal proposes that the resumption PSK of an epoch, of this group or
// another, goes into the key schedule (RFC 9420, Section 12.1.4). It fails as
// ExternalPSKProposal does.
func ResumptionPSKProposal(env Env, s Suite, groupID []byte, epoch uint64) (*Proposal, error) {
	return pskProposal(env.Rand, s, PreSharedKeyID{
		Type: PSKResumption, Usage: UsageApplication, GroupID: slices.Clone(groupID), Epoch: epoch,
	})
}

func pskProposal(rand io.Reader, s Suite, id PreSharedKeyID) (*Proposal, error) {
	p := s.params()
	if p == nil {
		return nil, fail(ErrUnsupported, "5.1", "cipher suite")
	}
	id, err := p.newPSKID(rand, id)
	if err != nil {
		return nil, err
	}
	return &Proposal{Type: ProposalPSK, PSK: id}, nil
}

// Propose makes the message of a proposal, which is then pending (RFC 9420, Section
// 12.1). It fails with ErrRemoved, ErrEnded, ErrTooMany, ErrArgument for an update
// (see [Group.ProposeUpdate]), and as [Group.Process] does for an invalid proposal.
func (g *Group) Propose(env Env, p *Proposal, f Framing) (*Message, ProposalRef, error) {
	if err := g.usable(); err != nil {
		return nil, "", err
	}
	if p.Type == ProposalUpdate {
		return nil, "", fail(ErrArgument, "12.1.2", "an update without its private key")
	}
	return g.propose(env, p, f)
}

func (g *Group) propose(env Env, p *Proposal, f Framing) (*Message, ProposalRef, error) {
	l := listed{proposal: p, sender: Sender{Type: SenderMember, Leaf: g.self}}
	if err := g.rules(env, true).alone(l); err != nil {
		return nil, "", err
	}
	a, err := g.messages.sign(env.Rand, f.wire(), &framedContent{
		AuthenticatedData: slices.Clone(f.AuthenticatedData), Type: ContentProposal, Proposal: p,
	})
	if err != nil {
		return nil, "", err
	}
	ref := g.p.proposalRef(a)
	pending := g.proposals.clone()
	if err := pending.add(ref, l.sender, p); err != nil {
		return nil, "", err
	}
	m, err := g.seal(env, a, f)
	if err != nil {
		return nil, "", err
	}
	g.proposals = pending
	return m, ref, nil
}

// ProposeUpdate proposes a new leaf of one's own (RFC 9420, Section 12.1.2). The
// private keys wait in the group, and its clones, for the commit that covers it. It
// fails as [Group.Propose] does.
func (g *Group) ProposeUpdate(env Env, change LeafChange, f Framing) (*Message, ProposalRef, error) {
	if err := g.usable(); err != nil {
		return nil, "", err
	}
	leaf, signer, err := g.tree.leaf(g.self).successor(g.context.Suite, g.signer, change)
	if err != nil {
		return nil, "", err
	}
	u := pendingUpdate{}
	if u.private, u.encryptionKey, err = g.p.generateKeyPair(env.Rand); err != nil {
		return nil, "", err
	}
	if change.Signer.Valid() {
		u.signer = change.Signer.Clone()
	}
	leaf.EncryptionKey, leaf.Source = u.encryptionKey, LeafUpdate
	var (
		m   *Message
		ref ProposalRef
	)
	if err = leaf.sign(g.p, env.Rand, signer, g.context.GroupID, g.self); err == nil {
		m, ref, err = g.propose(env, &Proposal{Type: ProposalUpdate, Leaf: leaf}, f)
	}
	if err != nil {
		wipe(u.private, u.signer)
		return nil, "", err
	}
	g.updates = append(slices.Clip(g.updates), u)
	return m, ref, nil
}

// alone checks a proposal that comes by itself, as far as that goes before it is known
// what else a commit will cover: its leaf node against an epoch without extensions.
func (r proposalRules) alone(l listed) error {
	if err := r.one(l); err != nil {
		return err
	}
	rules := r.leafRules(tree{}, nil)
	switch l.proposal.Type {
	case ProposalAdd:
		return rules.check(l.proposal.KeyPackage.Leaf, LeafKeyPackage, 0)
	case ProposalUpdate:
		return r.update(rules, l)
	}
	return nil
}

// proposalRef is the reference of a proposal that was sent (RFC 9420, Section 5.2).
func (p *suiteParams) proposalRef(a *authenticatedContent) ProposalRef {
	return ProposalRef(p.refHash(labelProposalRef, a.append(nil)))
}

func (f Framing) wire() WireFormat {
	if f.Public {
		return WirePublic
	}
	return WirePrivate
}

// seal makes the message of a signed content. That of a PrivateMessage spends a
// generation first.
func (g *Group) seal(env Env, a *authenticatedContent, f Framing) (*Message, error) {
	if f.Public {
		m, err := g.messages.sealPublic(a)
		if err != nil {
			return nil, err
		}
		return &Message{Wire: WirePublic, public: m}, nil
	}
	if f.Padding < 0 || f.Padding > MaxMessage {
		return nil, fail(ErrArgument, "6.3.1", "padding")
	}
	r, err := g.messages.reserve(a.Content.Type)
	if err != nil {
		return nil, err
	}
	m, err := r.seal(env.Rand, a, f.Padding)
	if err != nil {
		return nil, err
	}
	return &Message{Wire: WirePrivate, private: m}, nil
}
