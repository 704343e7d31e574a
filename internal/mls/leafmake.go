package mls

import (
	"io"
	"slices"
)

// newKeyPackageLeaf makes a leaf node of source key package (RFC 9420, Section 7.2)
// and the private half of its encryption key. It fails with ErrUnsupported,
// ErrArgument and the error of rand.
func newKeyPackageLeaf(rand io.Reader, l LeafParams) (*LeafNode, Secret, error) {
	p := l.Suite.params()
	if p == nil {
		return nil, Secret{}, fail(ErrUnsupported, "5.1", "cipher suite")
	}
	public, err := SignaturePublic(l.Suite, l.Signer)
	if err != nil {
		return nil, Secret{}, err
	}
	private, key, err := p.generateKeyPair(rand)
	if err != nil {
		return nil, Secret{}, err
	}
	n := &LeafNode{
		EncryptionKey: key, SignatureKey: public, Credential: l.Credential, Capabilities: l.Capabilities,
		Source: LeafKeyPackage, Lifetime: l.Lifetime, Extensions: slices.Clone(l.Extensions),
	}
	if n.Capabilities.empty() {
		n.Capabilities = DefaultCapabilities()
	}
	if err := n.sign(p, rand, l.Signer, nil, 0); err != nil {
		private.Wipe()
		return nil, Secret{}, err
	}
	return n, private, nil
}

func (c *Capabilities) empty() bool {
	return len(c.Versions)+len(c.Suites)+len(c.Extensions)+len(c.Proposals)+len(c.Credentials) == 0
}

// sign signs a leaf node (RFC 9420, Section 7.2); group and place count for all but
// one of a key package.
func (n *LeafNode) sign(p *suiteParams, rand io.Reader, signer Secret, groupID []byte, at LeafIndex) (err error) {
	n.Signature, err = p.signWithLabel(rand, signer, labelLeafNode, n.tbs(groupID, at))
	return err
}

// successor is a new leaf of the same member, not signed yet, and the private half of
// its signature key, which is signer unless that changes; it stays its owner's.
func (n *LeafNode) successor(s Suite, signer Secret, c LeafChange) (*LeafNode, Secret, error) {
	next := &LeafNode{SignatureKey: n.SignatureKey, Credential: n.Credential, Capabilities: n.Capabilities, Extensions: n.Extensions}
	if c.Credential != nil {
		next.Credential = *c.Credential
	}
	if c.Capabilities != nil {
		next.Capabilities = *c.Capabilities
	}
	if c.Extensions != nil {
		next.Extensions = slices.Clone(c.Extensions)
	}
	if !c.Signer.Valid() {
		return next, signer, nil
	}
	public, err := SignaturePublic(s, c.Signer)
	if err != nil {
		return nil, Secret{}, err
	}
	next.SignatureKey = public
	return next, c.Signer, nil
}
