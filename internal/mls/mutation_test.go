package mls

import (
	"errors"
	"testing"
)

// kindsOf are the errors that Process and Join may give for what others sent.
var kindsOf = []error{
	ErrWrongGroup, ErrPastEpoch, ErrFutureEpoch, ErrDecrypt, ErrUsed, ErrTooFar, ErrOwn, ErrMalformed, ErrUnsupported,
	ErrInvalid, ErrMissingProposal, ErrMissingPSK, ErrPath, ErrTooMany, ErrNotWelcome, errStranger,
}

func hasKind(err error) bool {
	for _, k := range kindsOf {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// mutants calls f with every way in which a message is one bit or one end away from b.
func mutants(b []byte, f func(m []byte)) {
	for i := range b {
		for _, bit := range []byte{0x01, 0x80} {
			m := append([]byte(nil), b...)
			m[i] ^= bit
			f(m)
		}
		f(append([]byte(nil), b[:i]...))
	}
	f(append(append([]byte(nil), b...), 0))
}

// TestEveryByteCounts changes every byte of every kind of message on its way: nothing of
// it is taken, the error is one of those that are promised, and the group is what it was.
func TestEveryByteCounts(t *testing.T) {
	ann, ben, cat, dan := four(t)
	refused := func(name string, b []byte) {
		t.Helper()
		before := ben.g.Append(nil)
		n := 0
		mutants(b, func(b []byte) {
			m, err := ParseMessage(b)
			if err == nil {
				n++
				_, err = ben.g.Process(ben.env, m)
			}
			switch {
			case err == nil:
				t.Errorf("%s: a mutant was taken: %x", name, b)
			case m != nil && m.Wire != WirePublic && m.Wire != WirePrivate: // became another kind
			case !hasKind(err):
				t.Errorf("%s: got %v, which is not promised", name, err)
			}
		})
		if n == 0 || !equal(before, ben.g.Append(nil)) {
			t.Errorf("%s: of %d mutants some have changed the group", name, n)
		}
	}
	p, _, err := ann.g.Propose(ann.env, ann.addOf(ann.person("eve"), func(*KeyPackage) {}), Framing{Public: true})
	ann.check(err)
	refused("public proposal", p.Append(nil))
	p, _, err = ann.g.Propose(ann.env, RemoveProposal(2), Framing{AuthenticatedData: []byte("aad")})
	ann.check(err)
	refused("private proposal", p.Append(nil))
	refused("application data", ann.say("hello").Append(nil))
	for _, public := range []bool{true, false} {
		s, err := cat.g.Stage(cat.env, CommitParams{Proposals: []*Proposal{RemoveProposal(3)}, Framing: Framing{Public: public, Padding: 3}})
		cat.check(err)
		refused("commit", s.Message.Append(nil))
		s.Drop()
	}
	info, err := ann.g.GroupInfo(ann.env, GroupInfoParams{External: true})
	ann.check(err)
	g, external, err := JoinExternal(ann.env, ann.wire(info), ExternalJoinParams{Leaf: ann.person("eve").leaf()})
	ann.check(err)
	g.Drop()
	refused("external commit", external.Append(nil))
	dan.rest()

	// A Welcome for one, and a GroupInfo for who joins from outside. What is refused has
	// not touched the secrets of the key package.
	eve := ann.person("eve")
	k, secrets := eve.keyPackage()
	s, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}, ForcePath: true})
	ann.check(err)
	before := secrets.Append(nil)
	mutants(s.Welcome.Append(nil), func(b []byte) {
		m, err := ParseMessage(b)
		if err == nil && m.Wire == WireWelcome {
			_, err = Join(eve.env, m, k, secrets, JoinParams{})
		}
		if err == nil && m.Wire == WireWelcome || err != nil && !hasKind(err) {
			t.Errorf("Welcome: got %v for %x", err, b[:10])
		}
	})
	if !equal(before, secrets.Append(nil)) {
		t.Error("Welcome: a mutant has changed the secrets of the key package")
	}
	eve.join(s.Welcome, k, secrets)
	mutants(info.Append(nil), func(b []byte) {
		m, err := ParseMessage(b)
		if err != nil || m.Wire != WireGroupInfo {
			return
		}
		if _, _, err := JoinExternal(ann.env, m, ExternalJoinParams{Leaf: eve.leaf()}); err == nil || !hasKind(err) && !errors.Is(err, ErrArgument) {
			t.Errorf("GroupInfo: got %v", err)
		}
	})
}

