package mls

import (
	"crypto/rand"
	"errors"
	"slices"
	"testing"
)

// signedTree is a tree of six members, everything signed. Member 2 made a path, then
// member 0, whose parents are marked; member 5 came later and is unmerged in 7. The
// parents over members 4 and 5 are blank.
//
//	       7*
//	   3*      (11)
//	 1*   5   (9)  (13)
//	0 2  4 6  8 10
func signedTree(t testing.TB) (tree, leafRules) {
	const suite = SuiteX25519AES128
	group := []byte("group")
	first, _ := leafOf(t, suite, group, 0, LeafKeyPackage, nil)
	tr := newTree(suite.params(), first)
	add := func() {
		l, _ := leafOf(t, suite, group, 0, LeafKeyPackage, nil)
		var err error
		if tr, _, err = tr.add(l); err != nil {
			t.Fatal(err)
		}
	}
	path := func(i LeafIndex) {
		next, secrets, priv, err := tr.newPath(rand.Reader, i, func(key, parentHash []byte) (*LeafNode, error) {
			l, _ := leafOf(t, suite, group, i, LeafCommit, func(l *LeafNode) { l.EncryptionKey, l.ParentHash = key, parentHash })
			return l, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		secrets.wipe()
		priv.wipe()
		tr = next
	}
	for range 4 {
		add()
	}
	path(2)
	path(0)
	add()
	return tr, leafRules{p: tr.p, now: leafNow, checkLifetime: true, authenticate: anybody, context: &GroupContext{Version: Version, Suite: suite, GroupID: group}}
}

// TestHostileTrees breaks a good tree in one place at a time.
func TestHostileTrees(t *testing.T) {
	good, rules := signedTree(t)
	if err := good.verify(rules); err != nil {
		t.Fatal(err)
	}
	parent := func(nodes []*node, x int, change func(*parentNode)) []*node {
		n := parentNode{}
		if nodes[x] != nil {
			n = *nodes[x].Parent
		}
		n.Unmerged = slices.Clone(n.Unmerged)
		change(&n)
		nodes[x] = &node{Parent: &n}
		return nodes
	}
	leaf := func(nodes []*node, x int, change func(*LeafNode)) []*node {
		n := *nodes[x].Leaf
		change(&n)
		nodes[x] = &node{Leaf: &n}
		return nodes
	}
	if got := good.at(7).Parent.Unmerged; !slices.Equal(got, []LeafIndex{5}) {
		t.Fatalf("unmerged leaves of the root: got %v", got)
	}
	cases := []struct {
		name   string
		change func([]*node) []*node
		err    error
		late   bool // found by verify, not by treeOf
	}{
		{"empty", func([]*node) []*node { return nil }, ErrMalformed, false},
		{"blank at the end", func(n []*node) []*node { return append(n, nil) }, ErrMalformed, false},
		{"all blank", func([]*node) []*node { return make([]*node, 7) }, ErrMalformed, false},
		{"too many", func(n []*node) []*node {
			n = append(n, make([]*node, 2*MaxLeaves)...)
			n[len(n)-1] = n[0]
			return n
		}, ErrMalformed, false},
		{"leaf for a parent", func(n []*node) []*node { n[3] = n[0]; return n }, ErrMalformed, false},
		{"parent for a leaf", func(n []*node) []*node { n[2] = n[3]; return n }, ErrMalformed, false},
		{"parent over a blank side", func(n []*node) []*node { n[2] = nil; return n }, ErrInvalid, false},
		{"parent over nobody", func(n []*node) []*node { n[0], n[2] = nil, nil; return n }, ErrInvalid, false},
		{"unmerged twice", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.Unmerged = []LeafIndex{5, 5} })
		}, ErrInvalid, false},
		{"unmerged out of order", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.Unmerged = []LeafIndex{5, 4} })
		}, ErrInvalid, false},
		{"unmerged elsewhere", func(n []*node) []*node {
			return parent(n, 3, func(p *parentNode) { p.Unmerged = []LeafIndex{5} })
		}, ErrInvalid, false},
		{"unmerged nobody", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.Unmerged = []LeafIndex{5, 6} })
		}, ErrInvalid, false},
		{"unmerged far out", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.Unmerged = []LeafIndex{5, 1<<31 + 4} })
		}, ErrInvalid, false},
		{"unmerged above only", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.Unmerged = []LeafIndex{1, 5} })
		}, ErrInvalid, false},
		{"unmerged all the way, but not so", func(n []*node) []*node {
			for _, x := range []int{1, 3} {
				parent(n, x, func(p *parentNode) { p.Unmerged = []LeafIndex{1} })
			}
			return parent(n, 7, func(p *parentNode) { p.Unmerged = []LeafIndex{1, 5} })
		}, ErrInvalid, true},
		{"unmerged and left out", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.Unmerged = nil })
		}, ErrInvalid, true},
		{"key of a parent", func(n []*node) []*node {
			return parent(n, 3, func(p *parentNode) { p.EncryptionKey = bareLeaf(0).EncryptionKey })
		}, ErrInvalid, true},
		{"parent hash of a parent", func(n []*node) []*node {
			return parent(n, 3, func(p *parentNode) { p.ParentHash = make([]byte, 32) })
		}, ErrInvalid, true},
		{"parent hash of the root", func(n []*node) []*node {
			return parent(n, 7, func(p *parentNode) { p.ParentHash = make([]byte, 32) })
		}, ErrInvalid, true},
		{"parent that nobody made", func(n []*node) []*node {
			return parent(n, 5, func(p *parentNode) { p.EncryptionKey = bareLeaf(0).EncryptionKey })
		}, ErrInvalid, true},
		{"leaf on the other side of a parent", func(n []*node) []*node {
			n[2] = &node{Leaf: bareLeaf(LeafKeyPackage)}
			return n
		}, ErrInvalid, true},
		{"signature of a leaf", func(n []*node) []*node {
			return leaf(n, 10, func(l *LeafNode) { l.Signature = slices.Clone(l.Signature); l.Signature[0] ^= 1 })
		}, ErrInvalid, true},
		{"encryption key of two leaves", func(n []*node) []*node {
			l, _ := leafOf(t, SuiteX25519AES128, nil, 5, LeafKeyPackage, func(l *LeafNode) { l.EncryptionKey = n[0].Leaf.EncryptionKey })
			n[10] = &node{Leaf: l}
			return n
		}, ErrInvalid, true},
		{"encryption key of a leaf and a parent", func(n []*node) []*node {
			l, _ := leafOf(t, SuiteX25519AES128, nil, 5, LeafKeyPackage, func(l *LeafNode) { l.EncryptionKey = n[7].Parent.EncryptionKey })
			n[10] = &node{Leaf: l}
			return n
		}, ErrInvalid, true},
		{"member twice", func(n []*node) []*node { n[10] = n[6]; return n }, ErrInvalid, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr, err := treeOf(good.p, c.change(good.nodes()))
			if c.late {
				if err != nil {
					t.Fatal(err)
				}
				err = tr.verify(rules)
			}
			if !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
		})
	}
	if err := good.verify(rules); err != nil {
		t.Fatalf("the good tree changed: %v", err)
	}
}

