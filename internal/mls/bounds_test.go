package mls

import (
	"errors"
	"testing"
)

// TestBounds: what one member can put before all others is bounded, for who makes it as
// for who takes it.
func TestBounds(t *testing.T) {
	ann, ben, _, dan := four(t)
	eve := ann.person("eve")
	const own = ExtensionType(0xf123)
	big := func(n int) []Extension { return []Extension{{own, make([]byte, n)}} }
	can := func(c Capabilities) Capabilities {
		c.Extensions = append(c.Extensions, own)
		return c
	}
	long := make([]ProposalType, maxCapabilities+1)
	var psks []*Proposal
	for range MaxPSKs + 1 {
		psks = append(psks, ann.psk("one"))
	}
	add := func(change func(*KeyPackage)) []*Proposal { return []*Proposal{ann.addOf(eve, change)} }
	for _, c := range []struct {
		name, what string
		f          forgery
	}{
		{"leaf", "size of a leaf node", forgery{leaf: func(l *LeafNode) {
			l.Capabilities, l.Extensions = can(l.Capabilities), big(maxLeafSize)
		}}},
		{"leaf of a key package", "size of a key package", forgery{proposals: add(func(k *KeyPackage) {
			k.Leaf.Capabilities, k.Leaf.Extensions = can(k.Leaf.Capabilities), big(maxLeafSize)
		})}},
		{"key package", "size of a key package", forgery{proposals: add(func(k *KeyPackage) { k.Extensions = big(maxPackageSize) })}},
		{"extensions of the group", "size of the group's extensions", forgery{proposals: []*Proposal{GroupContextProposal(big(maxGroupExtensions))}}},
		{"pre-shared keys", "too many pre-shared keys", forgery{proposals: psks}},
		{"required capabilities", "required capabilities", forgery{proposals: []*Proposal{
			GroupContextProposal([]Extension{RequiredCapabilities{Proposals: long}.Extension()}),
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ann.t = t
			ben.refuses(ann.forge(c.f), c.what)
			if len(c.f.proposals) > 0 { // who is removed by it comes to the same
				c.f.proposals = append(c.f.proposals, RemoveProposal(3))
				dan.refuses(ann.forge(c.f), c.what)
				if _, err := ann.g.Stage(ann.env, CommitParams{Proposals: c.f.proposals}); err == nil {
					t.Error("one's own is not refused")
				}
			}
		})
	}
	ann.t = t
	capabilities := can(DefaultCapabilities())
	if _, err := ann.g.Stage(ann.env, CommitParams{Leaf: LeafChange{Capabilities: &capabilities, Extensions: big(maxLeafSize)}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a leaf of one's own that is too large: got %v, want %v", err, ErrInvalid)
	}
	lists := DefaultCapabilities()
	lists.Proposals = long
	if _, err := ann.g.Stage(ann.env, CommitParams{Leaf: LeafChange{Capabilities: &lists}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("capabilities of one's own that are too long: got %v, want %v", err, ErrInvalid)
	}
	l := eve.leaf()
	l.Capabilities, l.Extensions = capabilities, big(maxLeafSize)
	if _, _, err := NewKeyPackage(ann.env, l, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key package of one's own: got %v, want %v", err, ErrInvalid)
	}
	if _, err := Create(ann.env, CreateParams{GroupID: []byte("x"), Leaf: eve.leaf(), Extensions: big(maxGroupExtensions)}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a group of one's own: got %v, want %v", err, ErrInvalid)
	}
	// More proposals than a commit may have are not read.
	many := &commit{Proposals: make([]proposalOrRef, maxProposals+1)}
	for i := range many.Proposals {
		many.Proposals[i].Proposal = RemoveProposal(LeafIndex(i))
	}
	if _, err := parse(many.append(nil), "commit", readCommit); !errors.Is(err, ErrMalformed) {
		t.Errorf("a commit of too many proposals: got %v, want %v", err, ErrMalformed)
	}
	many.Proposals = many.Proposals[1:]
	if _, err := parse(many.append(nil), "commit", readCommit); err != nil {
		t.Errorf("a commit of as many as there may be: %v", err)
	}
	if _, err := ann.g.Stage(ann.env, CommitParams{Refs: make([]ProposalRef, maxProposals+1)}); !errors.Is(err, ErrArgument) {
		t.Errorf("a commit of one's own: got %v, want %v", err, ErrArgument)
	}
}
