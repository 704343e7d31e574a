package mls

// ExternalJoinParams says how to join a group without being invited.
type ExternalJoinParams struct {
	Leaf              LeafParams       // ours, with the suite of the group
	Tree              []byte           // the ratchet tree, if it comes aside
	Replace           *LeafIndex       // an older leaf of ours that is to be removed
	PSKs              []PreSharedKeyID // without nonces
	AuthenticatedData []byte
}

// JoinExternal joins a group by an external commit, for which info must hold the
// external public key (RFC 9420, Sections 8.3, 12.4.3.2). It gives the group as it
// is once the members take the commit, and the commit, which is a PublicMessage.
// Drop the group if they take another.
//
// It fails with ErrArgument, ErrInvalid, ErrUnsupported, ErrMalformed, with a
// *PSKError and with the error of rand.
func JoinExternal(env Env, info *Message, params ExternalJoinParams) (*Group, *Message, error) {
	if info.GroupInfo == nil {
		return nil, nil, fail(ErrArgument, "12.4.3.2", "not a GroupInfo")
	}
	gi := info.GroupInfo
	t, err := checkGroupInfo(env, gi, params.Tree)
	if err != nil {
		return nil, nil, err
	}
	data, ok := findExtension(gi.Extensions, ExtExternalPub)
	if !ok {
		return nil, nil, fail(ErrArgument, "12.4.3.2", "the group info has no external key")
	}
	public, err := parse(data, "external key", (*reader).vec)
	if err != nil {
		return nil, nil, err
	}
	if params.Leaf.Suite != gi.Context.Suite {
		return nil, nil, fail(ErrArgument, "12.4.3.2", "suite of the group")
	}
	j := externalJoin{env: env, p: params.Leaf.Suite.params(), info: gi, params: params}
	defer j.wipe()
	if err := j.propose(public); err != nil {
		return nil, nil, err
	}
	if err := j.place(t); err != nil {
		return nil, nil, err
	}
	return j.commit()
}

// externalJoin is an external commit on its way.
type externalJoin struct {
	env    Env
	p      *suiteParams
	info   *GroupInfo
	params ExternalJoinParams

	init      Secret // of the epoch that ends, by HPKE
	psk       Secret
	proposals []proposalOrRef
	self      LeafIndex
	tree      tree // provisional
	private   *privateTree
	path      *pathSecrets
}

func (j *externalJoin) wipe() {
	wipe(j.init, j.psk)
	j.path.wipe()
	j.private.wipe()
}

// propose makes the proposals of the commit, all by value (RFC 9420, Section 12.2).
func (j *externalJoin) propose(public []byte) error {
	kemOutput, init, err := j.p.externalInit(public)
	if err != nil {
		return err
	}
	j.init = init
	j.proposals = []proposalOrRef{{Proposal: &Proposal{Type: ProposalExternalInit, KEMOutput: kemOutput}}}
	if j.params.Replace != nil {
		j.proposals = append(j.proposals, proposalOrRef{Proposal: RemoveProposal(*j.params.Replace)})
	}
	var ids []PreSharedKeyID
	for _, id := range j.params.PSKs {
		if id, err = j.p.newPSKID(j.env.Rand, id); err != nil {
			return err
		}
		ids = append(ids, id)
		j.proposals = append(j.proposals, proposalOrRef{Proposal: &Proposal{Type: ProposalPSK, PSK: id}})
	}
	j.psk, err = combinePSKs(j.env, j.p, nil, nil, ids)
	return err
}

// place takes the leftmost free leaf and makes a path from it (RFC 9420, Section
// 12.4.2).
func (j *externalJoin) place(t tree) error {
	if r := j.params.Replace; r != nil {
		if t.leaf(*r) == nil {
			return fail(ErrArgument, "12.4.3.2", "the leaf to replace is no member")
		}
		t = t.remove(*r)
	}
	public, err := SignaturePublic(j.params.Leaf.Suite, j.params.Leaf.Signer)
	if err != nil {
		return err
	}
	if t, j.self, err = t.vacant(); err != nil {
		return err
	}
	j.tree, j.path, j.private, err = t.newPath(j.env.Rand, j.self, func(encryptionKey, parentHash []byte) (*LeafNode, error) {
		l := j.params.Leaf
		n := &LeafNode{
			EncryptionKey: encryptionKey, SignatureKey: public, Credential: l.Credential, Capabilities: l.Capabilities,
			Source: LeafCommit, ParentHash: parentHash, Extensions: l.Extensions,
		}
		if n.Capabilities.empty() {
			n.Capabilities = DefaultCapabilities()
		}
		return n, n.sign(j.p, j.env.Rand, l.Signer, j.info.Context.GroupID, j.self)
	})
	if err != nil {
		return err
	}
	context := j.info.Context
	rules := leafRules{p: j.p, context: &context, now: j.env.Now, authenticate: j.env.Authenticate, t: j.tree}
	if err := rules.check(j.tree.leaf(j.self), LeafCommit, j.self); err != nil {
		return err
	}
	return j.tree.verifyKeys()
}

// commit signs the commit and begins the next epoch.
func (j *externalJoin) commit() (*Group, *Message, error) {
	before := j.info.Context.append(nil)
	context := j.info.Context // of the next epoch, but for its transcript (RFC 9420, Section 12.4.1)
	context.Epoch++
	context.TreeHash = j.tree.hash()
	path, err := j.tree.sealPath(j.path, j.self, context.append(nil), nil)
	if err != nil {
		return nil, nil, err
	}
	content := &framedContent{
		GroupID: context.GroupID, Epoch: j.info.Context.Epoch, Sender: Sender{Type: SenderNewCommit},
		AuthenticatedData: j.params.AuthenticatedData, Type: ContentCommit,
		Commit: &commit{Proposals: j.proposals, Path: path},
	}
	ac, err := j.p.signFramed(j.env.Rand, j.params.Leaf.Signer, WirePublic, content, before)
	if err != nil {
		return nil, nil, err
	}
	interim := j.p.interimHash(j.info.Context.ConfirmedTranscriptHash, j.info.ConfirmationTag)
	context.ConfirmedTranscriptHash = j.p.confirmedHash(interim, ac)
	secrets, joiner := j.p.nextSecrets(j.init, j.path.commit, j.psk, &context)
	joiner.Wipe()
	g := newGroup(groupParts{
		p: j.p, context: context, tree: j.tree, private: j.private, signer: j.params.Leaf.Signer.Clone(), secrets: secrets,
	})
	j.private = nil // the group's
	ac.Auth.ConfirmationTag = g.confirmationTag
	return g, &Message{Wire: WirePublic, public: publicOf(ac)}, nil
}
