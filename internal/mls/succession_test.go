package mls

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// family is a group of n members, all in one epoch.
func family(t *testing.T, s Suite, n int) (*world, []*soul) {
	t.Helper()
	w := newWorld(t, s, 1)
	first := w.members[0]
	var joining []*joiner
	c := CommitParams{}
	for range n - 1 {
		j := w.joiner()
		joining = append(joining, j)
		c.Proposals = append(c.Proposals, AddProposal(j.pkg))
	}
	staged, err := first.g.Stage(w.env, c)
	w.must(err)
	welcome := staged.Welcome
	w.must(first.g.Merge(staged))
	for _, j := range joining {
		j.join(welcome, nil)
	}
	w.agree()
	return w, slices.Clone(w.members)
}

// commit lets a member commit, and all others follow.
func (w *world) commit(by *soul, c CommitParams) *Staged {
	w.t.Helper()
	staged, err := by.g.Stage(w.env, c)
	w.must(err)
	told := *staged
	w.allSee(staged.Message, by, true)
	w.must(by.g.Merge(staged))
	w.leave()
	return &told
}

// TestSuccessor ends a group and begins the next one, of another suite.
func TestSuccessor(t *testing.T) {
	for _, to := range []Suite{SuiteXWingChaCha, SuiteX25519ChaCha, SuiteP384AES256} {
		t.Run(fmt.Sprint(to), func(t *testing.T) {
			w, old := family(t, SuiteX25519ChaCha, 4)
			first := old[0]
			if _, _, err := first.g.Successor(w.env, SuccessorParams{}); !errors.Is(err, ErrArgument) {
				t.Fatalf("a successor of a living group: got %v, want %v", err, ErrArgument)
			}
			extensions := []Extension{RequiredCapabilities{Credentials: []CredentialType{CredentialBasic}}.Extension()}
			w.commit(old[1], CommitParams{Proposals: []*Proposal{ReInitProposal(ReInit{
				GroupID: []byte("next"), Version: Version, Suite: to, Extensions: extensions,
			})}})
			for _, s := range old {
				if _, err := s.g.Reserve(); !errors.Is(err, ErrEnded) {
					t.Fatalf("speaking in an ended group: got %v, want %v", err, ErrEnded)
				}
				if _, err := s.g.Stage(w.env, CommitParams{}); !errors.Is(err, ErrEnded) {
					t.Fatalf("committing in an ended group: got %v, want %v", err, ErrEnded)
				}
				s.g = stored(t, s.g)
			}
			next := newWorld(t, to, 2)
			params := SuccessorParams{Leaf: next.leaf(next.members[0]), TreeAside: true}
			var joining []*joiner
			for range old[1:] {
				j := next.joiner()
				joining = append(joining, j)
				params.Members = append(params.Members, j.pkg)
			}
			short := params
			short.Members = params.Members[1:]
			if _, _, err := first.g.Successor(w.env, short); !errors.Is(err, ErrArgument) {
				t.Fatalf("a successor without a member: got %v, want %v", err, ErrArgument)
			}
			g, staged, err := first.g.Successor(w.env, params)
			w.must(err)
			next.members[0].g = g
			welcome, aside := staged.Welcome, staged.Tree
			w.must(g.Merge(staged))
			for i, j := range joining {
				with := JoinParams{Tree: aside}
				if _, err := Join(w.env, welcome, j.pkg, j.secrets, with); !errors.Is(err, ErrMissingPSK) {
					t.Fatalf("without the group before: got %v, want %v", err, ErrMissingPSK)
				}
				with.Predecessor = old[i+1].g
				var err error
				j.s.g, err = Join(w.env, welcome, j.pkg, j.secrets, with)
				w.must(err)
				next.members = append(next.members, j.s)
			}
			next.agree()
			if !sameExtensions(g.Extensions(), extensions) || string(g.GroupID()) != "next" || g.Epoch() != 1 {
				t.Error("the successor is not what was agreed on")
			}
		})
	}
}

// TestSuccessorIsWhatWasAgreedOn lets the founder of a successor deviate.
func TestSuccessorIsWhatWasAgreedOn(t *testing.T) {
	agreed := ReInit{GroupID: []byte("next"), Version: Version, Suite: SuiteX25519AES128}
	for name, cheat := range map[string]func(*ReInit){
		"group id":   func(r *ReInit) { r.GroupID = []byte("other") },
		"suite":      func(r *ReInit) { r.Suite = SuiteX25519ChaCha },
		"extensions": func(r *ReInit) { r.Extensions = []Extension{RequiredCapabilities{}.Extension()} },
		"nothing":    func(*ReInit) {},
	} {
		w, old := family(t, SuiteX25519AES128, 2)
		w.commit(old[0], CommitParams{Proposals: []*Proposal{ReInitProposal(agreed)}})
		founder := old[0].g
		said := agreed
		cheat(&said)
		founder.reinit = &said
		next := newWorld(t, said.Suite, 2)
		j := next.joiner()
		_, staged, err := founder.Successor(w.env, SuccessorParams{Leaf: next.leaf(next.members[0]), Members: []*KeyPackage{j.pkg}})
		w.must(err)
		_, err = Join(w.env, staged.Welcome, j.pkg, j.secrets, JoinParams{Predecessor: old[1].g})
		if name == "nothing" {
			w.must(err)
		} else if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", name, err, ErrInvalid)
		}
	}
}

