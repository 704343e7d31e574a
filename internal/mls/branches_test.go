package mls

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// generation is the generation that a PrivateMessage was sealed under.
func (p *person) generation(m *Message) uint32 {
	p.t.Helper()
	o, err := p.g.messages.openPrivate(m.private)
	p.check(err)
	return o.generation
}

// TestCommitIsHeldBack: making and processing commits changes nothing, so that two of
// them can be held at once, and either be merged, also after a restart.
func TestCommitIsHeldBack(t *testing.T) {
	eachSuite(t, func(t *testing.T, s Suite) {
		r := newRoom(t, s)
		ann, ben, cat := r.person("ann"), r.person("ben"), r.person("cat")
		ann.create()
		ann.add(ben)
		ann.add(cat, ben)
		one, err := ann.g.Stage(r.env, CommitParams{})
		r.check(err)
		two, err := ben.g.Stage(r.env, CommitParams{})
		r.check(err)

		before := cat.g.Append(nil)
		first, err := cat.g.Process(r.env, r.wire(one.Message))
		r.check(err)
		second, err := cat.g.Process(r.env, r.wire(two.Message))
		r.check(err)
		again, err := cat.g.Process(r.env, r.wire(one.Message))
		r.check(err)
		if !equal(before, cat.g.Append(nil)) {
			t.Error("processing a commit has changed the group")
		}
		if equal(first.Staged.Next().EpochAuthenticator(), second.Staged.Next().EpochAuthenticator()) {
			t.Error("two commits lead to one epoch")
		}
		// Cat goes both ways.
		other := &person{room: r, name: "cat", g: cat.g.Clone()}
		r.check(cat.g.Merge(first.Staged))
		r.check(other.g.Merge(second.Staged))
		r.refused(cat.g.Merge(again.Staged), ErrStale)
		r.refused(cat.g.Merge(first.Staged), ErrStale)
		again.Staged.Drop()
		r.refused(other.g.Merge(again.Staged), ErrStale)
		// So do the others, after a restart.
		follow := func(g *Group, s *Staged) *Group {
			line := NewLineage()
			back, err := ParseGroup(g.Append(nil), line)
			r.check(err)
			kept, err := ParseStaged(s.Append(nil), line)
			r.check(err)
			r.check(back.Merge(kept))
			return back
		}
		annElse := &person{room: r, name: "ann", g: ann.g.Clone()}
		annElse.merge(two.Message)
		benElse := &person{room: r, name: "ben", g: ben.g.Clone()}
		benElse.merge(one.Message)
		annGoes := &person{room: r, name: "ann", g: follow(ann.g, one)}
		benGoes := &person{room: r, name: "ben", g: follow(ben.g, two)}
		r.agree(annGoes, benElse, cat)
		r.agree(annElse, benGoes, other)
		_, err = other.g.Process(r.env, annGoes.say("from the other branch"))
		r.refused(err, ErrDecrypt)
		// Each branch has a life of its own.
		annGoes.commit(CommitParams{Proposals: []*Proposal{RemoveProposal(1)}}, cat)
		benGoes.commit(CommitParams{Proposals: []*Proposal{RemoveProposal(2)}}, annElse)
	})
}

// TestClonesStageUnderDifferentKeys: whatever clones do, no generation is used twice.
func TestClonesStageUnderDifferentKeys(t *testing.T) {
	r := newRoom(t, SuiteX25519AES128)
	ann, ben := r.person("ann"), r.person("ben")
	ann.create()
	ann.add(ben)
	seen := map[uint32]bool{}
	use := func(g *Group) {
		t.Helper()
		s, err := g.Stage(r.env, CommitParams{})
		r.check(err)
		n := ben.generation(s.Message)
		if seen[n] {
			t.Errorf("generation %d is used twice", n)
		}
		seen[n] = true
		s.Drop()
	}
	clone := ann.g.Clone()
	use(ann.g)
	use(clone)
	use(ann.g)
	m, _, err := clone.Propose(r.env, RemoveProposal(1), Framing{})
	r.check(err)
	seen[ben.generation(m)] = true
	use(ann.g)
	back, err := ParseGroup(ann.g.Append(nil), nil) // a restart, with the last state written
	r.check(err)
	use(back)
}

