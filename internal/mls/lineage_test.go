package mls

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// generation opens the sender data of what a member sent.
func (e *testEpoch) generation(t testing.TB, pm *privateMessage) uint32 {
	t.Helper()
	p := e.suite.params()
	secret := p.epochFrom(e.secret).senderData
	s, err := pm.openSender(p, secret)
	if err != nil {
		t.Fatal(err)
	}
	return s.Generation
}

// restore writes and reads messages.
func (e *testEpoch) restore(t testing.TB, b []byte, i LeafIndex, l *Lineage) *messages {
	t.Helper()
	r := reader{b: slices.Clone(b)}
	m := readMessages(&r, e.view(i), l)
	if r.err("messages") != nil {
		t.Fatal(r.err("messages"))
	}
	if l == nil && !bytes.Equal(m.append(nil), b) {
		t.Fatal("the state does not come back")
	}
	return m
}

// TestGenerationsAreSpokenOnce has the ways in which one member can come to hold an
// epoch twice.
func TestGenerationsAreSpokenOnce(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 2, 6)
	say := func(m *messages) uint32 { return e.generation(t, e.say(t, m, "", 0)) }
	for name, run := range map[string]func(l *Lineage, first *messages) []uint32{
		"one after the other": func(_ *Lineage, a *messages) []uint32 { return []uint32{say(a), say(a), say(a)} },
		"two clones": func(_ *Lineage, a *messages) []uint32 {
			b := a.clone()
			return []uint32{say(a), say(b), say(b), say(a), say(b)}
		},
		"clone that is dropped": func(_ *Lineage, a *messages) []uint32 {
			b := a.clone()
			out := []uint32{say(b), say(b)}
			b.drop()
			return append(out, say(a))
		},
		"each by its own way": func(l *Lineage, a *messages) []uint32 {
			b := e.enter(0, l)
			return []uint32{say(a), say(b), say(a), say(b)}
		},
		"by its own way after the other was dropped": func(l *Lineage, a *messages) []uint32 {
			base := l.enter(epochID{epoch: 6}, true) // a clone of the epoch before
			out := []uint32{say(a), say(a)}
			a.drop()
			b := e.enter(0, l)
			l.leave(base, true)
			return append(out, say(b))
		},
		"reservation that is never used": func(_ *Lineage, a *messages) []uint32 {
			r, err := a.reserve(ContentApplication)
			if err != nil {
				t.Fatal(err)
			}
			g := r.generation
			r.Drop()
			return []uint32{g, say(a)}
		},
		"state written after reserving": func(_ *Lineage, a *messages) []uint32 {
			r, err := a.reserve(ContentApplication)
			if err != nil {
				t.Fatal(err)
			}
			b := e.restore(t, a.append(nil), 0, nil) // the process ends here
			return []uint32{r.generation, say(b), say(b)}
		},
		"clone's state written after another reserved": func(_ *Lineage, a *messages) []uint32 {
			b := a.clone()
			out := []uint32{say(b), say(b)}
			return append(out, say(e.restore(t, a.append(nil), 0, nil)))
		},
		"two states read with one lineage": func(_ *Lineage, a *messages) []uint32 {
			b := a.clone()
			out := []uint32{say(a)}
			stateA := a.append(nil)
			out = append(out, say(b))
			stateB, l := b.append(nil), NewLineage()
			c, d := e.restore(t, stateA, 0, l), e.restore(t, stateB, 0, l)
			return append(out, say(c), say(d), say(c), say(d))
		},
		"past epoch beside its clone": func(_ *Lineage, a *messages) []uint32 {
			past := a.pastOf()
			out := []uint32{say(a), say(past.m), say(a)}
			a.drop()
			again, err := ParsePastEpoch(past.Append(nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			return append(out, say(again.m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLineage()
			got := run(l, e.enter(0, l))
			seen := map[uint32]bool{}
			for _, g := range got {
				if seen[g] {
					t.Errorf("got generations %d, one of them twice", got)
				}
				seen[g] = true
			}
		})
	}
}

// TestGenerationsAtRandom lets clones of one member in several epochs be made, come to
// the next epoch, speak, be dropped, and be lost in a crash after which the written
// states are read again.
func TestGenerationsAtRandom(t *testing.T) {
	const epochs, branches = 4, 2
	var all [epochs][branches]*testEpoch
	for i := range all {
		for b := range all[i] {
			all[i][b] = newTestEpoch(t, SuiteX25519AES128, 2, byte(10*i+b))
			all[i][b].context.Epoch = uint64(i)
			all[i][b].context.TreeHash = []byte{byte(i), byte(b)}
		}
	}
	for seed := range byte(20) {
		rnd := rand.New(testRand(seed))
		type at struct {
			epoch, branch int
			m             *messages
		}
		spoken := map[string]bool{}
		l := NewLineage()
		clones := []at{{0, 0, all[0][0].enter(0, l)}}
		for range 150 {
			i := rnd.IntN(len(clones))
			c := clones[i]
			e := all[c.epoch][c.branch]
			switch n := rnd.IntN(10); {
			case n < 2 && len(clones) < 8:
				clones = append(clones, at{c.epoch, c.branch, c.m.clone()})
			case n < 4 && c.epoch+1 < epochs:
				branch := rnd.IntN(branches)
				clones[i] = at{c.epoch + 1, branch, all[c.epoch+1][branch].enter(0, c.m.lineage())}
				c.m.drop()
			case n < 5 && len(clones) > 1:
				c.m.drop()
				clones = slices.Delete(clones, i, i+1)
			case n < 6: // a crash: what was written is read back
				l = NewLineage()
				for k, c := range clones {
					clones[k].m = all[c.epoch][c.branch].restore(t, c.m.append(nil), 0, l)
				}
			default:
				typ := []ContentType{ContentApplication, ContentCommit}[rnd.IntN(2)]
				r, err := c.m.reserve(typ)
				if err != nil {
					t.Fatal(err)
				}
				key := fmt.Sprintf("%x", r.key.key.Bytes())
				if spoken[key] {
					t.Fatalf("seed %d: epoch %d.%d: generation %d was reserved twice", seed, c.epoch, c.branch, r.generation)
				}
				spoken[key] = true
				want := reference{e.suite.params(), e.suite.params().epochFrom(e.secret).encryption.Bytes(), 2}.key(0, kindOf(typ), r.generation)
				if !r.key.key.Equal(want.key) {
					t.Fatal("not the key of that generation")
				}
				r.Drop()
			}
		}
		for _, c := range clones {
			c.m.drop()
		}
		if len(l.entries) != 0 || len(l.live) != 0 {
			t.Errorf("%d counters and %d clones are left after the last one was dropped", len(l.entries), len(l.live))
		}
	}
}

// TestLineageStaysSmall: counters go once nobody can need them.
func TestLineageStaysSmall(t *testing.T) {
	l := NewLineage()
	hold := l.enter(epochID{epoch: 0}, true)
	for n := range uint64(100) {
		next := l.enter(epochID{epoch: n + 1}, true)
		if _, err := l.next(next, handshakeRatchet, 0); err != nil {
			t.Fatal(err)
		}
		// Commits that others made and that were not merged.
		for k := range byte(5) {
			l.leave(l.enter(epochID{epoch: n + 1, hash: [32]byte{k + 1}}, true), true)
		}
		if len(l.entries) != 2 {
			t.Fatalf("epoch %d: %d counters, want those of this epoch and the next", n, len(l.entries))
		}
		l.leave(hold, true)
		if hold = next; len(l.entries) != 1 {
			t.Fatalf("epoch %d: %d counters, want 1", n, len(l.entries))
		}
	}
}

// TestBranchesCountForThemselves: epochs of one number that are not the same share
// nothing.
func TestBranchesCountForThemselves(t *testing.T) {
	l := NewLineage()
	for branch := range byte(3) {
		e := newTestEpoch(t, SuiteX25519ChaCha, 2, branch)
		e.context.TreeHash = []byte{branch}
		m := e.enter(0, l)
		for want := range uint32(3) {
			if got := e.generation(t, e.say(t, m, "", 0)); got != want {
				t.Errorf("branch %d: got generation %d, want %d", branch, got, want)
			}
		}
	}
}

// TestReserveFollowsTheRatchet: what the secret tree has left behind is not given out,
// whatever the counters say, and what was given out is left behind.
func TestReserveFollowsTheRatchet(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 2, 1)
	m := e.members[0]
	k := m.tree.take(0, applicationRatchet, 9)
	k.wipe()
	old := nodeOfLeaf(&m.tree, 0).ratchets[applicationRatchet].secret.Bytes()
	was := bytes.Clone(old)
	r, err := m.reserve(ContentApplication)
	if err != nil {
		t.Fatal(err)
	}
	if r.generation != 10 || m.tree.next(0, applicationRatchet) != 11 {
		t.Errorf("got generation %d, and %d as the next, want 10 and 11", r.generation, m.tree.next(0, applicationRatchet))
	}
	if !bytes.Equal(old, make([]byte, 32)) || bytes.Contains(state(m), was) || bytes.Contains(state(m), r.key.key.Bytes()) {
		t.Error("the key of a reservation can be made again")
	}
}

// TestClonesInTwoGoroutines seals and opens with clones at once, for the race detector.
func TestClonesInTwoGoroutines(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 4, 8)
	from, to := e.members[0], e.members[1]
	var mu sync.Mutex
	seen := map[uint32]bool{}
	var wg sync.WaitGroup
	for worker := range 4 {
		sender, receiver, rnd := from.clone(), to.clone(), testRand(byte(worker))
		wg.Go(func() {
			defer sender.drop()
			defer receiver.drop()
			for range 50 {
				r, err := sender.reserve(ContentApplication)
				if err != nil {
					t.Error(err)
					return
				}
				g := r.generation
				m, err := r.Seal(Env{Rand: rnd}, []byte("x"), Framing{})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := receiver.open(m.private); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if seen[g] {
					t.Errorf("generation %d twice", g)
				}
				seen[g] = true
				mu.Unlock()
			}
		})
	}
	from.drop()
	wg.Wait()
	if len(seen) != 200 || from.e.signer.Valid() {
		t.Errorf("%d generations, want 200; signer there: %v", len(seen), from.e.signer.Valid())
	}
}
