package mls

import (
	"errors"
	"slices"
	"testing"
)

// TestHostilePaths breaks a good path in one place at a time, for a receiver in the
// other half of the tree and for one beside the maker.
func TestHostilePaths(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 7)
	for _, by := range []LeafIndex{2, 4, 6} { // a full tree
		g.commit(t, by, nil, nil, 0)
	}
	const maker = LeafIndex(0)
	context := []byte("context")
	next, secrets, _ := unsignedPath(t, g.t, maker)
	good, err := next.sealPath(secrets, maker, context, nil)
	if err != nil {
		t.Fatal(err)
	}
	root := len(good.Nodes) - 1
	cases := []struct {
		name   string
		change func(*updatePath)
		apply  error                     // of applyPath; if nil, openPath fails
		open   map[LeafIndex]error       // by receiver; nil: it opens
		args   func(*LeafIndex, *[]byte) // maker and context
	}{
		{name: "good", open: map[LeafIndex]error{1: nil, 3: nil, 7: nil}},
		{name: "shorter", change: func(u *updatePath) { u.Nodes = u.Nodes[:root] }, apply: ErrInvalid},
		{name: "longer", change: func(u *updatePath) { u.Nodes = append(u.Nodes, u.Nodes[0]) }, apply: ErrInvalid},
		{name: "none", change: func(u *updatePath) { u.Nodes = nil }, apply: ErrInvalid},
		{name: "maker outside of the tree", args: func(i *LeafIndex, _ *[]byte) { *i = 8 }, apply: ErrInvalid},
		{name: "maker far outside", args: func(i *LeafIndex, _ *[]byte) { *i = 1<<31 + 1 }, apply: ErrInvalid},
		{name: "another maker", args: func(i *LeafIndex, _ *[]byte) { *i = 7 }, apply: ErrInvalid},
		{name: "key of a node", change: func(u *updatePath) { u.Nodes[1].EncryptionKey = bareLeaf(0).EncryptionKey }, apply: ErrInvalid},
		{name: "size of a key", change: func(u *updatePath) { u.Nodes[1].EncryptionKey = u.Nodes[1].EncryptionKey[1:] }, apply: ErrInvalid},
		{name: "parent hash", change: func(u *updatePath) { u.Leaf.ParentHash = slices.Repeat([]byte{1}, 32) }, apply: ErrInvalid},
		{name: "no parent hash", change: func(u *updatePath) { u.Leaf.ParentHash = nil }, apply: ErrInvalid},
		{name: "leaf of an update", change: func(u *updatePath) { u.Leaf.Source = LeafUpdate }, apply: ErrInvalid},
		{name: "old key of the leaf", change: func(u *updatePath) { u.Leaf.EncryptionKey = g.t.leaf(maker).EncryptionKey }, apply: ErrInvalid},
		{name: "key of another leaf", change: func(u *updatePath) { u.Leaf.EncryptionKey = g.t.leaf(5).EncryptionKey }, apply: ErrInvalid},
		{name: "ciphertext", change: func(u *updatePath) { u.Nodes[root].Secrets[0].Ciphertext[0] ^= 1 }, open: map[LeafIndex]error{1: nil, 3: nil, 7: ErrPath}},
		{name: "KEM output", change: func(u *updatePath) { u.Nodes[root].Secrets[0].KEMOutput[0] ^= 1 }, open: map[LeafIndex]error{1: nil, 3: nil, 7: ErrPath}},
		{name: "KEM output of another size", change: func(u *updatePath) { u.Nodes[root].Secrets[0].KEMOutput = nil }, open: map[LeafIndex]error{1: nil, 3: nil, 7: ErrPath}},
		{name: "context", args: func(_ *LeafIndex, c *[]byte) { *c = nil }, open: map[LeafIndex]error{1: ErrPath, 3: ErrPath, 7: ErrPath}},
		{name: "no ciphertext", change: func(u *updatePath) { u.Nodes[root].Secrets = nil }, open: map[LeafIndex]error{1: ErrInvalid, 3: ErrInvalid, 7: ErrInvalid}},
		{name: "one ciphertext more", change: func(u *updatePath) {
			u.Nodes[0].Secrets = append(u.Nodes[0].Secrets, u.Nodes[0].Secrets[0])
		}, open: map[LeafIndex]error{1: ErrInvalid, 3: ErrInvalid, 7: ErrInvalid}},
		{name: "secret of another node", change: func(u *updatePath) {
			c, err := g.t.p.encryptWithLabel(g.t.leaf(1).EncryptionKey, labelPathNode, context, make([]byte, 32))
			if err != nil {
				t.Fatal(err)
			}
			u.Nodes[0].Secrets[0] = c
		}, open: map[LeafIndex]error{1: ErrPath, 3: nil, 7: nil}},
		{name: "short secret", change: func(u *updatePath) {
			c, err := g.t.p.encryptWithLabel(g.t.leaf(1).EncryptionKey, labelPathNode, context, secrets.secrets[0].Bytes()[:16])
			if err != nil {
				t.Fatal(err)
			}
			u.Nodes[0].Secrets[0] = c
		}, open: map[LeafIndex]error{1: ErrPath, 3: nil, 7: nil}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			u, err := parse(good.append(nil), "path", readUpdatePath)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(u)
			}
			by, with := maker, context
			if c.args != nil {
				c.args(&by, &with)
			}
			tr, err := g.t.applyPath(by, u)
			if !errors.Is(err, c.apply) {
				t.Fatalf("applying: got %v, want %v", err, c.apply)
			}
			for i, want := range c.open {
				before := g.private[i].append(nil)
				_, commit, err := tr.openPath(g.private[i], by, u, with, nil)
				if !errors.Is(err, want) {
					t.Errorf("opening by %d: got %v, want %v", i, err, want)
				}
				if want == nil && !commit.Equal(secrets.commit) {
					t.Errorf("opening by %d: another commit secret", i)
				}
				same(t, "private tree", g.private[i].append(nil), before)
			}
		})
	}
}