// TestStageFails: without randomness nothing is made and nothing changed.
func TestStageFails(t *testing.T) {
	ann, ben, _, _ := four(t)
	eve := ann.person("eve")
	k, _ := eve.keyPackage()
	for n := range int64(200) {
		env := ann.env
		env.Rand = io.LimitReader(ann.env.Rand, n)
		before := ann.g.Append(nil)
		s, err := ann.g.Stage(env, CommitParams{Proposals: []*Proposal{AddProposal(k)}, ForcePath: true, Framing: Framing{Public: true}})
		if err == nil {
			ben.merge(s.Message)
			return
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %v, want the error of the reader", err)
		}
		if _, _, err := ann.g.ProposeUpdate(env, LeafChange{}, Framing{Public: true}); err == nil {
			continue // needs less
		} else if !equal(before, ann.g.Append(nil)) {
			t.Fatal("what failed has changed the group")
		}
	}
	t.Fatal("a commit needs no more than 200 random bytes")
}

// TestOwnUpdate: others commit one's own update, with new keys of both kinds; which of
// several is theirs to choose.
func TestOwnUpdate(t *testing.T) {
	eachSuite(t, func(t *testing.T, s Suite) {
		r := newRoom(t, s)
		r.rests = true
		ann, ben, cat := r.person("ann"), r.person("ben"), r.person("cat")
		ann.create()
		ann.add(ben)
		ann.add(cat, ben)
		var refs []ProposalRef
		for range 3 {
			key, _, err := NewSignatureKey(r.env.Rand, s)
			r.check(err)
			m, ref, err := cat.g.ProposeUpdate(r.env, LeafChange{Signer: key, Extensions: []Extension{{ExtApplicationID, []byte(ref0(refs))}}}, Framing{})
			r.check(err)
			cat.proposed(m, ref, ann, ben)
			refs = append(refs, ref)
		}
		_, err := cat.g.Stage(r.env, CommitParams{Refs: refs[:1]})
		r.refused(err, ErrInvalid)
		staged, err := cat.g.Stage(r.env, CommitParams{AllPending: true}) // not of one's own
		r.check(err)
		if len(staged.Proposals) != 0 {
			t.Error("a member has committed its own update")
		}
		staged.Drop()
		ann.commit(CommitParams{Refs: refs[1:2]}, ben, cat)
		if data, _ := findExtension(cat.g.Leaf(2).Extensions, ExtApplicationID); string(data) != "1" {
			t.Errorf("got update %q, want the second", data)
		}
		cat.commit(CommitParams{}, ann, ben) // with the new keys
		ben.commit(CommitParams{}, ann, cat)
		// A clone that knows nothing of the update cannot follow.
		clone := cat.g.Clone()
		ref := cat.update(ann, ben)
		staged, err = ann.g.Stage(r.env, CommitParams{Refs: []ProposalRef{ref}})
		r.check(err)
		_, err = clone.Process(r.env, staged.Message)
		r.refused(err, ErrMissingProposal)
		ann.settle(staged, ben, cat)
	})
}

func ref0(refs []ProposalRef) string { return string(rune('0' + len(refs))) }

// TestBestOfPending: a commit of everything that is pending covers what goes together.
func TestBestOfPending(t *testing.T) {
	ann, ben, cat, dan := four(t)
	eve := ann.person("eve")
	k, secrets := eve.keyPackage()
	f := Framing{}
	ben.propose(ReInitProposal(ReInit{GroupID: []byte("x"), Version: Version, Suite: ann.suite}), f, ann, cat, dan)
	cat.update(ann, ben, dan)
	last := cat.update(ann, ben, dan)
	dan.update(ann, ben, cat)
	removal := ben.propose(RemoveProposal(3), f, ann, cat, dan)
	cat.propose(RemoveProposal(3), f, ann, ben, dan)
	dan.propose(RemoveProposal(0), f, ann, ben, cat) // of ann, who commits
	added := ben.propose(AddProposal(k), f, ann, cat, dan)
	cat.propose(AddProposal(k), f, ann, ben, dan)
	ben.propose(AddProposal(mustKeyPackage(dan)), f, ann, cat, dan) // who goes, and comes back
	ben.propose(AddProposal(mustKeyPackage(cat)), f, ann, dan, cat) // who stays
	ben.propose(GroupContextProposal(nil), f, ann, cat, dan)
	context := ben.propose(GroupContextProposal([]Extension{RequiredCapabilities{Proposals: []ProposalType{greaseProposal}}.Extension()}), f, ann, cat, dan)
	lacking := DefaultCapabilities()
	lacking.Proposals = nil
	m, ref, err := ben.g.ProposeUpdate(ben.env, LeafChange{Capabilities: &lacking}, f)
	ann.check(err)
	ben.proposed(m, ref, ann, cat, dan)
	bad := ann.addOf(ann.person("fay"), func(k *KeyPackage) { k.Leaf.Capabilities.Proposals = nil })
	cat.propose(bad, f, ann, ben, dan)
	staged, err := ann.g.Stage(ann.env, CommitParams{AllPending: true})
	ann.check(err)
	covered := map[ProposalRef]bool{}
	for _, p := range staged.Proposals {
		covered[p.Ref] = true
	}
	for _, ref := range []ProposalRef{last, removal, added, context} {
		if !covered[ref] {
			t.Error("a proposal is left out")
		}
	}
	if len(covered) != 5 {
		t.Errorf("got %d proposals, want 5", len(covered))
	}
	// Removals come before additions, whatever their order in the list (RFC 9420,
	// Section 12.3): who is added takes the leaf of who is removed.
	if staged.Added[0] != 3 || staged.Next().Size() != 5 {
		t.Errorf("got leaf %d and %d members, want 3 and 5", staged.Added[0], staged.Next().Size())
	}
	ann.settle(staged, ben, cat)
	eve.join(staged.Welcome, k, secrets)
	ann.agree(ann, ben, cat, eve)
	if len(ann.g.Pending()) != 0 {
		t.Error("proposals have outlived their epoch")
	}
}

