package mls

// listed is one proposal of a commit, with who proposed it: the committer, for one by
// value.
type listed struct {
	proposal *Proposal
	sender   Sender
	byRef    bool
}

// proposalRules is what proposals are checked against: the public side of the epoch
// that they are made in. Who joins by an external commit has no more than that.
type proposalRules struct {
	env     Env
	p       *suiteParams
	context *GroupContext
	tree    tree

	sending    bool // one's own message: lifetimes count, whatever Env.Late says
	succession bool // one's own first commit of a successor or branch
}

func (g *Group) rules(env Env, sending bool) proposalRules {
	return proposalRules{env: env, p: g.p, context: &g.context, tree: g.tree, sending: sending}
}

// leafRules are the rules for leaf nodes in the epoch that comes, whose tree and
// extensions are given (RFC 9420, Section 7.3).
func (r proposalRules) leafRules(t tree, extensions []Extension) leafRules {
	context := *r.context
	context.Extensions = extensions
	return leafRules{
		p: r.p, context: &context, t: t, now: r.env.Now,
		checkLifetime: r.sending || !r.env.Late, authenticate: r.env.Authenticate,
	}
}

// one checks a proposal on its own (RFC 9420, Section 12.1), but for its leaf node. It
// fails with ErrInvalid and ErrUnsupported.
func (r proposalRules) one(l listed) error {
	p := l.proposal
	if !l.sender.mayPropose(p.Type) {
		return invalid("12.1.8", "proposal of somebody who may not make it")
	}
	switch p.Type {
	case ProposalAdd:
		return p.KeyPackage.check(r.p)
	case ProposalRemove:
		if r.tree.leaf(p.Removed) == nil {
			return invalid("12.1.3", "removal of a blank leaf")
		}
	case ProposalPSK:
		switch {
		case p.PSK.Type == PSKResumption && p.PSK.Usage != UsageApplication && !r.succession:
			return invalid("12.1.4", "PSK for the first commit of another group")
		case len(p.PSK.Nonce) != r.p.nh:
			return invalid("12.1.4", "nonce of a PSK")
		}
	case ProposalReInit:
		switch {
		case p.ReInit.Version < r.context.Version:
			return invalid("12.1.5", "version of the successor")
		case !distinct(p.ReInit.Extensions):
			return invalid("13.4", "extension is there twice")
		}
	case ProposalGroupContext:
		return checkGroupExtensions(r.env, p.Extensions)
	}
	return nil
}

// mayPropose says who may make a proposal (RFC 9420, Sections 12.1.8, 12.2 and 17.4).
func (s Sender) mayPropose(t ProposalType) bool {
	switch s.Type {
	case SenderMember:
		return t != ProposalExternalInit
	case SenderExternal:
		return t != ProposalExternalInit && t != ProposalUpdate
	case SenderNewProposal:
		return t == ProposalAdd
	case SenderNewCommit:
		return t == ProposalExternalInit || t == ProposalRemove || t == ProposalPSK
	}
	return false
}

// checkGroupExtensions checks the extensions of a group context on their own (RFC
// 9420, Sections 5.3.1, 12.1.7 and 13.4).
func checkGroupExtensions(env Env, list []Extension) error {
	if !distinct(list) {
		return invalid("13.4", "extension is there twice")
	}
	if len(list) > maxExtensions || len(appendExtensions(nil, list)) > maxGroupExtensions {
		return invalid("12.1.7", "size of the group's extensions")
	}
	if data, ok := findExtension(list, ExtRequiredCapabilities); ok {
		if _, err := parseRequiredCapabilities(data); err != nil {
			return err
		}
	}
	data, ok := findExtension(list, ExtExternalSenders)
	if !ok {
		return nil
	}
	senders, err := parseExternalSenders(data)
	if err != nil {
		return err
	}
	for _, s := range senders {
		if env.Authenticate == nil {
			return fail(ErrArgument, "5.3.1", "no Authentication Service")
		}
		if err := env.Authenticate(s.Credential, s.SignatureKey); err != nil {
			return err
		}
	}
	return nil
}
