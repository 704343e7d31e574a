package mls

import (
	"slices"
	"time"
)

// leafRules is what a leaf node is checked against (RFC 9420, Section 7.3).
type leafRules struct {
	p             *suiteParams
	context       *GroupContext // its suite, group id and extensions
	now           time.Time
	checkLifetime bool // of leaves of key packages
	authenticate  func(Credential, []byte) error
	t             tree // with all that the commit changes, or before; the zero tree has no others
}

// check checks a leaf node that stands, or is to stand, at a leaf of the tree; want
// is where it has to come from, 0 for anywhere. For one of a key package the place
// does not matter. That its keys are unique is checked by verifyKeys on the tree with
// the leaf in it, that they are others than those of the leaf that it replaces by the
// rules for proposals and by applyPath. It fails with ErrInvalid and ErrMalformed.
func (r leafRules) check(l *LeafNode, want LeafSource, at LeafIndex) error {
	tbs := l.tbs(r.context.GroupID, at)
	switch {
	case r.authenticate == nil:
		return fail(ErrArgument, "5.3.1", "no Authentication Service")
	case want != 0 && l.Source != want:
		return invalid("7.3", "leaf node source")
	case len(tbs) > maxLeafSize, !l.Capabilities.bounded():
		return invalid("7.3", "size of a leaf node")
	case !r.p.checkHPKEKey(l.EncryptionKey):
		return invalid("7.3", "encryption key of a leaf")
	case !r.p.checkSignatureKey(l.SignatureKey):
		return invalid("7.3", "signature key of a leaf")
	case !r.p.verifyWithLabel(l.SignatureKey, labelLeafNode, tbs, l.Signature):
		return invalid("7.3", "signature of a leaf node")
	case r.checkLifetime && l.Source == LeafKeyPackage && !l.Lifetime.contains(r.now):
		return invalid("7.3", "lifetime of a leaf node")
	}
	if err := l.checkCapabilities(r.context); err != nil {
		return err
	}
	if r.t.root != nil {
		if err := r.checkBesides(l, at); err != nil {
			return err
		}
	}
	return r.authenticate(l.Credential, l.SignatureKey) // 5.3.1
}

// checkCapabilities checks that the leaf lists what it uses itself, and what the
// group asks of every member.
func (l *LeafNode) checkCapabilities(g *GroupContext) error {
	c := &l.Capabilities
	switch {
	// That the suite of the group is listed is not asked: Section 7.3 does not, there are
	// programs that leave theirs out, and who lacks it could not have signed the leaf.
	case !slices.Contains(c.Versions, g.Version):
		return invalid("7.3", "member lacks the version of the group")
	case !slices.Contains(c.Credentials, l.Credential.Type):
		return invalid("7.2", "credential type of a leaf is not in its capabilities")
	case !distinct(l.Extensions):
		return invalid("13.4", "extension is there twice")
	}
	for _, e := range l.Extensions {
		if !c.hasExtension(e.Type) {
			return invalid("7.3", "extension of a leaf is not in its capabilities")
		}
	}
	for _, e := range g.Extensions {
		if !c.hasExtension(e.Type) {
			return invalid("13.4", "member lacks an extension of the group")
		}
	}
	data, ok := findExtension(g.Extensions, ExtRequiredCapabilities)
	if !ok {
		return nil
	}
	required, err := parseRequiredCapabilities(data)
	if err != nil {
		return err
	}
	if !c.meet(required) {
		return invalid("7.3", "member lacks a required capability")
	}
	return nil
}

// checkBesides checks the leaf against the other members. The leaf that it replaces
// does not count.
func (r leafRules) checkBesides(l *LeafNode, at LeafIndex) error {
	others := r.t.root.credentials
	if l.Source != LeafKeyPackage {
		others = r.t.credentialTypes(at)
	}
	switch own := credentialTypesOf(l); {
	case own.used&^others.supported != 0:
		return invalid("7.3", "credential type is not supported by all members")
	case others.used&^own.supported != 0:
		return invalid("7.3", "member does not support the credentials of all others")
	}
	return nil
}

// contains reports whether a time lies in the lifetime, bounds included.
func (l Lifetime) contains(t time.Time) bool {
	s := t.Unix()
	return s >= 0 && l.NotBefore <= uint64(s) && uint64(s) <= l.NotAfter
}

// hasExtension reports whether an extension is supported: those of RFC 9420 are
// without being listed (Section 7.2).
func (c *Capabilities) hasExtension(t ExtensionType) bool {
	return t.builtin() || slices.Contains(c.Extensions, t)
}

// hasProposal is the same for a proposal.
func (c *Capabilities) hasProposal(t ProposalType) bool {
	return t.builtin() || slices.Contains(c.Proposals, t)
}

// meet reports whether everything that is required is supported (RFC 9420, Section
// 11.1).
func (c *Capabilities) meet(required RequiredCapabilities) bool {
	return !slices.ContainsFunc(required.Extensions, func(t ExtensionType) bool { return !c.hasExtension(t) }) &&
		!slices.ContainsFunc(required.Proposals, func(t ProposalType) bool { return !c.hasProposal(t) }) &&
		!slices.ContainsFunc(required.Credentials, func(t CredentialType) bool { return !slices.Contains(c.Credentials, t) })
}
