package mls

import (
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"testing"
)

// treeMembers is a tree with what each of its members knows of it.
type treeMembers struct {
	t       tree
	private map[LeafIndex]*privateTree
}

// keyedLeaf is a bare leaf with an encryption key that somebody has.
func keyedLeaf(t testing.TB, p *suiteParams, source LeafSource) (*LeafNode, Secret) {
	secret, public, err := p.generateKeyPair(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := bareLeaf(source)
	l.EncryptionKey = public
	return l, secret
}

func newTreeMembers(t testing.TB, p *suiteParams) *treeMembers {
	l, secret := keyedLeaf(t, p, LeafKeyPackage)
	return &treeMembers{newTree(p, l), map[LeafIndex]*privateTree{0: newPrivateTree(0, l.EncryptionKey, secret)}}
}

// commit is a commit of one member that removes some, updates the leaf of others
// and adds n: with a path, of which everybody left makes what it can.
func (g *treeMembers) commit(t testing.TB, by LeafIndex, removed, updated []LeafIndex, n int) {
	t.Helper()
	next := g.t
	gone := make(map[LeafIndex]*privateTree)
	for _, i := range updated {
		l, secret := keyedLeaf(t, next.p, LeafUpdate)
		next = next.update(i, l)
		g.private[i].put(i.Node(), l.EncryptionKey, secret)
	}
	for _, i := range removed {
		next = next.remove(i)
		gone[i] = g.private[i]
		delete(g.private, i)
	}
	added := make(map[LeafIndex]Secret)
	exclude := make(map[LeafIndex]bool)
	for range n {
		l, secret := keyedLeaf(t, next.p, LeafKeyPackage)
		var i LeafIndex
		var err error
		if next, i, err = next.add(l); err != nil {
			t.Fatal(err)
		}
		added[i], exclude[i] = secret, true
	}
	before := next
	next, secrets, own := unsignedPath(t, before, by)
	context := append([]byte("context"), next.hash()...)
	u, err := next.sealPath(secrets, by, context, exclude)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := before.applyPath(by, u)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "tree hash", applied.hash(), next.hash())
	for i, priv := range gone {
		if _, commit, err := applied.openPath(priv, by, u, context, exclude); err == nil {
			t.Fatalf("removed member %d opens a path: %v", i, commit.Equal(secrets.commit))
		}
	}
	for i, priv := range g.private {
		if i == by {
			continue
		}
		after, commit, err := applied.openPath(priv, by, u, context, exclude)
		if err != nil {
			t.Fatalf("member %d: %v", i, err)
		}
		same(t, "commit secret", commit.Bytes(), secrets.commit.Bytes())
		priv.wipe()
		g.private[i] = after
	}
	for i, secret := range added {
		// Nothing of the path was encrypted to a new member.
		alone := newPrivateTree(i, applied.leaf(i).EncryptionKey, secret.Clone())
		if _, _, err := applied.openPath(alone, by, u, context, exclude); err == nil {
			t.Fatalf("new member %d opens the path", i)
		}
		priv, err := applied.joinPath(i, by, secret, secrets.common(i).Bytes())
		if err != nil {
			t.Fatalf("new member %d: %v", i, err)
		}
		g.private[i] = priv
	}
	g.private[by].wipe()
	g.private[by] = own
	g.t = applied
}

// check checks that everybody has exactly the keys of the tree that it is to have:
// of all parents above it but those where it is unmerged.
func (g *treeMembers) check(t testing.TB) {
	t.Helper()
	for i, priv := range g.private {
		for x := range NodeIndex(nodeWidth(g.t.width())) {
			n := g.t.at(x)
			want := n != nil && i.Node().below(x)
			if want && n.Parent != nil {
				for _, j := range n.Parent.Unmerged {
					want = want && j != i
				}
			}
			if got := priv.get(x).Valid(); got != want {
				t.Fatalf("member %d has the key of node %d: got %v, want %v", i, x, got, want)
			}
			if want {
				public, err := g.t.p.hpkePublic(priv.get(x))
				if err != nil {
					t.Fatal(err)
				}
				same(t, "public key", public, n.encryptionKey())
			}
		}
		again, err := parse(priv.append(nil), "private tree", func(r *reader) *privateTree { return readPrivateTree(r, g.t) })
		if err != nil {
			t.Fatal(err)
		}
		same(t, "private tree when read", again.append(nil), priv.append(nil))
	}
}

