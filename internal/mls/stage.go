package mls

import (
	"math"
	"slices"
)

// Stage makes a commit (RFC 9420, Section 12.4.1). The group stays in its epoch, and
// as it is, but for one generation of its handshake ratchet: write it down before
// the commit leaves. The commit takes effect with [Group.Merge]. It fails with
// ErrRemoved, ErrEnded, ErrInvalid, ErrUnsupported, ErrMissingProposal, ErrMissingPSK,
// ErrArgument and the errors of env.
func (g *Group) Stage(env Env, c CommitParams) (*Staged, error) {
	if err := g.usable(); err != nil {
		return nil, err
	}
	r := g.rules(env, true)
	r.succession = c.succession
	refs := c.Refs
	if c.AllPending {
		for _, ref := range g.best(r) {
			if !slices.Contains(refs, ref) {
				refs = append(slices.Clip(refs), ref)
			}
		}
	}
	content := &commit{}
	for _, ref := range refs {
		content.Proposals = append(content.Proposals, proposalOrRef{Ref: ref})
	}
	for _, p := range c.Proposals {
		content.Proposals = append(content.Proposals, proposalOrRef{Proposal: p})
	}
	if len(content.Proposals) > maxProposals {
		return nil, fail(ErrArgument, "12.4", "too many proposals for one commit")
	}
	list, err := g.resolve(content, Sender{Type: SenderMember, Leaf: g.self})
	if err != nil {
		return nil, err
	}
	ch, err := r.list(list, Sender{Type: SenderMember, Leaf: g.self})
	if err != nil {
		return nil, err
	}
	return g.stage(env, c, stageParts{rules: r, content: content, list: list, changes: ch})
}

// stageParts is a commit whose proposals are checked and applied.
type stageParts struct {
	rules   proposalRules
	content *commit
	list    []listed
	changes *changes
}

// resolve is the proposals of a commit with their senders. It fails with
// ErrMissingProposal.
func (g *Group) resolve(c *commit, committer Sender) ([]listed, error) {
	known := g.proposals.byRef()
	list := make([]listed, len(c.Proposals))
	for i, p := range c.Proposals {
		if p.Proposal != nil {
			list[i] = listed{proposal: p.Proposal, sender: committer}
			continue
		}
		pending, ok := known[p.Ref]
		if !ok {
			return nil, fail(ErrMissingProposal, "12.4", "commit")
		}
		list[i] = listed{proposal: pending.proposal, sender: pending.sender, byRef: true}
	}
	return list, nil
}

// stage makes the commit, in the steps of RFC 9420, Section 12.4.1.
func (g *Group) stage(env Env, c CommitParams, s stageParts) (*Staged, error) {
	if g.context.Epoch == math.MaxUint64 {
		return nil, fail(ErrEnded, "8.1", "number of epochs")
	}
	psk, err := combinePSKs(env, g.p, g.resumption, g.context.GroupID, s.changes.psks)
	if err != nil {
		return nil, err
	}
	defer psk.Wipe()
	// The path, if one is needed or wanted, and its commit secret; else zeros.
	step, err := g.newPath(env, c, s)
	if err != nil {
		return nil, err
	}
	defer step.wipe()
	// Sign; then the transcript, the secrets of the next epoch, and the tag.
	a, err := g.messages.sign(env.Rand, c.Framing.wire(), &framedContent{
		AuthenticatedData: slices.Clone(c.Framing.AuthenticatedData), Type: ContentCommit, Commit: s.content,
	})
	if err != nil {
		return nil, err
	}
	next, joiner := g.nextEpoch(a, s.changes, step, g.secrets.init, psk)
	defer joiner.Wipe()
	a.Auth.ConfirmationTag = next.confirmationTag

	out := g.staged(a, s.list, s.changes)
	out.next = next
	if len(s.changes.added) > 0 {
		out.Welcome, err = next.welcome(env, welcomeParts{
			joiner: joiner, psk: psk, pskIDs: s.changes.psks, added: s.changes.added,
			path: step.path, info: GroupInfoParams{TreeAside: c.TreeAside, Extensions: c.GroupInfoExtensions},
		})
		if err == nil && c.TreeAside {
			out.Tree = next.Tree()
		}
	}
	if err == nil {
		out.Message, err = g.seal(env, a, c.Framing)
	}
	if err != nil {
		out.Drop()
		return nil, err
	}
	return out, nil
}

