package mls

func (t tree) hasEncryptionKey(key []byte) bool { return t.encryption.count(key) > 0 }
func (t tree) hasSignatureKey(key []byte) bool  { return t.signature.count(key) > 0 }

// verifyKeys checks that no encryption key of a leaf or parent and no signature key
// is there twice (RFC 9420, Sections 7.3 and 12.4.3.1). It fails with ErrInvalid.
func (t tree) verifyKeys() error {
	switch {
	case t.encryption.dups > 0:
		return invalid("7.3", "encryption key is there twice")
	case t.signature.dups > 0:
		return invalid("7.3", "signature key is there twice")
	}
	return nil
}

// verify checks a whole tree as a new member does (RFC 9420, Section 12.4.3.1): the
// leaves by the rules, which speak of this tree; parent hashes; keys. That its tree
// hash is that of the group context is the caller's to compare. It fails with
// ErrInvalid and ErrUnsupported.
func (t tree) verify(r leafRules) error {
	r.t = t
	if err := t.verifyKeys(); err != nil {
		return err
	}
	if err := t.verifyParentHashes(); err != nil {
		return err
	}
	ok := t.root.walk(t.rootIndex(), func(_ NodeIndex, n *node) bool {
		return n.Parent == nil || t.p.checkHPKEKey(n.Parent.EncryptionKey)
	})
	if !ok {
		return invalid("7.1", "encryption key of a parent")
	}
	for i, l := range t.members() {
		if err := r.check(l, 0, i); err != nil {
			return err
		}
	}
	return nil
}
