package mls

import (
	"errors"
	"testing"
)

// TestJoinIsWhatWasExpected: whoever knows that a group was made again is not led into
// another one in its place, whoever wrote the Welcome.
func TestJoinIsWhatWasExpected(t *testing.T) {
	ann, ben, cat, dan := four(t)
	welcome := func(usage PSKUsage) (*Message, *KeyPackage, *KeyPackageSecrets) {
		k, secrets := ben.keyPackage()
		params := SuccessorParams{Leaf: ann.leaf(), GroupID: []byte("next"), Members: []*KeyPackage{k}}
		switch usage {
		case UsageBranch:
			_, s, err := ann.g.Branch(ann.env, params)
			ann.check(err)
			return s.Welcome, k, secrets
		case UsageReInit:
			for _, p := range []*person{cat, dan} {
				other, _ := p.keyPackage()
				params.Members = append(params.Members, other)
			}
			_, s, err := ann.g.Successor(ann.env, params)
			ann.check(err)
			return s.Welcome, k, secrets
		}
		g, err := Create(ann.env, CreateParams{GroupID: []byte("next"), Leaf: ann.leaf()})
		ann.check(err)
		s, err := g.Stage(ann.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}})
		ann.check(err)
		return s.Welcome, k, secrets
	}
	try := func(made PSKUsage) {
		t.Helper()
		for _, expected := range []PSKUsage{0, UsageApplication, UsageReInit, UsageBranch} {
			m, k, secrets := welcome(made)
			_, err := Join(ben.env, m, k, secrets, JoinParams{Predecessor: ben.g, Usage: expected})
			if expected == 0 || expected == made {
				ben.check(err)
			} else if !errors.Is(err, ErrInvalid) {
				t.Errorf("made %d, expected %d: got %v, want %v", made, expected, err, ErrInvalid)
			}
			if expected > UsageApplication && made == UsageApplication {
				_, err := Join(ben.env, m, k, secrets, JoinParams{Usage: expected})
				ben.refused(err, ErrArgument)
			}
		}
	}
	try(UsageApplication)
	try(UsageBranch)
	end, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{ReInitProposal(ReInit{GroupID: []byte("next"), Version: Version, Suite: ann.suite})}})
	ann.check(err)
	got, err := ben.g.Process(ben.env, ben.wire(end.Message))
	ben.check(err)
	ann.check(ann.g.Merge(end))
	ben.check(ben.g.Merge(got.Staged))
	try(UsageApplication)
	try(UsageReInit)
}

// TestJoinTwice: a Welcome that is used twice, by a crash or a replay, leads to two states
// of one member in one epoch. With a lineage they do not seal under one generation.
func TestJoinTwice(t *testing.T) {
	r := newRoom(t, SuiteX25519ChaCha)
	ann, ben := r.person("ann"), r.person("ben")
	ann.create()
	k, secrets := ben.keyPackage()
	s := ann.commit(CommitParams{Proposals: []*Proposal{AddProposal(k)}})
	line := NewLineage()
	seen := map[uint32]bool{}
	for range 3 {
		var err error
		ben.g, err = Join(ben.env, r.wire(s.Welcome), k, secrets, JoinParams{Lineage: line})
		r.check(err)
		for range 2 {
			said, err := ben.g.Reserve()
			r.check(err)
			if seen[said.generation] {
				t.Fatalf("generation %d is spoken twice", said.generation)
			}
			seen[said.generation] = true
			m, err := said.Seal(ben.env, []byte("hello"), Framing{})
			r.check(err)
			_, err = ann.g.Process(ann.env, r.wire(m))
			r.check(err)
		}
	}
}

// TestMergeIntoALineage: a commit that was stored and read back without the lineage of its
// group comes into it when it is merged, with what it had counted.
func TestMergeIntoALineage(t *testing.T) {
	ann, ben, _, _ := four(t)
	s, err := ann.g.Stage(ann.env, CommitParams{})
	ann.check(err)
	got, err := ben.g.Process(ben.env, ben.wire(s.Message))
	ben.check(err)
	// Another clone of ben goes there and speaks.
	early := ben.g.Clone()
	ben.check(early.Merge(got.Staged.Clone()))
	said, err := early.Reserve()
	ben.check(err)
	stored := got.Staged.Append(nil)
	got.Staged.Drop()
	back, err := ParseStaged(stored, nil)
	ben.check(err)
	clone := back.Clone()
	ben.refused(ben.g.Merge(back), ErrArgument) // the clone counts elsewhere
	clone.Drop()
	ben.check(ben.g.Merge(back))
	if ben.g.messages.lineage() != early.messages.lineage() {
		t.Fatal("two lineages of one group")
	}
	for _, g := range []*Group{ben.g, early, ben.g} {
		next, err := g.Reserve()
		ben.check(err)
		if next.generation <= said.generation {
			t.Fatalf("generation %d after %d", next.generation, said.generation)
		}
		said = next
	}
	// What was counted by the clone alone, in a state that was read without its lineage.
	again, err := ParseStaged(stored, nil)
	ben.check(err)
	alone := again.next.messages.e.lineage
	alone.mu.Lock()
	again.next.messages.e.spoken.next[applicationRatchet] = 40
	alone.mu.Unlock()
	ben.check(again.next.messages.rehome(ben.g.messages.lineage()))
	if next, err := ben.g.Reserve(); err != nil || next.generation != 40 {
		t.Errorf("got %v, %v, want generation 40", next, err)
	}
}

// TestGroupWithoutAnIdentifier is refused by who is let in.
func TestGroupWithoutAnIdentifier(t *testing.T) {
	r := newRoom(t, SuiteX25519ChaCha)
	ann, ben := r.person("ann"), r.person("ben")
	leaf, key, err := newKeyPackageLeaf(r.env.Rand, ann.leaf())
	r.check(err)
	p := r.suite.params()
	tr := newTree(p, leaf)
	ann.g = newGroup(groupParts{
		p: p, context: GroupContext{Version: Version, Suite: r.suite, TreeHash: tr.hash()}, tree: tr,
		private: newPrivateTree(0, leaf.EncryptionKey, key), signer: ann.signer.Clone(),
		secrets: p.epochFrom(NewSecret(make([]byte, p.nh))),
	})
	k, secrets := ben.keyPackage()
	s, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}})
	r.check(err)
	_, err = Join(ben.env, r.wire(s.Welcome), k, secrets, JoinParams{})
	r.refused(err, ErrInvalid)
}
