package mls

// ProposalType is the number of a proposal (RFC 9420, Section 17.4).
type ProposalType uint16

const (
	ProposalAdd          ProposalType = 1
	ProposalUpdate       ProposalType = 2
	ProposalRemove       ProposalType = 3
	ProposalPSK          ProposalType = 4
	ProposalReInit       ProposalType = 5
	ProposalExternalInit ProposalType = 6
	ProposalGroupContext ProposalType = 7 // GroupContextExtensions
	proposalLast                      = ProposalGroupContext
)

func (t ProposalType) builtin() bool { return t >= ProposalAdd && t <= proposalLast }

// Proposal is a change that is proposed (RFC 9420, Section 12.1). Which field counts
// is said by its type. It is not changed once it was made.
type Proposal struct {
	Type       ProposalType
	KeyPackage *KeyPackage    // add
	Leaf       *LeafNode      // update
	Removed    LeafIndex      // remove
	PSK        PreSharedKeyID // psk
	ReInit     *ReInit        // reinit
	KEMOutput  []byte         // external init
	Extensions []Extension    // group context extensions
}

// ReInit ends a group and says what its successor is to be (RFC 9420, Section 12.1.5).
type ReInit struct {
	GroupID    []byte
	Version    uint16
	Suite      Suite
	Extensions []Extension
}

func readProposal(r *reader) *Proposal {
	p := &Proposal{Type: ProposalType(r.u16())}
	switch p.Type {
	case ProposalAdd:
		p.KeyPackage = readKeyPackage(r)
	case ProposalUpdate:
		p.Leaf = readLeafNode(r)
	case ProposalRemove:
		p.Removed = LeafIndex(r.u32())
	case ProposalPSK:
		p.PSK = readPreSharedKeyID(r)
	case ProposalReInit:
		p.ReInit = &ReInit{GroupID: r.vec(), Version: r.u16(), Suite: Suite(r.u16()), Extensions: readExtensions(r)}
	case ProposalExternalInit:
		p.KEMOutput = r.vec()
	case ProposalGroupContext:
		p.Extensions = readExtensions(r)
	default:
		r.unsupported()
	}
	return p
}

// ParseProposal reads a Proposal. It fails with ErrMalformed and ErrUnsupported.
func ParseProposal(b []byte) (*Proposal, error) { return parse(b, "proposal", readProposal) }

// Append appends the encoding of the proposal.
func (p *Proposal) Append(b []byte) []byte {
	b = appendU16(b, uint16(p.Type))
	switch p.Type {
	case ProposalAdd:
		return p.KeyPackage.Append(b)
	case ProposalUpdate:
		return p.Leaf.append(b)
	case ProposalRemove:
		return appendU32(b, uint32(p.Removed))
	case ProposalPSK:
		return p.PSK.append(b)
	case ProposalReInit:
		b = appendU16(appendVec(b, p.ReInit.GroupID), p.ReInit.Version)
		return appendExtensions(appendU16(b, uint16(p.ReInit.Suite)), p.ReInit.Extensions)
	case ProposalExternalInit:
		return appendVec(b, p.KEMOutput)
	case ProposalGroupContext:
		return appendExtensions(b, p.Extensions)
	}
	panic("mls: a proposal without a type")
}

// PSKType says where a pre-shared key comes from (RFC 9420, Section 8.4).
type PSKType uint8

const (
	PSKExternal   PSKType = 1 // from outside of MLS
	PSKResumption PSKType = 2 // from an epoch of a group
)

// PSKUsage says what a resumption PSK is for (RFC 9420, Section 8.4).
type PSKUsage uint8

const (
	UsageApplication PSKUsage = 1
	UsageReInit      PSKUsage = 2
	UsageBranch      PSKUsage = 3
)

// PreSharedKeyID names a pre-shared key (RFC 9420, Section 8.4).
type PreSharedKeyID struct {
	Type    PSKType
	ID      []byte   // external
	Usage   PSKUsage // resumption
	GroupID []byte   // resumption
	Epoch   uint64   // resumption
	Nonce   []byte   // fresh for each use, Nh bytes
}

func readPreSharedKeyID(r *reader) PreSharedKeyID {
	p := PreSharedKeyID{Type: PSKType(r.u8())}
	switch p.Type {
	case PSKExternal:
		p.ID = r.vec()
	case PSKResumption:
		p.Usage = PSKUsage(r.u8())
		p.GroupID = r.vec()
		p.Epoch = r.u64()
		if p.Usage < UsageApplication || p.Usage > UsageBranch {
			r.fail = true
		}
	default:
		r.fail = true
	}
	p.Nonce = r.vec()
	return p
}

func (p PreSharedKeyID) append(b []byte) []byte {
	b = append(b, byte(p.Type))
	if p.Type == PSKExternal {
		b = appendVec(b, p.ID)
	} else {
		b = appendU64(appendVec(append(b, byte(p.Usage)), p.GroupID), p.Epoch)
	}
	return appendVec(b, p.Nonce)
}
