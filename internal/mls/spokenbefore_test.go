package mls

import (
	"errors"
	"testing"
)

// TestSpokenBefore: a hostile member speaks to ben alone, in private, before it commits.
// Whatever it said, ben and cat come to the same answer about the commit: else one of
// them would be left behind by it.
func TestSpokenBefore(t *testing.T) {
	ann, ben, cat, _ := four(t)
	stored := ann.g.Append(nil)
	// twin is ann before she said anything, and at a generation that she chooses.
	twin := func(generation uint32) *person {
		p := *ann
		var err error
		p.g, err = ParseGroup(stored, nil)
		ann.check(err)
		p.g.messages.e.spoken.next[handshakeRatchet] = generation
		return &p
	}
	tell := func(generation uint32, about LeafIndex) {
		p := twin(generation)
		m, ref, err := p.g.Propose(p.env, RemoveProposal(about), Framing{})
		p.check(err)
		got, err := ben.g.Process(ben.env, ben.wire(m))
		if err != nil || got.Ref != ref {
			t.Fatalf("generation %d: %v", generation, err)
		}
		_, err = ben.g.Process(ben.env, ben.wire(m))
		ben.refused(err, ErrUsed)
	}
	commit := func(generation uint32) *Message {
		s, err := twin(generation).g.Stage(ann.env, CommitParams{})
		ann.check(err)
		defer s.Drop()
		return s.Message
	}
	tell(0, 3)
	tell(900, 2)
	for generation, want := range map[uint32]error{0: nil, 5: nil, 900: nil, maxForward: nil, maxForward + 1: ErrTooFar, 1900: ErrTooFar} {
		m := commit(generation)
		for _, p := range []*person{ben, cat} {
			got, err := p.g.Process(p.env, p.wire(m))
			if !errors.Is(err, want) {
				t.Errorf("%s, generation %d: got %v, want %v", p.name, generation, err, want)
			}
			if err == nil {
				got.Staged.Drop()
			}
		}
	}
}
