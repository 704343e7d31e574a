package mls

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// reference derives any key of an epoch from its encryption_secret, by the text of
// RFC 9420, Section 9, without keeping anything.
type reference struct {
	p      *suiteParams
	secret []byte
	width  uint32
}

func (r reference) key(i LeafIndex, kind ratchetKind, g uint32) messageKey {
	s := own(r.secret)
	path := append([]NodeIndex{i.Node()}, i.Node().directPath(r.width)...)
	for k := len(path) - 1; k > 0; k-- {
		context := "left"
		if path[k-1] == path[k].right() {
			context = "right"
		}
		s = r.p.expandWithLabel(s.Bytes(), "tree", []byte(context), r.p.nh)
	}
	s = r.p.expandWithLabel(s.Bytes(), []string{"handshake", "application"}[kind], nil, r.p.nh)
	for n := range g {
		s = r.p.deriveTreeSecret(s, "secret", n, r.p.nh)
	}
	return r.p.messageKey(s, g)
}

func testTree(width uint32) (secretTree, reference) {
	r := reference{SuiteX25519ChaCha.params(), bytes.Repeat([]byte{7}, 32), width}
	return newSecretTree(r.p, NewSecret(r.secret), width), r
}

func check(t *testing.T, tree *secretTree, r reference, i LeafIndex, kind ratchetKind, g uint32) {
	t.Helper()
	got, err := tree.peek(i, kind, g)
	if err != nil {
		t.Fatalf("leaf %d, ratchet %d, generation %d: %v", i, kind, g, err)
	}
	want := r.key(i, kind, g)
	if !got.key.Equal(want.key) || got.nonce != want.nonce {
		t.Fatalf("leaf %d, ratchet %d, generation %d: wrong key", i, kind, g)
	}
}

// TestSecretTreeModel takes keys out of several clones in any order, and compares each
// with a model that holds the generations that are used or kept.
func TestSecretTreeModel(t *testing.T) {
	type place struct {
		leaf LeafIndex
		kind ratchetKind
	}
	type model struct {
		tree secretTree
		next map[place]uint32
		used map[place]map[uint32]bool
	}
	rnd := rand.New(testRand(9))
	const width = 8
	tree, ref := testTree(width)
	all := []*model{{tree, map[place]uint32{}, map[place]map[uint32]bool{}}}
	for range 3000 {
		at := rnd.IntN(len(all))
		m := all[at]
		switch n := rnd.IntN(40); {
		case n == 0 && len(all) < 6:
			c := &model{m.tree.clone(), map[place]uint32{}, map[place]map[uint32]bool{}}
			for k, v := range m.next {
				c.next[k] = v
			}
			for k, v := range m.used {
				c.used[k] = map[uint32]bool{}
				for g := range v {
					c.used[k][g] = true
				}
			}
			all = append(all, c)
		case n == 1 && len(all) > 1:
			m.tree.drop()
			all = append(all[:at], all[at+1:]...)
		case n == 2: // written and read back
			b := m.tree.append(nil)
			r := reader{b: b}
			again := readSecretTree(&r, ref.p, width)
			if r.err("tree") != nil || !bytes.Equal(again.append(nil), b) {
				t.Fatal("the tree does not come back")
			}
			m.tree.drop()
			m.tree = again
		default:
			k := place{LeafIndex(rnd.IntN(width)), ratchetKind(rnd.IntN(2))}
			g := m.next[k] + uint32(rnd.IntN(4))
			if rnd.IntN(3) == 0 {
				g = uint32(rnd.IntN(int(m.next[k]) + 1))
			}
			if m.used[k][g] {
				if _, err := m.tree.peek(k.leaf, k.kind, g); !errors.Is(err, ErrUsed) {
					t.Fatalf("a used key: got %v, want ErrUsed", err)
				}
				continue
			}
			check(t, &m.tree, ref, k.leaf, k.kind, g)
			if rnd.IntN(4) == 0 {
				continue // the message was false
			}
			m.tree.consume(k.leaf, k.kind, g)
			if m.used[k] == nil {
				m.used[k] = map[uint32]bool{}
			}
			m.used[k][g] = true
			m.next[k] = max(m.next[k], g+1)
		}
	}
}

