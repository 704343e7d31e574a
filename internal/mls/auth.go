package mls

import "io"

const labelFramedContent = "FramedContentTBS"

// framedTBS is FramedContentTBS (RFC 9420, Section 6.1). The GroupContext is part of
// it for who knows the group: a member, or who joins by this very commit.
func framedTBS(wire WireFormat, c *framedContent, context []byte) []byte {
	b := make([]byte, 0, 256+len(c.Application)+len(context))
	b = c.append(appendU16(appendU16(b, Version), uint16(wire)))
	if c.Sender.Type == SenderMember || c.Sender.Type == SenderNewCommit {
		b = append(b, context...)
	}
	return b
}

// signFramed signs a content for a wire format. The confirmation tag of a commit is
// set afterwards. It fails with ErrArgument for a key that is none.
func (p *suiteParams) signFramed(rand io.Reader, signer Secret, wire WireFormat, c *framedContent, context []byte) (*authenticatedContent, error) {
	if c.Type == ContentApplication && wire != WirePrivate {
		// RFC 9420, Section 6.2
		return nil, fail(ErrArgument, "6.2", "application data is always encrypted")
	}
	signature, err := p.signWithLabel(rand, signer, labelFramedContent, framedTBS(wire, c, context))
	if err != nil {
		return nil, err
	}
	return &authenticatedContent{Wire: wire, Content: c, Auth: authData{Signature: signature}}, nil
}

// verifyFramed reports whether the signature of a content is that of a key. It goes
// over the wire format that the content came in.
func (p *suiteParams) verifyFramed(public []byte, a *authenticatedContent, context []byte) bool {
	return p.verifyWithLabel(public, labelFramedContent, framedTBS(a.Wire, a.Content, context), a.Auth.Signature)
}

// membershipTag is membership_tag (RFC 9420, Section 6.2): the MAC over
// AuthenticatedContentTBM, which is FramedContentTBS and FramedContentAuthData.
func (p *suiteParams) membershipTag(key Secret, a *authenticatedContent, context []byte) []byte {
	return p.mac(key, a.Auth.append(framedTBS(a.Wire, a.Content, context), a.Content.Type))
}
