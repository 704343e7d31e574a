package mls

// JoinParams says what goes with a Welcome.
type JoinParams struct {
	Tree []byte // the ratchet tree, if it comes aside
	// Predecessor is the group that the new one follows or branches off, if it does.
	// It is only read. For the successor of a reinitialised group it is that group
	// in its last epoch. With no Usage, that the Welcome does come from it is checked only
	// if the Welcome says that it comes from any: a plain group may use its keys, too.
	Predecessor *Group
	// Usage is what the new group has to be to Predecessor: its successor (UsageReInit),
	// a branch of it (UsageBranch), neither of any group (UsageApplication). With 0 it
	// is what the Welcome says.
	Usage PSKUsage
	// Lineage is that of other states of this group in this process, so that a Welcome
	// that is used again speaks no generation twice; nil is a new one.
	Lineage *Lineage
}

// Join joins a group by a Welcome, with the key package that it was made for and its
// secrets, which are copied: the caller wipes them once the group is stored (RFC
// 9420, Section 12.4.3.1).
//
// It fails with ErrNotWelcome, ErrDecrypt, ErrInvalid, ErrUnsupported, ErrMalformed,
// with a *PSKError, and with ErrArgument if the tree or the predecessor is missing.
func Join(env Env, m *Message, k *KeyPackage, secrets *KeyPackageSecrets, params JoinParams) (*Group, error) {
	w := m.Welcome
	if w == nil {
		return nil, fail(ErrArgument, "12.4.3.1", "not a Welcome")
	}
	p := w.Suite.params()
	switch {
	case p == nil:
		return nil, fail(ErrUnsupported, "12.4.3.1", "cipher suite of a Welcome")
	case k.Suite != w.Suite:
		return nil, invalid("12.4.3.1", "suite of a Welcome is not the key package's")
	}
	gs, err := w.open(p, k, secrets)
	if err != nil {
		return nil, err
	}
	defer gs.wipe()
	psk, err := gs.psk(env, p, params.Predecessor)
	if err != nil {
		return nil, err
	}
	defer psk.Wipe()
	joiner := own(gs.Joiner)
	info, err := w.openInfo(p, joiner, psk)
	if err != nil {
		return nil, err
	}
	if err := gs.checkSuccession(info, params); err != nil {
		return nil, err
	}
	t, err := checkGroupInfo(env, info, params.Tree)
	if err != nil {
		return nil, err
	}
	if err := gs.checkMembers(env, t, params.Predecessor); err != nil {
		return nil, err
	}
	private, err := seat(t, k, info.Signer, secrets.Encryption, gs)
	if err != nil {
		return nil, err
	}
	g := newGroup(groupParts{
		p: p, context: info.Context, tree: t, private: private, signer: secrets.Signature.Clone(),
		secrets: p.epochOf(joiner, psk, info.Context.append(nil)), lineage: params.Lineage,
	})
	if !macEqual(g.confirmationTag, info.ConfirmationTag) {
		g.Drop()
		return nil, invalid("12.4.3.1", "confirmation tag")
	}
	return g, nil
}

// open finds and opens the part of a Welcome that is for key package k.
func (w *Welcome) open(p *suiteParams, k *KeyPackage, secrets *KeyPackageSecrets) (*groupSecrets, error) {
	ref := k.ref(p)
	for _, s := range w.secrets {
		if !equal(s.NewMember, ref) {
			continue
		}
		plain, err := p.decryptWithLabel(secrets.Init, labelWelcome, w.groupInfo, s.Secrets)
		if err != nil {
			return nil, err
		}
		defer plain.Wipe()
		gs, err := parse(plain.Bytes(), "secrets of a Welcome", readGroupSecrets)
		if err == nil && (len(gs.Joiner) != p.nh || gs.HasPath && len(gs.PathSecret) != p.nh) {
			gs.wipe()
			err = fail(ErrMalformed, "12.4.3.1", "secrets of a Welcome")
		}
		if err != nil {
			return nil, err
		}
		return gs, nil
	}
	return nil, fail(ErrNotWelcome, "12.4.3.1", "no part is for this key package")
}

func (g *groupSecrets) wipe() {
	clear(g.Joiner)
	clear(g.PathSecret)
}

// openInfo opens the GroupInfo of a Welcome.
func (w *Welcome) openInfo(p *suiteParams, joiner, psk Secret) (*GroupInfo, error) {
	key, nonce := p.welcomeKey(joiner, psk)
	defer key.Wipe()
	plain, err := p.open(key, nonce, nil, w.groupInfo)
	if err != nil {
		return nil, err
	}
	info, err := parse(plain, "group info", readGroupInfo)
	if err != nil {
		return nil, err
	}
	if info.Context.Suite != w.Suite {
		return nil, invalid("12.4.3.1", "suite of the group is not that of its Welcome")
	}
	return info, nil
}

// psk combines the pre-shared keys that a Welcome names.
func (g *groupSecrets) psk(env Env, p *suiteParams, predecessor *Group) (Secret, error) {
	var own []resumptionPSK
	var groupID []byte
	if predecessor != nil {
		own, groupID = predecessor.resumption, predecessor.context.GroupID
	}
	return combinePSKs(env, p, own, groupID, g.PSKs)
}

// seat finds the own place in the tree and the private keys that go with it.
func seat(t tree, k *KeyPackage, signer LeafIndex, encryption Secret, gs *groupSecrets) (*privateTree, error) {
	leaf := k.Leaf.append(nil)
	for i, l := range t.members() {
		if !equal(l.append(nil), leaf) {
			continue
		}
		if i == signer {
			return nil, invalid("12.4.3.1", "the new member signed the group info")
		}
		var path []byte
		if gs.HasPath {
			path = gs.PathSecret
		}
		return t.joinPath(i, signer, encryption, path)
	}
	return nil, invalid("12.4.3.1", "the key package is not in the tree")
}
