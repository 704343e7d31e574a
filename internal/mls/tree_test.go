package mls

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"testing"
)

// bareLeaf is a leaf with keys of its own that nobody signed.
func bareLeaf(source LeafSource) *LeafNode {
	key := make([]byte, 64)
	_, _ = rand.Read(key)
	return &LeafNode{
		EncryptionKey: key[:32], SignatureKey: key[32:], Source: source,
		Credential:   BasicCredential(key[:4]),
		Capabilities: Capabilities{Versions: []uint16{Version}, Suites: []Suite{1}, Credentials: []CredentialType{CredentialBasic}},
	}
}

// unsignedPath makes a path for a leaf whose new leaf node is bare.
func unsignedPath(t testing.TB, tr tree, i LeafIndex) (tree, *pathSecrets, *privateTree) {
	next, secrets, priv, err := tr.newPath(rand.Reader, i, func(key, parentHash []byte) (*LeafNode, error) {
		l := bareLeaf(LeafCommit)
		l.EncryptionKey, l.ParentHash = key, parentHash
		return l, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return next, secrets, priv
}

// TestTreeModel does what groups do to trees, to a tree and to the model, and
// compares all there is to see.
func TestTreeModel(t *testing.T) {
	const limit = 70 // more than the 64 leaves of one width
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := mathrand.New(mathrand.NewPCG(seed, 9420))
			first := bareLeaf(LeafKeyPackage)
			p := SuiteX25519AES128.params()
			tr, m := newTree(p, first), &treeModel{p, []*node{{Leaf: first}}}
			type snapshot struct {
				tr          tree
				bytes, hash []byte
			}
			var old []snapshot
			rounds := 150
			if testing.Short() {
				rounds = 60
			}
			for range rounds {
				old = append(old, snapshot{tr, appendNodes(nil, tr.nodes()), slices.Clone(tr.hash())})
				tr = randomOperation(t, r, tr, m, limit)
				compareWithModel(t, tr, m)
			}
			for _, s := range old {
				same(t, "nodes of an older tree", appendNodes(nil, s.tr.nodes()), s.bytes)
				same(t, "hash of an older tree", s.tr.hash(), s.hash)
			}
		})
	}
}

func randomMember(r *mathrand.Rand, tr tree) LeafIndex {
	k := r.IntN(tr.count())
	for i := range tr.members() {
		if k == 0 {
			return i
		}
		k--
	}
	panic("no member")
}

// randomOperation does one thing to both. Groups grow at first and shrink later.
func randomOperation(t *testing.T, r *mathrand.Rand, tr tree, m *treeModel, limit int) tree {
	switch op := r.IntN(10); {
	case op < 4 && tr.count() < limit:
		for range 1 + r.IntN(6) {
			l := bareLeaf(LeafKeyPackage)
			next, i, err := tr.add(l)
			if err != nil {
				t.Fatal(err)
			}
			if want := m.add(l); i != want {
				t.Fatalf("added at %d, want %d", i, want)
			}
			tr = next
		}
	case op < 6:
		for range 1 + r.IntN(4) {
			if tr.count() > 1 {
				i := randomMember(r, tr)
				tr = tr.remove(i)
				m.remove(i)
			}
		}
	case op < 7:
		i, l := randomMember(r, tr), bareLeaf(LeafUpdate)
		tr = tr.update(i, l)
		m.update(i, l)
	default:
		i := randomMember(r, tr)
		next, secrets, _ := unsignedPath(t, tr, i)
		want := m.path(i, next.leaf(i), func(x NodeIndex) []byte { return next.at(x).encryptionKey() })
		same(t, "parent hash of a leaf", next.leaf(i).ParentHash, want)
		u := &updatePath{Leaf: next.leaf(i)}
		for _, x := range secrets.nodes {
			u.Nodes = append(u.Nodes, updatePathNode{EncryptionKey: next.at(x).encryptionKey()})
		}
		applied, err := tr.applyPath(i, u)
		if err != nil {
			t.Fatal(err)
		}
		tr = applied
	}
	return tr
}