// TestPathKeysAreNew: with consistent parent hashes, a path that gives one key to two
// nodes, or a key that is in the tree, is refused for that alone.
func TestPathKeysAreNew(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 7)
	path, copath := g.t.filteredPath(0)
	fresh := func() []byte { l, _ := keyedLeaf(t, g.t.p, LeafCommit); return l.EncryptionKey }
	twice := fresh()
	cases := []struct {
		name string
		leaf []byte
		keys [][]byte
		err  error
	}{
		{"new", fresh(), [][]byte{fresh(), fresh(), fresh()}, nil},
		{"two nodes", fresh(), [][]byte{twice, fresh(), twice}, ErrInvalid},
		{"leaf and node", twice, [][]byte{fresh(), fresh(), twice}, ErrInvalid},
		{"old key of the node", fresh(), [][]byte{fresh(), fresh(), g.t.at(path[2]).encryptionKey()}, ErrInvalid},
		{"key that is none", fresh(), [][]byte{fresh(), fresh()[1:], fresh()}, ErrInvalid},
		{"key of another leaf", fresh(), [][]byte{g.t.leaf(5).EncryptionKey, fresh(), fresh()}, ErrInvalid},
		{"old key of the leaf", g.t.leaf(0).EncryptionKey, [][]byte{fresh(), fresh(), fresh()}, ErrInvalid},
	}
	for _, c := range cases {
		l := bareLeaf(LeafCommit)
		l.EncryptionKey = c.leaf
		_, l.ParentHash = g.t.pathParents(copath, c.keys)
		u := &updatePath{Leaf: l}
		for _, k := range c.keys {
			u.Nodes = append(u.Nodes, updatePathNode{EncryptionKey: k})
		}
		if _, err := g.t.applyPath(0, u); !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		}
	}
}

