package mls

import (
	"crypto/rand"
	"encoding/json"
	"testing"
)

func vectorCryptoBasics(t *testing.T, raw json.RawMessage) {
	var v struct {
		Suite   Suite `json:"cipher_suite"`
		RefHash struct {
			Label      string
			Value, Out hexBytes
		} `json:"ref_hash"`
		Expand struct {
			Secret, Context, Out hexBytes
			Label                string
			Length               int
		} `json:"expand_with_label"`
		Derive struct {
			Secret, Out hexBytes
			Label       string
		} `json:"derive_secret"`
		Tree struct {
			Secret, Out hexBytes
			Label       string
			Generation  uint32
			Length      int
		} `json:"derive_tree_secret"`
		Sign struct {
			Priv, Pub, Content, Signature hexBytes
			Label                         string
		} `json:"sign_with_label"`
		Encrypt struct {
			Priv, Pub, Context, Plaintext, Ciphertext hexBytes
			KEMOutput                                 hexBytes `json:"kem_output"`
			Label                                     string
		} `json:"encrypt_with_label"`
	}
	decode(t, raw, &v)
	p := v.Suite.params()
	if p == nil {
		t.Fatalf("suite %d is not there", v.Suite)
	}
	same(t, "RefHash", p.refHash(v.RefHash.Label, v.RefHash.Value), v.RefHash.Out)
	same(t, "ExpandWithLabel", p.expandWithLabel(v.Expand.Secret, v.Expand.Label, v.Expand.Context, v.Expand.Length).Bytes(), v.Expand.Out)
	same(t, "DeriveSecret", p.deriveSecret(own(v.Derive.Secret), v.Derive.Label).Bytes(), v.Derive.Out)
	same(t, "DeriveTreeSecret", p.deriveTreeSecret(own(v.Tree.Secret), v.Tree.Label, v.Tree.Generation, v.Tree.Length).Bytes(), v.Tree.Out)

	if !p.verifyWithLabel(v.Sign.Pub, v.Sign.Label, v.Sign.Content, v.Sign.Signature) {
		t.Error("their signature does not verify")
	}
	public, err := SignaturePublic(v.Suite, own(v.Sign.Priv))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "signature key", public, v.Sign.Pub)
	signature, err := p.signWithLabel(rand.Reader, own(v.Sign.Priv), v.Sign.Label, v.Sign.Content)
	if err != nil || !p.verifyWithLabel(v.Sign.Pub, v.Sign.Label, v.Sign.Content, signature) {
		t.Errorf("our signature does not verify: %v", err)
	}
	if p.verifyWithLabel(v.Sign.Pub, v.Sign.Label+"x", v.Sign.Content, signature) {
		t.Error("a signature verifies under another label")
	}

	e := v.Encrypt
	plain, err := p.decryptWithLabel(own(e.Priv), e.Label, e.Context, hpkeCiphertext{e.KEMOutput, e.Ciphertext})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "DecryptWithLabel", plain.Bytes(), e.Plaintext)
	c, err := p.encryptWithLabel(e.Pub, e.Label, e.Context, e.Plaintext)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err = p.decryptWithLabel(own(e.Priv), e.Label, e.Context, c); err != nil {
		t.Fatal(err)
	}
	same(t, "EncryptWithLabel", plain.Bytes(), e.Plaintext)
}

func vectorDeserialization(t *testing.T, raw json.RawMessage) {
	var v struct {
		Header hexBytes `json:"vlbytes_header"`
		Length int
	}
	decode(t, raw, &v)
	n, size := parseLength(v.Header)
	if n != v.Length || size != len(v.Header) {
		t.Errorf("got %d in %d bytes, want %d in %d", n, size, v.Length, len(v.Header))
	}
	same(t, "header", appendLength(nil, v.Length), v.Header)
}

