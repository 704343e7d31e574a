package mls

// signGroupInfo makes the GroupInfo of g's epoch (RFC 9420, Section 12.4.3).
func (g *Group) signGroupInfo(env Env, extensions []Extension) (*GroupInfo, error) {
	info := &GroupInfo{Context: g.context, Extensions: extensions, ConfirmationTag: g.confirmationTag, Signer: g.self}
	var err error
	info.Signature, err = g.p.signWithLabel(env.Rand, g.signer, labelGroupInfo, info.tbs(nil))
	return info, err
}

// GroupInfoParams says what a GroupInfo is to hold beside the group's context.
type GroupInfoParams struct {
	TreeAside  bool        // leave out the ratchet tree: the caller hands it over another way
	External   bool        // with the key for external commits: who has the GroupInfo can join
	Extensions []Extension // more of them
}

// GroupInfo says what somebody needs to join, or to propose from outside (RFC 9420,
// Section 12.4.3). It fails with ErrRemoved, ErrEnded and the error of rand.
func (g *Group) GroupInfo(env Env, params GroupInfoParams) (*Message, error) {
	if err := g.usable(); err != nil {
		return nil, err
	}
	info, err := g.signGroupInfo(env, g.infoExtensions(params))
	if err != nil {
		return nil, err
	}
	return &Message{Wire: WireGroupInfo, GroupInfo: info}, nil
}

// Tree is the ratchet tree as the extension ratchet_tree holds it, for who gets it
// aside (RFC 9420, Section 12.4.3.3).
func (g *Group) Tree() []byte { return appendNodes(nil, g.tree.nodes()) }

func (g *Group) infoExtensions(params GroupInfoParams) []Extension {
	var list []Extension
	if !params.TreeAside {
		list = append(list, Extension{Type: ExtRatchetTree, Data: g.Tree()})
	}
	if params.External {
		_, public := g.p.externalKeyPair(g.secrets.external)
		list = append(list, Extension{Type: ExtExternalPub, Data: appendVec(nil, public)})
	}
	return append(list, params.Extensions...)
}

// checkGroupInfo verifies what RFC 9420, Section 12.4.3.1, asks of a GroupInfo and
// its tree before anybody relies on them, and returns the tree. aside is the tree if
// the GroupInfo does not hold it.
func checkGroupInfo(env Env, info *GroupInfo, aside []byte) (tree, error) {
	var none tree
	c := &info.Context
	p := c.Suite.params()
	switch {
	case c.Version != Version:
		return none, fail(ErrUnsupported, "12.4.3.1", "version of a group")
	case p == nil:
		return none, fail(ErrUnsupported, "12.4.3.1", "cipher suite of a group")
	case len(c.GroupID) == 0:
		return none, invalid("12.4.3.1", "group without an identifier")
	case !distinct(info.Extensions):
		return none, invalid("13.4", "an extension of a group stands twice")
	}
	data, ok := findExtension(info.Extensions, ExtRatchetTree)
	if !ok {
		data = aside
	}
	if len(data) == 0 {
		return none, fail(ErrArgument, "12.4.3.3", "no ratchet tree")
	}
	nodes, err := parseNodes(data)
	if err != nil {
		return none, err
	}
	t, err := treeOf(p, nodes)
	if err != nil {
		return none, err
	}
	signer := t.leaf(info.Signer)
	if signer == nil {
		return none, invalid("12.4.3.1", "signer of the group info is no member")
	}
	if !p.verifyWithLabel(signer.SignatureKey, labelGroupInfo, info.tbs(nil), info.Signature) {
		return none, invalid("12.4.3.1", "signature of the group info")
	}
	if !equal(t.hash(), c.TreeHash) {
		return none, invalid("12.4.3.1", "tree hash")
	}
	// Those who may propose from outside come in with the group too (Section 5.3.1).
	if err := checkGroupExtensions(env, c.Extensions); err != nil {
		return none, err
	}
	// Lifetimes are not looked at: they count when a member is added (Section 7.3).
	rules := leafRules{p: p, context: c, now: env.Now, authenticate: env.Authenticate}
	return t, t.verify(rules)
}
