package mls

import "iter"

// tree is the public ratchet tree of a group (RFC 9420, Section 7). It is a value:
// an operation returns another tree and leaves its own as it was. The two share all
// subtrees that did not change, with their hashes, so that a clone costs nothing and
// a commit copies one path from a leaf to the root.
type tree struct {
	p     *suiteParams
	root  *subtree
	depth int // level of the root; the tree has 1<<depth leaves

	encryption keySet // encryption keys of all nodes
	signature  keySet // signature keys of all leaves
}

// subtree is one node and all below it. It is never changed. A subtree without a
// member has neither node nor children, whatever its width: in it everything is
// blank. A subtree with one has a child on either side, unless it is a leaf.
type subtree struct {
	node        *node // nil is blank
	left, right *subtree
	hash        []byte // tree hash (RFC 9420, Section 7.8)
	members     int32  // leaves that are not blank
	credentials credentialTypes
}

// blank reports whether there is no node in the subtree.
func (s *subtree) blank() bool { return s.members == 0 }

// newTree is the tree of a group of one (RFC 9420, Section 11).
func newTree(p *suiteParams, first *LeafNode) tree {
	t := tree{p: p}
	t.root = t.blankTree(0, 0)
	return t.set(0, first, keepParents)
}

// join makes the subtree at x of a node and the two halves below it.
func (t tree) join(x NodeIndex, n *node, left, right *subtree) *subtree {
	if left.blank() && right.blank() { // no parent stands over blank leaves alone
		return &subtree{hash: t.p.parentTreeHash(nil, left.hash, right.hash), credentials: anyCredential}
	}
	return &subtree{
		node: n, left: left, right: right,
		hash:        t.p.parentTreeHash(n, left.hash, right.hash),
		members:     left.members + right.members,
		credentials: left.credentials.with(right.credentials),
	}
}

// leafTree makes the subtree of one leaf; nil is a blank one.
func (t tree) leafTree(i LeafIndex, l *LeafNode) *subtree {
	if l == nil {
		return t.blankTree(i.Node(), 0)
	}
	return &subtree{node: &node{Leaf: l}, hash: t.p.leafTreeHash(i, l), members: 1, credentials: credentialTypesOf(l)}
}

// blankTree makes the subtree at x, of a level, in which everything is blank.
func (t tree) blankTree(x NodeIndex, level int) *subtree {
	return &subtree{hash: t.p.blankTreeHash(x, level), credentials: anyCredential}
}

// halves is the two subtrees below x. Those of a blank subtree are made here.
func (t tree) halves(s *subtree, x NodeIndex) (left, right *subtree) {
	if s.left != nil {
		return s.left, s.right
	}
	k := x.level() - 1
	return t.blankTree(x.left(), k), t.blankTree(x.right(), k)
}

// find is the subtree at x; nil if x lies in a blank one or outside of the tree.
func (t tree) find(x NodeIndex) *subtree {
	if uint32(x) >= nodeWidth(t.width()) {
		return nil
	}
	s, at := t.root, t.rootIndex()
	for s != nil && at != x {
		if x < at {
			s, at = s.left, at.left()
		} else {
			s, at = s.right, at.right()
		}
	}
	return s
}

func (t tree) rootIndex() NodeIndex { return treeRoot(t.width()) }

// width is the number of leaves, blank ones included, a power of two.
func (t tree) width() uint32 { return 1 << t.depth }

// count is the number of members.
func (t tree) count() int { return int(t.root.members) }

// at is a node; nil is a blank one, and one outside of the tree.
func (t tree) at(x NodeIndex) *node {
	if s := t.find(x); s != nil {
		return s.node
	}
	return nil
}

// leaf is the leaf of a member; nil is a blank one, and one outside of the tree.
func (t tree) leaf(i LeafIndex) *LeafNode {
	if i >= MaxLeaves {
		return nil // its node has no index
	}
	if n := t.at(i.Node()); n != nil {
		return n.Leaf
	}
	return nil
}

// members is all members from the left.
func (t tree) members() iter.Seq2[LeafIndex, *LeafNode] {
	return func(yield func(LeafIndex, *LeafNode) bool) {
		t.root.walk(t.rootIndex(), func(x NodeIndex, n *node) bool {
			return n.Leaf == nil || yield(LeafIndex(x>>1), n.Leaf)
		})
	}
}

// walk calls f for the nodes that are not blank, from the left; it stops, and
// reports false, when f does.
func (s *subtree) walk(x NodeIndex, f func(NodeIndex, *node) bool) bool {
	if s.blank() {
		return true
	}
	if s.left == nil {
		return f(x, s.node)
	}
	return s.left.walk(x.left(), f) && (s.node == nil || f(x, s.node)) && s.right.walk(x.right(), f)
}

// nodes is the array representation without the blank nodes at its end, as the
// ratchet_tree extension has it (RFC 9420, Section 12.4.3.3).
func (t tree) nodes() []*node {
	nodes := make([]*node, 0, nodeWidth(t.width()))
	t.root.walk(t.rootIndex(), func(x NodeIndex, n *node) bool {
		nodes = nodes[:x+1]
		nodes[x] = n
		return true
	})
	return nodes
}
