package mls

import (
	"errors"
	"testing"
)

// refusedAs checks that an error is of the check of that name.
func (r *room) refusedAs(err error, what string) {
	r.t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.What != what {
		r.t.Errorf("got %v, want it refused: %s", err, what)
	}
}

// TestHostileWelcomes: who lets somebody in signs a wrong tree hash or confirmation tag,
// names a pre-shared key wrongly, or a predecessor where there cannot be one.
func TestHostileWelcomes(t *testing.T) {
	ann, ben, _, _ := four(t)
	eve := ann.person("eve")
	k, secrets := eve.keyPackage()
	s, err := ann.g.Stage(ann.env, CommitParams{Proposals: []*Proposal{AddProposal(k)}})
	ann.check(err)
	p := ann.g.p
	good := ann.wire(s.Welcome).Welcome
	try := func(change func(*GroupInfo, *groupSecrets)) error {
		gs, err := good.open(p, k, secrets)
		ann.check(err)
		info, err := good.openInfo(p, own(gs.Joiner), p.zero())
		ann.check(err)
		change(info, gs)
		info.Signature, err = p.signWithLabel(ann.env.Rand, ann.signer, labelGroupInfo, info.tbs(nil))
		ann.check(err)
		key, nonce := p.welcomeKey(own(gs.Joiner), p.zero())
		w := *good
		w.groupInfo = p.seal(key, nonce, nil, info.append(nil))
		c, err := p.encryptWithLabel(k.InitKey, labelWelcome, w.groupInfo, gs.append(nil))
		ann.check(err)
		w.secrets = []encryptedSecrets{{NewMember: k.ref(p), Secrets: c}}
		_, err = Join(eve.env, &Message{Wire: WireWelcome, Welcome: &w}, k, secrets, JoinParams{})
		return err
	}
	ann.check(try(func(*GroupInfo, *groupSecrets) {}))
	ann.refusedAs(try(func(i *GroupInfo, _ *groupSecrets) { i.Context.TreeHash = make([]byte, p.nh) }), "tree hash")
	ann.refusedAs(try(func(i *GroupInfo, _ *groupSecrets) { i.ConfirmationTag = make([]byte, p.nh) }), "confirmation tag")
	ann.psks["one"] = NewSecret([]byte("a key"))
	ann.refusedAs(try(func(_ *GroupInfo, gs *groupSecrets) {
		gs.PSKs = []PreSharedKeyID{{Type: PSKExternal, ID: []byte("one"), Nonce: make([]byte, p.nh-1)}}
	}), "nonce of a pre-shared key")
	gs := &groupSecrets{PSKs: []PreSharedKeyID{{Type: PSKResumption, Usage: UsageBranch, GroupID: ann.g.GroupID()}}}
	info := &GroupInfo{Context: ann.g.Context()}
	info.Context.Epoch = 2
	ann.refusedAs(gs.checkSuccession(info, JoinParams{Predecessor: ben.g}), "epoch of a successor's Welcome")
	// And a key package whose own signature is none, with a leaf that is good.
	add := ann.addOf(ann.person("dora"), func(*KeyPackage) {})
	add.KeyPackage.Signature[3] ^= 1
	ben.refuses(ann.forge(forgery{proposals: []*Proposal{add}}), "signature of a key package")
}