func mustKeyPackage(p *person) *KeyPackage {
	k, _ := p.keyPackage()
	return k
}

// TestPendingIsBounded: a member who proposes without end is refused in the end, and
// others are heard.
func TestPendingIsBounded(t *testing.T) {
	ann, ben, cat, _ := four(t)
	for i := range maxPendingOfSender {
		m, _, err := cat.g.Propose(cat.env, RemoveProposal(1), Framing{Public: true, AuthenticatedData: fmt.Append(nil, i)})
		ann.check(err)
		_, err = ann.g.Process(ann.env, m)
		ann.check(err)
		_, err = ann.g.Process(ann.env, m) // again: it is pending once
		ann.check(err)
		cat.g.proposals = pendingProposals{} // a hostile one has no bound
	}
	m, _, err := cat.g.Propose(cat.env, RemoveProposal(1), Framing{Public: true})
	ann.check(err)
	before := ann.g.Append(nil)
	_, err = ann.g.Process(ann.env, m)
	ann.refused(err, ErrTooMany)
	if !equal(before, ann.g.Append(nil)) {
		t.Error("what was refused has changed the group")
	}
	ben.propose(RemoveProposal(2), Framing{Public: true}, ann)
	var s pendingProposals
	big := &Proposal{Type: ProposalGroupContext, Extensions: []Extension{{Data: make([]byte, maxPendingSize-10)}}}
	ann.check(s.add("a", Sender{}, RemoveProposal(1)))
	ann.refused(s.add("b", Sender{Index: 1}, big), ErrTooMany)
	part := &Proposal{Type: ProposalGroupContext, Extensions: []Extension{{Data: make([]byte, maxSizeOfSender-20)}}}
	const parts = maxPendingSize / maxSizeOfSender
	for i := range uint32(parts + 1) {
		if err := s.add(ProposalRef([]byte{byte(i)}), Sender{Index: 2 + i}, part); (err == nil) != (i < parts) {
			t.Errorf("part %d of %d: %v", i, parts, err)
		}
	}
	s = pendingProposals{}
	ann.check(s.add("a", Sender{}, RemoveProposal(1)))
	for range 3 { // some of them have room to grow in place
		c := s.clone()
		ann.check(s.add("x", Sender{}, RemoveProposal(1)))
		ann.check(c.add("y", Sender{}, RemoveProposal(1)))
		if n := len(c.list) - 1; s.list[n].ref != "x" || c.list[n].ref != "y" {
			t.Error("a clone has changed its original")
		}
		s = pendingProposals{list: append(make([]pendingProposal, 0, 9), s.list[:1]...), size: s.list[0].size}
	}
	for i := range uint32(maxPending - 1) {
		ann.check(s.add(ProposalRef([]byte{byte(i), byte(i >> 8), 1}), Sender{Index: i}, RemoveProposal(1)))
	}
	ann.refused(s.add("c", Sender{Index: maxPending}, RemoveProposal(1)), ErrTooMany)
}

// TestEndedGroup: after a reinitialisation there is only the successor.
func TestEndedGroup(t *testing.T) {
	ann, ben, cat, dan := four(t)
	ann.rests = true
	ref := dan.propose(ReInitProposal(ReInit{GroupID: []byte("next"), Version: Version, Suite: SuiteXWingChaCha}), Framing{}, ann, ben, cat)
	s, err := ann.g.Stage(ann.env, CommitParams{Refs: []ProposalRef{ref}})
	ann.check(err)
	late := ben.say("late")
	past, err := cat.g.Past()
	ann.check(err)
	for _, p := range []*person{ben, cat, dan} {
		p.merge(s.Message)
		p.rest()
	}
	ann.check(ann.g.Merge(s))
	if !equal(ann.g.EpochAuthenticator(), dan.g.EpochAuthenticator()) || ann.g.ReInit() == nil || ann.g.ReInit().Suite != SuiteXWingChaCha {
		t.Error("the group did not end as it should")
	}
	_, err = ben.g.Process(ben.env, late)
	ann.refused(err, ErrEnded)
	_, err = ben.g.Reserve()
	ann.refused(err, ErrEnded)
	_, err = ben.g.Stage(ben.env, CommitParams{})
	ann.refused(err, ErrEnded)
	_, _, err = ben.g.Propose(ben.env, RemoveProposal(1), Framing{})
	ann.refused(err, ErrEnded)
	_, _, err = ben.g.ProposeUpdate(ben.env, LeafChange{}, Framing{})
	ann.refused(err, ErrEnded)
	if got, err := past.Open(late); err != nil || string(got.Application) != "late" {
		t.Errorf("got %v, %v, want what came late", got, err)
	}
}

