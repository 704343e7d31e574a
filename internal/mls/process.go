package mls

// Received is what a message said.
type Received struct {
	Sender            Sender
	Content           ContentType
	AuthenticatedData []byte

	Application []byte      // of application data
	Proposal    *Proposal   // of a proposal, which is pending now
	Ref         ProposalRef // its reference
	Staged      *Staged     // of a commit, which is to be merged or dropped
}

// Process takes a message of others: application data, whose key is deleted; a
// proposal, which is pending from then on; or a commit, which it only stages: the
// group stays in its epoch and keeps the key of the commit, so that the commit can be
// processed again, by a clone or after a restart, and another one beside it. The key of a
// proposal stays, too, as the proposal does: whether a commit opens must not depend on
// what its maker said before to this member alone.
//
// It fails with ErrWrongGroup, ErrPastEpoch, ErrFutureEpoch, ErrDecrypt, ErrUsed,
// ErrTooFar, ErrOwn, ErrMalformed, ErrUnsupported, ErrInvalid, ErrMissingProposal,
// ErrMissingPSK, ErrPath, ErrTooMany, ErrRemoved, ErrEnded, ErrArgument for another kind
// of message, and the errors of env. Then nothing has changed. Which of them all members
// get for one commit, and which only some, is said in docs/spec/mls.md.
func (g *Group) Process(env Env, m *Message) (*Received, error) {
	if err := g.usable(); err != nil {
		return nil, err
	}
	a, consume, err := g.open(m)
	if err != nil {
		return nil, err
	}
	c := a.Content
	out := &Received{Sender: c.Sender, Content: c.Type, AuthenticatedData: c.AuthenticatedData}
	switch c.Type {
	case ContentApplication:
		out.Application = c.Application
	case ContentProposal:
		out.Proposal, out.Ref = c.Proposal, g.p.proposalRef(a)
		if err := g.rules(env, false).alone(listed{proposal: c.Proposal, sender: c.Sender}); err != nil {
			return nil, err
		}
		if m.Wire == WirePrivate && g.proposals.has(out.Ref) {
			return nil, fail(ErrUsed, "9.2", "proposal is pending already")
		}
		return out.orFail(g.proposals.add(out.Ref, c.Sender, c.Proposal))
	case ContentCommit:
		out.Staged, err = g.processCommit(env, a)
		return out.orFail(err)
	}
	consume()
	return out, nil
}

func (r *Received) orFail(err error) (*Received, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// open checks where a message comes from (RFC 9420, Section 6). consume deletes its
// key, if it has one.
func (g *Group) open(m *Message) (a *authenticatedContent, consume func(), err error) {
	switch m.Wire {
	case WirePublic:
		a, err = g.messages.openPublic(m.public, func(s Sender) ([]byte, error) { return g.outsideKey(s, m.public.Content) })
		return a, func() {}, err
	case WirePrivate:
		o, err := g.messages.openPrivate(m.private)
		if err != nil {
			return nil, nil, err
		}
		return o.content, o.consume, nil
	}
	return nil, nil, fail(ErrArgument, "6", "message of another kind")
}

// outsideKey is the signature key of a sender that is no member (RFC 9420, Sections
// 12.1.8 and 12.4.3.2).
func (g *Group) outsideKey(s Sender, c *framedContent) ([]byte, error) {
	switch s.Type {
	case SenderExternal:
		data, ok := findExtension(g.context.Extensions, ExtExternalSenders)
		if !ok {
			break
		}
		senders, err := parseExternalSenders(data)
		if err != nil {
			return nil, err
		}
		if int64(s.Index) < int64(len(senders)) {
			return senders[s.Index].SignatureKey, nil
		}
	case SenderNewProposal:
		if c.Proposal != nil && c.Proposal.Type == ProposalAdd {
			return c.Proposal.KeyPackage.Leaf.SignatureKey, nil
		}
		return nil, invalid("12.1.8", "proposal of a new member that adds nobody")
	case SenderNewCommit:
		if c.Commit != nil && c.Commit.Path != nil {
			return c.Commit.Path.Leaf.SignatureKey, nil
		}
		return nil, invalid("12.4.3.2", "external commit without a path")
	}
	return nil, invalid("12.1.8", "sender is unknown to the group")
}
