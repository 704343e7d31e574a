package mls

// changes is what the proposals of a commit make of an epoch, before any path.
type changes struct {
	tree              tree
	extensions        []Extension // of the group context
	extensionsChanged bool
	added             []addedLeaf
	removed           []LeafIndex
	updated           []LeafIndex
	psks              []PreSharedKeyID
	reinit            *ReInit
	kemOutput         []byte // of an external init
	pathRequired      bool
}

// addedLeaf is a new member.
type addedLeaf struct {
	at  LeafIndex
	pkg *KeyPackage
}

// apply applies proposals in the order of RFC 9420, Section 12.3: extensions, updates,
// removals, additions, and the rest.
func (r proposalRules) apply(list []listed) (*changes, error) {
	c := &changes{tree: r.tree, extensions: r.context.Extensions, pathRequired: len(list) == 0}
	each := func(t ProposalType, f func(l listed) error) error {
		for _, l := range list {
			if l.proposal.Type == t {
				c.pathRequired = c.pathRequired || t.needsPath()
				if err := f(l); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, step := range []struct {
		t ProposalType
		f func(l listed) error
	}{
		{ProposalGroupContext, func(l listed) error {
			c.extensions, c.extensionsChanged = l.proposal.Extensions, true
			return nil
		}},
		{ProposalUpdate, func(l listed) error {
			c.tree = c.tree.update(l.sender.Leaf, l.proposal.Leaf)
			c.updated = append(c.updated, l.sender.Leaf)
			return nil
		}},
		{ProposalRemove, func(l listed) error {
			c.tree = c.tree.remove(l.proposal.Removed)
			c.removed = append(c.removed, l.proposal.Removed)
			return nil
		}},
		{ProposalAdd, func(l listed) (err error) {
			a := addedLeaf{pkg: l.proposal.KeyPackage}
			c.tree, a.at, err = c.tree.add(a.pkg.Leaf)
			c.added = append(c.added, a)
			return err
		}},
		{ProposalPSK, func(l listed) error { c.psks = append(c.psks, l.proposal.PSK); return nil }},
		{ProposalExternalInit, func(l listed) error { c.kemOutput = l.proposal.KEMOutput; return nil }},
		{ProposalReInit, func(l listed) error { c.reinit = l.proposal.ReInit; return nil }},
	} {
		if err := each(step.t, step.f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// needsPath says whether a commit with such a proposal has a path (RFC 9420, Sections
// 12.4 and 17.4).
func (t ProposalType) needsPath() bool {
	return t != ProposalAdd && t != ProposalPSK && t != ProposalReInit
}

// addedSet is the new leaves: path secrets are not encrypted to them (RFC 9420,
// Section 7.5).
func (c *changes) addedSet() map[LeafIndex]bool {
	set := make(map[LeafIndex]bool, len(c.added))
	for _, a := range c.added {
		set[a.at] = true
	}
	return set
}

// nextContext is the GroupContext of the next epoch as far as the tree goes: with the
// transcript hash of this one, it is the provisional one that path secrets are
// encrypted with (RFC 9420, Section 12.4.1).
func (r proposalRules) nextContext(c *changes, t tree) GroupContext {
	next := *r.context
	next.Epoch++
	next.TreeHash = t.hash()
	next.Extensions = c.extensions
	return next
}
