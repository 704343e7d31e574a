package mls

// GroupContext is what all members agree on in an epoch (RFC 9420, Section 8.1).
type GroupContext struct {
	Version                 uint16
	Suite                   Suite
	GroupID                 []byte
	Epoch                   uint64
	TreeHash                []byte
	ConfirmedTranscriptHash []byte
	Extensions              []Extension
}

func readGroupContext(r *reader) GroupContext {
	return GroupContext{
		Version: r.u16(), Suite: Suite(r.u16()), GroupID: r.vec(), Epoch: r.u64(),
		TreeHash: r.vec(), ConfirmedTranscriptHash: r.vec(), Extensions: readExtensions(r),
	}
}

func (c *GroupContext) append(b []byte) []byte {
	b = appendU16(appendU16(b, c.Version), uint16(c.Suite))
	b = appendU64(appendVec(b, c.GroupID), c.Epoch)
	b = appendVec(appendVec(b, c.TreeHash), c.ConfirmedTranscriptHash)
	return appendExtensions(b, c.Extensions)
}

// GroupInfo says what somebody needs to join a group (RFC 9420, Section 12.4.3).
type GroupInfo struct {
	Context         GroupContext
	Extensions      []Extension
	ConfirmationTag []byte
	Signer          LeafIndex
	Signature       []byte
}

func readGroupInfo(r *reader) *GroupInfo {
	return &GroupInfo{
		Context: readGroupContext(r), Extensions: readExtensions(r), ConfirmationTag: r.vec(),
		Signer: LeafIndex(r.u32()), Signature: r.vec(),
	}
}

func (g *GroupInfo) tbs(b []byte) []byte {
	b = appendExtensions(g.Context.append(b), g.Extensions)
	return appendU32(appendVec(b, g.ConfirmationTag), uint32(g.Signer))
}

func (g *GroupInfo) append(b []byte) []byte { return appendVec(g.tbs(b), g.Signature) }

const labelGroupInfo = "GroupInfoTBS"
