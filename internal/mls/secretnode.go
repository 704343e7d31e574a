package mls

import "sync/atomic"

// secretNode is a node of a secret tree (RFC 9420, Section 9). It is in one of three
// states: its secret is there and nothing below it was made; or it is a parent whose
// secret went into its children; or it is a leaf whose secret went into its ratchets.
//
// Clones of a tree share nodes. refs counts who points at a node: parents and roots.
// Whoever holds the only reference may change the node; anybody else makes a copy
// first (own). A count only falls to one when the others are gone, and it is read
// and written atomically, so that two clones can be used in two goroutines.
type secretNode struct {
	refs     atomic.Int32
	secret   Secret
	child    [2]*secretNode
	ratchets *[ratchetKinds]ratchet

	kept   int    // keys that are kept below here
	oldest uint64 // the lowest stamp of them
}

func newSecretNode(secret Secret) *secretNode {
	n := &secretNode{secret: secret}
	n.refs.Store(1)
	return n
}

// own is the node itself if the caller's reference is the only one, else a copy in
// the place of that reference.
func (n *secretNode) own() *secretNode {
	if n.refs.Load() == 1 {
		return n
	}
	c := newSecretNode(n.secret.Clone())
	c.kept, c.oldest = n.kept, n.oldest
	for i, child := range n.child {
		if child != nil {
			child.refs.Add(1)
			c.child[i] = child
		}
	}
	if n.ratchets != nil {
		c.ratchets = new([ratchetKinds]ratchet)
		for i := range n.ratchets {
			c.ratchets[i] = n.ratchets[i].clone()
		}
	}
	n.release()
	return c
}

// release gives a reference back. The last one wipes the node.
func (n *secretNode) release() {
	if n.refs.Add(-1) != 0 {
		return
	}
	n.secret.Wipe()
	for i, child := range n.child {
		if child != nil {
			child.release()
			n.child[i] = nil
		}
	}
	if n.ratchets != nil {
		for i := range n.ratchets {
			n.ratchets[i].wipe()
		}
	}
}

// expand makes what is below x and deletes the secret of x (RFC 9420, Section 9). The
// caller owns n.
func (n *secretNode) expand(p *suiteParams, x NodeIndex) {
	if !n.secret.Valid() {
		return
	}
	if _, leaf := x.leaf(); leaf {
		n.ratchets = new([ratchetKinds]ratchet)
		for kind, label := range ratchetLabels {
			n.ratchets[kind].secret = p.expandWithLabel(n.secret.Bytes(), label, nil, p.nh)
		}
	} else {
		for side := range n.child {
			n.child[side] = newSecretNode(p.childSecret(n.secret, side))
		}
	}
	n.secret.Wipe()
	n.secret = Secret{}
}

// childSecret is tree_node_[left(x)]_secret or that of the right (RFC 9420, Section
// 9, Figure 25).
func (p *suiteParams) childSecret(secret Secret, side int) Secret {
	context := "left"
	if side == 1 {
		context = "right"
	}
	return p.expandWithLabel(secret.Bytes(), "tree", []byte(context), p.nh)
}

// sum counts the kept keys below n anew from its children or ratchets.
func (n *secretNode) sum() {
	n.kept, n.oldest = 0, 0
	add := func(kept int, oldest uint64) {
		if kept > 0 && (n.kept == 0 || oldest < n.oldest) {
			n.oldest = oldest
		}
		n.kept += kept
	}
	for _, c := range n.child {
		if c != nil {
			add(c.kept, c.oldest)
		}
	}
	if n.ratchets != nil {
		for i := range n.ratchets {
			if k := n.ratchets[i].kept; len(k) > 0 {
				add(len(k), k[0].stamp)
			}
		}
	}
}
