package mls

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// testRand is randomness that is the same in every run.
func testRand(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

// testEpoch is an epoch without the group around it: the messages of every
// member, by leaf. Leaf blank stays empty, if there are more than two members.
type testEpoch struct {
	suite   Suite
	rand    *rand.ChaCha8
	members []*messages
	signers []Secret
	leaves  pastLeaves
	context *GroupContext
	secret  Secret // epoch_secret
}

const testBlank = 2

func newTestEpoch(t testing.TB, s Suite, n int, seed byte) *testEpoch {
	t.Helper()
	e := &testEpoch{suite: s, rand: testRand(seed), leaves: pastLeaves{n: 1}}
	for e.leaves.n < uint32(n) {
		e.leaves.n *= 2
	}
	for i := range n {
		private, public, err := NewSignatureKey(e.rand, s)
		if err != nil {
			t.Fatal(err)
		}
		l := &LeafNode{SignatureKey: public, Credential: BasicCredential([]byte{byte(i >> 8), byte(i)})}
		if i == testBlank && n > 3 {
			l = nil
		}
		e.leaves.list, e.signers = append(e.leaves.list, l), append(e.signers, private)
	}
	hash := make([]byte, s.params().nh)
	e.context = &GroupContext{Version: Version, Suite: s, GroupID: []byte("group"), Epoch: 7, TreeHash: hash, ConfirmedTranscriptHash: hash}
	secret := make([]byte, s.params().nh)
	_, _ = e.rand.Read(secret)
	e.secret = own(secret)
	for i := range n {
		e.members = append(e.members, e.enter(LeafIndex(i), nil))
	}
	return e
}

func (e *testEpoch) view(i LeafIndex) epochView {
	return epochView{e.suite.params(), e.context, e.leaves, i, e.signers[i]}
}

// enter comes to the epoch as member i.
func (e *testEpoch) enter(i LeafIndex, l *Lineage) *messages {
	return newMessages(e.view(i), e.suite.params().epochFrom(e.secret), l)
}

// say seals application data.
func (e *testEpoch) say(t testing.TB, m *messages, text string, padding int) *privateMessage {
	t.Helper()
	r, err := m.reserve(ContentApplication)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := r.Seal(Env{Rand: e.rand}, []byte(text), Framing{Padding: padding, AuthenticatedData: []byte("aad")})
	if err != nil {
		t.Fatal(err)
	}
	return msg.private
}

// propose makes a removal, signed for a wire format.
func (e *testEpoch) propose(t testing.TB, m *messages, wire WireFormat) *authenticatedContent {
	t.Helper()
	a, err := m.sign(e.rand, wire, &framedContent{Type: ContentProposal, Proposal: &Proposal{Type: ProposalRemove, Removed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// raw encrypts any plaintext, as any sender, by the rules of a hostile member who
// follows none of them: change sees the parts before they are sealed.
func (e *testEpoch) raw(t testing.TB, m *messages, sender LeafIndex, a *authenticatedContent, change func(pm *privateMessage, plain *[]byte, s *senderData)) *privateMessage {
	t.Helper()
	p := e.suite.params()
	s := senderData{Leaf: sender, ReuseGuard: [4]byte{1, 2, 3, 4}}
	pm := &privateMessage{GroupID: a.Content.GroupID, Epoch: a.Content.Epoch, Type: a.Content.Type, AuthenticatedData: a.Content.AuthenticatedData}
	plain := a.Auth.append(a.Content.appendContent(nil), a.Content.Type)
	if change != nil {
		change(pm, &plain, &s)
	}
	at := s.Leaf
	if uint32(at) >= e.leaves.n {
		at = 0 // any key will do
	}
	tree := newSecretTree(p, p.epochFrom(e.secret).encryption, e.leaves.n)
	k, err := tree.peek(at, kindOf(pm.Type), s.Generation)
	if err != nil {
		t.Fatal(err)
	}
	k.guard(s.ReuseGuard)
	pm.Ciphertext = p.seal(k.key, k.nonce[:], pm.contentAAD(), plain)
	pm.sealSender(p, m.e.senderData, s)
	return pm
}

// open opens and consumes.
func (m *messages) open(pm *privateMessage) ([]byte, error) {
	o, err := m.openPrivate(pm)
	if err != nil {
		return nil, err
	}
	o.consume()
	return o.content.Content.Application, nil
}

func state(m *messages) []byte { return m.append(nil) }

func TestMessagesGoBothWays(t *testing.T) {
	for _, s := range Suites() {
		e := newTestEpoch(t, s, 5, 1)
		for round := range 3 {
			for i, from := range e.members {
				if i == testBlank {
					continue
				}
				text := string(rune('a'+i)) + string(rune('0'+round))
				pm := e.say(t, from, text, 10*round)
				for j, to := range e.members {
					got, err := to.open(pm)
					switch {
					case i == j:
						if !errors.Is(err, ErrOwn) {
							t.Errorf("own message: got %v, want ErrOwn", err)
						}
					case err != nil || string(got) != text:
						t.Fatalf("got %q, %v, want %q", got, err, text)
					default:
						before := state(to)
						if _, err := to.open(pm); !errors.Is(err, ErrUsed) {
							t.Errorf("again: got %v, want ErrUsed", err)
						}
						if !bytes.Equal(before, state(to)) {
							t.Error("a duplicate changed the state")
						}
					}
				}
			}
		}
	}
}

// TestPrivateMessageRefused has every way in which a PrivateMessage can be wrong that
// RFC 9420 names. All but the last need a member who breaks the rules.
func TestPrivateMessageRefused(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 5, 2)
	from, to := e.members[1], e.members[0]
	good := func(wire WireFormat) *authenticatedContent { return e.propose(t, from, wire) }
	type part = func(pm *privateMessage, plain *[]byte, s *senderData)
	cases := []struct {
		name   string
		a      *authenticatedContent
		change part
		after  func(pm *privateMessage)
		want   error
	}{
		{name: "good", a: good(WirePrivate)},
		{name: "padding", a: good(WirePrivate), change: func(_ *privateMessage, plain *[]byte, _ *senderData) { *plain = append(*plain, 0, 0, 0) }},
		{name: "padding not zero", a: good(WirePrivate), want: ErrInvalid, change: func(_ *privateMessage, plain *[]byte, _ *senderData) { *plain = append(*plain, 0, 0, 1) }},
		{name: "padding not zero at first", a: good(WirePrivate), want: ErrInvalid, change: func(_ *privateMessage, plain *[]byte, _ *senderData) { *plain = append(*plain, 1, 0, 0) }},
		{name: "cut", a: good(WirePrivate), want: ErrMalformed, change: func(_ *privateMessage, plain *[]byte, _ *senderData) { *plain = (*plain)[:5] }},
		{name: "signed for a public message", a: good(WirePublic), want: ErrInvalid},
		{name: "as somebody else", a: good(WirePrivate), want: ErrInvalid, change: func(_ *privateMessage, _ *[]byte, s *senderData) { s.Leaf = 3 }},
		{name: "as the receiver", a: good(WirePrivate), want: ErrOwn, change: func(_ *privateMessage, _ *[]byte, s *senderData) { s.Leaf = 0 }},
		{name: "as a blank leaf", a: good(WirePrivate), want: ErrInvalid, change: func(_ *privateMessage, _ *[]byte, s *senderData) { s.Leaf = testBlank }},
		{name: "as a leaf past the last member", a: good(WirePrivate), want: ErrInvalid, change: func(_ *privateMessage, _ *[]byte, s *senderData) { s.Leaf = 6 }},
		{name: "as a leaf outside of the tree", a: good(WirePrivate), want: ErrInvalid, change: func(_ *privateMessage, _ *[]byte, s *senderData) { s.Leaf = 1 << 31 }},
		{name: "other content type inside", a: good(WirePrivate), want: ErrInvalid, change: func(pm *privateMessage, _ *[]byte, _ *senderData) { pm.Type = ContentApplication }},
		{name: "other content type outside", a: good(WirePrivate), want: ErrDecrypt, after: func(pm *privateMessage) { pm.Type = ContentCommit }},
		{name: "other authenticated data, sealed", a: good(WirePrivate), want: ErrInvalid, change: func(pm *privateMessage, _ *[]byte, _ *senderData) { pm.AuthenticatedData = []byte("x") }},
		{name: "other authenticated data", a: good(WirePrivate), want: ErrDecrypt, after: func(pm *privateMessage) { pm.AuthenticatedData = []byte("x") }},
		{name: "other ciphertext", a: good(WirePrivate), want: ErrDecrypt, after: func(pm *privateMessage) { pm.Ciphertext[len(pm.Ciphertext)-1] ^= 1 }},
		{name: "no ciphertext", a: good(WirePrivate), want: ErrDecrypt, after: func(pm *privateMessage) { pm.Ciphertext = nil }},
		{name: "other sender data", a: good(WirePrivate), want: ErrDecrypt, after: func(pm *privateMessage) { pm.EncryptedSenderData[0] ^= 1 }},
		{name: "other group", a: good(WirePrivate), want: ErrWrongGroup, after: func(pm *privateMessage) { pm.GroupID = []byte("other") }},
		{name: "past epoch", a: good(WirePrivate), want: ErrPastEpoch, after: func(pm *privateMessage) { pm.Epoch-- }},
		{name: "future epoch", a: good(WirePrivate), want: ErrFutureEpoch, after: func(pm *privateMessage) { pm.Epoch++ }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pm := e.raw(t, from, 1, c.a, c.change)
			if c.after != nil {
				c.after(pm)
			}
			before := state(to)
			_, err := to.openPrivate(pm)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			// Which check refused it: a sender that is none is not looked up further.
			var e2 *Error
			if absent := strings.Contains(c.name, "leaf"); errors.As(err, &e2) && absent != (e2.Section == "6.3.2") {
				t.Errorf("got %v, by another check than expected", err)
			}
			if !bytes.Equal(state(to), before) {
				t.Error("the state changed")
			}
			// The true message of that generation still opens.
			o, err := to.openPrivate(e.raw(t, from, 1, good(WirePrivate), nil))
			if err != nil || o.content.Content.Proposal.Removed != 1 {
				t.Errorf("the true message: %v", err)
			}
		})
	}
}

// TestReuseGuard shows that the guard goes into the nonce: with the same key, equal
// contents become other ciphertexts, and one opens only with its own guard.
func TestReuseGuard(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519AES128, 2, 3)
	a := e.propose(t, e.members[1], WirePrivate)
	one := e.raw(t, e.members[1], 1, a, nil)
	two := e.raw(t, e.members[1], 1, a, func(_ *privateMessage, _ *[]byte, s *senderData) { s.ReuseGuard = [4]byte{1, 2, 3, 5} })
	if bytes.Equal(one.Ciphertext, two.Ciphertext) {
		t.Error("two guards gave one ciphertext")
	}
	for _, pm := range []*privateMessage{one, two} {
		if _, err := e.members[0].openPrivate(pm); err != nil {
			t.Error(err)
		}
	}
	// The guard is random: no two messages have the same.
	seen := map[[4]byte]bool{}
	for range 20 {
		pm := e.say(t, e.members[1], "", 0)
		s, err := pm.openSender(e.suite.params(), e.members[0].e.senderData)
		if err != nil || seen[s.ReuseGuard] {
			t.Fatalf("guard %x came twice, or %v", s.ReuseGuard, err)
		}
		seen[s.ReuseGuard] = true
	}
}

func TestPublicMessageRefused(t *testing.T) {
	e := newTestEpoch(t, SuiteP256AES128, 5, 4)
	from, to, p := e.members[1], e.members[0], SuiteP256AES128.params()
	outside, outsideKey, err := NewSignatureKey(e.rand, SuiteP256AES128)
	if err != nil {
		t.Fatal(err)
	}
	remove := &Proposal{Type: ProposalRemove, Removed: 1}
	// tagged signs as anybody and sets the membership tag, which every member can.
	tagged := func(c *framedContent, signer Secret, wire WireFormat) *publicMessage {
		c.GroupID, c.Epoch = from.e.groupID, from.e.epoch
		signature, err := p.signWithLabel(e.rand, signer, labelFramedContent, framedTBS(wire, c, from.e.context))
		if err != nil {
			t.Fatal(err)
		}
		a := &authenticatedContent{Wire: WirePublic, Content: c, Auth: authData{Signature: signature}}
		if c.Type == ContentCommit {
			a.Auth.ConfirmationTag = []byte("tag")
		}
		pm := publicOf(a)
		if c.Sender.Type == SenderMember {
			pm.MembershipTag = p.membershipTag(from.e.membership, a, from.e.context)
		}
		return pm
	}
	member := func(i LeafIndex) Sender { return Sender{Type: SenderMember, Leaf: i} }
	good := func() *publicMessage {
		return tagged(&framedContent{Sender: member(1), Type: ContentProposal, Proposal: remove}, e.signers[1], WirePublic)
	}
	other := func(change func(pm *publicMessage)) *publicMessage {
		pm := good()
		change(pm)
		return pm
	}
	from2 := func(typ SenderType, content ContentType) *publicMessage {
		c := &framedContent{Sender: Sender{Type: typ}, Type: content, Proposal: remove, Commit: &commit{}}
		return tagged(c, outside, WirePublic)
	}
	cases := []struct {
		name string
		pm   *publicMessage
		want error
	}{
		{"good", good(), nil},
		{"application data", tagged(&framedContent{Sender: member(1), Type: ContentApplication, Application: []byte("x")}, e.signers[1], WirePublic), ErrInvalid},
		{"no membership tag", other(func(pm *publicMessage) { pm.MembershipTag = nil }), ErrInvalid},
		{"wrong membership tag", other(func(pm *publicMessage) { pm.MembershipTag[31] ^= 1 }), ErrInvalid},
		{"cut membership tag", other(func(pm *publicMessage) { pm.MembershipTag = pm.MembershipTag[:31] }), ErrInvalid},
		{"signed for a private message", tagged(&framedContent{Sender: member(1), Type: ContentProposal, Proposal: remove}, e.signers[1], WirePrivate), ErrInvalid},
		{"signed by another member", tagged(&framedContent{Sender: member(1), Type: ContentProposal, Proposal: remove}, e.signers[3], WirePublic), ErrInvalid},
		{"own", tagged(&framedContent{Sender: member(0), Type: ContentProposal, Proposal: remove}, e.signers[0], WirePublic), ErrOwn},
		{"own, but false", tagged(&framedContent{Sender: member(0), Type: ContentProposal, Proposal: remove}, e.signers[1], WirePublic), ErrInvalid},
		{"blank leaf", tagged(&framedContent{Sender: member(testBlank), Type: ContentProposal, Proposal: remove}, e.signers[testBlank], WirePublic), ErrInvalid},
		{"leaf outside of the tree", tagged(&framedContent{Sender: member(99), Type: ContentProposal, Proposal: remove}, e.signers[1], WirePublic), ErrInvalid},
		{"external proposal", from2(SenderExternal, ContentProposal), nil},
		{"external commit by an external sender", from2(SenderExternal, ContentCommit), ErrInvalid},
		{"proposal of somebody new", from2(SenderNewProposal, ContentProposal), nil},
		{"commit of somebody who proposes", from2(SenderNewProposal, ContentCommit), ErrInvalid},
		{"commit of somebody new", from2(SenderNewCommit, ContentCommit), nil},
		{"proposal of somebody who commits", from2(SenderNewCommit, ContentProposal), ErrInvalid},
		{"other group", other(func(pm *publicMessage) { pm.Content.GroupID = nil }), ErrWrongGroup},
		{"past epoch", other(func(pm *publicMessage) { pm.Content.Epoch-- }), ErrPastEpoch},
		{"future epoch", other(func(pm *publicMessage) { pm.Content.Epoch++ }), ErrFutureEpoch},
	}
	for _, c := range cases {
		before := state(to)
		a, err := to.openPublic(c.pm, func(Sender) ([]byte, error) { return outsideKey, nil })
		if !errors.Is(err, c.want) || (a == nil) != (c.want != nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if c.want == nil && c.pm.Content.Sender.Type != SenderMember {
			if _, err := to.openPublic(c.pm, nil); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s, without keys: got %v, want ErrInvalid", c.name, err)
			}
		}
		if !bytes.Equal(before, state(to)) {
			t.Errorf("%s: the state changed", c.name)
		}
	}
	// The same bytes come back from the wire.
	pm, err := from.sealPublic(e.propose(t, from, WirePublic))
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseMessage((&Message{Wire: WirePublic, public: pm}).Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.openPublic(m.public, nil); err != nil {
		t.Error(err)
	}
	if _, err := from.sealPublic(e.propose(t, from, WirePrivate)); !errors.Is(err, ErrArgument) {
		t.Errorf("sealing what was signed for private: got %v, want ErrArgument", err)
	}
}

func TestReservationRefuses(t *testing.T) {
	e := newTestEpoch(t, SuiteX25519ChaCha, 2, 5)
	m := e.members[1]
	reserve := func(typ ContentType) *Reservation {
		r, err := m.reserve(typ)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	env := Env{Rand: e.rand}
	r := reserve(ContentApplication)
	if _, err := r.Seal(env, []byte("x"), Framing{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seal(env, []byte("x"), Framing{}); !errors.Is(err, ErrArgument) {
		t.Errorf("twice: got %v, want ErrArgument", err)
	}
	a := e.propose(t, m, WirePrivate)
	r = reserve(ContentProposal)
	if _, err := r.seal(e.rand, a, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := r.seal(e.rand, a, 0); !errors.Is(err, ErrArgument) {
		t.Errorf("twice: got %v, want ErrArgument", err)
	}
	if _, err := reserve(ContentApplication).Seal(env, nil, Framing{Public: true}); !errors.Is(err, ErrArgument) {
		t.Errorf("public: got %v, want ErrArgument", err)
	}
	if _, err := reserve(ContentCommit).Seal(env, nil, Framing{}); !errors.Is(err, ErrArgument) {
		t.Errorf("application data by the handshake ratchet: got %v, want ErrArgument", err)
	}
	if _, err := reserve(ContentApplication).Seal(env, nil, Framing{Padding: -1}); !errors.Is(err, ErrArgument) {
		t.Errorf("negative padding: got %v, want ErrArgument", err)
	}
	for name, change := range map[string]func(a *authenticatedContent){
		"other wire format": func(a *authenticatedContent) { a.Wire = WirePublic },
		"other sender":      func(a *authenticatedContent) { a.Content.Sender.Leaf = 0 },
		"other group":       func(a *authenticatedContent) { a.Content.GroupID = nil },
		"other epoch":       func(a *authenticatedContent) { a.Content.Epoch++ },
		"other ratchet":     func(a *authenticatedContent) { a.Content.Type = ContentApplication },
	} {
		a := e.propose(t, m, WirePrivate)
		change(a)
		if _, err := reserve(ContentProposal).seal(e.rand, a, 0); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v, want ErrArgument", name, err)
		}
	}
	// A reservation outlives its group, and its keys do not outlive it.
	r = reserve(ContentApplication)
	key := r.key.key.Bytes()
	m.drop()
	msg, err := r.Seal(env, []byte("late"), Framing{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.members[0].open(msg.private); err != nil || string(got) != "late" {
		t.Errorf("got %q, %v, want %q", got, err, "late")
	}
	if !bytes.Equal(key, make([]byte, len(key))) || m.e.signer.Valid() || m.e.senderData.Valid() {
		t.Error("secrets outlive the last holder")
	}
}
