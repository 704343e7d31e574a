package mls

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// joiner is a device whose key package stands in a commit.
type joiner struct {
	w       *world
	s       *soul
	pkg     *KeyPackage
	secrets *KeyPackageSecrets
}

// stage lets s make a commit of what was proposed and of changes of its own.
func (w *world) stage(s *soul) (*Staged, []*joiner) {
	c := CommitParams{ForcePath: w.rand.IntN(2) == 0, Framing: Framing{Padding: w.rand.IntN(30)}, TreeAside: w.rand.IntN(4) == 0}
	touched := map[LeafIndex]bool{s.g.Self(): true}
	old := false // a key of an earlier epoch goes in, which who joins does not have
	for _, p := range s.g.Pending() {
		switch p.Proposal.Type {
		case ProposalUpdate:
			if touched[p.Sender.Leaf] {
				continue
			}
			touched[p.Sender.Leaf] = true
		case ProposalRemove:
			if touched[p.Proposal.Removed] {
				continue
			}
			touched[p.Proposal.Removed] = true
		case ProposalPSK:
			old = old || p.Proposal.PSK.Type == PSKResumption
		}
		c.Refs = append(c.Refs, p.Ref)
	}
	var joining []*joiner
	n := w.rand.IntN(4)
	if old || len(w.members) > modelMembers*3/4 {
		n = 0
	} else if w.rand.IntN(20) == 0 {
		n = min(12, modelMembers-len(w.members))
	}
	for range n {
		j := w.joiner()
		joining = append(joining, j)
		c.Proposals = append(c.Proposals, AddProposal(j.pkg))
		w.done["add"]++
	}
	if target := w.any(); w.rand.IntN(3) == 0 && !touched[target.g.Self()] && len(w.members) > 2 {
		c.Proposals = append(c.Proposals, RemoveProposal(target.g.Self()))
		w.done["remove"]++
	}
	if n == 0 && w.rand.IntN(4) == 0 {
		c.Proposals = append(c.Proposals, w.psk(s))
		w.done["psk"]++
	}
	if w.rand.IntN(8) == 0 {
		c.Proposals = append(c.Proposals, GroupContextProposal([]Extension{RequiredCapabilities{}.Extension()}))
		w.done["context"]++
	}
	if w.rand.IntN(8) == 0 {
		key, _, err := NewSignatureKey(w.env.Rand, w.suite)
		w.must(err)
		c.Leaf.Signer, c.ForcePath = key, true
		w.done["new signature key"]++
	}
	staged, err := s.g.Stage(w.env, c)
	w.must(err)
	return staged, joining
}

func (w *world) joiner() *joiner {
	s := w.soul()
	pkg, secrets, err := NewKeyPackage(w.env, w.leaf(s), nil)
	w.must(err)
	back, err := ParseKeyPackageSecrets(secrets.Append(nil))
	w.must(err)
	return &joiner{w, s, pkg, back}
}

// join takes the Welcome.
func (j *joiner) join(welcome *Message, tree []byte) {
	var err error
	j.s.g, err = Join(j.w.env, j.w.parse(welcome.Append(nil)), j.pkg, j.secrets, JoinParams{Tree: tree})
	j.w.must(err)
	j.s.since = j.s.g.Epoch()
	if _, err := Join(j.w.env, welcome, j.w.joiner().pkg, j.secrets, JoinParams{Tree: tree}); !errors.Is(err, ErrNotWelcome) {
		j.w.t.Fatalf("a Welcome for others: got %v, want %v", err, ErrNotWelcome)
	}
	j.w.members = append(j.w.members, j.s)
}

