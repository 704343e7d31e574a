package mls

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"
)

func vectorSecretTree(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite      Suite `json:"cipher_suite"`
		SenderData struct {
			Secret     hexBytes `json:"sender_data_secret"`
			Ciphertext hexBytes
			Key, Nonce hexBytes
		} `json:"sender_data"`
		Encryption hexBytes `json:"encryption_secret"`
		Leaves     [][]struct {
			Generation       uint32
			HandshakeKey     hexBytes `json:"handshake_key"`
			HandshakeNonce   hexBytes `json:"handshake_nonce"`
			ApplicationKey   hexBytes `json:"application_key"`
			ApplicationNonce hexBytes `json:"application_nonce"`
		}
	}
	decode(t, raw, &v)
	p := v.Suite.params()
	k := p.senderDataKey(own(v.SenderData.Secret), v.SenderData.Ciphertext)
	same(t, "sender_data_key", k.key.Bytes(), v.SenderData.Key)
	same(t, "sender_data_nonce", k.nonce[:], v.SenderData.Nonce)

	width := uint32(len(v.Leaves))
	fresh := func() secretTree { return newSecretTree(p, NewSecret(v.Encryption), width) }
	walk, whole := fresh(), fresh()
	for i, generations := range v.Leaves {
		for _, g := range generations {
			i := LeafIndex(i)
			want := [ratchetKinds][2][]byte{{g.HandshakeKey, g.HandshakeNonce}, {g.ApplicationKey, g.ApplicationNonce}}
			for kind := range ratchetKinds {
				check := func(what string, k messageKey, err error) {
					t.Helper()
					if err != nil {
						t.Fatal(err)
					}
					same(t, what+" key", k.key.Bytes(), want[kind][0])
					same(t, what+" nonce", k.nonce[:], want[kind][1])
				}
				// Before anything was made, from where the last message left off, and
				// as the sender.
				k, err := whole.peek(i, kind, g.Generation)
				check("first", k, err)
				k, err = walk.peek(i, kind, g.Generation)
				check("next", k, err)
				walk.consume(i, kind, g.Generation)
				if _, err := walk.peek(i, kind, g.Generation); !errors.Is(err, ErrUsed) {
					t.Errorf("used key: got %v, want ErrUsed", err)
				}
				sender := fresh()
				check("sender's", sender.take(i, kind, g.Generation), nil)
			}
		}
	}
}

func vectorMessageProtection(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite       Suite    `json:"cipher_suite"`
		GroupID     hexBytes `json:"group_id"`
		Epoch       uint64
		TreeHash    hexBytes `json:"tree_hash"`
		Confirmed   hexBytes `json:"confirmed_transcript_hash"`
		Priv        hexBytes `json:"signature_priv"`
		Pub         hexBytes `json:"signature_pub"`
		Encryption  hexBytes `json:"encryption_secret"`
		SenderData  hexBytes `json:"sender_data_secret"`
		Membership  hexBytes `json:"membership_key"`
		Proposal    hexBytes
		ProposalPub hexBytes `json:"proposal_pub"`
		ProposalPrv hexBytes `json:"proposal_priv"`
		Commit      hexBytes
		CommitPub   hexBytes `json:"commit_pub"`
		CommitPrv   hexBytes `json:"commit_priv"`
		Application hexBytes
		AppPrv      hexBytes `json:"application_priv"`
	}
	decode(t, raw, &v)
	context := &GroupContext{
		Version: Version, Suite: v.Suite, GroupID: v.GroupID, Epoch: v.Epoch,
		TreeHash: v.TreeHash, ConfirmedTranscriptHash: v.Confirmed,
	}
	// Member 1 sends; member 0 has the same key here, which it does not need.
	both := pastLeaves{n: 2, list: []*LeafNode{{SignatureKey: v.Pub}, {SignatureKey: v.Pub}}}
	member := func(i LeafIndex) *messages {
		return newMessages(epochView{v.Suite.params(), context, both, i, signaturePrivate(v.Suite, v.Priv)}, &epochSecrets{
			encryption: NewSecret(v.Encryption), senderData: NewSecret(v.SenderData), membership: NewSecret(v.Membership),
		}, nil)
	}
	content := map[ContentType][]byte{ContentProposal: v.Proposal, ContentCommit: v.Commit, ContentApplication: appendVec(nil, v.Application)}
	check := func(m *Message, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var a *authenticatedContent
		receiver := member(0)
		if m.Wire == WirePublic {
			a, err = receiver.openPublic(m.public, nil)
		} else {
			var o *opened
			if o, err = receiver.openPrivate(m.private); err == nil {
				o.consume()
				a = o.content
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, "content", a.Content.appendContent(nil), content[a.Content.Type])
	}
	for typ, want := range content {
		read := func() *framedContent {
			c := &framedContent{Type: typ}
			r := reader{b: want}
			if c.readContent(&r); r.err("") != nil {
				t.Fatal(r.err("content"))
			}
			return c
		}
		sender := member(1)
		for _, wire := range []WireFormat{WirePublic, WirePrivate} {
			a, err := sender.sign(rand.Reader, wire, read())
			if typ == ContentApplication && wire == WirePublic {
				if !errors.Is(err, ErrArgument) {
					t.Errorf("application data in public: got %v, want ErrArgument", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if typ == ContentCommit {
				a.Auth.ConfirmationTag = v.Suite.params().mac(own(v.Membership), nil) // some tag
			}
			if wire == WirePublic {
				pm, err := sender.sealPublic(a)
				check(&Message{Wire: wire, public: pm}, err)
				continue
			}
			r, err := sender.reserve(typ)
			if err != nil {
				t.Fatal(err)
			}
			pm, err := r.seal(rand.Reader, a, 100)
			check(&Message{Wire: wire, private: pm}, err)
		}
	}
	for _, theirs := range [][]byte{v.ProposalPub, v.ProposalPrv, v.CommitPub, v.CommitPrv, v.AppPrv} {
		check(ParseMessage(theirs))
	}
}
