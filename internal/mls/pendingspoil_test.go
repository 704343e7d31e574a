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
	leaf, k := *j.pkg.Leaf, *j.pkg
	leaf.EncryptionKey = encryptionKey
	p := w.suite.params()
	w.must(leaf.sign(p, w.env.Rand, j.s.signer, nil, 0))
	k.Leaf = &leaf
	var err error
	k.Signature, err = p.signWithLabel(w.env.Rand, j.s.signer, labelKeyPackage, k.tbs(nil))
	w.must(err)
	return &k
}
