package mls

import "slices"

// parentHash is the parent hash that the node below a parent carries: that of the
// parent and of the tree hash of its child on the other side, as it was when the
// parent got its key (RFC 9420, Section 7.9).
func (p *suiteParams) parentHash(parent *parentNode, originalSibling []byte) []byte {
	b := make([]byte, 0, 256)
	b = appendVec(appendVec(b, parent.EncryptionKey), parent.ParentHash)
	return p.digest(appendVec(b, originalSibling))
}

// parentHash is the field of a node; a leaf that comes from no commit has none.
func (n *node) parentHash() []byte {
	switch {
	case n.Parent != nil:
		return n.Parent.ParentHash
	case n.Leaf.Source == LeafCommit:
		return n.Leaf.ParentHash
	}
	return nil
}

// verifyParentHashes checks that every parent was made by a member who was below it
// (RFC 9420, Section 7.9.2), from the top down: each has exactly one descendant for
// which it is parent-hash valid. It fails with ErrInvalid.
func (t tree) verifyParentHashes() error {
	ok := t.root.walk(t.rootIndex(), func(x NodeIndex, n *node) bool {
		if n.Parent == nil {
			return true
		}
		s := t.find(x)
		left := t.vouches(n.Parent, s.left, x.left(), s.right, x.right())
		right := t.vouches(n.Parent, s.right, x.right(), s.left, x.left())
		return left != right
	})
	if !ok {
		return invalid("7.9.2", "parent hash")
	}
	return nil
}

// vouches reports whether a descendant D of a parent, in its child c, carries
// the parent hash of that parent: the resolution of c without D is the unmerged
// leaves of the parent under c, and the hash is that of the parent and its other
// child (RFC 9420, Section 7.9.2).
func (t tree) vouches(parent *parentNode, c *subtree, at NodeIndex, other *subtree, otherAt NodeIndex) bool {
	unmerged := under(parent.Unmerged, at) // all in the resolution: treeOf saw to it
	rest := slices.DeleteFunc(c.resolution(nil, at), func(r NodeIndex) bool {
		i, ok := r.leaf()
		if ok {
			_, ok = slices.BinarySearch(unmerged, i)
		}
		return ok
	})
	if len(rest) != 1 {
		return false
	}
	return equal(t.at(rest[0]).parentHash(), t.p.parentHash(parent, t.hashWithout(other, otherAt, parent.Unmerged)))
}
