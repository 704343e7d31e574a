package mls

// secretTree is one clone's secret tree (RFC 9420, Section 9): it gives the keys of
// all members' messages in an epoch. It is made as far as it is needed, and what was
// used is deleted (Section 9.2). clone takes a reference to the root; from then on
// each side copies what it changes, at most the nodes from the root to one leaf.
type secretTree struct {
	p     *suiteParams
	width uint32 // leaves, a power of two
	root  *secretNode
	stamp uint64 // counts consumed keys, to know which kept ones are the oldest
}

// newSecretTree makes a tree of encryption_secret, which it owns from then on.
func newSecretTree(p *suiteParams, encryption Secret, width uint32) secretTree {
	return secretTree{p: p, width: width, root: newSecretNode(encryption)}
}

func (t *secretTree) clone() secretTree {
	t.root.refs.Add(1)
	return *t
}

// drop wipes what no other clone holds.
func (t *secretTree) drop() {
	if t.root != nil {
		t.root.release()
		t.root = nil
	}
}

// side says under which child of x a leaf is: 0 left, 1 right.
func (x NodeIndex) side(leaf NodeIndex) int {
	if leaf < x {
		return 0
	}
	return 1
}

// peek is a copy of a key, which the caller wipes. The tree does not change, so that
// a message that turns out to be false has consumed nothing. It fails with ErrUsed
// and ErrTooFar.
func (t *secretTree) peek(i LeafIndex, kind ratchetKind, g uint32) (messageKey, error) {
	if uint32(i) >= t.width {
		return messageKey{}, invalid("9", "leaf outside of the secret tree")
	}
	n, x := t.root, treeRoot(t.width)
	for !n.secret.Valid() && n.ratchets == nil {
		side := x.side(i.Node())
		n, x = n.child[side], x.child(side)
	}
	if n.ratchets != nil {
		return n.ratchets[kind].peek(t.p, g)
	}
	// Nothing was made below n: go down on copies.
	secret := n.secret.Clone()
	for x != i.Node() {
		side := x.side(i.Node())
		below := t.p.childSecret(secret, side)
		secret.Wipe()
		secret, x = below, x.child(side)
	}
	r := ratchet{secret: t.p.expandWithLabel(secret.Bytes(), ratchetLabels[kind], nil, t.p.nh)}
	secret.Wipe()
	defer r.wipe()
	return r.peek(t.p, g)
}

// child is the left (0) or right (1) child of a parent.
func (x NodeIndex) child(side int) NodeIndex {
	if side == 0 {
		return x.left()
	}
	return x.right()
}

// consume deletes the key of a generation that peek gave, keeps those that it
// skipped, and sees to the bound of the epoch.
func (t *secretTree) consume(i LeafIndex, kind ratchetKind, g uint32) {
	t.stamp++
	t.edit(i, func(r *[ratchetKinds]ratchet) { r[kind].consume(t.p, g, t.stamp) })
	for t.root.kept > maxKeptEpoch {
		t.evict()
	}
}

// next is the generation that comes next in one's own ratchet.
func (t *secretTree) next(i LeafIndex, kind ratchetKind) uint32 {
	n, x := t.root, treeRoot(t.width)
	for n.ratchets == nil {
		if n.secret.Valid() {
			return 0
		}
		side := x.side(i.Node())
		n, x = n.child[side], x.child(side)
	}
	return n.ratchets[kind].next
}

// take gives the key of generation g of one's own ratchet and deletes all up to it.
func (t *secretTree) take(i LeafIndex, kind ratchetKind, g uint32) (k messageKey) {
	t.edit(i, func(r *[ratchetKinds]ratchet) { k = r[kind].take(t.p, g) })
	return k
}

// edit changes the ratchets of a leaf.
func (t *secretTree) edit(i LeafIndex, change func(*[ratchetKinds]ratchet)) {
	t.root = t.editNode(t.root, treeRoot(t.width), i.Node(), change)
}

func (t *secretTree) editNode(n *secretNode, x, leaf NodeIndex, change func(*[ratchetKinds]ratchet)) *secretNode {
	n = n.own()
	n.expand(t.p, x)
	if x == leaf {
		change(n.ratchets)
	} else {
		side := x.side(leaf)
		n.child[side] = t.editNode(n.child[side], x.child(side), leaf, change)
	}
	n.sum()
	return n
}

// evict wipes the oldest kept key.
func (t *secretTree) evict() {
	n, x := t.root, treeRoot(t.width)
	for n.ratchets == nil {
		side := 0
		if l, r := n.child[0], n.child[1]; l.kept == 0 || r.kept > 0 && r.oldest < l.oldest {
			side = 1
		}
		n, x = n.child[side], x.child(side)
	}
	i, _ := x.leaf()
	oldest := n.oldest
	t.edit(i, func(rs *[ratchetKinds]ratchet) {
		for k := range rs {
			if r := &rs[k]; len(r.kept) > 0 && r.kept[0].stamp == oldest {
				r.forgetFirst(1)
				return
			}
		}
	})
}
