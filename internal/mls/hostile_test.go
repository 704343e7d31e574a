package mls

import (
	"errors"
	"testing"
)

// forgery is a commit that a hostile member makes: nothing about it is checked.
type forgery struct {
	refs      []ProposalRef
	proposals []*Proposal
	noPath    bool
	leaf      func(*LeafNode) // changes the leaf of the path before it is signed
	after     func(*LeafNode) // and after
	signer    Secret          // of the leaf
	tag       bool            // a wrong confirmation tag
	path      func(*updatePath)
}

// forge makes the commit as Stage does, without the checks.
func (p *person) forge(f forgery) *Message {
	p.t.Helper()
	g, env := p.g, p.env
	c := &commit{}
	for _, ref := range f.refs {
		c.Proposals = append(c.Proposals, proposalOrRef{Ref: ref})
	}
	for _, q := range f.proposals {
		c.Proposals = append(c.Proposals, proposalOrRef{Proposal: q})
	}
	list, err := g.resolve(c, Sender{Type: SenderMember, Leaf: g.self})
	p.check(err)
	r := g.rules(env, true)
	ch, err := r.apply(list)
	p.check(err)
	step := &epochStep{tree: ch.tree, private: g.private.clone(), signer: g.signer.Clone(), commit: g.p.zero()}
	if !f.noPath {
		leaf, signer, err := g.tree.leaf(g.self).successor(g.context.Suite, g.signer, LeafChange{Signer: f.signer})
		p.check(err)
		step.tree, step.path, step.private, err = ch.tree.newPath(env.Rand, g.self, func(key, parentHash []byte) (*LeafNode, error) {
			leaf.EncryptionKey, leaf.ParentHash, leaf.Source = key, parentHash, LeafCommit
			if f.leaf != nil {
				f.leaf(leaf)
			}
			err := leaf.sign(g.p, env.Rand, signer, g.context.GroupID, g.self)
			if f.after != nil {
				f.after(leaf)
			}
			return leaf, err
		})
		p.check(err)
		step.commit = step.path.commit.Clone()
		context := r.nextContext(ch, step.tree)
		c.Path, err = step.tree.sealPath(step.path, g.self, context.append(nil), ch.addedSet())
		p.check(err)
		if f.path != nil {
			f.path(c.Path)
		}
	}
	a, err := g.messages.sign(env.Rand, WirePublic, &framedContent{Type: ContentCommit, Commit: c})
	p.check(err)
	psk := g.p.zero() // nobody gets as far as to the PSKs
	next, _ := g.nextEpoch(a, ch, step, g.secrets.init, psk)
	a.Auth.ConfirmationTag = next.confirmationTag
	if f.tag {
		a.Auth.ConfirmationTag = append([]byte{next.confirmationTag[0] ^ 1}, next.confirmationTag[1:]...)
	}
	m, err := g.seal(env, a, Framing{Public: true})
	p.check(err)
	return m
}

// refuses checks that a message is refused by the check of that name, and that this
// changes nothing.
func (p *person) refuses(m *Message, what string) {
	p.t.Helper()
	before := p.g.Append(nil)
	_, err := p.g.Process(p.env, p.wire(m))
	var e *Error
	if what == errStranger.Error() && errors.Is(err, errStranger) {
		return
	}
	if !errors.As(err, &e) || e.What != what {
		p.t.Errorf("got %v, want it refused: %s", err, what)
	}
	if !equal(before, p.g.Append(nil)) {
		p.t.Error("what was refused has changed the group")
	}
}

// four is a group of four, ann, ben, cat and dan, at leaves 0 to 3.
func four(t testing.TB, extensions ...Extension) (ann, ben, cat, dan *person) {
	r := newRoom(t, SuiteX25519ChaCha)
	ann, ben, cat, dan = r.person("ann"), r.person("ben"), r.person("cat"), r.person("dan")
	ann.create(extensions...)
	ann.add(ben)
	ann.add(cat, ben)
	ann.add(dan, ben, cat)
	return ann, ben, cat, dan
}