// TestBranch makes a group of some members of another.
func TestBranch(t *testing.T) {
	w, old := family(t, SuiteX25519AES128, 4)
	sub := newWorld(t, w.suite, 3)
	params := SuccessorParams{Leaf: sub.leaf(sub.members[0]), GroupID: []byte("branch")}
	var joining []*joiner
	for range 2 {
		j := sub.joiner()
		joining = append(joining, j)
		params.Members = append(params.Members, j.pkg)
	}
	bad := params
	bad.GroupID = old[0].g.GroupID()
	if _, _, err := old[0].g.Branch(w.env, bad); !errors.Is(err, ErrArgument) {
		t.Fatalf("a branch with its group's id: got %v, want %v", err, ErrArgument)
	}
	g, staged, err := old[0].g.Branch(w.env, params)
	w.must(err)
	sub.members[0].g = g
	welcome := staged.Welcome
	w.must(g.Merge(staged))
	for i, j := range joining {
		var err error
		j.s.g, err = Join(w.env, welcome, j.pkg, j.secrets, JoinParams{Predecessor: old[i+1].g})
		w.must(err)
		sub.members = append(sub.members, j.s)
	}
	sub.agree()
	stranger := newWorld(t, w.suite, 4).members[0].g
	if _, err := Join(w.env, welcome, joining[0].pkg, joining[0].secrets, JoinParams{Predecessor: stranger}); err == nil {
		t.Error("joined a branch of a group that it was not in")
	}
	// The group that it branched off goes on.
	w.commit(old[1], CommitParams{ForcePath: true})
	w.agree()
}

// TestMembersOfSuccessor lets a founder bring in somebody who was not there, or leave
// somebody out for whom another counts twice.
func TestMembersOfSuccessor(t *testing.T) {
	ann, ben, cat, dan := four(t)
	eve := ann.person("eve")
	any := ann.env
	any.Successor = func(_, _ Credential) error { return nil }
	try := func(usage PSKUsage, members ...*person) (*Message, []*KeyPackage, []*KeyPackageSecrets) {
		t.Helper()
		params := SuccessorParams{Leaf: ann.leaf(), GroupID: []byte("next")}
		var secrets []*KeyPackageSecrets
		for _, p := range members {
			k, s := p.keyPackage()
			params.Members, secrets = append(params.Members, k), append(secrets, s)
		}
		make := ann.g.Branch
		if usage == UsageReInit {
			make = ann.g.Successor
		}
		_, own, err := make(ann.env, params)
		_, staged, anyErr := make(any, params)
		ann.check(anyErr)
		if wrong := members[0] == eve || members[1] == ben; wrong != errors.Is(err, ErrInvalid) {
			t.Errorf("by the founder: got %v, wrong members: %v", err, wrong)
		}
		if own != nil {
			own.Drop()
		}
		return staged.Welcome, params.Members, secrets
	}
	joins := func(usage PSKUsage, members ...*person) error {
		t.Helper()
		m, k, s := try(usage, members...)
		last := len(members) - 1
		_, err := Join(dan.env, m, k[last], s[last], JoinParams{Predecessor: dan.g})
		return err
	}
	ann.check(joins(UsageBranch, cat, dan))
	ann.refused(joins(UsageBranch, eve, dan), ErrInvalid)
	twin := ann.person("ben")
	ann.refused(joins(UsageBranch, twin, ben, dan), ErrInvalid)
	end, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{ReInitProposal(ReInit{
		GroupID: []byte("next"), Version: Version, Suite: ann.suite,
	})}})
	ann.check(err)
	got, err := dan.g.Process(dan.env, dan.wire(end.Message))
	dan.check(err)
	ann.check(ann.g.Merge(end))
	dan.check(dan.g.Merge(got.Staged))
	ann.check(joins(UsageReInit, cat, ben.alias(), dan))
	ann.refused(joins(UsageReInit, eve, cat, dan), ErrInvalid)
	ann.refused(joins(UsageReInit, twin, ben, dan), ErrInvalid)
}

// alias is the same person, for a test that tells them by pointer.
func (p *person) alias() *person { q := *p; return &q }
