package mls

import "slices"

// credentialTypes is what the leaves of a subtree say about credentials, as sets of
// the types that there are: so that one leaf can be checked against all others in
// O(log n) (RFC 9420, Section 7.3).
type credentialTypes struct {
	used      uint8 // types that some leaf has
	supported uint8 // types that every leaf supports
}

// anyCredential is that of no leaf.
var anyCredential = credentialTypes{supported: 0xff}

func (c credentialTypes) with(d credentialTypes) credentialTypes {
	return credentialTypes{c.used | d.used, c.supported & d.supported}
}

// bit is the place of a type in the sets. Those that are not there share one: no
// leaf of such a type is ever read.
func (t CredentialType) bit() uint8 {
	switch t {
	case CredentialBasic:
		return 1
	case CredentialX509:
		return 2
	}
	return 4
}

func credentialTypesOf(l *LeafNode) credentialTypes {
	c := credentialTypes{used: l.Credential.Type.bit()}
	for _, t := range []CredentialType{CredentialBasic, CredentialX509} {
		if slices.Contains(l.Capabilities.Credentials, t) {
			c.supported |= t.bit()
		}
	}
	return c
}

// credentialTypes is that of all members but the one at a leaf.
func (t tree) credentialTypes(but LeafIndex) credentialTypes {
	if uint32(but) >= t.width() {
		return t.root.credentials
	}
	c := anyCredential
	t.eachOnPath(but, func(_, _ NodeIndex, _, side *subtree) { c = c.with(side.credentials) })
	return c
}
