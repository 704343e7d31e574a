package mls

import (
	"fmt"
	"runtime"
	"testing"
)

// fullTree is a tree of n members in which every second made a path: no parent is
// blank. private is what the last member knows.
func fullTree(t testing.TB, p *suiteParams, n int) (tr tree, private *privateTree) {
	l, _ := keyedLeaf(t, p, LeafKeyPackage)
	tr = newTree(p, l)
	for range n - 1 {
		l, _ := keyedLeaf(t, p, LeafKeyPackage)
		var err error
		if tr, _, err = tr.add(l); err != nil {
			t.Fatal(err)
		}
	}
	for i := LeafIndex(0); int(i) < n; i += 2 {
		tr, _, _ = unsignedPath(t, tr, i)
	}
	last := LeafIndex(n - 1)
	tr, _, private = unsignedPath(t, tr, last)
	return tr, private
}

// Half of the bytes of a tree with X-Wing are keys. These are the bounds for what
// 1,000 members share, and for what one more clone after a commit holds of its own.
func TestTreeMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: 1,000 members take a while")
	}
	const n, most, mostOwn = 1000, 4 << 20, 64 << 10
	for _, suite := range []Suite{SuiteX25519ChaCha, SuiteXWingChaCha} {
		before := heap()
		tr, _ := fullTree(t, suite.params(), n)
		b := appendNodes(nil, tr.nodes())
		tr = treeOfBytes(t, tr.p, b) // as a new member has it
		shared := heap()
		clones := make([]tree, 32)
		for k := range clones {
			clones[k], _, _ = unsignedPath(t, tr, LeafIndex(k*3))
		}
		total, each := shared-before, (heap()-shared)/len(clones)
		t.Logf("suite %#x: %d members, %d KiB encoded, %d KiB held with it, %d KiB for each clone after a commit", suite, n, len(b)>>10, total>>10, each>>10)
		if total-len(b) > most {
			t.Errorf("a tree holds %d bytes, want at most %d", total-len(b), most)
		}
		if each > mostOwn {
			t.Errorf("a clone holds %d bytes of its own, want at most %d", each, mostOwn)
		}
		runtime.KeepAlive(tr)
		runtime.KeepAlive(clones)
		runtime.KeepAlive(b)
	}
}

// heap is the bytes that are held; twice, since pools let go at the second collection.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func BenchmarkTree(b *testing.B) {
	p := SuiteX25519ChaCha.params()
	for _, n := range []int{2, 16, 128, 1000} {
		tr, private := fullTree(b, p, n)
		next, secrets, _ := unsignedPath(b, tr, 0)
		u, err := next.sealPath(secrets, 0, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		nodes := tr.nodes()
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("newPath", func() error { unsignedPath(b, tr, 0); return nil })
		run("sealPath", func() error { _, err := next.sealPath(secrets, 0, nil, nil); return err })
		run("applyPath", func() error { _, err := tr.applyPath(0, u); return err })
		run("openPath", func() error { _, _, err := next.openPath(private, 0, u, nil, nil); return err })
		l := bareLeaf(LeafKeyPackage)
		run("add", func() error { _, _, err := tr.add(l); return err })
		run("remove", func() error { tr.remove(1); return nil })
		run("treeOf", func() error { _, err := treeOf(p, nodes); return err })
		run("verifyParentHashes", tr.verifyParentHashes)
	}
}
