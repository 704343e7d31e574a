package mls

// proposalOrRef is ProposalOrRef: a proposal by value or by reference (RFC 9420,
// Section 12.4).
type proposalOrRef struct {
	Proposal *Proposal   // nil if by reference
	Ref      ProposalRef // empty if by value
}

// ProposalRef names a proposal that was sent before (RFC 9420, Section 5.2): the
// hash of its AuthenticatedContent, Nh bytes.
type ProposalRef string

const labelProposalRef = "MLS 1.0 Proposal Reference"

func readProposalOrRef(r *reader) proposalOrRef {
	switch r.u8() {
	case 1:
		return proposalOrRef{Proposal: readProposal(r)}
	case 2:
		return proposalOrRef{Ref: ProposalRef(r.vec())}
	}
	r.fail = true
	return proposalOrRef{}
}

func (p proposalOrRef) append(b []byte) []byte {
	if p.Proposal != nil {
		return p.Proposal.Append(append(b, 1))
	}
	return appendVec(append(b, 2), []byte(p.Ref))
}

// commit is Commit (RFC 9420, Section 12.4).
type commit struct {
	Proposals []proposalOrRef
	Path      *updatePath // nil if there is none
}

func readCommit(r *reader) *commit {
	c := &commit{Proposals: listOf(r, maxProposals, readProposalOrRef)}
	if r.present() {
		c.Path = readUpdatePath(r)
	}
	return c
}

func (c *commit) append(b []byte) []byte {
	b = appendList(b, c.Proposals, func(b []byte, p proposalOrRef) []byte { return p.append(b) })
	b = appendPresent(b, c.Path != nil)
	if c.Path != nil {
		b = c.Path.append(b)
	}
	return b
}

// updatePath is UpdatePath (RFC 9420, Section 7.6).
type updatePath struct {
	Leaf  *LeafNode
	Nodes []updatePathNode // of the filtered direct path, from below
}

type updatePathNode struct {
	EncryptionKey []byte
	Secrets       []hpkeCiphertext // encrypted_path_secret, one for each node of the copath's resolution
}

func readUpdatePath(r *reader) *updatePath {
	return &updatePath{Leaf: readLeafNode(r), Nodes: listOf(r, maxDepth, func(r *reader) updatePathNode {
		return updatePathNode{EncryptionKey: r.vec(), Secrets: list(r, readHPKECiphertext)}
	})}
}

func (u *updatePath) append(b []byte) []byte {
	return appendList(u.Leaf.append(b), u.Nodes, func(b []byte, n updatePathNode) []byte {
		b = appendVec(b, n.EncryptionKey)
		return appendList(b, n.Secrets, func(b []byte, c hpkeCiphertext) []byte { return c.append(b) })
	})
}
