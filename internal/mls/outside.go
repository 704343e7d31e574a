package mls

// What somebody outside of a group can ask of it. Both calls make a PublicMessage,
// which members take by Process as any other proposal (RFC 9420, Section 12.1.8).

// ProposeExternal signs a proposal of an external sender: index is its place in the
// list of the group's context, which a GroupInfo shows (RFC 9420, Section 12.1.8.1).
// It fails with ErrArgument for a sender that is not in the list or a proposal that
// it may not make.
func ProposeExternal(env Env, context GroupContext, index uint32, signer Secret, proposal *Proposal, authenticatedData []byte) (*Message, error) {
	switch proposal.Type {
	case ProposalAdd, ProposalRemove, ProposalPSK, ProposalReInit, ProposalGroupContext:
	default:
		return nil, fail(ErrArgument, "12.1.8", "not from an external sender")
	}
	data, _ := findExtension(context.Extensions, ExtExternalSenders)
	senders, err := parseExternalSenders(data)
	if err != nil || int64(index) >= int64(len(senders)) {
		return nil, fail(ErrArgument, "12.1.8.1", "the group has no such external sender")
	}
	public, err := SignaturePublic(context.Suite, signer)
	if err != nil {
		return nil, err
	}
	if !equal(public, senders[index].SignatureKey) {
		return nil, fail(ErrArgument, "12.1.8.1", "signature key of the external sender")
	}
	return proposeOutside(env, context, Sender{Type: SenderExternal, Index: index}, signer, proposal, authenticatedData)
}

// ProposeSelf asks a group to add us (RFC 9420, Section 12.1.8): signer is the
// signature key of the key package.
func ProposeSelf(env Env, context GroupContext, k *KeyPackage, signer Secret, authenticatedData []byte) (*Message, error) {
	if k.Suite != context.Suite {
		return nil, fail(ErrArgument, "12.1.8", "suite of the group")
	}
	return proposeOutside(env, context, Sender{Type: SenderNewProposal}, signer, AddProposal(k), authenticatedData)
}

func proposeOutside(env Env, context GroupContext, from Sender, signer Secret, proposal *Proposal, authenticatedData []byte) (*Message, error) {
	p := context.Suite.params()
	if p == nil {
		return nil, fail(ErrUnsupported, "5.1", "cipher suite")
	}
	content := &framedContent{
		GroupID: context.GroupID, Epoch: context.Epoch, Sender: from,
		AuthenticatedData: authenticatedData, Type: ContentProposal, Proposal: proposal,
	}
	ac, err := p.signFramed(env.Rand, signer, WirePublic, content, nil)
	if err != nil {
		return nil, err
	}
	return &Message{Wire: WirePublic, public: publicOf(ac)}, nil
}