// update is an update of this person, which ben and the others take in.
func (p *person) update(others ...*person) ProposalRef {
	p.t.Helper()
	m, ref, err := p.g.ProposeUpdate(p.env, LeafChange{}, Framing{Public: true})
	p.check(err)
	p.proposed(m, ref, others...)
	return ref
}

// add is a proposal to add somebody, whose key package is changed before it is signed.
func (p *person) addOf(who *person, change func(*KeyPackage)) *Proposal {
	p.t.Helper()
	k, _ := who.keyPackage()
	params := p.suite.params()
	change(k)
	var err error
	p.check(k.Leaf.sign(params, p.env.Rand, who.signer, nil, 0))
	k.Signature, err = params.signWithLabel(p.env.Rand, who.signer, labelKeyPackage, k.tbs(nil))
	p.check(err)
	return AddProposal(k)
}

func (p *person) psk(id string) *Proposal {
	p.t.Helper()
	q, err := ExternalPSKProposal(p.env, p.suite, []byte(id))
	p.check(err)
	return q
}

// TestHostileCommits is RFC 9420, Section 12.2 and what it refers to: a hostile
// member makes a commit that breaks one rule, and the check that is named refuses it.
func TestHostileCommits(t *testing.T) {
	ann, ben, cat, dan := four(t)
	eve := ann.person("eve")
	add := func(change func(*KeyPackage)) []*Proposal { return []*Proposal{ann.addOf(eve, change)} }
	remove := func(leaves ...LeafIndex) (list []*Proposal) {
		for _, i := range leaves {
			list = append(list, RemoveProposal(i))
		}
		return list
	}
	context := func(e ...Extension) []*Proposal { return []*Proposal{GroupContextProposal(e)} }
	id := Extension{ExtApplicationID, nil}
	annUpdate := ann.update(ben, cat, dan)
	catUpdate, catAgain := cat.update(ann, ben, dan), cat.update(ann, ben, dan)
	psk := ann.psk("one")
	shortNonce := *psk
	shortNonce.PSK.Nonce = shortNonce.PSK.Nonce[1:]
	first := Proposal{Type: ProposalPSK, PSK: PreSharedKeyID{Type: PSKResumption, Usage: UsageBranch, GroupID: ann.g.GroupID(), Nonce: psk.PSK.Nonce}}
	reinit := func(r ReInit) *Proposal { return ReInitProposal(r) }
	good := ReInit{GroupID: []byte("next"), Version: Version, Suite: ann.suite}
	cases := []struct {
		name, what string
		f          forgery
	}{
		// The list of RFC 9420, Section 12.2.
		{"own update by value", "commit of the committer's own update", forgery{proposals: []*Proposal{{Type: ProposalUpdate, Leaf: ann.g.Leaf(0)}}}},
		{"own update by reference", "commit of the committer's own update", forgery{refs: []ProposalRef{annUpdate}}},
		{"removes itself", "committer removes itself", forgery{proposals: remove(0)}},
		{"two removals", "two changes of one leaf", forgery{proposals: remove(2, 2)}},
		{"update and removal", "two changes of one leaf", forgery{refs: []ProposalRef{catUpdate}, proposals: remove(2)}},
		{"two updates", "two changes of one leaf", forgery{refs: []ProposalRef{catUpdate, catAgain}}},
		{"one update twice", "two changes of one leaf", forgery{refs: []ProposalRef{catUpdate, catUpdate}}},
		{"one client twice", "one client is added twice", forgery{proposals: append(add(func(*KeyPackage) {}), add(func(*KeyPackage) {})...)}},
		{"member added", "added client is a member already", forgery{proposals: []*Proposal{ann.addOf(dan, func(*KeyPackage) {})}}},
		{"one PSK twice", "one PSK twice", forgery{proposals: []*Proposal{psk, psk}}},
		{"two contexts", "two changes of the extensions", forgery{proposals: append(context(), context()...)}},
		{"reinit and more", "reinitialisation together with something else", forgery{proposals: append(remove(2), reinit(good))}},
		{"external init", "proposal of somebody who may not make it", forgery{proposals: []*Proposal{{Type: ProposalExternalInit, KEMOutput: []byte{1}}}}},
		// Single proposals, Section 12.1.
		{"removal outside of the tree", "removal of a blank leaf", forgery{proposals: remove(1 << 20), noPath: true}},
		{"nonce of a PSK", "nonce of a PSK", forgery{proposals: []*Proposal{&shortNonce}}},
		{"PSK of a branch", "PSK for the first commit of another group", forgery{proposals: []*Proposal{&first}}},
		{"reinit to an old version", "version of the successor", forgery{proposals: []*Proposal{reinit(ReInit{Suite: 1})}}},
		{"reinit with extensions twice", "extension is there twice", forgery{proposals: []*Proposal{reinit(ReInit{Version: Version, Extensions: []Extension{id, id}})}}},
		{"extensions twice", "extension is there twice", forgery{proposals: context(id, id)}},
		{"required of nobody", "member lacks a required capability", forgery{proposals: context(RequiredCapabilities{Proposals: []ProposalType{99}}.Extension())}},
		{"required, and the committer alone has it", "member lacks a required capability", forgery{
			proposals: context(RequiredCapabilities{Proposals: []ProposalType{99}}.Extension()),
			leaf:      func(l *LeafNode) { l.Capabilities.Proposals = []ProposalType{99} },
		}},
		{"extension of nobody", "member lacks an extension of the group", forgery{proposals: context(Extension{Type: 0x7777})}},
		{"required is malformed", "required capabilities", forgery{proposals: context(Extension{ExtRequiredCapabilities, []byte{9}})}},
		{"senders are malformed", "external senders", forgery{proposals: context(Extension{ExtExternalSenders, []byte{9}})}},
		{"sender is a stranger", errStranger.Error(), forgery{proposals: context(ExternalSendersExtension([]ExternalSender{{[]byte{1}, BasicCredential([]byte("mallory"))}}))}},
		// Key packages, Section 10.1, and their leaves, Section 7.3.
		{"suite of a key package", "key package is for another suite", forgery{proposals: add(func(k *KeyPackage) { k.Suite = SuiteX25519AES128 })}},
		{"version of a key package", "version of a key package", forgery{proposals: add(func(k *KeyPackage) { k.Version = 2 })}},
		{"source of a leaf", "source of a key package's leaf", forgery{proposals: add(func(k *KeyPackage) { k.Leaf.Source = LeafUpdate })}},
		{"init key", "init key is the encryption key", forgery{proposals: add(func(k *KeyPackage) { k.InitKey = k.Leaf.EncryptionKey })}},
		{"init key is none", "init key", forgery{proposals: add(func(k *KeyPackage) { k.InitKey = []byte{1} })}},
		{"lifetime is over", "lifetime of a leaf node", forgery{proposals: add(func(k *KeyPackage) { k.Leaf.Lifetime.NotAfter = k.Leaf.Lifetime.NotBefore })}},
		{"lifetime is not yet", "lifetime of a leaf node", forgery{proposals: add(func(k *KeyPackage) { k.Leaf.Lifetime.NotBefore = k.Leaf.Lifetime.NotAfter })}},
		{"added stranger", errStranger.Error(), forgery{proposals: add(func(k *KeyPackage) { k.Leaf.Credential = BasicCredential([]byte("mallory")) })}},
		{"key of a member", "encryption key is there twice", forgery{proposals: add(func(k *KeyPackage) { k.Leaf.EncryptionKey = dan.g.Leaf(3).EncryptionKey })}},
		// The path, Sections 12.4 and 12.4.2.
		{"nothing and no path", "commit without a path", forgery{noPath: true}},
		{"removal without a path", "commit without a path", forgery{proposals: remove(2), noPath: true}},
		{"update without a path", "commit without a path", forgery{refs: []ProposalRef{catUpdate}, noPath: true}},
		{"extensions without a path", "commit without a path", forgery{proposals: context(), noPath: true}},
		{"source of the path's leaf", "leaf node source", forgery{leaf: func(l *LeafNode) { l.Source = LeafUpdate }}},
		{"signature of the path's leaf", "signature of a leaf node", forgery{after: func(l *LeafNode) { l.Signature[9] ^= 1 }}},
		{"key of the path's leaf", "encryption key did not change", forgery{leaf: func(l *LeafNode) { l.EncryptionKey = ann.g.Leaf(0).EncryptionKey }}},
		{"key of another's leaf", "encryption key of a path is not new", forgery{leaf: func(l *LeafNode) { l.EncryptionKey = ann.g.Leaf(1).EncryptionKey }}},
		{"another credential", "credential of a member changed", forgery{leaf: func(l *LeafNode) { l.Credential = BasicCredential([]byte("ben")) }}},
		{"committer is a stranger", errStranger.Error(), forgery{leaf: func(l *LeafNode) { l.Credential = BasicCredential([]byte("mallory")) }}},
		{"another's signature key", "signature key is there twice", forgery{signer: dan.signer}},
		{"parent hash", "parent hash of a path", forgery{leaf: func(l *LeafNode) { l.ParentHash = append([]byte{l.ParentHash[0] ^ 1}, l.ParentHash[1:]...) }}},
		{"confirmation tag", "confirmation tag", forgery{tag: true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ann.t = t // the whole room's
			ben.refuses(ann.forge(c.f), c.what)
		})
	}
	ann.t = t
	// The forger can also make a good one, after which a leaf is blank.
	m := ann.forge(forgery{proposals: remove(2)})
	ben.merge(m)
	dan.merge(m)
	ben.refuses(dan.forge(forgery{proposals: remove(2)}), "removal of a blank leaf")
}

