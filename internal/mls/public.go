package mls

// publicOf is the PublicMessage of a sender that is no member, which has no
// membership tag (RFC 9420, Section 6.2).
func publicOf(a *authenticatedContent) *publicMessage {
	return &publicMessage{Content: a.Content, Auth: a.Auth}
}

// sealPublic is the PublicMessage of one's own content. It fails with ErrArgument for
// application data, and for content that was signed for another wire format.
func (m *messages) sealPublic(a *authenticatedContent) (*publicMessage, error) {
	if a.Wire != WirePublic || a.Content.Type == ContentApplication {
		return nil, fail(ErrArgument, "6.2", "content that is not for a public message")
	}
	pm := publicOf(a)
	pm.MembershipTag = m.e.suite.membershipTag(m.e.membership, a, m.e.context)
	return pm, nil
}

// openPublic checks a PublicMessage (RFC 9420, Section 6.2). keyOf gives the signature
// key of a sender that is no member; with nil there are none. The sender's own right
// to what it says, and the confirmation tag, are checked elsewhere. It fails with
// ErrWrongGroup, ErrPastEpoch, ErrFutureEpoch, ErrInvalid, ErrOwn and the errors of
// keyOf.
func (m *messages) openPublic(pm *publicMessage, keyOf func(Sender) ([]byte, error)) (*authenticatedContent, error) {
	c := pm.Content
	if err := m.e.here(c.GroupID, c.Epoch); err != nil {
		return nil, err
	}
	if err := publicContent(c); err != nil {
		return nil, err
	}
	a := &authenticatedContent{Wire: WirePublic, Content: c, Auth: pm.Auth}
	var key []byte
	if c.Sender.Type == SenderMember {
		l := m.e.leaf(c.Sender.Leaf)
		if l == nil {
			return nil, invalid("6.2", "sender is no member")
		}
		key = l.SignatureKey
		if !macEqual(m.e.suite.membershipTag(m.e.membership, a, m.e.context), pm.MembershipTag) {
			return nil, invalid("6.2", "membership tag")
		}
	} else {
		if keyOf == nil {
			return nil, invalid("6", "sender is no member")
		}
		var err error
		if key, err = keyOf(c.Sender); err != nil {
			return nil, err
		}
	}
	if !m.e.suite.verifyFramed(key, a, m.e.context) {
		return nil, invalid("6.1", "signature of a message")
	}
	if c.Sender.Type == SenderMember && c.Sender.Leaf == m.e.self {
		return nil, fail(ErrOwn, "", "public message")
	}
	return a, nil
}

// publicContent checks that a sender may say this kind of content in public (RFC 9420,
// Sections 6 and 6.2).
func publicContent(c *framedContent) error {
	switch {
	case c.Type == ContentApplication:
		return invalid("6.2", "application data in a public message")
	case c.Sender.Type == SenderNewCommit && c.Type != ContentCommit,
		c.Sender.Type == SenderExternal && c.Type != ContentProposal,
		c.Sender.Type == SenderNewProposal && c.Type != ContentProposal:
		return invalid("6", "content that this kind of sender may not send")
	}
	return nil
}