// epochStep is what a commit makes of tree and keys. It owns its secrets until
// nextEpoch takes tree keys and signer.
type epochStep struct {
	tree    tree
	private *privateTree
	signer  Secret
	commit  Secret       // commit_secret
	path    *pathSecrets // of one's own path; nil without
}

func (s *epochStep) wipe() {
	s.private.wipe()
	wipe(s.signer, s.commit)
	s.path.wipe()
}

// newPath makes the path of a commit (RFC 9420, Sections 7.5 and 12.4.1).
func (g *Group) newPath(env Env, c CommitParams, s stageParts) (step *epochStep, err error) {
	t := s.changes.tree
	if !s.changes.pathRequired && !c.ForcePath && c.Leaf.empty() {
		if err := t.verifyKeys(); err != nil {
			return nil, err
		}
		private := g.private.clone()
		private.prune(t)
		return &epochStep{tree: t, private: private, signer: g.signer.Clone(), commit: g.p.zero()}, nil
	}
	old := g.tree.leaf(g.self)
	leaf, signer, err := old.successor(g.context.Suite, g.signer, c.Leaf)
	if err != nil {
		return nil, err
	}
	step = &epochStep{signer: signer.Clone()}
	defer func() {
		if err != nil {
			step.wipe()
			step = nil
		}
	}()
	step.tree, step.path, step.private, err = t.newPath(env.Rand, g.self, func(encryptionKey, parentHash []byte) (*LeafNode, error) {
		leaf.EncryptionKey, leaf.ParentHash, leaf.Source = encryptionKey, parentHash, LeafCommit
		return leaf, leaf.sign(g.p, env.Rand, signer, g.context.GroupID, g.self)
	})
	if err != nil {
		return step, err
	}
	step.commit = step.path.commit.Clone()
	if err = s.rules.pathLeaf(leaf, g.self, old, s.changes); err != nil {
		return step, err
	}
	if err = step.tree.verifyKeys(); err != nil {
		return step, err
	}
	context := s.rules.nextContext(s.changes, step.tree)
	s.content.Path, err = step.tree.sealPath(step.path, g.self, context.append(nil), s.changes.addedSet())
	return step, err
}

// pathLeaf checks the leaf node of a path (RFC 9420, Section 12.4.2); old is the leaf
// that it takes the place of, nil if there is none.
func (r proposalRules) pathLeaf(l *LeafNode, at LeafIndex, old *LeafNode, c *changes) error {
	if err := r.leafRules(c.tree, c.extensions).check(l, LeafCommit, at); err != nil {
		return err
	}
	if old == nil {
		return nil
	}
	return r.replaces(old, l)
}

// nextEpoch is the group in the epoch after a commit, which is signed but may be
// without its tag (RFC 9420, Sections 8 and 8.2). init and psk stay the caller's; the
// joiner secret becomes so.
func (g *Group) nextEpoch(a *authenticatedContent, c *changes, s *epochStep, init, psk Secret) (next *Group, joiner Secret) {
	context := g.rules(Env{}, false).nextContext(c, s.tree)
	context.ConfirmedTranscriptHash = g.p.confirmedHash(g.interim, a)
	secrets, joiner := g.p.nextSecrets(init, s.commit, psk, &context)
	next = newGroup(groupParts{
		p: g.p, context: context, tree: s.tree, private: s.private, signer: s.signer, secrets: secrets,
		resumption: cloneResumption(g.resumption), lineage: g.messages.lineage(), reinit: c.reinit,
	})
	s.private, s.signer = nil, Secret{}
	return next, joiner
}