// TestMergeWipes: the secrets of an epoch that was left are gone.
func TestMergeWipes(t *testing.T) {
	ann, ben, _, _ := four(t)
	ben.update(ann)
	ben.g.Clone().Drop() // takes nothing of the original's with it
	old := *ben.g
	held := []Secret{
		old.secrets.init, old.secrets.exporter, old.secrets.external, old.secrets.confirmation,
		old.signer, old.updates[0].private, old.resumption[0].psk, old.private.get(old.self.Node()),
	}
	var bytes [][]byte
	for _, s := range held {
		bytes = append(bytes, s.Bytes())
		if !s.Valid() {
			t.Fatal("a clone has wiped what is not its own")
		}
	}
	s, err := ann.g.Stage(ann.env, CommitParams{})
	ann.check(err)
	ben.merge(s.Message)
	for i, b := range bytes {
		if held[i].Valid() || !equal(b, make([]byte, len(b))) {
			t.Errorf("secret %d of the old epoch is still there", i)
		}
	}
	next := s.Next()
	init := next.secrets.init.Bytes()
	s.Drop()
	if s.Next() != nil || !equal(init, make([]byte, len(init))) {
		t.Error("a dropped commit has left secrets")
	}
	clone := ben.g.Clone()
	ben.g.Drop()
	if !clone.secrets.init.Valid() || clone.EpochAuthenticator() == nil {
		t.Error("dropping a group has wiped its clone")
	}
	clone.DropExporter()
	_, err = clone.Export("x", nil, 32)
	ann.refused(err, ErrArgument)
}

// TestLateCommit: a commit of a key package that is too old by now is taken by who
// says that the commit may be late; nobody makes one.
func TestLateCommit(t *testing.T) {
	ann, ben, _, _ := four(t)
	k, _ := ann.person("eve").keyPackage()
	s, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}})
	ann.check(err)
	env := ben.env
	env.Now = env.Now.Add(1e12)
	_, err = ben.g.Process(env, s.Message)
	ann.refused(err, ErrInvalid)
	env.Late = true
	got, err := ben.g.Process(env, s.Message)
	ann.check(err)
	got.Staged.Drop()
	_, err = ben.g.Stage(env, CommitParams{Proposals: []*Proposal{AddProposal(k)}})
	ann.refused(err, ErrInvalid)
	_, _, err = ben.g.Propose(env, AddProposal(k), Framing{})
	ann.refused(err, ErrInvalid)
}

// TestMissing: what a commit refers to and is not here is named, and the commit can be
// processed once it is there.
func TestMissing(t *testing.T) {
	ann, ben, cat, _ := four(t)
	ann.psks["key"] = NewSecret([]byte("k"))
	m, ref, err := cat.g.Propose(cat.env, ann.psk("key"), Framing{})
	ann.check(err)
	cat.proposed(m, ref, ann)
	s, err := ann.g.Stage(ann.env, CommitParams{Refs: []ProposalRef{ref}})
	ann.check(err)
	_, err = ben.g.Process(ben.env, s.Message)
	ann.refused(err, ErrMissingProposal)
	_, err = ben.g.Stage(ben.env, CommitParams{Refs: []ProposalRef{ref}})
	ann.refused(err, ErrMissingProposal)
	cat.proposed(m, ref, ben)
	delete(ann.psks, "key")
	_, err = ben.g.Process(ben.env, s.Message)
	ann.refused(err, ErrMissingPSK)
	var missing *PSKError
	if !errors.As(err, &missing) || string(missing.ID.ID) != "key" {
		t.Errorf("got %v, want the PSK named", err)
	}
	_, err = ben.g.Stage(ben.env, CommitParams{Refs: []ProposalRef{ref}})
	ann.refused(err, ErrMissingPSK)
	ann.psks["key"] = NewSecret([]byte("k"))
	ann.settle(s, ben, cat)
}