// merge processes a commit and merges it.
func (p *person) merge(m *Message) {
	p.t.Helper()
	got, err := p.g.Process(p.env, p.wire(m))
	p.check(err)
	p.check(p.g.Merge(got.Staged))
}

// TestHostileUpdates is commits of updates that a member should not have taken in as
// proposals, and does not.
func TestHostileUpdates(t *testing.T) {
	ann, ben, cat, _ := four(t)
	cases := []struct {
		name, what string
		change     func(l *LeafNode)
		after      func(l *LeafNode)
	}{
		{"source", "leaf node source", func(l *LeafNode) { l.Source = LeafCommit }, nil},
		{"signature", "signature of a leaf node", nil, func(l *LeafNode) { l.Signature[7] ^= 1 }},
		{"same key", "encryption key did not change", func(l *LeafNode) { l.EncryptionKey = cat.g.Leaf(2).EncryptionKey }, nil},
		{"another credential", "credential of a member changed", func(l *LeafNode) { l.Credential = BasicCredential([]byte("ben")) }, nil},
		{"stranger", errStranger.Error(), func(l *LeafNode) { l.Credential = BasicCredential([]byte("mallory")) }, nil},
		{"extension", "extension of a leaf is not in its capabilities", func(l *LeafNode) { l.Extensions = []Extension{{Type: 0x7777}} }, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ann.t = t
			_, key, err := ann.g.p.generateKeyPair(ann.env.Rand)
			ann.check(err)
			leaf, _, err := cat.g.Leaf(2).successor(cat.suite, cat.signer, LeafChange{})
			ann.check(err)
			leaf.EncryptionKey, leaf.Source = key, LeafUpdate
			if c.change != nil {
				c.change(leaf)
			}
			ann.check(leaf.sign(cat.g.p, cat.env.Rand, cat.signer, cat.g.GroupID(), 2))
			if c.after != nil {
				c.after(leaf)
			}
			update := &Proposal{Type: ProposalUpdate, Leaf: leaf}
			a, err := cat.g.messages.sign(cat.env.Rand, WirePublic, &framedContent{Type: ContentProposal, Proposal: update})
			ann.check(err)
			m, err := cat.g.seal(cat.env, a, Framing{Public: true})
			ann.check(err)
			ben.refuses(m, c.what)
			// Had it come in nevertheless, no commit of it would be taken.
			ref := cat.g.p.proposalRef(a)
			ann.check(ann.g.proposals.add(ref, Sender{Type: SenderMember, Leaf: 2}, update))
			ben.check(ben.g.proposals.add(ref, Sender{Type: SenderMember, Leaf: 2}, update))
			ben.refuses(ann.forge(forgery{refs: []ProposalRef{ref}}), c.what)
		})
	}
}

