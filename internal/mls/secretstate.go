package mls

// How a secret tree is written down: width 4 ‖ stamp 8 ‖ the nodes, each before its
// children, left before right:
//
//	1 ‖ secret<V>          nothing below it was made yet
//	2                      a parent, its children follow
//	3 ‖ ratchet ‖ ratchet  a leaf: handshake, application
//
// ratchet: secret<V> ‖ next 4 ‖ kept<V> of (generation 4 ‖ stamp 8 ‖ key Nk ‖ nonce 12).
// What was used is in none of them.
const (
	stateSecret   = 1
	stateParent   = 2
	stateRatchets = 3
)

func (t *secretTree) append(b []byte) []byte {
	return t.root.append(appendU64(appendU32(b, t.width), t.stamp))
}

func (n *secretNode) append(b []byte) []byte {
	switch {
	case n.secret.Valid():
		return appendVec(append(b, stateSecret), n.secret.Bytes())
	case n.ratchets != nil:
		b = append(b, stateRatchets)
		for i := range n.ratchets {
			b = n.ratchets[i].append(b)
		}
		return b
	}
	return n.child[1].append(n.child[0].append(append(b, stateParent)))
}

func (r *ratchet) append(b []byte) []byte {
	b = appendU32(appendVec(b, r.secret.Bytes()), r.next)
	return appendList(b, r.kept, func(b []byte, k keptKey) []byte {
		b = appendU64(appendU32(b, k.generation), k.stamp)
		return append(append(b, k.key.Bytes()...), k.nonce[:]...)
	})
}

// readSecretTree reads what append wrote. After a failure there is nothing to drop.
func readSecretTree(r *reader, p *suiteParams, width uint32) secretTree {
	t := secretTree{p: p, width: r.u32(), stamp: r.u64()}
	if t.width != width || width == 0 || width&(width-1) != 0 || width > MaxLeaves {
		r.fail = true
		return t
	}
	t.root = t.readNode(r, treeRoot(width))
	if t.root.kept > maxKeptEpoch {
		r.fail = true
	}
	if r.fail {
		t.drop()
	}
	return t
}

func (t *secretTree) readNode(r *reader, x NodeIndex) *secretNode {
	n := newSecretNode(Secret{})
	_, leaf := x.leaf()
	switch tag := r.u8(); {
	case tag == stateSecret:
		n.secret = r.secret(t.p.nh, false)
	case tag == stateParent && !leaf:
		n.child[0] = t.readNode(r, x.left())
		n.child[1] = t.readNode(r, x.right())
	case tag == stateRatchets && leaf:
		n.ratchets = new([ratchetKinds]ratchet)
		for i := range n.ratchets {
			n.ratchets[i] = readRatchet(r, t.p, t.stamp)
		}
	default:
		r.fail = true
	}
	n.sum()
	return n
}

func readRatchet(r *reader, p *suiteParams, stamp uint64) ratchet {
	out := ratchet{secret: r.secret(p.nh, false), next: r.u32()}
	out.kept = list(r, func(r *reader) keptKey {
		k := keptKey{generation: r.u32(), stamp: r.u64()}
		if key := r.take(p.nk); key != nil {
			k.key = NewSecret(key)
		}
		copy(k.nonce[:], r.take(nn))
		return k
	})
	if len(out.kept) > maxKept {
		r.fail = true
	}
	for i, k := range out.kept {
		if k.generation >= out.next || k.stamp > stamp ||
			i > 0 && (out.kept[i-1].generation >= k.generation || out.kept[i-1].stamp > k.stamp) {
			r.fail = true
		}
	}
	return out
}

// append writes what the view of the epoch and its signer do not say: sender_data_secret,
// membership_key, the counters of the lineage, the secret tree.
func (m *messages) append(b []byte) []byte {
	b = appendVec(appendVec(b, m.e.senderData.Bytes()), m.e.membership.Bytes())
	return m.tree.append(m.e.lineage.append(b))
}

// readMessages reads what append wrote, into a lineage (nil is a new one). If the
// reader failed it is nil.
func readMessages(r *reader, v epochView, l *Lineage) *messages {
	return readMessagesOf(r, v, l, false)
}

func readMessagesOf(r *reader, v epochView, l *Lineage, past bool) *messages {
	senderData, membership := r.secret(v.suite.nh, false), r.secret(v.suite.nh, false)
	entries := readSpoken(r)
	tree := readSecretTree(r, v.suite, v.leaves.width())
	if r.fail || uint32(v.self) >= tree.width {
		r.fail = true
		tree.drop()
		wipe(senderData, membership)
		return nil
	}
	m := &messages{e: newEpochShared(v, senderData, membership, l, !past), tree: tree, past: past}
	m.e.lineage.merge(entries)
	return m
}