func vectorTreeMath(t *testing.T, raw json.RawMessage) {
	var v struct {
		Leaves  uint32       `json:"n_leaves"`
		Nodes   uint32       `json:"n_nodes"`
		Root    NodeIndex    `json:"root"`
		Left    []*NodeIndex `json:"left"`
		Right   []*NodeIndex `json:"right"`
		Parent  []*NodeIndex `json:"parent"`
		Sibling []*NodeIndex `json:"sibling"`
	}
	decode(t, raw, &v)
	if got := nodeWidth(v.Leaves); got != v.Nodes {
		t.Errorf("width: got %d, want %d", got, v.Nodes)
	}
	if got := treeRoot(v.Leaves); got != v.Root {
		t.Errorf("root: got %d, want %d", got, v.Root)
	}
	for x := NodeIndex(0); uint32(x) < v.Nodes; x++ {
		checks := []struct {
			what string
			want *NodeIndex
			has  bool
			is   func() NodeIndex
		}{
			{"left", v.Left[x], x.level() > 0, x.left},
			{"right", v.Right[x], x.level() > 0, x.right},
			{"parent", v.Parent[x], x != v.Root, x.parent},
			{"sibling", v.Sibling[x], x != v.Root, x.sibling},
		}
		for _, c := range checks {
			if c.has != (c.want != nil) {
				t.Errorf("%s of %d: got %v, want %v", c.what, x, c.has, c.want != nil)
			} else if c.has && c.is() != *c.want {
				t.Errorf("%s of %d: got %d, want %d", c.what, x, c.is(), *c.want)
			}
		}
	}
}

func vectorMessages(t *testing.T, raw json.RawMessage) {
	var v map[string]hexBytes
	decode(t, raw, &v)
	message := func(wire WireFormat) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) {
			m, err := ParseMessage(b)
			if err != nil {
				return nil, err
			}
			if m.Wire != wire {
				t.Errorf("got wire format %d, want %d", m.Wire, wire)
			}
			return m.Append(nil), nil
		}
	}
	// bare is a proposal without its type, which the vectors leave out.
	bare := func(typ ProposalType) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) {
			p, err := ParseProposal(append(appendU16(nil, uint16(typ)), b...))
			if err != nil {
				return nil, err
			}
			return p.Append(nil)[2:], nil
		}
	}
	checks := map[string]func([]byte) ([]byte, error){
		"mls_welcome":                       message(WireWelcome),
		"mls_group_info":                    message(WireGroupInfo),
		"mls_key_package":                   message(WireKeyPackage),
		"public_message_application":        message(WirePublic),
		"public_message_proposal":           message(WirePublic),
		"public_message_commit":             message(WirePublic),
		"private_message":                   message(WirePrivate),
		"add_proposal":                      bare(ProposalAdd),
		"update_proposal":                   bare(ProposalUpdate),
		"remove_proposal":                   bare(ProposalRemove),
		"pre_shared_key_proposal":           bare(ProposalPSK),
		"re_init_proposal":                  bare(ProposalReInit),
		"external_init_proposal":            bare(ProposalExternalInit),
		"group_context_extensions_proposal": bare(ProposalGroupContext),
		"ratchet_tree":                      again(parseNodes, appendNodes),
		"group_secrets":                     again(parser(readGroupSecrets), func(b []byte, g *groupSecrets) []byte { return g.append(b) }),
		"commit":                            again(parser(readCommit), func(b []byte, c *commit) []byte { return c.append(b) }),
	}
	if len(v) != len(checks) {
		t.Errorf("got %d fields, want %d", len(v), len(checks))
	}
	for name, check := range checks {
		got, err := check(v[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, got, v[name])
	}
}

func parser[T any](read func(*reader) T) func([]byte) (T, error) {
	return func(b []byte) (T, error) { return parse(b, "test", read) }
}

// again parses and appends.
func again[T any](parse func([]byte) (T, error), put func([]byte, T) []byte) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		v, err := parse(b)
		if err != nil {
			return nil, err
		}
		return put(nil, v), nil
	}
}
