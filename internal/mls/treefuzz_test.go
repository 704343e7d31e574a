package mls

import (
	"slices"
	"testing"
)

// FuzzTree reads ratchet trees. What is taken is written back as the same bytes, has
// parent hashes that the slow model judges alike, and stands every operation.
func FuzzTree(f *testing.F) {
	tr, rules := signedTree(f)
	f.Add(appendNodes(nil, tr.nodes()))
	f.Add(appendNodes(nil, newTree(tr.p, bareLeaf(LeafKeyPackage)).nodes()))
	f.Fuzz(func(t *testing.T, b []byte) {
		nodes, err := parseNodes(b)
		if err != nil {
			return
		}
		tr, err := treeOf(rules.p, nodes)
		if err != nil {
			return
		}
		same(t, "nodes", appendNodes(nil, tr.nodes()), b)
		if tr.width() > 64 {
			return
		}
		full := append(slices.Clone(nodes), make([]*node, int(nodeWidth(tr.width()))-len(nodes))...)
		m := &treeModel{tr.p, full}
		same(t, "tree hash", tr.hash(), m.hash(tr.rootIndex()))
		valid := tr.verifyParentHashes() == nil
		if valid != m.parentHashesValid() {
			t.Fatalf("parent hashes are valid: got %v, want %v", valid, !valid)
		}
		if tr.verify(rules) == nil && !valid {
			t.Fatal("a tree without valid parent hashes is taken")
		}
		for i := range tr.members() {
			m := &treeModel{tr.p, slices.Clone(full)}
			m.remove(i)
			same(t, "tree hash after a removal", tr.remove(i).hash(), m.hash(treeRoot(m.width())))
		}
		next, _, err := tr.add(bareLeaf(LeafKeyPackage))
		if err != nil {
			t.Fatal(err)
		}
		treeOfBytes(t, tr.p, appendNodes(nil, next.nodes()))
	})
}