func TestSkippedGenerationsAreBounded(t *testing.T) {
	tree, ref := testTree(4)
	const i, kind = 1, applicationRatchet
	for g, want := range map[uint32]error{maxForward: nil, maxForward + 1: ErrTooFar, math.MaxUint32: ErrTooFar} {
		if _, err := tree.peek(i, kind, g); !errors.Is(err, want) {
			t.Errorf("generation %d: got %v, want %v", g, err, want)
		}
	}
	tree.consume(i, kind, maxForward)
	// The last maxKept of those that were skipped are there, the others are gone.
	if _, err := tree.peek(i, kind, maxForward-maxKept-1); !errors.Is(err, ErrUsed) {
		t.Errorf("got %v, want ErrUsed", err)
	}
	check(t, &tree, ref, i, kind, maxForward-maxKept)
	check(t, &tree, ref, i, kind, maxForward-1)
	// Further skipping drives the oldest out.
	tree.consume(i, kind, maxForward+11)
	if _, err := tree.peek(i, kind, maxForward-maxKept+9); !errors.Is(err, ErrUsed) {
		t.Errorf("got %v, want ErrUsed", err)
	}
	check(t, &tree, ref, i, kind, maxForward-maxKept+10)
	check(t, &tree, ref, i, kind, maxForward+10)
	if tree.root.kept != maxKept {
		t.Errorf("kept %d keys, want %d", tree.root.kept, maxKept)
	}
	if _, err := tree.peek(4, kind, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("leaf outside: got %v, want ErrInvalid", err)
	}
	// Near the last number nothing wraps.
	tree.root = tree.root.own()
	tree.edit(i, func(r *[ratchetKinds]ratchet) { r[kind].next = math.MaxUint32 - 1 })
	for g, want := range map[uint32]error{math.MaxUint32 - 1: nil, math.MaxUint32: ErrTooFar} {
		if _, err := tree.peek(i, kind, g); !errors.Is(err, want) {
			t.Errorf("generation %d: got %v, want %v", g, err, want)
		}
	}
}

// TestKeptKeysOfAnEpochAreBounded has many members skip as much as they can.
func TestKeptKeysOfAnEpochAreBounded(t *testing.T) {
	const width = 32
	tree, ref := testTree(width)
	for round := range uint32(3) {
		for i := range LeafIndex(width) {
			for kind := range ratchetKinds {
				tree.consume(i, kind, round*(maxForward+1)+maxForward)
			}
		}
	}
	if got := tree.root.kept; got != maxKeptEpoch {
		t.Errorf("kept %d keys, want %d", got, maxKeptEpoch)
	}
	// Those that are left are of the last ones who spoke.
	check(t, &tree, ref, width-1, applicationRatchet, 3*(maxForward+1)-2)
	if _, err := tree.peek(0, handshakeRatchet, 3*(maxForward+1)-2); !errors.Is(err, ErrUsed) {
		t.Errorf("the oldest: got %v, want ErrUsed", err)
	}
	size := len(tree.append(nil))
	if limit := maxKeptEpoch*(4+8+32+nn) + width*2*(32+16) + 1000; size > limit {
		t.Errorf("the state takes %d bytes, want at most %d", size, limit)
	}
	t.Logf("state of a tree with %d kept keys: %d bytes", maxKeptEpoch, size)
	c := tree.clone()
	tree.drop()
	c.drop()
}

// TestSkippingCostsABoundedNumberOfSteps counts allocations in place of time: what a
// hostile sender makes a receiver do grows with maxForward and with nothing else.
func TestSkippingCostsABoundedNumberOfSteps(t *testing.T) {
	tree, _ := testTree(1024)
	work := func(g uint32) float64 {
		return testing.AllocsPerRun(2, func() {
			if k, err := tree.peek(5, applicationRatchet, g); err == nil {
				k.wipe()
			}
		})
	}
	one, far, tooFar := work(0), work(maxForward), work(4*maxForward)
	if tooFar > one || far > one+40*maxForward {
		t.Errorf("allocations: %v for the first, %v for the furthest, %v for one that is too far", one, far, tooFar)
	}
	t.Logf("allocations: %v for the first, %v for the furthest", one, far)
}

// secretsOf are the bytes of all secrets below a node, by node.
func secretsOf(n *secretNode, into map[*secretNode][][]byte) {
	if n == nil {
		return
	}
	var all [][]byte
	if n.secret.Valid() {
		all = append(all, n.secret.Bytes())
	}
	if n.ratchets != nil {
		for i := range n.ratchets {
			r := &n.ratchets[i]
			all = append(all, r.secret.Bytes())
			for k := range r.kept {
				all = append(all, r.kept[k].key.Bytes(), r.kept[k].nonce[:])
			}
		}
	}
	into[n] = all
	secretsOf(n.child[0], into)
	secretsOf(n.child[1], into)
}

