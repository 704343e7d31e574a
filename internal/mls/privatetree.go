package mls

import "slices"

// privateTree is the private keys that one member has: that of its leaf, and those
// of parents above it (RFC 9420, Section 4.1). It owns its secrets.
type privateTree struct {
	self LeafIndex
	keys []privateKey
}

type privateKey struct {
	at     NodeIndex
	public []byte // the key of the node that it belongs to
	secret Secret
}

func newPrivateTree(self LeafIndex, public []byte, secret Secret) *privateTree {
	v := &privateTree{self: self}
	v.put(self.Node(), public, secret)
	return v
}

// get is the private key of a node; it stays the tree's. An absent one is not Valid.
func (v *privateTree) get(x NodeIndex) Secret {
	for _, k := range v.keys {
		if k.at == x {
			return k.secret
		}
	}
	return Secret{}
}

// put takes over the private key of a node. One that was there is wiped.
func (v *privateTree) put(x NodeIndex, public []byte, secret Secret) {
	v.keys = slices.DeleteFunc(v.keys, func(k privateKey) bool {
		if k.at == x {
			k.secret.Wipe()
		}
		return k.at == x
	})
	v.keys = append(v.keys, privateKey{x, public, secret})
}

// prune wipes the keys of nodes that are blank or have another key in the tree.
func (v *privateTree) prune(t tree) {
	v.keys = slices.DeleteFunc(v.keys, func(k privateKey) bool {
		gone := !equal(t.at(k.at).encryptionKey(), k.public)
		if gone {
			k.secret.Wipe()
		}
		return gone
	})
}

func (v *privateTree) clone() *privateTree {
	c := &privateTree{self: v.self, keys: slices.Clone(v.keys)}
	for i := range c.keys {
		c.keys[i].secret = c.keys[i].secret.Clone()
	}
	return c
}

func (v *privateTree) wipe() {
	if v == nil {
		return
	}
	for _, k := range v.keys {
		k.secret.Wipe()
	}
	v.keys = nil
}

// append appends self 4 ‖ a list of node 4, private key<V>. It is secret.
func (v *privateTree) append(b []byte) []byte {
	return appendList(appendU32(b, uint32(v.self)), v.keys, func(b []byte, k privateKey) []byte {
		return appendVec(appendU32(b, uint32(k.at)), k.secret.Bytes())
	})
}

// readPrivateTree reads what append wrote. It fails for keys that are not those of
// the tree.
func readPrivateTree(r *reader, t tree) *privateTree {
	v := &privateTree{self: LeafIndex(r.u32())}
	if t.leaf(v.self) == nil {
		r.fail = true
	}
	v.keys = list(r, func(r *reader) privateKey {
		k := privateKey{at: NodeIndex(r.u32()), secret: NewSecret(r.vec())}
		k.public = t.at(k.at).encryptionKey()
		if !t.p.isPair(k.secret, k.public) {
			r.fail = true
		}
		return k
	})
	if r.fail || !v.get(v.self.Node()).Valid() {
		r.fail = true
		v.wipe()
	}
	return v
}

// encryptionKey is the key of a node; a blank one has none.
func (n *node) encryptionKey() []byte {
	switch {
	case n == nil:
		return nil
	case n.Leaf != nil:
		return n.Leaf.EncryptionKey
	}
	return n.Parent.EncryptionKey
}