// TestHostileExternalCommits is the second list of RFC 9420, Section 12.2, and
// Section 12.4.3.2.
func TestHostileExternalCommits(t *testing.T) {
	ann, ben, cat, dan := four(t)
	info, err := ann.g.GroupInfo(ann.env, GroupInfoParams{External: true})
	ann.check(err)
	ref := cat.propose(RemoveProposal(3), Framing{Public: true}, ann, ben, dan)
	two, three := LeafIndex(2), LeafIndex(3)
	type forged struct {
		name, what string
		replace    *LeafIndex
		change     func(j *externalJoin)
	}
	byValue := func(p *Proposal) func(j *externalJoin) {
		return func(j *externalJoin) { j.proposals = append(j.proposals, proposalOrRef{Proposal: p}) }
	}
	psk := ann.psk("one")
	for _, c := range []forged{
		{"no external init", "external commit without one external init", nil, func(j *externalJoin) { j.proposals = j.proposals[1:] }},
		{"two external inits", "external commit without one external init", nil, func(j *externalJoin) { j.proposals = append(j.proposals, j.proposals[0]) }},
		{"two removals", "external commit removes two", &two, byValue(RemoveProposal(3))},
		{"removal of nobody", "removal of a blank leaf", nil, byValue(RemoveProposal(9))},
		{"one PSK twice", "one PSK twice", nil, func(j *externalJoin) { byValue(psk)(j); byValue(psk)(j) }},
		{"by reference", "proposal by reference in an external commit", nil, func(j *externalJoin) { j.proposals = append(j.proposals, proposalOrRef{Ref: ref}) }},
		{"adds somebody", "proposal of somebody who may not make it", nil, byValue(ann.addOf(ann.person("eve"), func(*KeyPackage) {}))},
		{"updates somebody", "proposal of somebody who may not make it", nil, byValue(&Proposal{Type: ProposalUpdate, Leaf: ann.g.Leaf(0)})},
		{"changes the context", "proposal of somebody who may not make it", nil, byValue(GroupContextProposal(nil))},
		{"ends the group", "proposal of somebody who may not make it", nil, byValue(ReInitProposal(ReInit{Version: Version}))},
		{"KEM output", "KEM output", nil, func(j *externalJoin) {
			j.proposals[0].Proposal = &Proposal{Type: ProposalExternalInit, KEMOutput: []byte{1}}
		}},
		{"KEM output of another epoch", "confirmation tag", nil, func(j *externalJoin) {
			_, other, err := j.p.generateKeyPair(j.env.Rand)
			ann.check(err)
			out, _, err := j.p.externalInit(other)
			ann.check(err)
			j.proposals[0].Proposal = &Proposal{Type: ProposalExternalInit, KEMOutput: out}
		}},
		{"takes another's place", "credential of a member changed", &three, func(*externalJoin) {}},
		{"stranger", errStranger.Error(), nil, func(j *externalJoin) {
			j.params.Leaf.Credential = BasicCredential([]byte("mallory"))
			j.env.Authenticate = func(Credential, []byte) error { return nil }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ann.t = t
			eve := ann.person("eve")
			m := ann.wire(info)
			j := externalJoin{env: ann.env, p: ann.g.p, info: m.GroupInfo, params: ExternalJoinParams{Leaf: eve.leaf(), Replace: c.replace}}
			ann.check(j.propose(externalKey(t, m.GroupInfo)))
			c.change(&j)
			ann.check(j.place(ann.g.tree))
			_, commit, err := j.commit()
			ann.check(err)
			ben.refuses(commit, c.what)
		})
	}
	ann.t = t
	t.Run("signed by another", func(t *testing.T) {
		ann.t = t
		_, commit, err := JoinExternal(ann.env, ann.wire(info), ExternalJoinParams{Leaf: ann.person("eve").leaf()})
		ann.check(err)
		c := *commit.public
		key, _, err := NewSignatureKey(ann.env.Rand, ann.suite)
		ann.check(err)
		a, err := ann.g.p.signFramed(ann.env.Rand, key, WirePublic, c.Content, ann.g.context.append(nil))
		ann.check(err)
		a.Auth.ConfirmationTag = c.Auth.ConfirmationTag
		ben.refuses(&Message{Wire: WirePublic, public: publicOf(a)}, "signature of a message")
		path := *c.Content.Commit
		path.Path = nil
		content := *c.Content
		content.Commit = &path
		a.Content = &content
		ben.refuses(&Message{Wire: WirePublic, public: publicOf(a)}, "external commit without a path")
	})
	ann.t = t
	// A good one, which takes the place of an older self.
	eve := ann.person("dan")
	g, commit, err := JoinExternal(ann.env, ann.wire(info), ExternalJoinParams{Leaf: eve.leaf(), Replace: &three})
	ann.check(err)
	eve.g = g
	for _, p := range []*person{ann, ben, cat, dan} {
		p.merge(commit)
	}
	if !dan.g.Removed() {
		t.Error("who was replaced is still there")
	}
	ann.agree(ann, ben, cat, eve)
}

