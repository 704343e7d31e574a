package mls

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"
)

var leafNow = time.Unix(1_900_000_000, 0)

// leafOf makes a signed leaf; change may alter it before it is signed.
func leafOf(t testing.TB, s Suite, groupID []byte, at LeafIndex, source LeafSource, change func(*LeafNode)) (*LeafNode, Secret) {
	t.Helper()
	p := s.params()
	l, secret := keyedLeaf(t, p, source)
	signer, public, err := NewSignatureKey(rand.Reader, s)
	if err != nil {
		t.Fatal(err)
	}
	l.SignatureKey = public
	l.Capabilities.Suites = []Suite{s}
	l.Lifetime = Lifetime{uint64(leafNow.Unix()) - 100, uint64(leafNow.Unix()) + 100}
	if change != nil {
		change(l)
	}
	l.Signature, err = p.signWithLabel(rand.Reader, signer, labelLeafNode, l.tbs(groupID, at))
	if err != nil {
		t.Fatal(err)
	}
	return l, secret
}

// TestLeafRules breaks one rule of RFC 9420, Section 7.3, at a time.
func TestLeafRules(t *testing.T) {
	const suite = SuiteX25519AES128
	group := []byte("group")
	x509 := func(l *LeafNode) { l.Capabilities.Credentials = append(l.Capabilities.Credentials, CredentialX509) }
	bad := errors.New("nobody we know")
	const ext, other = ExtensionType(0xf123), ExtensionType(0xf124)
	required := func(c RequiredCapabilities) func(*leafRules) {
		return func(r *leafRules) { r.context.Extensions = []Extension{c.Extension()} }
	}
	cases := []struct {
		name   string
		source LeafSource
		want   LeafSource
		leaf   func(*LeafNode)            // before it is signed
		after  func(*LeafNode)            // afterwards
		other  func(*LeafNode)            // the other member
		rules  func(*leafRules)           // what the group asks
		err    error                      // nil: it is good
		tree   func(tree, *LeafNode) tree // nil: the tree without the leaf
	}{
		{name: "good"},
		{name: "good update", source: LeafUpdate, want: LeafUpdate},
		{name: "good commit", source: LeafCommit, want: LeafCommit},
		{name: "in the tree already", source: LeafUpdate, tree: func(tr tree, l *LeafNode) tree { return tr.update(1, l) }},
		{name: "other source", source: LeafUpdate, want: LeafCommit, err: ErrInvalid},
		{name: "signature", after: func(l *LeafNode) { l.Signature[3] ^= 1 }, err: ErrInvalid},
		{name: "signed otherwise", after: func(l *LeafNode) { l.Extensions = []Extension{{Type: ExtApplicationID}} }, err: ErrInvalid},
		{name: "group of an update", source: LeafUpdate, rules: func(r *leafRules) { r.context.GroupID = []byte("other") }, err: ErrInvalid},
		{name: "group of a key package", rules: func(r *leafRules) { r.context.GroupID = []byte("other") }},
		{name: "encryption key", leaf: func(l *LeafNode) { l.EncryptionKey = l.EncryptionKey[1:] }, err: ErrInvalid},
		{name: "signature key", after: func(l *LeafNode) { l.SignatureKey = l.SignatureKey[1:] }, err: ErrInvalid},
		{name: "lifetime is over", leaf: func(l *LeafNode) { l.Lifetime.NotAfter = uint64(leafNow.Unix()) - 1 }, err: ErrInvalid},
		{name: "lifetime is not yet", leaf: func(l *LeafNode) { l.Lifetime.NotBefore = uint64(leafNow.Unix()) + 1 }, err: ErrInvalid},
		{name: "lifetime of one second", leaf: func(l *LeafNode) { l.Lifetime = Lifetime{uint64(leafNow.Unix()), uint64(leafNow.Unix())} }},
		{name: "lifetime is not asked for", leaf: func(l *LeafNode) { l.Lifetime.NotAfter = 0 }, rules: func(r *leafRules) { r.checkLifetime = false }},
		{name: "time before 1970", leaf: func(l *LeafNode) { l.Lifetime = Lifetime{0, 1<<64 - 1} }, rules: func(r *leafRules) { r.now = time.Unix(-1, 0) }, err: ErrInvalid},
		{name: "suite not listed", leaf: func(l *LeafNode) { l.Capabilities.Suites = []Suite{SuiteX25519ChaCha} }},
		{name: "version not listed", leaf: func(l *LeafNode) { l.Capabilities.Versions = nil }, err: ErrInvalid},
		{name: "own credential not listed", leaf: func(l *LeafNode) { l.Capabilities.Credentials = []CredentialType{CredentialX509} }, err: ErrInvalid},
		{name: "own credential not listed, which others list", leaf: func(l *LeafNode) { l.Credential = Credential{Type: CredentialX509} }, other: x509, err: ErrInvalid},
		{name: "own extension not listed", leaf: func(l *LeafNode) { l.Extensions = []Extension{{Type: ext}} }, err: ErrInvalid},
		{name: "own extension listed", leaf: func(l *LeafNode) {
			l.Extensions, l.Capabilities.Extensions = []Extension{{Type: ext}}, []ExtensionType{ext}
		}},
		{name: "own extension of the RFC", leaf: func(l *LeafNode) { l.Extensions = []Extension{{Type: ExtApplicationID}} }},
		{name: "extension twice", leaf: func(l *LeafNode) {
			l.Extensions = []Extension{{Type: ExtApplicationID}, {Type: ExtApplicationID}}
		}, err: ErrInvalid},
		{name: "extension of the group", rules: func(r *leafRules) { r.context.Extensions = []Extension{{Type: ext}} }, err: ErrInvalid},
		{name: "required extension", rules: required(RequiredCapabilities{Extensions: []ExtensionType{ext}}), err: ErrInvalid},
		{name: "required extension of the RFC", rules: required(RequiredCapabilities{Extensions: []ExtensionType{ExtExternalSenders}})},
		{name: "required extension listed", leaf: func(l *LeafNode) { l.Capabilities.Extensions = []ExtensionType{other, ext} }, rules: required(RequiredCapabilities{Extensions: []ExtensionType{ext}})},
		{name: "required proposal", rules: required(RequiredCapabilities{Proposals: []ProposalType{0xf123}}), err: ErrInvalid},
		{name: "required proposal of the RFC", rules: required(RequiredCapabilities{Proposals: []ProposalType{ProposalAdd}})},
		{name: "required credential", rules: required(RequiredCapabilities{Credentials: []CredentialType{CredentialX509}}), err: ErrInvalid},
		{name: "required capabilities are garbage", rules: func(r *leafRules) {
			r.context.Extensions = []Extension{{Type: ExtRequiredCapabilities, Data: []byte{9}}}
		}, err: ErrMalformed},
		{name: "GREASE", leaf: func(l *LeafNode) {
			c := &l.Capabilities
			c.Suites, c.Extensions, c.Proposals = append(c.Suites, 0x0a0a), []ExtensionType{0x1a1a}, []ProposalType{0x2a2a}
			c.Credentials = append(c.Credentials, 0x3a3a)
		}},
		{name: "credential that another lacks", leaf: func(l *LeafNode) { x509(l); l.Credential = Credential{Type: CredentialX509} }, err: ErrInvalid},
		{name: "credential that all have", leaf: func(l *LeafNode) { x509(l); l.Credential = Credential{Type: CredentialX509} }, other: x509},
		{name: "credential of another", other: func(l *LeafNode) { x509(l); l.Credential = Credential{Type: CredentialX509} }, err: ErrInvalid},
		{name: "unknown to the Authentication Service", rules: func(r *leafRules) { r.authenticate = func(Credential, []byte) error { return bad } }, err: bad},
		{name: "no Authentication Service", rules: func(r *leafRules) { r.authenticate = nil }, err: ErrArgument},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.source == 0 {
				c.source = LeafKeyPackage
			}
			others, _ := leafOf(t, suite, group, 0, LeafKeyPackage, c.other)
			tr := newTree(suite.params(), others)
			before, _ := leafOf(t, suite, group, 1, LeafKeyPackage, nil)
			if c.source != LeafKeyPackage {
				var err error
				if tr, _, err = tr.add(before); err != nil {
					t.Fatal(err)
				}
			}
			l, _ := leafOf(t, suite, group, 1, c.source, c.leaf)
			if c.after != nil {
				c.after(l)
			}
			if c.tree != nil {
				tr = c.tree(tr, l)
			}
			rules := leafRules{
				p: suite.params(), now: leafNow, checkLifetime: true, authenticate: anybody, t: tr,
				context: &GroupContext{Version: Version, Suite: suite, GroupID: group},
			}
			if c.rules != nil {
				c.rules(&rules)
			}
			if err := rules.check(l, c.want, 1); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
		})
	}
	t.Run("place of an update", func(t *testing.T) {
		l, _ := leafOf(t, suite, group, 1, LeafUpdate, nil)
		rules := leafRules{p: suite.params(), authenticate: anybody, context: &GroupContext{Version: Version, Suite: suite, GroupID: group}}
		if err := rules.check(l, LeafUpdate, 2); !errors.Is(err, ErrInvalid) {
			t.Errorf("got %v, want %v", err, ErrInvalid)
		}
	})
}