// TestSignatureKeyTwice: two members with one signature key and different encryption
// keys, everything signed.
func TestSignatureKeyTwice(t *testing.T) {
	tr, rules := signedTree(t)
	signer, public, err := NewSignatureKey(rand.Reader, SuiteX25519AES128)
	if err != nil {
		t.Fatal(err)
	}
	for want := range 2 {
		l, _ := leafOf(t, SuiteX25519AES128, nil, 0, LeafKeyPackage, func(l *LeafNode) { l.SignatureKey = public })
		if l.Signature, err = tr.p.signWithLabel(rand.Reader, signer, labelLeafNode, l.tbs(nil, 0)); err != nil {
			t.Fatal(err)
		}
		if tr, _, err = tr.add(l); err != nil {
			t.Fatal(err)
		}
		if err = tr.verify(rules); (err != nil) != (want == 1) {
			t.Fatalf("%d of one key: got %v", want+1, err)
		}
	}
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v", err, ErrInvalid)
	}
	tr = tr.remove(7)
	if err := tr.verifyKeys(); err != nil {
		t.Errorf("one of the two is gone: %v", err)
	}
	if n := tr.remove(6).signature.count(public); n != 0 {
		t.Errorf("both are gone: got %d", n)
	}
	if !tr.hasSignatureKey(public) || tr.hasEncryptionKey(public) {
		t.Error("signature keys and encryption keys are mixed up")
	}
}