func externalKey(t *testing.T, info *GroupInfo) []byte {
	t.Helper()
	data, ok := findExtension(info.Extensions, ExtExternalPub)
	key, err := parse(data, "external key", (*reader).vec)
	if !ok || err != nil {
		t.Fatal("no external key")
	}
	return key
}

// TestHostileProposals is proposals of those who may not make them, or not so.
func TestHostileProposals(t *testing.T) {
	r := newRoom(t, SuiteX25519ChaCha)
	signer, public, err := NewSignatureKey(r.env.Rand, r.suite)
	r.check(err)
	ann, ben, _, _ := four(t, ExternalSendersExtension([]ExternalSender{{public, BasicCredential([]byte("the house"))}}))
	eve := ann.person("eve")
	from := func(s Sender, key Secret, p *Proposal) *Message {
		m, err := proposeOutside(ann.env, ann.g.Context(), s, key, p, nil)
		ann.check(err)
		return m
	}
	house, newcomer := Sender{Type: SenderExternal}, Sender{Type: SenderNewProposal}
	add := ann.addOf(eve, func(*KeyPackage) {})
	ben.refuses(from(Sender{Type: SenderExternal, Index: 1}, signer, RemoveProposal(2)), "sender is unknown to the group")
	ben.refuses(from(house, eve.signer, RemoveProposal(2)), "signature of a message")
	ben.refuses(from(house, signer, &Proposal{Type: ProposalUpdate, Leaf: ann.g.Leaf(0)}), "proposal of somebody who may not make it")
	ben.refuses(from(house, signer, &Proposal{Type: ProposalExternalInit}), "proposal of somebody who may not make it")
	ben.refuses(from(newcomer, eve.signer, RemoveProposal(2)), "proposal of a new member that adds nobody")
	ben.refuses(from(newcomer, signer, add), "signature of a message")
	ben.refuses(from(newcomer, eve.signer, ann.addOf(eve, func(k *KeyPackage) { k.InitKey = k.Leaf.EncryptionKey })), "init key is the encryption key")
	ben.refuses(from(house, signer, GroupContextProposal([]Extension{{ExtRequiredCapabilities, []byte{9}}})), "required capabilities")
	for _, m := range []*Message{from(newcomer, eve.signer, add), from(house, signer, RemoveProposal(2))} {
		_, err := ben.g.Process(ben.env, ben.wire(m))
		ben.check(err)
	}
	if got := len(ben.g.Pending()); got != 2 {
		t.Fatalf("got %d pending proposals, want 2", got)
	}
	for _, sender := range []Sender{house, newcomer} {
		a, err := ann.g.p.signFramed(ann.env.Rand, signer, WirePublic, &framedContent{
			GroupID: ann.g.GroupID(), Epoch: ann.g.Epoch(), Sender: sender, Type: ContentCommit, Commit: &commit{},
		}, nil)
		ann.check(err)
		ben.refuses(&Message{Wire: WirePublic, public: publicOf(a)}, "content that this kind of sender may not send")
	}
}