// TestEveryByteOfAnInsider changes every byte of a commit and of proposals before a member
// signs them: outer checks hold, so the inner ones have to. A commit whose tag is that of
// another is never taken; a proposal is, or has changed nothing.
func TestEveryByteOfAnInsider(t *testing.T) {
	ann, ben, cat, dan := four(t)
	eve := ann.person("eve")
	send := func(c *framedContent, tag []byte) *Message {
		a, err := ann.g.messages.sign(ann.env.Rand, WirePublic, c)
		ann.check(err)
		a.Auth.ConfirmationTag = tag
		m, err := ann.g.messages.sealPublic(a)
		ann.check(err)
		return &Message{Wire: WirePublic, public: m}
	}
	s, err := ann.g.Stage(ann.env, CommitParams{
		Proposals: []*Proposal{ann.addOf(eve, func(*KeyPackage) {}), RemoveProposal(3), GroupContextProposal(nil)}, Framing: Framing{Public: true},
	})
	ann.check(err)
	good := s.Message.public
	for _, p := range []*person{ben, cat, dan} {
		before := p.g.Append(nil)
		taken, n := 0, 0
		mutants(good.Content.Commit.append(nil), func(b []byte) {
			c, err := parse(b, "commit", readCommit)
			if err != nil {
				return
			}
			n++
			got, err := p.g.Process(p.env, send(&framedContent{Type: ContentCommit, Commit: c}, good.Auth.ConfirmationTag))
			if err == nil {
				taken++
				if !got.Staged.Next().Removed() {
					t.Errorf("%s: a mutant was taken: %x", p.name, b)
				}
				got.Staged.Drop()
			} else if !hasKind(err) {
				t.Errorf("%s: got %v, which is not promised", p.name, err)
			}
		})
		if n < 500 || !equal(before, p.g.Append(nil)) {
			t.Errorf("%s: of %d mutants some have changed the group", p.name, n)
		}
		t.Logf("%s: %d of %d mutants were taken", p.name, taken, n)
	}
	for _, p := range []*Proposal{ann.addOf(eve, func(*KeyPackage) {}), RemoveProposal(2), ann.psk("one"), GroupContextProposal(nil), ReInitProposal(ReInit{GroupID: []byte("n"), Version: Version, Suite: 3})} {
		mutants(p.Append(nil), func(b []byte) {
			q, err := ParseProposal(b)
			if err != nil {
				return
			}
			g := ben.g.Clone()
			defer g.Drop()
			before := g.Append(nil)
			_, err = g.Process(ben.env, send(&framedContent{Type: ContentProposal, Proposal: q}, nil))
			switch same := equal(before, g.Append(nil)); {
			case err == nil && same, err == nil && len(g.Pending()) != 1:
				t.Errorf("proposal %d: taken, and not pending: %x", p.Type, b)
			case err != nil && !same:
				t.Errorf("proposal %d: refused, and the group changed: %x", p.Type, b)
			case err != nil && !hasKind(err):
				t.Errorf("proposal %d: got %v, which is not promised", p.Type, err)
			}
		})
	}
}

// TestSenderIsSwapped lets a member, who knows what sender data are encrypted with, name
// another sender, a place that nobody has, or a generation of its choice.
func TestSenderIsSwapped(t *testing.T) {
	ann, ben, cat, _ := four(t)
	cat.commit(CommitParams{Proposals: []*Proposal{RemoveProposal(3)}}, ann, ben)
	m := ann.say("hello")
	next := ben.generation(m) // nothing below it is left
	before := ben.g.Append(nil)
	for _, c := range []struct {
		s    senderData
		want error
	}{
		{senderData{Leaf: 2, Generation: next + 5}, ErrDecrypt},
		{senderData{Generation: next - 1}, ErrUsed},
		{senderData{Leaf: 1}, ErrOwn},
		{senderData{Leaf: 3}, ErrInvalid},
		{senderData{Leaf: 1 << 31}, ErrInvalid},
		{senderData{Leaf: 1<<32 - 1}, ErrInvalid},
		{senderData{Generation: next + 7}, ErrDecrypt},
		{senderData{Generation: next + maxForward}, ErrDecrypt},
		{senderData{Generation: next + maxForward + 1}, ErrTooFar},
		{senderData{Generation: 1<<32 - 2}, ErrTooFar},
		{senderData{Generation: 1<<32 - 1}, ErrInvalid},
		{senderData{Generation: next, ReuseGuard: [4]byte{9}}, ErrDecrypt},
	} {
		pm := *m.private
		pm.sealSender(ann.g.p, ann.g.messages.e.senderData, c.s)
		_, err := ben.g.Process(ben.env, &Message{Wire: WirePrivate, private: &pm})
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.s, err, c.want)
		}
		if !equal(before, ben.g.Append(nil)) {
			t.Errorf("%+v: the group changed", c.s)
		}
	}
	got, err := ben.g.Process(ben.env, m)
	if err != nil || string(got.Application) != "hello" {
		t.Errorf("got %v, %v", got, err)
	}
}
