package mls

import (
	"errors"
	"testing"
)

// TestOutside lets who is no member propose, and members take it or not.
func TestOutside(t *testing.T) {
	s := SuiteX25519AES128
	w, members := family(t, s, 3)
	signer, public, err := NewSignatureKey(w.env.Rand, s)
	w.must(err)
	other := newSigner(t, s)
	senders := ExternalSendersExtension([]ExternalSender{{SignatureKey: public, Credential: BasicCredential([]byte("service"))}})
	w.commit(members[0], CommitParams{Proposals: []*Proposal{GroupContextProposal([]Extension{senders})}})
	w.agree()
	context := members[0].g.Context()

	j := w.joiner()
	update := &Proposal{Type: ProposalUpdate, Leaf: j.pkg.Leaf}
	if _, err := ProposeExternal(w.env, context, 0, signer, update, nil); !errors.Is(err, ErrArgument) {
		t.Errorf("an update from outside: got %v, want %v", err, ErrArgument)
	}
	if _, err := ProposeExternal(w.env, context, 1, signer, RemoveProposal(2), nil); !errors.Is(err, ErrArgument) {
		t.Errorf("a sender that there is not: got %v, want %v", err, ErrArgument)
	}
	if _, err := ProposeExternal(w.env, context, 0, other, RemoveProposal(2), nil); !errors.Is(err, ErrArgument) {
		t.Errorf("another's place: got %v, want %v", err, ErrArgument)
	}
	remove, err := ProposeExternal(w.env, context, 0, signer, RemoveProposal(2), []byte("why"))
	w.must(err)
	self, err := ProposeSelf(w.env, context, j.pkg, j.s.signer, nil)
	w.must(err)

	// What a hostile one signs by hand is refused by who gets it.
	by := func(from Sender, key Secret, p *Proposal) *Message {
		m, err := proposeOutside(w.env, context, from, key, p, nil)
		w.must(err)
		return m
	}
	external := Sender{Type: SenderExternal}
	for name, m := range map[string]*Message{
		"a forged signature":                by(external, other, RemoveProposal(2)),
		"a sender that there is not":        by(Sender{Type: SenderExternal, Index: 1}, signer, RemoveProposal(2)),
		"an update from outside":            by(external, signer, update),
		"an external init":                  by(external, signer, &Proposal{Type: ProposalExternalInit, KEMOutput: []byte{1}}),
		"a newcomer who removes":            by(Sender{Type: SenderNewProposal}, j.s.signer, RemoveProposal(2)),
		"a newcomer with somebody's leaf":   by(Sender{Type: SenderNewProposal}, other, AddProposal(j.pkg)),
		"a proposal by a joining committer": by(Sender{Type: SenderNewCommit}, j.s.signer, AddProposal(j.pkg)),
	} {
		before := members[0].g.Append(nil)
		if _, err := members[0].g.Process(w.env, w.parse(m.Append(nil))); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want %v", name, err, ErrInvalid)
		}
		same(t, name+": state", members[0].g.Append(nil), before)
	}

	for _, m := range []*Message{remove, self} {
		for _, s := range members {
			got, err := s.g.Process(w.env, w.parse(m.Append(nil)))
			w.must(err)
			if got.Sender.Type == SenderMember {
				t.Errorf("got sender %v", got.Sender)
			}
		}
	}
	staged := w.commit(members[0], CommitParams{AllPending: true})
	if len(staged.Added) != 1 || len(staged.Removed) != 1 || !members[2].g.Removed() {
		t.Fatalf("got %d added, %d removed", len(staged.Added), len(staged.Removed))
	}
	j.join(staged.Welcome, nil)
	w.agree()
}

// TestJoinChecksExternalSenders joins a group whose context names an external sender
// that the newcomer does not know (RFC 9420, Section 5.3.1).
func TestJoinChecksExternalSenders(t *testing.T) {
	r := newRoom(t, SuiteX25519ChaCha)
	ann, ben := r.person("ann"), r.person("ben")
	_, public, err := NewSignatureKey(r.env.Rand, r.suite)
	r.check(err)
	strict := r.env
	r.env.Authenticate = func(Credential, []byte) error { return nil }
	ann.create(ExternalSendersExtension([]ExternalSender{{SignatureKey: public, Credential: BasicCredential([]byte("mallory"))}}))
	k, secrets := ben.keyPackage()
	staged, err := ann.g.Stage(r.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}})
	r.check(err)
	_, err = Join(strict, staged.Welcome, k, secrets, JoinParams{})
	r.refused(err, errStranger)
	_, err = Join(r.env, staged.Welcome, k, secrets, JoinParams{})
	r.check(err)
	info, err := ann.g.GroupInfo(r.env, GroupInfoParams{External: true})
	r.check(err)
	_, _, err = JoinExternal(strict, info, ExternalJoinParams{Leaf: ben.leaf()})
	r.refused(err, errStranger)
}