// TestTreeKEM lets members come, go and give themselves new keys.
func TestTreeKEM(t *testing.T) {
	for _, suite := range []Suite{SuiteX25519AES128, SuiteXWingChaCha} {
		r := mathrand.New(mathrand.NewPCG(uint64(suite), 9420))
		g := newTreeMembers(t, suite.params())
		g.check(t)
		for round := range 25 {
			var removed, updated []LeafIndex
			by := randomMember(r, g.t)
			for i := range g.t.members() {
				switch k := r.IntN(8); {
				case i == by:
				case k == 0 && round > 8:
					removed = append(removed, i)
				case k == 1:
					updated = append(updated, i)
				}
			}
			n := r.IntN(4)
			if g.t.count() > 17 {
				n = 0
			}
			g.commit(t, by, removed, updated, n)
			g.check(t)
			if err := g.t.verifyParentHashes(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPrivateTreeIsOwned: a clone is independent, and a path that was opened leaves
// what it was opened with.
func TestPrivateTreeIsOwned(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 3)
	v := g.private[2]
	before := v.append(nil)
	c := v.clone()
	secret := v.get(v.self.Node())
	c.wipe()
	if len(c.keys) != 0 || !secret.Valid() {
		t.Fatal("wiping a clone wipes its original")
	}
	next, secrets, _ := unsignedPath(t, g.t, 1)
	u, err := next.sealPath(secrets, 1, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, commit, err := next.openPath(v, 1, u, nil, nil)
	if err != nil || !commit.Equal(secrets.commit) {
		t.Fatalf("opening a path: %v", err)
	}
	same(t, "private tree", v.append(nil), before)
	root := next.rootIndex()
	if after.get(root).Equal(v.get(root)) {
		t.Fatal("the key of the root did not change")
	}
	// A key that is replaced is wiped.
	leafKey := after.get(after.self.Node())
	after.put(after.self.Node(), g.t.leaf(2).EncryptionKey, secret.Clone())
	if leafKey.Valid() || !secret.Valid() {
		t.Fatal("a key that was replaced is still there")
	}
	// Blank nodes lose their keys.
	key := after.get(root)
	after.prune(next.update(3, bareLeaf(LeafUpdate)))
	if after.get(root).Valid() || key.Valid() {
		t.Fatal("the key of a blank node is still there")
	}
	if !after.get(v.self.Node()).Valid() {
		t.Fatal("the key of the own leaf is gone")
	}
	secrets.wipe()
	if secrets.commit.Valid() || secrets.secrets[0].Valid() {
		t.Fatal("path secrets are still there")
	}
}

// TestNewPathFails: what makes the randomness or the leaf fail is passed on.
func TestNewPathFails(t *testing.T) {
	g := newTreeMembers(t, SuiteX25519AES128.params())
	g.commit(t, 0, nil, nil, 2)
	bad := errors.New("bad")
	if _, _, _, err := g.t.newPath(rand.Reader, 0, func(_, _ []byte) (*LeafNode, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
	for n := range 3 {
		r := &shortReader{n * 20, bad}
		if _, _, _, err := g.t.newPath(r, 0, func(_, _ []byte) (*LeafNode, error) { return bareLeaf(LeafCommit), nil }); !errors.Is(err, bad) {
			t.Errorf("got %v, want %v", err, bad)
		}
	}
}

type shortReader struct {
	left int
	err  error
}

func (r *shortReader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, r.err
	}
	n := min(len(b), r.left)
	r.left -= n
	return n, nil
}
