package mls

import "slices"

// treeOf is the tree of an array of nodes, as the ratchet_tree extension has it. It
// checks what the array alone can show (RFC 9420, Sections 12.4.3.1 and 12.4.3.3);
// verify checks the rest. It fails with ErrMalformed for what is no tree and
// ErrInvalid for one that no group can have come to.
func treeOf(p *suiteParams, nodes []*node) (tree, error) {
	const section = "12.4.3.3"
	switch {
	case len(nodes) == 0:
		return tree{}, fail(ErrMalformed, section, "empty tree")
	case nodes[len(nodes)-1] == nil:
		return tree{}, fail(ErrMalformed, section, "blank node at the end")
	case len(nodes) > 2*MaxLeaves-1:
		return tree{}, fail(ErrMalformed, section, "too many nodes")
	}
	for x, n := range nodes {
		if n != nil && (n.Leaf != nil) != (x%2 == 0) {
			return tree{}, fail(ErrMalformed, section, "node of the wrong type")
		}
	}
	t := tree{p: p}
	for int(nodeWidth(t.width())) < len(nodes) {
		t.depth++
	}
	b := treeBuilder{tree: t, nodes: nodes}
	root, err := b.build(t.rootIndex())
	if err != nil {
		return tree{}, err
	}
	b.root = root
	return b.tree, nil
}

type treeBuilder struct {
	tree
	nodes []*node
}

// node is the node at x of the array that was read; it may lie beyond its end.
func (b *treeBuilder) node(x NodeIndex) *node {
	if int(x) < len(b.nodes) {
		return b.nodes[x]
	}
	return nil
}

func (b *treeBuilder) build(x NodeIndex) (*subtree, error) {
	n := b.node(x)
	if i, ok := x.leaf(); ok {
		if n == nil {
			return b.leafTree(i, nil), nil
		}
		l := n.Leaf.detach()
		b.encryption = b.encryption.add(l.EncryptionKey)
		b.signature = b.signature.add(l.SignatureKey)
		return b.leafTree(i, l), nil
	}
	if n != nil {
		if err := b.checkUnmerged(x, n.Parent); err != nil {
			return nil, err
		}
		n = &node{Parent: n.Parent.detach()}
		b.encryption = b.encryption.add(n.Parent.EncryptionKey)
	}
	left, err := b.build(x.left())
	if err != nil {
		return nil, err
	}
	right, err := b.build(x.right())
	if err != nil {
		return nil, err
	}
	// A path gives keys only to parents with members on both sides (RFC 9420,
	// Section 7.4), and a removal blanks all parents above.
	if n != nil && (left.blank() || right.blank()) {
		return nil, invalid("7.4", "parent over a blank side")
	}
	return b.join(x, n, left, right), nil
}

// checkUnmerged checks the unmerged leaves of the parent at x: ascending (RFC 9420,
// Section 7.1), members below it, and unmerged in every parent on the way down to
// them too (Section 12.4.3.1).
func (b *treeBuilder) checkUnmerged(x NodeIndex, n *parentNode) error {
	for k, i := range n.Unmerged {
		switch {
		case k > 0 && n.Unmerged[k-1] >= i:
			return invalid("7.1", "unmerged leaves out of order")
		case i >= MaxLeaves, !i.Node().below(x), b.node(i.Node()) == nil:
			return invalid("12.4.3.1", "unmerged leaf is no member below its parent")
		}
		for a := i.Node().parent(); a != x; a = a.parent() {
			if between := b.node(a); between != nil {
				if _, ok := slices.BinarySearch(between.Parent.Unmerged, i); !ok {
					return invalid("12.4.3.1", "unmerged leaf is missing in a parent below")
				}
			}
		}
	}
	return nil
}
