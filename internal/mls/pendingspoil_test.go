package mls

import "testing"

// TestNobodySpoilsACommit lets a member propose what no commit can cover beside the
// rest: who commits all that is pending leaves it out, and the rest goes through.
func TestNobodySpoilsACommit(t *testing.T) {
	s := SuiteX25519AES128
	for name, spoil := range map[string]func(w *world, by *soul) []*Proposal{
		"a key package with a member's key": func(w *world, by *soul) []*Proposal {
			j := w.joiner()
			return []*Proposal{AddProposal(w.packageWith(j, by.g.Leaf(by.g.Self()).EncryptionKey))}
		},
		"two key packages with one key": func(w *world, by *soul) []*Proposal {
			first, second := w.joiner(), w.joiner()
			return []*Proposal{AddProposal(first.pkg), AddProposal(w.packageWith(second, first.pkg.Leaf.EncryptionKey))}
		},
		"extensions that members lack": func(*world, *soul) []*Proposal {
			return []*Proposal{GroupContextProposal([]Extension{RequiredCapabilities{Extensions: []ExtensionType{0xf123}}.Extension()})}
		},
		"a key that nobody has": func(w *world, _ *soul) []*Proposal {
			p, err := ExternalPSKProposal(w.env, s, []byte("nowhere"))
			w.must(err)
			return []*Proposal{p}
		},
		"key packages that do not go together": func(w *world, _ *soul) []*Proposal {
			one, other := w.joiner(), w.joiner()
			basic, certified := *one.pkg.Leaf, *other.pkg.Leaf
			basic.Capabilities.Credentials = []CredentialType{CredentialBasic}
			certified.Credential = Credential{Type: CredentialX509, Certificates: [][]byte{{1}}}
			return []*Proposal{AddProposal(w.signedPackage(one, &basic)), AddProposal(w.signedPackage(other, &certified))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, members := family(t, s, 3)
			tell := func(by *soul, p *Proposal) {
				m, _, err := by.g.Propose(w.env, p, Framing{Public: true})
				w.must(err)
				for _, o := range members {
					if o != by {
						_, err := o.g.Process(w.env, w.parse(m.Append(nil)))
						w.must(err)
					}
				}
			}
			for _, p := range spoil(w, members[1]) {
				tell(members[1], p)
			}
			honest := w.joiner()
			tell(members[2], AddProposal(honest.pkg))
			staged := w.commit(members[0], CommitParams{AllPending: true})
			honest.join(staged.Welcome, nil)
			w.agree()
		})
	}
}

// packageWith is a joiner's key package, signed anew with another encryption key.
func (w *world) packageWith(j *joiner, encryptionKey []byte) *KeyPackage {
	leaf := *j.pkg.Leaf
	leaf.EncryptionKey = encryptionKey
	return w.signedPackage(j, &leaf)
}

// signedPackage is a joiner's key package with another leaf, signed anew.
func (w *world) signedPackage(j *joiner, leaf *LeafNode) *KeyPackage {
	k, p := *j.pkg, w.suite.params()
	w.must(leaf.sign(p, w.env.Rand, j.s.signer, nil, 0))
	k.Leaf = leaf
	var err error
	k.Signature, err = p.signWithLabel(w.env.Rand, j.s.signer, labelKeyPackage, k.tbs(nil))
	w.must(err)
	return &k
}

// TestExtensionsThatFailLater: what the caller does not believe any more when the commit
// is made is no change of the extensions, and others are not measured by it.
func TestExtensionsThatFailLater(t *testing.T) {
	required := RequiredCapabilities{Extensions: []ExtensionType{greaseExtension}}.Extension()
	ann, ben, _, _ := four(t, required)
	sender := ExternalSendersExtension([]ExternalSender{{[]byte{1}, BasicCredential([]byte("the house"))}})
	first := ben.propose(GroupContextProposal([]Extension{required, {ExtApplicationID, nil}}), Framing{Public: true}, ann)
	ben.propose(GroupContextProposal([]Extension{sender}), Framing{Public: true}, ann)
	add := ann.addOf(ann.person("eve"), func(k *KeyPackage) { k.Leaf.Capabilities.Extensions = nil }) // lacks what is required
	ben.propose(add, Framing{Public: true}, ann)
	env := ann.env
	env.Authenticate = func(c Credential, _ []byte) error {
		if string(c.Identity) == "the house" {
			return errStranger
		}
		return nil
	}
	s, err := ann.g.Stage(env, CommitParams{AllPending: true})
	ann.check(err)
	defer s.Drop()
	if len(s.Proposals) != 1 || s.Proposals[0].Ref != first {
		t.Errorf("got %d proposals, want the first one", len(s.Proposals))
	}
}

// TestOneSenderLeavesRoom: a member that proposes as much as it can leaves room for what
// others propose.
func TestOneSenderLeavesRoom(t *testing.T) {
	_, ben, cat, _ := four(t)
	var err error
	for i := 0; err == nil && i < maxPendingOfSender; i++ {
		_, _, err = ben.g.Propose(ben.env, &Proposal{Type: ProposalPSK, PSK: PreSharedKeyID{
			Type: PSKExternal, ID: make([]byte, 100_000+i), Nonce: make([]byte, ben.g.p.nh),
		}}, Framing{Public: true})
	}
	ben.refused(err, ErrTooMany)
	m, _, err := cat.g.Propose(cat.env, &Proposal{Type: ProposalPSK, PSK: PreSharedKeyID{
		Type: PSKExternal, ID: make([]byte, 200_000), Nonce: make([]byte, ben.g.p.nh),
	}}, Framing{Public: true})
	cat.check(err)
	if _, err := ben.g.Process(ben.env, ben.wire(m)); err != nil {
		t.Errorf("a proposal of another: %v", err)
	}
}
