package mls

import "slices"

// keepParents and blankParents say what a change of a leaf does to the parents
// above it.
func keepParents(_ NodeIndex, n *node) *node { return n }
func blankParents(NodeIndex, *node) *node    { return nil }

// set is the tree with another leaf (nil: a blank one) at i, which lies in the tree,
// and with the parents above it as parent makes them.
func (t tree) set(i LeafIndex, l *LeafNode, parent func(NodeIndex, *node) *node) tree {
	next := t
	l = l.detach()
	var rebuild func(s *subtree, x NodeIndex) *subtree
	rebuild = func(s *subtree, x NodeIndex) *subtree {
		if x.level() == 0 {
			if s.node != nil {
				next.encryption = next.encryption.remove(s.node.Leaf.EncryptionKey)
				next.signature = next.signature.remove(s.node.Leaf.SignatureKey)
			}
			if l != nil {
				next.encryption = next.encryption.add(l.EncryptionKey)
				next.signature = next.signature.add(l.SignatureKey)
			}
			return t.leafTree(i, l)
		}
		n := parent(x, s.node)
		if s.node != nil {
			next.encryption = next.encryption.remove(s.node.Parent.EncryptionKey)
		}
		if n != nil {
			next.encryption = next.encryption.add(n.Parent.EncryptionKey)
		}
		left, right := t.halves(s, x)
		if i.Node() < x {
			left = rebuild(left, x.left())
		} else {
			right = rebuild(right, x.right())
		}
		return t.join(x, n, left, right)
	}
	next.root = rebuild(t.root, t.rootIndex())
	return next
}

// vacant is the leftmost blank leaf, and the tree with room for it: if there is none
// the tree is twice as wide (RFC 9420, Section 7.7). It fails with ErrInvalid for a
// tree that would have more than MaxLeaves.
func (t tree) vacant() (tree, LeafIndex, error) {
	if t.count() == int(t.width()) {
		if t.width() >= MaxLeaves {
			return t, 0, invalid("7.7", "too many leaves")
		}
		right := t.blankTree(t.rootIndex()+NodeIndex(nodeWidth(t.width()))+1, t.depth)
		t.depth++
		t.root = t.join(t.rootIndex(), nil, t.root, right)
	}
	s, x := t.root, t.rootIndex()
	for x.level() > 0 {
		if s.blank() {
			x = x.left()
		} else if s.left.members < 1<<(x.level()-1) {
			s, x = s.left, x.left()
		} else {
			s, x = s.right, x.right()
		}
	}
	return t, LeafIndex(x >> 1), nil
}

// add is the tree with one more member (RFC 9420, Section 12.1.1). It fails as
// vacant does.
func (t tree) add(l *LeafNode) (tree, LeafIndex, error) {
	t, i, err := t.vacant()
	if err != nil {
		return t, 0, err
	}
	return t.set(i, l, func(_ NodeIndex, n *node) *node {
		if n == nil {
			return nil
		}
		with := *n.Parent
		at, _ := slices.BinarySearch(with.Unmerged, i)
		with.Unmerged = slices.Insert(slices.Clone(with.Unmerged), at, i)
		return &node{Parent: &with}
	}), i, nil
}

// update is the tree with another leaf for a member (RFC 9420, Section 12.1.2).
func (t tree) update(i LeafIndex, l *LeafNode) tree { return t.set(i, l, blankParents) }

// remove is the tree without a member (RFC 9420, Section 12.1.3). While its right
// half is blank it is cut off (Section 7.7).
func (t tree) remove(i LeafIndex) tree {
	t = t.set(i, nil, blankParents)
	for t.depth > 0 && !t.root.blank() && t.root.right.blank() {
		t.root = t.root.left
		t.depth--
	}
	if t.root.blank() {
		t.depth, t.root = 0, t.blankTree(0, 0)
	}
	return t
}
