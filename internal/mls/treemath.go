package mls

import "math/bits"

// LeafIndex numbers the members from the left, from 0.
type LeafIndex uint32

// NodeIndex numbers the nodes of the array representation: leaves are even, parents
// odd (RFC 9420, Section 4.1 and Appendix C).
type NodeIndex uint32

// MaxLeaves is how many leaves a tree can have: 2^16, blank ones included. RFC 9420 has
// no bound. A Welcome of MaxMessage bytes has room for a sixth of it; a tree of two
// members with blank leaves between them is small in a message and as much work as a full
// one.
const MaxLeaves = 1 << maxDepth

// maxDepth is how many levels of parents a tree can have.
const maxDepth = 16

// Node is the node of a leaf.
func (i LeafIndex) Node() NodeIndex { return NodeIndex(i) << 1 }

// leaf is the leaf of a node; ok is false for a parent.
func (x NodeIndex) leaf() (i LeafIndex, ok bool) { return LeafIndex(x >> 1), x&1 == 0 }

// level is 0 for leaves, else one more than that of the children.
func (x NodeIndex) level() int { return bits.TrailingZeros32(^uint32(x)) }

// nodeWidth is the number of nodes of a tree with that many leaves.
func nodeWidth(leaves uint32) uint32 {
	if leaves == 0 {
		return 0
	}
	return 2*leaves - 1
}

// treeRoot is the root of a tree with that many leaves, a power of two.
func treeRoot(leaves uint32) NodeIndex {
	return NodeIndex(1)<<(bits.Len32(nodeWidth(leaves))-1) - 1
}

// left is the left child of a parent.
func (x NodeIndex) left() NodeIndex { return x ^ 1<<(x.level()-1) }

// right is the right child of a parent.
func (x NodeIndex) right() NodeIndex { return x ^ 3<<(x.level()-1) }

// parent is the parent of a node that is not the root.
func (x NodeIndex) parent() NodeIndex {
	k := x.level()
	return (x | 1<<k) &^ (1 << (k + 1))
}

// sibling is the other child of the parent of a node that is not the root.
func (x NodeIndex) sibling() NodeIndex {
	if p := x.parent(); x < p {
		return p.right()
	} else {
		return p.left()
	}
}

// directPath is the nodes from the parent of x up to the root, both included
// (RFC 9420, Section 4.1.1).
func (x NodeIndex) directPath(leaves uint32) []NodeIndex {
	var path []NodeIndex
	for root := treeRoot(leaves); x != root; {
		x = x.parent()
		path = append(path, x)
	}
	return path
}

// copath is the siblings of x and of the nodes of its direct path but the root,
// from below.
func (x NodeIndex) copath(leaves uint32) []NodeIndex {
	var path []NodeIndex
	for root := treeRoot(leaves); x != root; x = x.parent() {
		path = append(path, x.sibling())
	}
	return path
}

// below reports whether x lies under a, or is a.
func (x NodeIndex) below(a NodeIndex) bool {
	k := a.level()
	first := a &^ (1<<k - 1) // the leftmost leaf under a
	return x >= first && x < first+(2<<k)-1
}