// TestHiddenUnmergedLeaf: a parent conceals that somebody below it does not know its
// key. Its parent hash says nothing of that, on the side of its maker.
func TestHiddenUnmergedLeaf(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 3)
	g.commit(t, 0, []LeafIndex{1}, nil, 0) // 3 gets a key, 1 is blank
	tr, i, err := g.t.add(bareLeaf(LeafKeyPackage))
	if err != nil || i != 1 || tr.verifyParentHashes() != nil {
		t.Fatalf("added at %d: %v", i, err)
	}
	nodes := tr.nodes()
	hiding := *nodes[3].Parent
	hiding.Unmerged = nil
	nodes[3] = &node{Parent: &hiding}
	if tr, err = treeOf(tr.p, nodes); err != nil {
		t.Fatal(err)
	}
	if err := tr.verifyParentHashes(); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v", err, ErrInvalid)
	}
}

// TestParentKeyIsNone: a member made a path of keys that are none, with everything
// signed and hashed.
func TestParentKeyIsNone(t *testing.T) {
	tr, rules := signedTree(t)
	path, copath := tr.filteredPath(0)
	keys := make([][]byte, len(path))
	for k := range keys {
		keys[k] = bareLeaf(0).EncryptionKey
	}
	for _, size := range []int{32, 31} {
		keys[1] = keys[1][:size]
		parents, hash := tr.pathParents(copath, keys)
		l, _ := leafOf(t, SuiteX25519AES128, rules.context.GroupID, 0, LeafCommit, func(l *LeafNode) { l.ParentHash = hash })
		err := tr.setPath(0, l, path, parents).verify(rules)
		if (size == 32) != (err == nil) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("key of %d bytes: got %v", size, err)
		}
	}
}

// TestFullTree: a tree does not grow without bound.
func TestFullTree(t *testing.T) {
	tr := newTree(SuiteX25519AES128.params(), bareLeaf(LeafKeyPackage))
	tr.depth = maxDepth
	tr.root = &subtree{members: MaxLeaves}
	if _, _, err := tr.add(bareLeaf(LeafKeyPackage)); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v", err, ErrInvalid)
	}
}

// TestWideTree: two members and blank leaves between them are few bytes in a Welcome. What
// they take to read grows with the leaves, and those are bounded.
func TestWideTree(t *testing.T) {
	p := SuiteX25519AES128.params()
	wide := func(leaves int) []byte {
		nodes := make([]*node, 2*leaves-1)
		nodes[0], nodes[2*leaves-2] = &node{Leaf: bareLeaf(LeafKeyPackage)}, &node{Leaf: bareLeaf(LeafKeyPackage)}
		return appendNodes(nil, nodes)
	}
	if _, err := parseNodes(wide(MaxLeaves + 1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a leaf too many: got %v, want %v", err, ErrMalformed)
	}
	cost := func(leaves int) int {
		b := wide(leaves)
		before := heapAllocated()
		nodes, err := parseNodes(b)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := treeOf(p, nodes)
		if err != nil || tr.count() != 2 || int(tr.width()) != leaves {
			t.Fatalf("got %d of %d leaves, %v", tr.count(), tr.width(), err)
		}
		return int(heapAllocated() - before)
	}
	bytes := cost(MaxLeaves)
	t.Logf("%d bytes for %d leaves", bytes, MaxLeaves)
	if each := bytes / MaxLeaves; each > 4096 {
		t.Errorf("reading a wide tree takes %d bytes for a leaf", each)
	}
}
