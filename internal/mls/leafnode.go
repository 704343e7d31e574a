package mls

// LeafSource says where a leaf node came from (RFC 9420, Section 7.2).
type LeafSource uint8

const (
	LeafKeyPackage LeafSource = 1
	LeafUpdate     LeafSource = 2
	LeafCommit     LeafSource = 3
)

// Lifetime is when a leaf node may be added, in Unix seconds (RFC 9420, Section 7.2).
type Lifetime struct{ NotBefore, NotAfter uint64 }

// LeafNode is one device in a tree (RFC 9420, Section 7.2). It is not changed once
// it was made.
type LeafNode struct {
	EncryptionKey []byte // HPKE
	SignatureKey  []byte
	Credential    Credential
	Capabilities  Capabilities
	Source        LeafSource
	Lifetime      Lifetime // source key package
	ParentHash    []byte   // source commit
	Extensions    []Extension
	Signature     []byte
}

func readLeafNode(r *reader) *LeafNode {
	n := &LeafNode{
		EncryptionKey: r.vec(),
		SignatureKey:  r.vec(),
		Credential:    readCredential(r),
		Capabilities:  readCapabilities(r),
		Source:        LeafSource(r.u8()),
	}
	switch n.Source {
	case LeafKeyPackage:
		n.Lifetime = Lifetime{NotBefore: r.u64(), NotAfter: r.u64()}
	case LeafUpdate:
	case LeafCommit:
		n.ParentHash = r.vec()
	default:
		r.fail = true
	}
	n.Extensions = readExtensions(r)
	n.Signature = r.vec()
	return n
}

func (n *LeafNode) appendUnsigned(b []byte) []byte {
	b = appendVec(b, n.EncryptionKey)
	b = appendVec(b, n.SignatureKey)
	b = n.Credential.append(b)
	b = n.Capabilities.append(b)
	b = append(b, byte(n.Source))
	switch n.Source {
	case LeafKeyPackage:
		b = appendU64(appendU64(b, n.Lifetime.NotBefore), n.Lifetime.NotAfter)
	case LeafCommit:
		b = appendVec(b, n.ParentHash)
	}
	return appendExtensions(b, n.Extensions)
}

func (n *LeafNode) append(b []byte) []byte { return appendVec(n.appendUnsigned(b), n.Signature) }

const labelLeafNode = "LeafNodeTBS"

// tbs is LeafNodeTBS: what the signature covers (RFC 9420, Section 7.2). A leaf of
// an update or commit is bound to its place, one of a key package to none.
func (n *LeafNode) tbs(groupID []byte, at LeafIndex) []byte {
	b := n.appendUnsigned(nil)
	if n.Source == LeafUpdate || n.Source == LeafCommit {
		b = appendU32(appendVec(b, groupID), uint32(at))
	}
	return b
}
