package mls

import "slices"

// leafTreeHash is the tree hash of a leaf; nil is a blank one (RFC 9420, Section
// 7.8, LeafNodeHashInput).
func (p *suiteParams) leafTreeHash(i LeafIndex, l *LeafNode) []byte {
	b := make([]byte, 0, 512)
	b = appendU32(append(b, nodeLeaf), uint32(i))
	b = appendPresent(b, l != nil)
	if l != nil {
		b = l.append(b)
	}
	return p.digest(b)
}

// parentTreeHash is the tree hash of a parent, whose node may be blank (RFC 9420,
// Section 7.8, ParentNodeHashInput).
func (p *suiteParams) parentTreeHash(n *node, left, right []byte) []byte {
	b := make([]byte, 0, 256)
	b = appendPresent(append(b, nodeParent), n != nil)
	if n != nil {
		b = n.Parent.append(b)
	}
	return p.digest(appendVec(appendVec(b, left), right))
}

// blankTreeHash is the tree hash of a subtree in which everything is blank. It
// depends on the place, since every leaf counts in with its index.
func (p *suiteParams) blankTreeHash(x NodeIndex, level int) []byte {
	if level == 0 {
		return p.leafTreeHash(LeafIndex(x>>1), nil)
	}
	return p.parentTreeHash(nil, p.blankTreeHash(x.left(), level-1), p.blankTreeHash(x.right(), level-1))
}

// hash is the tree hash of the tree (RFC 9420, Section 7.8). It is shared: nobody
// writes to it.
func (t tree) hash() []byte { return t.root.hash }

// hashOf is the tree hash of the subtree at x, which lies in the tree.
func (t tree) hashOf(x NodeIndex) []byte {
	if s := t.find(x); s != nil {
		return s.hash
	}
	return t.p.blankTreeHash(x, x.level())
}

// hashWithout is the tree hash of the subtree s at x as it is without some leaves:
// they are blank, and in no list of unmerged leaves (RFC 9420, Section 7.9). What
// none of them lies under is not hashed again.
func (t tree) hashWithout(s *subtree, x NodeIndex, leaves []LeafIndex) []byte {
	leaves = under(leaves, x)
	if len(leaves) == 0 || s.blank() {
		return s.hash
	}
	if s.left == nil {
		return t.p.leafTreeHash(LeafIndex(x>>1), nil)
	}
	n := s.node
	if n != nil {
		without := *n.Parent
		without.Unmerged = slices.DeleteFunc(slices.Clone(n.Parent.Unmerged), func(i LeafIndex) bool {
			_, is := slices.BinarySearch(leaves, i)
			return is
		})
		n = &node{Parent: &without}
	}
	return t.p.parentTreeHash(n, t.hashWithout(s.left, x.left(), leaves), t.hashWithout(s.right, x.right(), leaves))
}

// under is the part of an ascending list of leaves that lies under x.
func under(leaves []LeafIndex, x NodeIndex) []LeafIndex {
	half := LeafIndex(1)<<x.level() - 1 // one less than the leaves under x
	first := LeafIndex(x-NodeIndex(half)) >> 1
	from, _ := slices.BinarySearch(leaves, first)
	to, found := slices.BinarySearch(leaves, first+half)
	if found {
		to++
	}
	return leaves[from:to]
}
