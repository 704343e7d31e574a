package mls

import (
	"math"
	"slices"
)

// processCommit computes the epoch that a commit leads to, in the steps of RFC 9420,
// Section 12.4.2. The group does not change.
func (g *Group) processCommit(env Env, a *authenticatedContent) (*Staged, error) {
	if g.context.Epoch == math.MaxUint64 {
		return nil, invalid("8.1", "number of epochs")
	}
	content, sender := a.Content.Commit, a.Content.Sender
	list, err := g.resolve(content, sender)
	if err != nil {
		return nil, err
	}
	r := g.rules(env, false)
	c, err := r.list(list, sender)
	if err != nil {
		return nil, err
	}
	if content.Path == nil && c.pathRequired {
		return nil, invalid("12.4.2", "commit without a path")
	}
	t, committer, err := g.pathTree(r, content, sender, c)
	if err != nil {
		return nil, err
	}
	if err := t.verifyKeys(); err != nil {
		return nil, err
	}
	if content.Path != nil {
		// All members come to the same answer as far as this; what fails below may be good
		// for others.
		if _, err := t.pathRecipients(committer, content.Path, c.addedSet()); err != nil {
			return nil, err
		}
	}
	out := g.staged(a, list, c)
	if sender.Type == SenderNewCommit {
		out.Added = append(out.Added, committer)
	}
	if slices.Contains(c.removed, g.self) {
		// The path was not encrypted to us: there is no more to learn or to check.
		out.next = &Group{p: g.p, context: g.context, tree: g.tree, self: g.self, interim: g.interim, removed: true}
		return out, nil
	}
	psk, err := combinePSKs(env, g.p, g.resumption, g.context.GroupID, c.psks)
	if err != nil {
		return nil, err
	}
	defer psk.Wipe()
	init, err := g.initSecret(c)
	if err != nil {
		return nil, err
	}
	defer init.Wipe()
	step, err := g.openStep(r, content, committer, c, t)
	if err != nil {
		return nil, err
	}
	defer step.wipe()
	next, joiner := g.nextEpoch(a, c, step, init, psk)
	joiner.Wipe()
	if !macEqual(next.confirmationTag, a.Auth.ConfirmationTag) {
		next.Drop()
		return nil, invalid("12.4.2", "confirmation tag")
	}
	out.next = next
	return out, nil
}

// pathTree is the tree with the public part of the path, if there is one, and the
// committer's leaf in it.
func (g *Group) pathTree(r proposalRules, content *commit, sender Sender, c *changes) (t tree, committer LeafIndex, err error) {
	committer = sender.Leaf
	old := g.tree.leaf(committer)
	if sender.Type == SenderNewCommit {
		// At the leftmost free leaf, after the proposals (RFC 9420, Section 12.4.3.2). If
		// it removed an older leaf, its new one has to be fit to replace that.
		old = nil
		if len(c.removed) > 0 {
			old = g.tree.leaf(c.removed[0])
		}
		if c.tree, committer, err = c.tree.vacant(); err != nil {
			return t, committer, err
		}
	}
	if content.Path == nil {
		return c.tree, committer, nil
	}
	if err := r.pathLeaf(content.Path.Leaf, committer, old, c); err != nil {
		return t, committer, err
	}
	t, err = c.tree.applyPath(committer, content.Path)
	return t, committer, err
}

// initSecret is the init secret that the next epoch is made from: that of this one, or
// what an external commit put in its place (RFC 9420, Section 8.3).
func (g *Group) initSecret(c *changes) (Secret, error) {
	if c.kemOutput == nil {
		return g.secrets.init.Clone(), nil
	}
	private, _ := g.p.externalKeyPair(g.secrets.external)
	defer private.Wipe()
	return g.p.externalInitReceive(private, c.kemOutput)
}

// openStep is the private side of a commit: one's own keys as proposals leave them,
// and what the path secret gives (RFC 9420, Section 12.4.2).
func (g *Group) openStep(r proposalRules, content *commit, committer LeafIndex, c *changes, t tree) (*epochStep, error) {
	private, signer, err := g.ownKeys(c)
	if err != nil {
		return nil, err
	}
	step := &epochStep{tree: t, private: private, signer: signer}
	if content.Path == nil {
		private.prune(t)
		step.commit = g.p.zero()
		return step, nil
	}
	context := r.nextContext(c, t)
	step.private, step.commit, err = t.openPath(private, committer, content.Path, context.append(nil), c.addedSet())
	private.wipe()
	if err != nil {
		step.wipe()
		return nil, err
	}
	return step, nil
}

// ownKeys is a copy of one's own private keys, with those of one's own update if the
// commit covers one. It fails with ErrMissingProposal for an update that another clone
// made.
func (g *Group) ownKeys(c *changes) (*privateTree, Secret, error) {
	if !slices.Contains(c.updated, g.self) {
		return g.private.clone(), g.signer.Clone(), nil
	}
	leaf := c.tree.leaf(g.self)
	i := slices.IndexFunc(g.updates, func(u pendingUpdate) bool { return equal(u.encryptionKey, leaf.EncryptionKey) })
	if i < 0 {
		return nil, Secret{}, fail(ErrMissingProposal, "12.1.2", "private key of the own update")
	}
	u := g.updates[i]
	private := g.private.clone()
	private.put(g.self.Node(), u.encryptionKey, u.private.Clone())
	if u.signer.Valid() {
		return private, u.signer.Clone(), nil
	}
	return private, g.signer.Clone(), nil
}