// psk proposes a key from outside, or of an earlier epoch that all were in.
func (w *world) psk(s *soul) *Proposal {
	oldest := uint64(0)
	for _, m := range w.members {
		oldest = max(oldest, m.since)
	}
	if now := s.g.Epoch(); w.rand.IntN(2) == 0 && now > oldest && now-oldest < MaxResumption {
		p, err := ResumptionPSKProposal(w.env, w.suite, s.g.GroupID(), oldest)
		w.must(err)
		return p
	}
	id := fmt.Sprint(w.rand.Uint64())
	w.psks[id] = fmt.Appendf(nil, "secret %d", w.rand.Uint64())
	p, err := ExternalPSKProposal(w.env, w.suite, []byte(id))
	w.must(err)
	return p
}

func (w *world) pendingRemove(s *soul) bool {
	return slices.ContainsFunc(w.members[0].g.Pending(), func(p PendingProposal) bool {
		return p.Proposal.Type == ProposalRemove && p.Proposal.Removed == s.g.Self()
	})
}

// leave takes those out that are no member any more, and sees that they know it.
func (w *world) leave() {
	w.members = slices.DeleteFunc(w.members, func(s *soul) bool {
		if !s.g.Removed() {
			return false
		}
		if _, err := s.g.Reserve(); !errors.Is(err, ErrRemoved) {
			w.t.Fatalf("removed and speaking: got %v, want %v", err, ErrRemoved)
		}
		w.gone = append(w.gone, s)
		return true
	})
}

// outside lets somebody join by an external commit, as a newcomer or in place of an
// older leaf of its own.
func (w *world) outside() {
	host := w.any()
	info, err := host.g.GroupInfo(w.env, GroupInfoParams{External: true, TreeAside: w.rand.IntN(2) == 0})
	w.must(err)
	s := w.soul()
	params := ExternalJoinParams{Leaf: w.leaf(s), Tree: host.g.Tree()}
	if old := w.any(); w.rand.IntN(2) == 0 && len(w.members) > 1 {
		i := old.g.Self()
		params.Replace = &i
		w.done["rejoin"]++
	} else if len(w.members) >= modelMembers {
		return
	}
	g, m, err := JoinExternal(w.env, w.parse(info.Append(nil)), params)
	w.must(err)
	s.g, s.since = g, g.Epoch()
	w.allSee(m, s, true)
	w.leave()
	w.members = append(w.members, s)
	w.done["external join"]++
	w.agree()
}

// agree checks an epoch after it began.
func (w *world) agree() {
	w.epochs++
	w.most = max(w.most, len(w.members))
	first := w.members[0].g
	exported, err := first.Export("model", []byte("context"), 40)
	w.must(err)
	for _, s := range w.members {
		if !bytes.Equal(s.g.EpochAuthenticator(), first.EpochAuthenticator()) {
			w.t.Fatalf("%s does not agree on the epoch", s.name)
		}
		own, err := s.g.Export("model", []byte("context"), 40)
		w.must(err)
		if !own.Equal(exported) {
			w.t.Fatalf("%s does not agree on the exporter", s.name)
		}
		if l := s.g.Leaf(s.g.Self()); l == nil || string(l.Credential.Identity) != s.name {
			w.t.Fatalf("%s sits in another's place", s.name)
		}
	}
	for _, s := range w.gone {
		if bytes.Equal(s.g.EpochAuthenticator(), first.EpochAuthenticator()) {
			w.t.Fatalf("%s is gone and knows the epoch", s.name)
		}
	}
}

// finish tries to read what must not be read.
func (w *world) finish() {
	for _, l := range w.sealed {
		for _, s := range append(slices.Clone(w.members), w.gone...) {
			if s == l.from || l.epoch == s.g.Epoch() && !s.g.Removed() {
				continue
			}
			if got, err := s.g.Process(w.env, w.parse(l.bytes)); err == nil {
				w.t.Fatalf("%s, since epoch %d, in %d, reads epoch %d: %q", s.name, s.since, s.g.Epoch(), l.epoch, got.Application)
			}
		}
	}
	for _, s := range append(w.members, w.gone...) {
		s.g.Drop()
	}
}