func compareWithModel(t *testing.T, tr tree, m *treeModel) {
	t.Helper()
	if tr.width() != m.width() {
		t.Fatalf("width: got %d, want %d", tr.width(), m.width())
	}
	bytes := appendNodes(nil, m.array())
	same(t, "nodes", appendNodes(nil, tr.nodes()), bytes)
	count := 0
	for x := NodeIndex(0); int(x) < len(m.nodes); x++ {
		same(t, "tree hash", tr.hashOf(x), m.hash(x))
		if got, want := tr.resolution(x), m.resolution(x); !slices.Equal(got, want) {
			t.Fatalf("resolution of %d: got %v, want %v", x, got, want)
		}
		same(t, "node", tr.at(x).appendOptional(nil), m.nodes[x].appendOptional(nil))
		i, ok := x.leaf()
		if !ok {
			continue
		}
		path, copath := tr.filteredPath(i)
		wantPath, wantCopath := m.filteredPath(i)
		if !slices.Equal(path, wantPath) || !slices.Equal(copath, wantCopath) {
			t.Fatalf("path of %d: got %v %v, want %v %v", i, path, copath, wantPath, wantCopath)
		}
		if m.nodes[x] != nil {
			count++
		}
	}
	if tr.count() != count {
		t.Fatalf("got %d members, want %d", tr.count(), count)
	}
	for i, l := range tr.members() {
		same(t, "member", l.append(nil), m.nodes[i.Node()].Leaf.append(nil))
		count--
	}
	if count != 0 {
		t.Fatalf("%d members were not listed", count)
	}
	if err := tr.verifyParentHashes(); err != nil || !m.parentHashesValid() {
		t.Fatalf("parent hashes: got %v, want %v", err, m.parentHashesValid())
	}
	if err := tr.verifyKeys(); err != nil {
		t.Fatal(err)
	}
	// Read anew, it is the same tree.
	again := treeOfBytes(t, tr.p, bytes)
	same(t, "hash of the tree when read", again.hash(), tr.hash())
	if again.root.credentials != tr.root.credentials {
		t.Fatal("credential types differ in the tree when read")
	}
	for _, n := range m.array() {
		if n == nil {
			continue
		}
		if got, want := tr.encryption.count(n.encryptionKey()), 1; got != want || again.encryption.count(n.encryptionKey()) != want {
			t.Fatalf("an encryption key is there %d times", got)
		}
	}
}

// TestParentHashesOfDamagedTrees compares the verdict on trees in which something
// was exchanged.
func TestParentHashesOfDamagedTrees(t *testing.T) {
	r := mathrand.New(mathrand.NewPCG(7, 9420))
	p := SuiteX25519AES128.params()
	verdicts := make(map[bool]int)
	for range 300 {
		first := bareLeaf(LeafKeyPackage)
		tr, m := newTree(p, first), &treeModel{p, []*node{{Leaf: first}}}
		for range 12 {
			tr = randomOperation(t, r, tr, m, 16)
		}
		nodes := damage(r, tr.nodes())
		damaged, err := treeOf(p, nodes)
		if err != nil {
			continue // the array alone shows it
		}
		full := append(slices.Clone(nodes), make([]*node, int(nodeWidth(damaged.width()))-len(nodes))...)
		got, want := damaged.verifyParentHashes() == nil, (&treeModel{p, full}).parentHashesValid()
		if got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
		verdicts[want]++
	}
	if verdicts[true] < 20 || verdicts[false] < 20 {
		t.Fatalf("the damage is of one kind: %v", verdicts)
	}
}

// damage changes one node.
func damage(r *mathrand.Rand, nodes []*node) []*node {
	nodes = slices.Clone(nodes)
	x := r.IntN(len(nodes))
	n := nodes[x]
	switch {
	case n == nil:
	case n.Leaf != nil:
		l := *n.Leaf
		switch r.IntN(3) {
		case 0:
			l.ParentHash = binary.BigEndian.AppendUint32(nil, r.Uint32())
		case 1:
			l.Source = LeafUpdate
		case 2:
			l.Signature = []byte{1}
		}
		nodes[x] = &node{Leaf: &l}
	default:
		q := *n.Parent
		switch r.IntN(4) {
		case 0:
			q.ParentHash = binary.BigEndian.AppendUint32(nil, r.Uint32())
		case 1:
			q.EncryptionKey = binary.BigEndian.AppendUint32(nil, r.Uint32())
		case 2:
			if len(q.Unmerged) > 0 {
				q.Unmerged = slices.Delete(slices.Clone(q.Unmerged), 0, 1)
			}
		case 3:
			nodes[x] = nil
			return nodes
		}
		nodes[x] = &node{Parent: &q}
	}
	return nodes
}

// TestTreeKeepsNoMessage: what a node was read from can be overwritten, so nothing
// of it is kept.
func TestTreeKeepsNoMessage(t *testing.T) {
	tr, _ := signedTree(t)
	b := appendNodes(nil, tr.nodes())
	r := reader{b: slices.Clone(b)}
	kept := r.b
	nodes := list(&r, readOptionalNode)
	read, err := treeOf(tr.p, nodes)
	if err != nil {
		t.Fatal(err)
	}
	clear(kept)
	same(t, "tree", appendNodes(nil, read.nodes()), b)

	next, secrets, _ := unsignedPath(t, tr, 1)
	u := &updatePath{Leaf: next.leaf(1)}
	for _, x := range secrets.nodes {
		u.Nodes = append(u.Nodes, updatePathNode{EncryptionKey: next.at(x).encryptionKey()})
	}
	r = reader{b: u.append(nil)}
	kept = r.b
	applied, err := tr.applyPath(1, readUpdatePath(&r))
	if err != nil {
		t.Fatal(err)
	}
	clear(kept)
	same(t, "tree after a path", appendNodes(nil, applied.nodes()), appendNodes(nil, next.nodes()))

	r = reader{b: next.leaf(1).append(nil)}
	kept = r.b
	added, i, err := tr.add(readLeafNode(&r))
	if err != nil {
		t.Fatal(err)
	}
	clear(kept)
	same(t, "leaf", added.leaf(i).append(nil), next.leaf(1).append(nil))
	if !added.hasEncryptionKey(next.leaf(1).EncryptionKey) || !added.hasSignatureKey(next.leaf(1).SignatureKey) {
		t.Error("a key was kept in the message")
	}
}
