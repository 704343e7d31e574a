package mls

import "slices"

// Bounds of what is kept of the proposals of one epoch, so that nobody fills a
// member's memory. Who has hit one commits.
const (
	maxPending         = 4096    // proposals
	maxPendingOfSender = 1024    // of those, of one sender; all who ask to be added are one
	maxPendingSize     = 8 << 20 // bytes, all together
	maxSizeOfSender    = 2 << 20 // of those, of one sender
)

// pendingProposal is a proposal that was sent or received in this epoch.
type pendingProposal struct {
	ref      ProposalRef
	sender   Sender
	proposal *Proposal
	size     int // bytes
}

// pendingProposals are in the order in which they came. They die with the epoch.
// The list is only ever appended to, so clones share it.
type pendingProposals struct {
	list []pendingProposal
	size int
}

// add keeps a proposal; one that is there already stays as it is. It fails with
// ErrTooMany.
func (s *pendingProposals) add(ref ProposalRef, sender Sender, p *Proposal) error {
	size, same, sizes := len(p.Append(nil)), 0, 0
	for _, q := range s.list {
		if q.ref == ref {
			return nil
		}
		if q.sender == sender {
			same, sizes = same+1, sizes+q.size
		}
	}
	if len(s.list) >= maxPending || same >= maxPendingOfSender || sizes+size > maxSizeOfSender || s.size+size > maxPendingSize {
		return fail(ErrTooMany, "", "proposals of this epoch")
	}
	s.list = append(s.list, pendingProposal{ref, sender, p, size})
	s.size += size
	return nil
}

func (s *pendingProposals) has(ref ProposalRef) bool {
	return slices.ContainsFunc(s.list, func(p pendingProposal) bool { return p.ref == ref })
}

// byRef is all of them by their reference.
func (s *pendingProposals) byRef() map[ProposalRef]pendingProposal {
	m := make(map[ProposalRef]pendingProposal, len(s.list))
	for _, p := range s.list {
		m[p.ref] = p
	}
	return m
}

// clone is an independent copy: appending to either does not show in the other.
func (s *pendingProposals) clone() pendingProposals {
	return pendingProposals{list: slices.Clip(s.list), size: s.size}
}

// PendingProposal is a proposal of this epoch that a commit can cover.
type PendingProposal struct {
	Ref      ProposalRef
	Sender   Sender
	Proposal *Proposal
}

// Pending are the proposals of this epoch that were sent or received, in that order.
func (g *Group) Pending() []PendingProposal {
	out := make([]PendingProposal, len(g.proposals.list))
	for i, p := range g.proposals.list {
		out[i] = PendingProposal{p.ref, p.sender, p.proposal}
	}
	return out
}

// best chooses of the pending proposals what one commit can cover (RFC 9420, Section
// 12.2): removals before updates, the latest update of a leaf, the latest extensions,
// a reinitialisation only if there is nothing else. What is one's own update, or
// removes oneself, is for others to commit. What breaks a rule on its own is left out,
// and so is what nobody could commit beside the rest: keys that are there already,
// extensions that a member lacks, pre-shared keys that are not to be had.
func (g *Group) best(r proposalRules) []ProposalRef {
	var extensions, reinit *pendingProposal
	all := g.proposals.list
	change := map[LeafIndex]int{} // the chosen change of a leaf
	for i := range all {
		p := &all[i]
		switch p.proposal.Type {
		case ProposalRemove:
			if j, ok := change[p.proposal.Removed]; !ok || all[j].proposal.Type == ProposalUpdate {
				change[p.proposal.Removed] = i
			}
		case ProposalUpdate:
			if j, ok := change[p.sender.Leaf]; !ok || all[j].proposal.Type == ProposalUpdate {
				change[p.sender.Leaf] = i
			}
		case ProposalGroupContext:
			if r.one(listed{p.proposal, p.sender, true}) == nil && g.allMeet(p.proposal.Extensions) {
				extensions = p
			}
		case ProposalReInit:
			reinit = p
		}
	}
	after := g.context.Extensions
	if extensions != nil {
		after = extensions.proposal.Extensions
	}
	rules := r.leafRules(g.tree, after)
	members := map[string]bool{} // signature keys of those who stay
	for i, l := range g.tree.members() {
		j, ok := change[i]
		if !ok || all[j].proposal.Type == ProposalUpdate {
			members[string(l.SignatureKey)] = true
		}
	}
	psks := map[string]bool{}
	// Keys that chosen leaves bring: what is there twice would spoil the whole commit.
	brought, together := map[string]bool{}, g.tree.root.credentials
	fresh := func(l, old *LeafNode) bool {
		enc, sig := "e"+string(l.EncryptionKey), "s"+string(l.SignatureKey)
		keep := old != nil && equal(old.SignatureKey, l.SignatureKey)
		if brought[enc] || g.tree.hasEncryptionKey(l.EncryptionKey) || brought[sig] || !keep && members[string(l.SignatureKey)] {
			return false
		}
		// Members may understand credentials that not all who are added do.
		types := credentialTypesOf(l)
		if types.used&^together.supported != 0 || together.used&^types.supported != 0 {
			return false
		}
		together = together.with(types)
		brought[enc], brought[sig] = true, true
		return true
	}
	var refs []ProposalRef
	for i := range all {
		p := &all[i]
		l := listed{p.proposal, p.sender, true}
		if r.one(l) != nil {
			continue
		}
		take := false
		switch p.proposal.Type {
		case ProposalRemove:
			take = change[p.proposal.Removed] == i && p.proposal.Removed != g.self
		case ProposalUpdate:
			take = change[p.sender.Leaf] == i && p.sender.Leaf != g.self && r.update(rules, l) == nil &&
				fresh(p.proposal.Leaf, g.tree.leaf(p.sender.Leaf))
		case ProposalAdd:
			leaf := p.proposal.KeyPackage.Leaf
			take = rules.check(leaf, LeafKeyPackage, MaxLeaves) == nil && fresh(leaf, nil)
		case ProposalPSK:
			id := string(p.proposal.PSK.append(nil))
			take = !psks[id] && len(psks) < MaxPSKs && g.knowsPSK(r.env, p.proposal.PSK)
			psks[id] = psks[id] || take
		case ProposalGroupContext:
			take = p == extensions
		}
		if take {
			refs = append(refs, p.ref)
		}
	}
	if len(refs) == 0 && reinit != nil {
		refs = append(refs, reinit.ref)
	}
	return refs
}

// allMeet reports whether every member supports what extensions of the group ask for.
func (g *Group) allMeet(extensions []Extension) bool {
	context := g.context
	context.Extensions = extensions
	for _, l := range g.tree.members() {
		if l.checkCapabilities(&context) != nil {
			return false
		}
	}
	return true
}

// knowsPSK reports whether a pre-shared key can be had.
func (g *Group) knowsPSK(env Env, id PreSharedKeyID) bool {
	s, err := lookupPSK(env, g.resumption, g.context.GroupID, id)
	s.Wipe()
	return err == nil
}
