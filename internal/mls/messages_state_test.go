package mls

import (
	"bytes"
	"testing"
)

func TestNewMessagesTakesItsSecrets(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 2, 1)
	s := e.suite.params().epochFrom(e.secret)
	m := newMessages(e.view(0), s, nil)
	if s.encryption.Valid() || s.senderData.Valid() || s.membership.Valid() || !s.exporter.Valid() || !s.init.Valid() {
		t.Error("not just encryption_secret, sender_data_secret and membership_key were taken")
	}
	c := s.clone()
	s.wipe()
	if s.init.Valid() || !c.init.Valid() {
		t.Error("a clone of the secrets is not its own")
	}
	m.drop()
}

// TestDamagedStateIsRefused writes states that no run of the program comes to.
func TestDamagedStateIsRefused(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 4, 1)
	swap := func(k []keptKey, change func(a, b *keptKey)) { change(&k[0], &k[1]) }
	for name, change := range map[string]func(m *messages, r *ratchet){
		"sound":                    func(*messages, *ratchet) {},
		"kept keys out of order":   func(_ *messages, r *ratchet) { swap(r.kept, func(a, b *keptKey) { *a, *b = *b, *a }) },
		"one generation twice":     func(_ *messages, r *ratchet) { swap(r.kept, func(a, b *keptKey) { b.generation = a.generation }) },
		"kept key that is to come": func(_ *messages, r *ratchet) { r.kept[2].generation = r.next },
		"stamps out of order":      func(_ *messages, r *ratchet) { swap(r.kept, func(_, b *keptKey) { b.stamp = 0 }) },
		"stamp that is to come":    func(m *messages, r *ratchet) { r.kept[2].stamp = m.tree.stamp + 1 },
		"too many kept keys": func(_ *messages, r *ratchet) {
			for r.next = 10_000; len(r.kept) <= maxKept; {
				k := r.kept[len(r.kept)-1].messageKey
				r.kept = append(r.kept, keptKey{uint32(100 + len(r.kept)), 1, messageKey{k.key.Clone(), k.nonce}})
			}
		},
		"no ratchet secret": func(_ *messages, r *ratchet) { r.secret.Wipe() },
		"other width":       func(m *messages, _ *ratchet) { m.tree.width = 2 },
		"counters of nothing": func(m *messages, _ *ratchet) {
			m.e.spoken.next[0] = 1
			m.e.lineage.entries[epochID{epoch: 9}] = &spoken{id: epochID{epoch: 1}, next: m.e.spoken.next}
			m.e.lineage.entries[epochID{epoch: 8}] = &spoken{id: epochID{epoch: 1}, next: m.e.spoken.next}
		},
	} {
		m := e.enter(0, nil)
		m.tree.consume(1, applicationRatchet, 3)
		m.tree.edit(1, func(r *[ratchetKinds]ratchet) { change(m, &r[applicationRatchet]) })
		r := reader{b: bytes.Clone(state(m))}
		l := NewLineage()
		got := readMessages(&r, e.view(0), l)
		if sound := name == "sound"; sound != (got != nil) || sound != (r.err("") == nil) {
			t.Errorf("%s: got %v", name, r.err(""))
		}
		if got == nil && len(l.entries) != 0 {
			t.Errorf("%s: counters of a state that was refused were taken", name)
		}
	}
}

func TestPastLeaves(t *testing.T) {
	l := &LeafNode{}
	for _, c := range []struct {
		n    uint32
		list []*LeafNode
		want bool
	}{
		{2, []*LeafNode{l}, true}, {2, []*LeafNode{nil, l}, true}, {2, []*LeafNode{l, nil}, false},
		{2, nil, false}, {1, []*LeafNode{l, l}, false}, {2 * MaxLeaves, []*LeafNode{l}, false},
	} {
		if got := (pastLeaves{c.list, c.n}).ok(); got != c.want {
			t.Errorf("%d leaves, %d listed: got %v, want %v", c.n, len(c.list), got, c.want)
		}
	}
}