// TestJoinPath: what a Welcome may say wrongly (RFC 9420, Section 12.4.3.1).
func TestJoinPath(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 3)
	next, secrets, _ := unsignedPath(t, g.t, 0)
	leaf := g.private[2].get(LeafIndex(2).Node())
	pathSecret := secrets.common(2).Bytes()
	cases := []struct {
		name         string
		self, signer LeafIndex
		key          Secret
		secret       []byte
		keys         int // 0 if err
		err          error
	}{
		{"good", 2, 0, leaf, pathSecret, 2, nil},
		{"without a secret", 2, 0, leaf, nil, 0, ErrInvalid},
		{"empty secret", 2, 0, leaf, []byte{}, 0, ErrInvalid},
		{"short secret", 2, 0, leaf, pathSecret[1:], 0, ErrInvalid},
		{"secret of another node", 2, 0, leaf, secrets.secrets[0].Bytes(), 0, ErrInvalid},
		{"signer is the new member", 2, 2, leaf, pathSecret, 0, ErrInvalid},
		{"signer is outside", 2, 9, leaf, pathSecret, 0, ErrInvalid},
		{"signer is far outside", 2, 1<<31 + 1, leaf, pathSecret, 0, ErrInvalid},
		{"leaf of another", 1, 0, leaf, pathSecret, 0, ErrArgument},
		{"blank leaf", 9, 0, leaf, pathSecret, 0, ErrArgument},
		{"no key", 2, 0, Secret{}, pathSecret, 0, ErrArgument},
	}
	for _, c := range cases {
		v, err := next.joinPath(c.self, c.signer, c.key, c.secret)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.err)
		}
		if v != nil && len(v.keys) != c.keys {
			t.Errorf("%s: got %d keys, want %d", c.name, len(v.keys), c.keys)
		}
	}
	if !leaf.Valid() {
		t.Error("the key of the leaf was wiped")
	}
}

// TestPathOfNobody: a good path of the last leaf is none of a leaf outside of the
// tree, whose bits end alike.
func TestPathOfNobody(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 7)
	next, secrets, _ := unsignedPath(t, g.t, 7)
	u, err := next.sealPath(secrets, 7, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []LeafIndex{8, 15, 23, 1<<31 + 7} {
		if _, err := g.t.applyPath(i, u); !errors.Is(err, ErrInvalid) {
			t.Errorf("leaf %d: got %v, want %v", i, err, ErrInvalid)
		}
	}
}

// TestPathSecretOfAnotherSize: everything is derived from a first secret that is too
// short, so that all keys and hashes fit.
func TestPathSecretOfAnotherSize(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 3)
	path, copath := g.t.filteredPath(0)
	for _, size := range []int{32, 16} {
		s := &pathSecrets{nodes: path}
		secret := own(slices.Repeat([]byte{7}, size))
		var keys [][]byte
		for range path {
			_, public := g.t.p.nodeKey(secret)
			keys = append(keys, public)
			s.secrets = append(s.secrets, secret)
			secret = g.t.p.deriveSecret(secret, "path")
		}
		leaf, _ := keyedLeaf(t, g.t.p, LeafCommit)
		parents, hash := g.t.pathParents(copath, keys)
		leaf.ParentHash = hash
		next := g.t.setPath(0, leaf, path, parents)
		u, err := next.sealPath(s, 0, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := next.openPath(g.private[1], 0, u, nil, nil); (err == nil) != (size == 32) {
			t.Errorf("secret of %d bytes: got %v", size, err)
		}
	}
}

// TestPrivateTreeState: stored keys that are not those of the tree are refused.
func TestPrivateTreeState(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 3)
	v := g.private[2]
	cases := []struct {
		name  string
		state []byte
		good  bool
	}{
		{"good", v.append(nil), true},
		{"key of another node", func() []byte {
			c := v.clone()
			c.keys[0].secret = g.private[1].get(LeafIndex(1).Node()).Clone()
			return c.append(nil)
		}(), false},
		{"without the own leaf", (&privateTree{self: 2, keys: v.keys[1:]}).append(nil), false},
		{"of nobody", (&privateTree{self: 9, keys: v.keys}).append(nil), false},
		{"no key", (&privateTree{self: 2, keys: []privateKey{{at: 4, secret: NewSecret(nil)}}}).append(nil), false},
	}
	for _, c := range append(cases, cases...) { // again, once the good ones are known
		_, err := parse(c.state, "private tree", func(r *reader) *privateTree { return readPrivateTree(r, g.t) })
		if (err == nil) != c.good {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
