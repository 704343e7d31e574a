package mls

// list checks the proposals of a commit together (RFC 9420, Section 12.2) and applies
// them (Section 12.3). It fails with ErrInvalid, ErrUnsupported and the errors of the
// Authentication Service.
func (r proposalRules) list(list []listed, committer Sender) (*changes, error) {
	for _, l := range list {
		if err := r.one(l); err != nil {
			return nil, err
		}
	}
	check := r.memberList
	if committer.Type == SenderNewCommit {
		check = r.externalList
	}
	if err := check(list, committer); err != nil {
		return nil, err
	}
	c, err := r.apply(list)
	if err != nil {
		return nil, err
	}
	return c, r.after(list, c)
}

// memberList is the rules for the commit of a member (RFC 9420, Section 12.2, first
// list). That it has no external init is seen to by mayPropose. That proposal types
// beyond RFC 9420 are supported by all is no question: none can be read here.
func (r proposalRules) memberList(list []listed, committer Sender) error {
	var (
		touched = map[LeafIndex]bool{} // by an update or a removal
		removed = map[LeafIndex]bool{}
		added   = map[string]bool{} // signature keys
		psks    = map[string]bool{}
		context bool
	)
	for _, l := range list {
		p := l.proposal
		switch p.Type {
		case ProposalUpdate:
			if l.sender.Leaf == committer.Leaf {
				return invalid("12.2", "commit of the committer's own update")
			}
			if touched[l.sender.Leaf] {
				return invalid("12.2", "two changes of one leaf")
			}
			touched[l.sender.Leaf] = true
		case ProposalRemove:
			if p.Removed == committer.Leaf {
				return invalid("12.2", "committer removes itself")
			}
			if touched[p.Removed] {
				return invalid("12.2", "two changes of one leaf")
			}
			touched[p.Removed], removed[p.Removed] = true, true
		case ProposalAdd:
			key := string(p.KeyPackage.Leaf.SignatureKey)
			if added[key] {
				return invalid("12.2", "one client is added twice")
			}
			added[key] = true
		case ProposalPSK:
			id := string(p.PSK.append(nil))
			if psks[id] {
				return invalid("12.2", "one PSK twice")
			}
			if psks[id] = true; len(psks) > MaxPSKs {
				return invalid("8.4", "too many pre-shared keys")
			}
		case ProposalGroupContext:
			if context {
				return invalid("12.2", "two changes of the extensions")
			}
			context = true
		case ProposalReInit:
			if len(list) != 1 {
				return invalid("12.2", "reinitialisation together with something else")
			}
		}
	}
	return r.addedAnew(added, removed)
}

// addedAnew checks that who is added is no member yet, or is removed by the same
// commit. A client is known by its signature key; whether two keys are one person is
// for the application to say.
func (r proposalRules) addedAnew(added map[string]bool, removed map[LeafIndex]bool) error {
	known := false
	for key := range added {
		known = known || r.tree.hasSignatureKey([]byte(key))
	}
	if !known {
		return nil
	}
	for i, l := range r.tree.members() {
		if added[string(l.SignatureKey)] && !removed[i] {
			return invalid("12.2", "added client is a member already")
		}
	}
	return nil
}

// externalList is the rules for an external commit (RFC 9420, Section 12.2, second
// list, and Section 12.4.3.2). That it has no other proposals is seen to by mayPropose.
func (r proposalRules) externalList(list []listed, _ Sender) error {
	inits, removes := 0, 0
	psks := map[string]bool{}
	for _, l := range list {
		if l.byRef {
			return invalid("12.4.3.2", "proposal by reference in an external commit")
		}
		switch l.proposal.Type {
		case ProposalExternalInit:
			inits++
		case ProposalRemove:
			removes++
		case ProposalPSK:
			id := string(l.proposal.PSK.append(nil))
			if psks[id] {
				return invalid("12.2", "one PSK twice")
			}
			if psks[id] = true; len(psks) > MaxPSKs {
				return invalid("8.4", "too many pre-shared keys")
			}
		}
	}
	switch {
	case inits != 1:
		return invalid("12.2", "external commit without one external init")
	case removes > 1:
		return invalid("12.2", "external commit removes two")
	}
	return nil
}

// after checks what comes out (RFC 9420, Section 12.2, last of the first list): the
// leaf nodes that are new, and, if the extensions changed, those of all members.
// Whether keys are unique is checked with the path in the tree.
func (r proposalRules) after(list []listed, c *changes) error {
	rules := r.leafRules(c.tree, c.extensions)
	for _, a := range c.added {
		if err := rules.check(a.pkg.Leaf, LeafKeyPackage, a.at); err != nil {
			return err
		}
	}
	for _, l := range list {
		if l.proposal.Type == ProposalUpdate {
			if err := r.update(rules, l); err != nil {
				return err
			}
		}
	}
	if !c.extensionsChanged {
		return nil
	}
	for _, l := range c.tree.members() {
		if err := l.checkCapabilities(rules.context); err != nil {
			return err
		}
	}
	return nil
}

// update checks the leaf node of an update (RFC 9420, Section 12.1.2).
func (r proposalRules) update(rules leafRules, l listed) error {
	old, next := r.tree.leaf(l.sender.Leaf), l.proposal.Leaf
	if old == nil {
		return invalid("12.1.2", "update of no member")
	}
	if err := rules.check(next, LeafUpdate, l.sender.Leaf); err != nil {
		return err
	}
	return r.replaces(old, next)
}

// replaces checks that a leaf node may take the place of another (RFC 9420, Sections
// 7.3 and 5.3.1).
func (r proposalRules) replaces(old, next *LeafNode) error {
	if equal(old.EncryptionKey, next.EncryptionKey) {
		return invalid("7.3", "encryption key did not change")
	}
	return r.env.successor(old.Credential, next.Credential)
}
