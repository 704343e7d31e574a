package mls

import (
	"errors"
	"testing"
)

// TestHalfOfAGroup: a hostile committer encrypts rubbish to some members. All that
// everybody can see is right, so the others go on; those members are told that it is
// the path secret, that is, that the commit may be good for others. What everybody can
// see is refused by all alike, who is removed included.
func TestHalfOfAGroup(t *testing.T) {
	ann, ben, cat, dan := four(t)
	rubbish := func(secret []byte) func(*updatePath) {
		return func(u *updatePath) { // the root's secret, to the parent of cat and dan
			top := &u.Nodes[len(u.Nodes)-1]
			if secret == nil {
				top.Secrets[0].Ciphertext[3] ^= 1
				return
			}
			for i := range top.Secrets {
				c, err := ann.g.p.encryptWithLabel(ann.g.tree.at(ann.g.tree.resolution(5)[i]).encryptionKey(), labelPathNode, nil, secret)
				ann.check(err)
				top.Secrets[i] = c
			}
		}
	}
	ann.commit(CommitParams{}, ben, cat, dan) // no more blank parents on this side
	cat.commit(CommitParams{}, ann, ben, dan) // nor on that
	for name, secret := range map[string][]byte{
		"does not open": nil,
		"wrong context": make([]byte, 32),
	} {
		m := ann.forge(forgery{path: rubbish(secret)})
		got, err := ben.g.Process(ben.env, ben.wire(m))
		if err != nil {
			t.Fatalf("%s: ben cannot go on: %v", name, err)
		}
		got.Staged.Drop()
		for _, p := range []*person{cat, dan} {
			p.refuses(m, "path secret does not open")
			if _, err := p.g.Process(p.env, p.wire(m)); !errors.Is(err, ErrPath) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrDecrypt) {
				t.Errorf("%s: %s got %v, want %v alone", name, p.name, err, ErrPath)
			}
		}
	}
	// Too few ciphertexts, which everybody sees.
	fewer := func(u *updatePath) { u.Nodes[len(u.Nodes)-1].Secrets = nil }
	m := ann.forge(forgery{path: fewer})
	for _, p := range []*person{ben, cat, dan} {
		p.refuses(m, "number of encrypted path secrets")
	}
	m = ann.forge(forgery{path: fewer, proposals: []*Proposal{RemoveProposal(3)}})
	for _, p := range []*person{ben, cat, dan} {
		p.refuses(m, "number of encrypted path secrets")
	}
	// Who was left behind takes the next commit of the epoch.
	ben.commit(CommitParams{}, ann, cat, dan)
}

// TestWelcomeWithoutAPathSecret: who lets somebody in and keeps back the key of a parent
// has shut it out of the next commit. The new member sees it at once.
func TestWelcomeWithoutAPathSecret(t *testing.T) {
	ann, ben, cat, dan := four(t)
	eve := ann.person("eve")
	k, secrets := eve.keyPackage()
	s, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}, ForcePath: true})
	ann.check(err)
	welcome := *ann.wire(s.Welcome).Welcome
	gs, err := welcome.open(ann.g.p, k, secrets)
	ann.check(err)
	if !gs.HasPath {
		t.Fatal("a path without a secret for the new member")
	}
	gs.HasPath = false
	welcome.secrets[0].Secrets, err = ann.g.p.encryptWithLabel(k.InitKey, labelWelcome, welcome.groupInfo, gs.append(nil))
	ann.check(err)
	_, err = Join(eve.env, &Message{Wire: WireWelcome, Welcome: &welcome}, k, secrets, JoinParams{})
	var e *Error
	if !errors.Is(err, ErrInvalid) || !errors.As(err, &e) || e.What != "no path secret of a parent above the new member" {
		t.Errorf("got %v, want it refused", err)
	}
	ann.settle(s, ben, cat, dan)
	eve.join(s.Welcome, k, secrets)
	ann.agree(ann, ben, cat, dan, eve)
}
