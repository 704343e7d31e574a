package mls

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
)

// decoders are all decoders of what comes from outside, by what they read.
func decoders() map[string]func([]byte) ([]byte, error) {
	d := map[string]func([]byte) ([]byte, error){
		"message":     again(ParseMessage, func(b []byte, m *Message) []byte { return m.Append(b) }),
		"key package": again(ParseKeyPackage, func(b []byte, k *KeyPackage) []byte { return k.Append(b) }),
		"proposal":    again(ParseProposal, func(b []byte, p *Proposal) []byte { return p.Append(b) }),
		"tree":        again(parseNodes, appendNodes),
		"commit":      again(parser(readCommit), func(b []byte, c *commit) []byte { return c.append(b) }),
		"content":     again(parser(readAuthenticatedContent), func(b []byte, a *authenticatedContent) []byte { return a.append(b) }),
		"group info":  again(parser(readGroupInfo), func(b []byte, g *GroupInfo) []byte { return g.append(b) }),
		"secrets":     again(parser(readGroupSecrets), func(b []byte, g *groupSecrets) []byte { return g.append(b) }),
		"senders": again(parseExternalSenders, func(b []byte, s []ExternalSender) []byte {
			return append(b, ExternalSendersExtension(s).Data...)
		}),
		"required": again(parseRequiredCapabilities, func(b []byte, c RequiredCapabilities) []byte {
			return append(b, c.Extension().Data...)
		}),
		"stored secrets": again(ParseKeyPackageSecrets, func(b []byte, k *KeyPackageSecrets) []byte { return k.Append(b) }),
	}
	return d
}

// FuzzParse gives anything to every decoder: what one accepts, it writes again byte for
// byte, and every refusal says what kind it is.
func FuzzParse(f *testing.F) {
	for _, b := range parseSeeds(f) {
		f.Add(b)
	}
	all := decoders()
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, decode := range all {
			got, err := decode(b)
			switch {
			case err == nil && !bytes.Equal(got, b):
				t.Errorf("%s: got %x, want %x", name, got, b)
			case err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrState):
				t.Errorf("%s: %v says not what to do", name, err)
			}
		}
	})
}

// parseSeeds are a few real structures.
func parseSeeds(t testing.TB) [][]byte {
	t.Helper()
	signer, _, err := NewSignatureKey(testEnv(nil).Rand, SuiteX25519AES128)
	if err != nil {
		t.Fatal(err)
	}
	l := LeafParams{Suite: SuiteX25519AES128, Credential: BasicCredential([]byte("a")), Signer: signer, Lifetime: Lifetime{NotAfter: 2_000_000_000}}
	k, secrets, err := NewKeyPackage(testEnv(nil), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Create(testEnv(nil), CreateParams{GroupID: []byte("g"), Leaf: l, Extensions: []Extension{
		RequiredCapabilities{Credentials: []CredentialType{CredentialBasic}}.Extension(),
		ExternalSendersExtension([]ExternalSender{{SignatureKey: make([]byte, 32), Credential: l.Credential}}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := g.GroupInfo(testEnv(nil), GroupInfoParams{External: true})
	if err != nil {
		t.Fatal(err)
	}
	_, commit, err := JoinExternal(testEnv(nil), info, ExternalJoinParams{Leaf: LeafParams{
		Suite: l.Suite, Credential: BasicCredential([]byte("b")), Signer: newSigner(t, l.Suite), Lifetime: l.Lifetime,
	}})
	if err != nil {
		t.Fatal(err)
	}
	add, _, err := g.Propose(testEnv(nil), AddProposal(k), Framing{Public: true})
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := g.Propose(testEnv(nil), AddProposal(k), Framing{})
	if err != nil {
		t.Fatal(err)
	}
	seeds := [][]byte{
		k.Append(nil), secrets.Append(nil), info.Append(nil), info.GroupInfo.append(nil), commit.Append(nil),
		add.Append(nil), private.Append(nil), g.Tree(), AddProposal(k).Append(nil), RemoveProposal(3).Append(nil),
		GroupContextProposal(g.Extensions()).Append(nil), commit.public.Content.Commit.append(nil),
		(&Message{Wire: WireKeyPackage, KeyPackage: k}).Append(nil),
	}
	for _, e := range g.Extensions() {
		seeds = append(seeds, e.Data)
	}
	return seeds
}

func newSigner(t testing.TB, s Suite) Secret {
	t.Helper()
	signer, _, err := NewSignatureKey(testEnv(nil).Rand, s)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// TestParseAllocates gives decoders what makes most of little: lists of the smallest
// elements there are, and lengths that promise more than there is.
func TestParseAllocates(t *testing.T) {
	const size = 1 << 20
	fill := func(head, element []byte) []byte {
		var body []byte
		for len(body)+len(element) < size {
			body = append(body, element...)
		}
		return appendVec(bytes.Clone(head), body)
	}
	commitHead := func() []byte { // up to the list of a path's nodes
		b := append(appendVec(nil, nil), 1)
		return (&LeafNode{Source: LeafUpdate, Credential: BasicCredential(nil)}).append(b)
	}
	hostile := map[string][]byte{
		"tree of blanks":          fill(nil, []byte{0}),
		"references":              fill(nil, []byte{2, 0}),
		"nodes of a path":         fill(commitHead(), []byte{0, 0}),
		"extensions":              fill([]byte{0, 7}, []byte{0, 9, 0}),
		"external senders":        fill(nil, []byte{0, 0, 1, 0}),
		"certificates":            fill([]byte{0, 0, 2}, []byte{0}),
		"parts of a Welcome":      fill([]byte{0, 1, 0, 3, 0, 1}, []byte{0, 0, 0}),
		"pre-shared keys":         fill([]byte{0, 0}, []byte{1, 0, 0}),
		"a length without end":    {0xbf, 0xff, 0xff, 0xff, 1},
		"a list without end":      {0xbf, 0xff, 0xff, 0xff},
		"many long promises":      bytes.Repeat([]byte{0xbf, 0xff, 0xff, 0xff}, size/4),
		"larger than any message": make([]byte, MaxMessage+1),
	}
	for name, b := range hostile {
		for what, decode := range decoders() {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = decode(b)
			runtime.ReadMemStats(&after)
			limit := uint64(100*len(b) + 1<<16)
			if len(b) > MaxMessage {
				limit = 1 << 16
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > limit {
				t.Errorf("%s read as %s: %d bytes allocated for %d", name, what, got, len(b))
			}
		}
	}
}
