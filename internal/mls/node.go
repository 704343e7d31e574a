package mls

// node is Node: what a place of a ratchet tree holds (RFC 9420, Section 7.8).
// Exactly one of its fields is there. It is not changed once it stands in a tree.
type node struct {
	Leaf   *LeafNode
	Parent *parentNode
}

// parentNode is ParentNode (RFC 9420, Section 7.1).
type parentNode struct {
	EncryptionKey []byte
	ParentHash    []byte
	Unmerged      []LeafIndex // unmerged_leaves, ascending
}

func readParentNode(r *reader) *parentNode {
	return &parentNode{EncryptionKey: r.vec(), ParentHash: r.vec(), Unmerged: list(r, func(r *reader) LeafIndex { return LeafIndex(r.u32()) })}
}

func (p *parentNode) append(b []byte) []byte {
	b = appendVec(appendVec(b, p.EncryptionKey), p.ParentHash)
	return appendList(b, p.Unmerged, func(b []byte, i LeafIndex) []byte { return appendU32(b, uint32(i)) })
}

const (
	nodeLeaf   = 1
	nodeParent = 2
)

// readOptionalNode reads optional<Node>; nil is a blank node.
func readOptionalNode(r *reader) *node {
	if !r.present() {
		return nil
	}
	switch r.u8() {
	case nodeLeaf:
		return &node{Leaf: readLeafNode(r)}
	case nodeParent:
		return &node{Parent: readParentNode(r)}
	}
	r.fail = true
	return nil
}

func (n *node) appendOptional(b []byte) []byte {
	switch {
	case n == nil:
		return appendPresent(b, false)
	case n.Leaf != nil:
		return n.Leaf.append(append(appendPresent(b, true), nodeLeaf))
	}
	return n.Parent.append(append(appendPresent(b, true), nodeParent))
}

// parseNodes reads the ratchet_tree extension (RFC 9420, Section 12.4.3.3): the
// nodes from the left, without the blank ones at the end.
func parseNodes(b []byte) ([]*node, error) {
	return parse(b, "ratchet tree", func(r *reader) []*node { return readNodes(r) })
}

// readNodes reads them without the length of the whole. More than a tree can have are not
// read: a blank one takes a byte.
func readNodes(r *reader) []*node { return listOf(r, 2*MaxLeaves-1, readOptionalNode) }

func appendNodes(b []byte, nodes []*node) []byte {
	return appendList(b, nodes, func(b []byte, n *node) []byte { return n.appendOptional(b) })
}
