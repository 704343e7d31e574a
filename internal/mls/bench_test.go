package mls

import (
	"fmt"
	"runtime"
	"testing"
)

// benchLeaf is somebody new.
func benchLeaf(t testing.TB, env Env, s Suite) LeafParams {
	t.Helper()
	signer, _, err := NewSignatureKey(env.Rand, s)
	if err != nil {
		t.Fatal(err)
	}
	now := uint64(env.Now.Unix())
	return LeafParams{Suite: s, Credential: BasicCredential([]byte("somebody")), Signer: signer, Lifetime: Lifetime{NotBefore: now - 1, NotAfter: now + 1000}}
}

// benchGroup is a group of n members as the last two of them see it. Every parent is
// full, since everybody has joined by an external commit.
func benchGroup(t testing.TB, env Env, s Suite, n int) (from, to *Group) {
	t.Helper()
	to, err := Create(env, CreateParams{GroupID: []byte("the group"), Leaf: benchLeaf(t, env, s)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		info, err := to.GroupInfo(env, GroupInfoParams{External: true})
		if err != nil {
			t.Fatal(err)
		}
		g, m, err := JoinExternal(env, info, ExternalJoinParams{Leaf: benchLeaf(t, env, s)})
		if err != nil {
			t.Fatal(err)
		}
		if g.Size() < n {
			to.Drop()
			to = g
			continue
		}
		r, err := to.Process(env, m)
		if err == nil {
			err = to.Merge(r.Staged)
		}
		if err != nil {
			t.Fatal(err)
		}
		return g, to
	}
}

func benchCommit(env Env, from, to *Group) error {
	s, err := from.Stage(env, CommitParams{ForcePath: true})
	if err != nil {
		return err
	}
	if err := from.Merge(s); err != nil {
		return err
	}
	r, err := to.Process(env, s.Message)
	if err != nil {
		return err
	}
	return to.Merge(r.Staged)
}

// BenchmarkGroup: what the steps of a group take, where every parent is full.
func BenchmarkGroup(b *testing.B) {
	env := testEnv(nil)
	for _, n := range []int{2, 16, 128, 1000} {
		first, last := benchGroup(b, env, SuiteX25519AES128, n)
		k, _, err := NewKeyPackage(env, benchLeaf(b, env, SuiteX25519AES128), nil)
		if err != nil {
			b.Fatal(err)
		}
		held, err := first.Stage(env, CommitParams{ForcePath: true})
		if err != nil {
			b.Fatal(err)
		}
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
		stage := func(c CommitParams) error {
			s, err := first.Stage(env, c)
			if err == nil {
				s.Drop()
			}
			return err
		}
		run("Add", func() error { return stage(CommitParams{Proposals: []*Proposal{AddProposal(k)}}) })
		run("Commit", func() error { return stage(CommitParams{ForcePath: true}) })
		run("Process", func() error {
			r, err := last.Process(env, held.Message)
			if err == nil {
				r.Staged.Drop()
			}
			return err
		})
		run("Clone", func() error { first.Clone().Drop(); return nil })
		content := make([]byte, 1000)
		var sent []*Message
		encrypt := func() error {
			r, err := first.Reserve()
			if err != nil {
				return err
			}
			m, err := r.Seal(env, content, Framing{})
			sent = append(sent, m)
			return err
		}
		run("Encrypt", encrypt)
		sent = nil
		held.Drop()
		// A new epoch, so that what is opened begins with the first generation.
		if err := benchCommit(env, first, last); err != nil {
			b.Fatal(err)
		}
		run("EncryptDecrypt", func() error {
			if err := encrypt(); err != nil {
				return err
			}
			_, err := last.Process(env, sent[len(sent)-1])
			return err
		})
	}
}

// heapAlloc is what the heap holds, in bytes.
func heapAlloc() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// addedGroup is a group of n members as its creator sees it, with a full tree, put into
// it without the messages: enough to weigh it.
func addedGroup(t testing.TB, env Env, s Suite, n int) *Group {
	t.Helper()
	g, err := Create(env, CreateParams{GroupID: []byte("the group"), Leaf: benchLeaf(t, env, s)})
	if err != nil {
		t.Fatal(err)
	}
	var add CommitParams
	for range n - 1 {
		k, secrets, err := NewKeyPackage(env, benchLeaf(t, env, s), nil)
		if err != nil {
			t.Fatal(err)
		}
		secrets.Wipe()
		add.Proposals = append(add.Proposals, AddProposal(k))
	}
	staged, err := g.Stage(env, add)
	if err == nil {
		err = g.Merge(staged)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := LeafIndex(0); int(i) < n; i += 2 {
		g.tree, _, _ = unsignedPath(t, g.tree, i)
	}
	return g
}

// The bounds of what one group of 1,000 holds, and of what a clone holds beside it,
// also after messages of 1,000 senders.
func TestGroupMemory(t *testing.T) {
	const n, most, mostClone, clones = 1000, 4 << 20, 64 << 10, 32
	env := testEnv(nil)
	before := heapAlloc()
	g := addedGroup(t, env, SuiteX25519AES128, n)
	whole := heapAlloc() - before
	each := func() int64 {
		before := heapAlloc()
		all := make([]*Group, clones)
		for i := range all {
			all[i] = g.Clone()
		}
		got := (heapAlloc() - before) / clones
		for _, c := range all {
			c.Drop()
		}
		return got
	}
	idle := each()
	for i := LeafIndex(1); i < n; i++ { // as if everybody had sent
		k := g.messages.tree.take(i, applicationRatchet, 0)
		k.wipe()
	}
	active := heapAlloc() - before
	busy := each()
	t.Logf("%d members: %d KiB, %d KiB after all have sent; a clone %d KiB, and %d KiB after all have sent", n, whole>>10, active>>10, idle>>10, busy>>10)
	if whole > most || active > most {
		t.Errorf("a group holds %d bytes, %d after all have sent, want at most %d", whole, active, most)
	}
	if idle > mostClone || busy > mostClone {
		t.Errorf("a clone holds %d bytes, %d after all have sent, want at most %d", idle, busy, mostClone)
	}
	runtime.KeepAlive(g)
}
