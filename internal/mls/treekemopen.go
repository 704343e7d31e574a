package mls

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
// and ErrDecrypt.
func (t tree) openPath(priv *privateTree, i LeafIndex, u *updatePath, context []byte, exclude map[LeafIndex]bool) (next *privateTree, commit Secret, err error) {
	path, copath := t.filteredPath(i)
	if len(u.Nodes) != len(path) {
		return nil, Secret{}, invalid("12.4.2", "path of another length")
	}
	var secret Secret
	first := -1
	for k := range path {
		to := t.recipients(copath[k], exclude)
		if len(u.Nodes[k].Secrets) != len(to) {
			return nil, Secret{}, invalid("12.4.2", "number of encrypted path secrets")
		}
		if first >= 0 || !priv.self.Node().below(copath[k]) {
			continue
		}
		first = k
		if secret, err = t.openPathSecret(priv, to, u.Nodes[k].Secrets, context); err != nil {
			return nil, Secret{}, err
		}
	}
	if first < 0 {
		return nil, Secret{}, invalid("12.4.2", "path without a secret for this member")
	}
	next = priv.clone()
	next.prune(t)
	if commit, err = t.climb(next, path[first:], secret); err != nil {
		next.wipe()
		return nil, Secret{}, err
	}
	return next, commit, nil
}

// openPathSecret opens the one ciphertext whose node this member has the key of.
func (t tree) openPathSecret(priv *privateTree, to []NodeIndex, secrets []hpkeCiphertext, context []byte) (Secret, error) {
	for k, x := range to {
		if key := priv.get(x); key.Valid() {
			return t.p.decryptWithLabel(key, labelPathNode, context, secrets[k])
		}
	}
	return Secret{}, invalid("12.4.2", "path without a secret for this member")
}

// climb derives the keys of the nodes of a path from the path secret of the first,
// which it wipes, into v (RFC 9420, Section 7.4). The public keys have to be those of
// the tree. It fails with ErrInvalid.
func (t tree) climb(v *privateTree, path []NodeIndex, secret Secret) (commit Secret, err error) {
	if len(secret.Bytes()) != t.p.nh {
		secret.Wipe()
		return Secret{}, invalid("7.4", "size of a path secret")
	}
	for _, x := range path {
		private, public := t.p.nodeKey(secret)
		above := t.p.deriveSecret(secret, "path")
		secret.Wipe()
		secret = above
		if !equal(public, t.at(x).encryptionKey()) {
			wipe(private, secret)
			return Secret{}, invalid("7.5", "path secret is not that of the public key")
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
	if pathSecret == nil {
		return v, nil
	}
	path, _ := t.filteredPath(signer)
	for len(path) > 0 && !self.Node().below(path[0]) {
		path = path[1:]
	}
	if len(path) == 0 || t.leaf(signer) == nil {
		v.wipe()
		return nil, invalid("12.4.3.1", "path secret of no common node")
	}
	commit, err := t.climb(v, path, NewSecret(pathSecret))
	if err != nil {
		v.wipe()
		return nil, err
	}
	commit.Wipe()
	return v, nil
}
