package mls

import (
	"math"
	"testing"
)

// TestStateOfAnother: a stored state whose parts do not belong together is refused.
func TestStateOfAnother(t *testing.T) {
	ann, ben, cat, _ := four(t)
	cat.update(ann, ben)
	back, err := ParseGroup(cat.g.Append(nil), nil)
	ann.check(err)
	back.Drop()
	cases := []struct {
		name   string
		change func(g *Group)
	}{
		{"tree", func(g *Group) { g.tree = g.tree.remove(3) }},
		{"self", func(g *Group) { g.self = 9 }},
		{"self of another", func(g *Group) { g.self = 1 }},
		{"signer", func(g *Group) { g.signer = ben.signer.Clone() }},
		{"signer of both", func(g *Group) { g.signer = ben.signer.Clone(); g.self = 1 }},
		{"update", func(g *Group) { g.updates[0].private = NewSecret(ben.g.private.get(2).Bytes()) }},
		{"no init secret", func(g *Group) { g.secrets.init = Secret{} }},
		{"no confirmation key", func(g *Group) { g.secrets.confirmation = Secret{} }},
		{"no external secret", func(g *Group) { g.secrets.external = Secret{} }},
		{"no authenticator", func(g *Group) { g.secrets.authenticator = Secret{} }},
		{"encryption secret", func(g *Group) { g.secrets.encryption = g.p.zero() }},
		{"resumption secret twice", func(g *Group) { g.secrets.resumption = g.p.zero() }},
		{"no resumption PSK", func(g *Group) { g.resumption = nil }},
		{"resumption PSKs out of order", func(g *Group) { g.resumption = append(cloneResumption(g.resumption), g.resumption...) }},
		{"resumption PSK of another epoch", func(g *Group) { g.resumption[len(g.resumption)-1].epoch++ }},
		{"proposal twice", func(g *Group) { g.proposals.list = append(g.proposals.clone().list, g.proposals.list...) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := cat.g.Clone()
			c.change(g)
			_, err := ParseGroup(g.Append(nil), nil)
			ann.t = t
			ann.refused(err, ErrState)
		})
	}
	ann.t = t
	t.Run("secrets of who was removed", func(t *testing.T) {
		ann.t = t
		g := Group{p: cat.g.p, context: cat.g.context, tree: cat.g.tree, self: 2, removed: true}
		b := appendVec([]byte{stateVersion}, g.AppendPublic(nil))
		_, err := ParseGroup(appendVec(b, nil), nil)
		ann.check(err)
		_, err = ParseGroup(appendVec(b, cat.g.AppendSecret(nil)), nil)
		ann.refused(err, ErrState)
		g.self = 9
		_, err = ParseGroup(g.Append(nil), nil)
		ann.refused(err, ErrState)
	})
	ann.t = t
	_, err = ParseGroup(append(cat.g.Append(nil), 0), nil)
	ann.refused(err, ErrState)
	other := cat.g.Append(nil)
	other[0]++
	_, err = ParseGroup(other, nil)
	ann.refused(err, ErrState)
}

// TestResumptionIsBounded: PSKs of the last epochs are there, and no others.
func TestResumptionIsBounded(t *testing.T) {
	r := newRoom(t, SuiteX25519ChaCha)
	ann := r.person("ann")
	ann.create()
	for range MaxResumption + 5 {
		s, err := ann.g.Stage(r.env, CommitParams{})
		r.check(err)
		r.check(ann.g.Merge(s))
	}
	last := ann.g.Epoch()
	for epoch := uint64(0); epoch <= last+1; epoch++ {
		_, err := ann.g.ResumptionPSK(epoch)
		if want := epoch > last-MaxResumption && epoch <= last; want != (err == nil) {
			t.Errorf("epoch %d of %d: got %v", epoch, last, err)
		}
	}
	r.rests = true
	ann.rest()
}

// TestLastEpoch: the number of epochs is bounded by its size on the wire.
func TestLastEpoch(t *testing.T) {
	ann, ben, _, _ := four(t)
	s, err := ann.g.Stage(ann.env, CommitParams{})
	ann.check(err)
	a, _, err := ben.g.open(s.Message)
	ann.check(err)
	ben.g.context.Epoch = math.MaxUint64
	_, err = ben.g.processCommit(ben.env, a)
	ann.refused(err, ErrInvalid)
	ann.g.context.Epoch = math.MaxUint64
	_, err = ann.g.Stage(ann.env, CommitParams{})
	ann.refused(err, ErrEnded)
}