// TestDropWipesWhatNobodyElseHolds looks at the bytes.
func TestDropWipesWhatNobodyElseHolds(t *testing.T) {
	a, ref := testTree(16)
	a.consume(3, applicationRatchet, 5)
	b := a.clone()
	b.consume(3, applicationRatchet, 2)
	b.consume(9, handshakeRatchet, 1)
	a.consume(12, applicationRatchet, 0)
	ofA, ofB := map[*secretNode][][]byte{}, map[*secretNode][][]byte{}
	secretsOf(a.root, ofA)
	secretsOf(b.root, ofB)
	shared, lone := 0, 0
	before := a.append(nil)
	b.drop()
	for n, secrets := range ofB {
		_, both := ofA[n]
		for _, s := range secrets {
			if both {
				shared++
				if bytes.Equal(s, make([]byte, len(s))) {
					t.Error("a secret that the other clone holds was wiped")
				}
			} else {
				lone++
				if !bytes.Equal(s, make([]byte, len(s))) {
					t.Error("a secret that nobody holds was not wiped")
				}
			}
		}
	}
	if shared == 0 || lone == 0 {
		t.Errorf("looked at %d shared and %d other secrets: the test shows nothing", shared, lone)
	}
	if !bytes.Equal(a.append(nil), before) {
		t.Error("dropping a clone changed the other")
	}
	check(t, &a, ref, 3, applicationRatchet, 2)
	a.drop()
	for _, secrets := range ofA {
		for _, s := range secrets {
			if !bytes.Equal(s, make([]byte, len(s))) {
				t.Error("the last clone left a secret")
			}
		}
	}
}

// TestUsedKeysAreGone looks for used keys, and for what they could be derived from
// again, in the state and in the nodes.
func TestUsedKeysAreGone(t *testing.T) {
	tree, ref := testTree(4)
	root := tree.root.secret.Bytes()
	var gone [][]byte
	for g := range uint32(6) {
		k := ref.key(1, applicationRatchet, g)
		gone = append(gone, k.key.Bytes(), k.nonce[:])
	}
	tree.consume(1, applicationRatchet, 4) // keeps 0 to 3
	var held [][]byte
	nodes := map[*secretNode][][]byte{}
	secretsOf(tree.root, nodes)
	for _, n := range nodes {
		held = append(held, n...)
	}
	next := nodes[nodeOfLeaf(&tree, 1)][1] // the secret of the application ratchet
	tree.consume(1, applicationRatchet, 5)
	if !bytes.Equal(next, make([]byte, 32)) {
		t.Error("a ratchet secret was not wiped where it was")
	}
	for g := range uint32(4) {
		tree.consume(1, applicationRatchet, g)
	}
	// encryption_secret, the secret above the leaf, the leaf's, ratchet secrets 0 to 5.
	s := own(ref.secret)
	gone = append(gone, s.Bytes())
	s = ref.p.childSecret(s, 0)
	gone = append(gone, s.Bytes())
	s = ref.p.childSecret(s, 1)
	gone = append(gone, s.Bytes())
	for kind, label := range ratchetLabels {
		r := ref.p.expandWithLabel(s.Bytes(), label, nil, 32)
		for g := uint32(0); g < 6 && ratchetKind(kind) == applicationRatchet; g++ {
			gone = append(gone, r.Bytes())
			r = ref.p.nextSecret(r, g)
		}
	}
	b := tree.append(nil)
	nodes = map[*secretNode][][]byte{}
	secretsOf(tree.root, nodes)
	for i, g := range gone {
		if bytes.Contains(b, g) {
			t.Errorf("used secret %d is in the state", i)
		}
		for _, n := range nodes {
			for _, s := range n {
				if bytes.Equal(s, g) {
					t.Errorf("used secret %d is in memory", i)
				}
			}
		}
		for _, h := range held {
			if i < 8 && bytes.Equal(h, g) {
				t.Errorf("used secret %d was not wiped where it was", i)
			}
		}
	}
	if !bytes.Equal(root, make([]byte, 32)) {
		t.Error("encryption_secret was not wiped")
	}
	if next := ref.key(1, applicationRatchet, 6); bytes.Contains(b, next.key.Bytes()) {
		t.Error("a key was made that nobody asked for")
	}
	check(t, &tree, ref, 1, applicationRatchet, 6)
	check(t, &tree, ref, 0, applicationRatchet, 0)
}

// nodeOfLeaf is the node of a leaf that was made.
func nodeOfLeaf(t *secretTree, i LeafIndex) *secretNode {
	n, x := t.root, treeRoot(t.width)
	for n.ratchets == nil {
		side := x.side(i.Node())
		n, x = n.child[side], x.child(side)
	}
	return n
}

// TestTreesInTwoGoroutines is for the race detector.
func TestTreesInTwoGoroutines(t *testing.T) {
	tree, ref := testTree(16)
	tree.consume(2, handshakeRatchet, 3)
	var wg sync.WaitGroup
	for worker := range 4 {
		c := tree.clone()
		wg.Go(func() {
			rnd := rand.New(testRand(byte(worker)))
			for range 300 {
				i, kind := LeafIndex(rnd.IntN(16)), ratchetKind(rnd.IntN(2))
				g := c.next(i, kind) + uint32(rnd.IntN(3))
				check(t, &c, ref, i, kind, g)
				c.consume(i, kind, g)
				if rnd.IntN(10) == 0 {
					d := c.clone()
					c.drop()
					c = d
				}
			}
			c.drop()
		})
	}
	tree.consume(5, handshakeRatchet, 0)
	tree.drop()
	wg.Wait()
}
