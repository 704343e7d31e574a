package mls

import "slices"

// applyPath is the tree with the public part of somebody's path in it (RFC 9420,
// Section 7.5). The leaf, which may be blank before, is checked by leafRules, not
// here. It fails with ErrInvalid for a path of another length, a wrong parent hash
// and keys that are not new (Section 12.4.2).
func (t tree) applyPath(i LeafIndex, u *updatePath) (next tree, err error) {
	if uint32(i) >= t.width() {
		return tree{}, invalid("12.4.2", "path of no leaf")
	}
	path, copath := t.filteredPath(i)
	if len(u.Nodes) != len(path) {
		return tree{}, invalid("12.4.2", "path of another length")
	}
	keys := make([][]byte, len(path))
	seen := keySet{}.add(u.Leaf.EncryptionKey)
	if t.hasEncryptionKey(u.Leaf.EncryptionKey) {
		return tree{}, invalid("12.4.2", "encryption key of a path is not new")
	}
	for k, n := range u.Nodes {
		keys[k] = n.EncryptionKey
		switch {
		case t.hasEncryptionKey(n.EncryptionKey) || seen.count(n.EncryptionKey) > 0:
			return tree{}, invalid("12.4.2", "encryption key of a path is not new")
		case !t.p.checkHPKEKey(n.EncryptionKey):
			return tree{}, invalid("7.1", "encryption key of a path")
		}
		seen = seen.add(n.EncryptionKey)
	}
	parents, parentHash := t.pathParents(copath, keys)
	if u.Leaf.Source != LeafCommit || !equal(u.Leaf.ParentHash, parentHash) {
		return tree{}, invalid("7.5", "parent hash of a path")
	}
	return t.setPath(i, u.Leaf, path, parents), nil
}

// openPath is the private part on the side of a member other than the maker (RFC
// 9420, Section 7.5). t is the tree that applyPath returned, context and exclude as
// in sealPath. next is made of copies: priv stays as it was. It fails with ErrInvalid
// for what all members see, and with ErrPath for what only those see who open the same
// ciphertext.
func (t tree) openPath(priv *privateTree, i LeafIndex, u *updatePath, context []byte, exclude map[LeafIndex]bool) (next *privateTree, commit Secret, err error) {
	to, err := t.pathRecipients(i, u, exclude)
	if err != nil {
		return nil, Secret{}, err
	}
	path, copath := t.filteredPath(i)
	first := slices.IndexFunc(copath, func(x NodeIndex) bool { return priv.self.Node().below(x) })
	if first < 0 {
		return nil, Secret{}, invalid("12.4.2", "path of this member's own leaf")
	}
	secret, err := t.openPathSecret(priv, to[first], u.Nodes[first].Secrets, context)
	if err != nil {
		return nil, Secret{}, err
	}
	next = priv.clone()
	next.prune(t)
	if commit, err = t.climb(next, path[first:], secret, ErrPath); err != nil {
		next.wipe()
		return nil, Secret{}, err
	}
	return next, commit, nil
}

// pathRecipients is whom each node of a path is encrypted to. It fails with ErrInvalid
// for a path with more or fewer of them, which everybody can see.
func (t tree) pathRecipients(i LeafIndex, u *updatePath, exclude map[LeafIndex]bool) ([][]NodeIndex, error) {
	_, copath := t.filteredPath(i)
	if len(u.Nodes) != len(copath) {
		return nil, invalid("12.4.2", "path of another length")
	}
	to := make([][]NodeIndex, len(copath))
	for k, x := range copath {
		if to[k] = t.recipients(x, exclude); len(u.Nodes[k].Secrets) != len(to[k]) {
			return nil, invalid("12.4.2", "number of encrypted path secrets")
		}
	}
	return to, nil
}

// openPathSecret opens the one ciphertext whose node this member has the key of. It
// fails with ErrPath.
func (t tree) openPathSecret(priv *privateTree, to []NodeIndex, secrets []hpkeCiphertext, context []byte) (Secret, error) {
	for k, x := range to {
		if key := priv.get(x); key.Valid() {
			secret, err := t.p.decryptWithLabel(key, labelPathNode, context, secrets[k])
			if err != nil {
				return Secret{}, fail(ErrPath, "12.4.2", "path secret does not open")
			}
			return secret, nil
		}
	}
	return Secret{}, fail(ErrPath, "12.4.2", "path without a secret for this member")
}

// climb derives the keys of the nodes of a path from the path secret of the first,
// which it wipes, into v (RFC 9420, Section 7.4). The public keys have to be those of
// the tree; if not it fails with the kind given.
func (t tree) climb(v *privateTree, path []NodeIndex, secret Secret, kind error) (commit Secret, err error) {
	if len(secret.Bytes()) != t.p.nh {
		secret.Wipe()
		return Secret{}, fail(kind, "7.4", "size of a path secret")
	}
	for _, x := range path {
		private, public := t.p.nodeKey(secret)
		above := t.p.deriveSecret(secret, "path")
		secret.Wipe()
		secret = above
		if !equal(public, t.at(x).encryptionKey()) {
			wipe(private, secret)
			return Secret{}, fail(kind, "7.5", "path secret is not that of the public key")
		}
		v.put(x, public, private)
	}
	return secret, nil
}

// joinPath is the private keys of a new member (RFC 9420, Section 12.4.3.1): that of
// its leaf, and, if the Welcome has a path secret, those of the nodes that it shares
// with the signer of the group info. leafKey and pathSecret stay the caller's. It
// fails with ErrInvalid, and with ErrArgument if leafKey is not that of the leaf.
func (t tree) joinPath(self, signer LeafIndex, leafKey Secret, pathSecret []byte) (*privateTree, error) {
	public, err := t.p.hpkePublic(leafKey)
	if err != nil {
		return nil, err
	}
	if l := t.leaf(self); l == nil || !equal(l.EncryptionKey, public) {
		return nil, fail(ErrArgument, "12.4.3.1", "key of the own leaf")
	}
	v := newPrivateTree(self, public, leafKey.Clone())
	if pathSecret != nil {
		if err := t.joinCommon(v, signer, pathSecret); err != nil {
			v.wipe()
			return nil, err
		}
	}
	// Whoever let us in knows of no parent above us that we lack the key of. Without one
	// we would be shut out by the first path that is encrypted to that parent.
	for _, x := range self.Node().directPath(t.width()) {
		if n := t.at(x); n != nil && !slices.Contains(n.Parent.Unmerged, self) && !v.get(x).Valid() {
			v.wipe()
			return nil, invalid("12.4.3.1", "no path secret of a parent above the new member")
		}
	}
	return v, nil
}

// joinCommon adds the keys of the nodes that a new member shares with the signer.
func (t tree) joinCommon(v *privateTree, signer LeafIndex, pathSecret []byte) error {
	path, _ := t.filteredPath(signer)
	for len(path) > 0 && !v.self.Node().below(path[0]) {
		path = path[1:]
	}
	if len(path) == 0 || t.leaf(signer) == nil {
		return invalid("12.4.3.1", "path secret of no common node")
	}
	commit, err := t.climb(v, path, NewSecret(pathSecret), ErrInvalid)
	commit.Wipe()
	return err
}