// TestReplacedLeafDoesNotCount: a member may leave a credential type behind that
// nobody else has.
func TestReplacedLeafDoesNotCount(t *testing.T) {
	const suite = SuiteX25519AES128
	both := func(l *LeafNode) { l.Capabilities.Credentials = []CredentialType{CredentialBasic, CredentialX509} }
	a, _ := leafOf(t, suite, nil, 0, LeafKeyPackage, both)
	b, _ := leafOf(t, suite, nil, 1, LeafKeyPackage, func(l *LeafNode) { both(l); l.Credential = Credential{Type: CredentialX509} })
	tr, _, err := newTree(suite.params(), a).add(b)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := leafOf(t, suite, nil, 1, LeafUpdate, nil) // basic, and supports nothing else
	rules := leafRules{p: suite.params(), authenticate: anybody, t: tr, context: &GroupContext{Version: Version, Suite: suite}}
	if err := rules.check(l, LeafUpdate, 1); err != nil {
		t.Error(err)
	}
	l, _ = leafOf(t, suite, nil, 0, LeafUpdate, nil)
	if err := rules.check(l, LeafUpdate, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v: member 1 has an X.509 credential", err, ErrInvalid)
	}
	l, _ = leafOf(t, suite, nil, 0, LeafKeyPackage, nil)
	if err := rules.check(l, LeafKeyPackage, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want %v: member 1 has an X.509 credential", err, ErrInvalid)
	}
}
