package mls

// SuccessorParams says how a group begins that comes from another.
type SuccessorParams struct {
	Leaf       LeafParams    // ours, with the suite of the new group
	Members    []*KeyPackage // of all others, for the suite of the new group
	GroupID    []byte        // of a branch; a successor's was agreed on
	Extensions []Extension   // of a branch's group context; a successor's were agreed on
	TreeAside  bool
}

// Successor begins the group that follows g, which a merged commit reinitialised
// (RFC 9420, Section 11.2). Members are to be those of g: their credentials are the
// same, or may follow by env.Successor. It fails with ErrArgument if g was not
// reinitialised or members are missing, and as Stage does.
func (g *Group) Successor(env Env, params SuccessorParams) (*Group, *Staged, error) {
	if g.removed {
		return nil, nil, fail(ErrRemoved, "11.2", "no member")
	}
	if g.reinit == nil {
		return nil, nil, fail(ErrArgument, "11.2", "the group was not reinitialised")
	}
	if len(params.Members)+1 != g.tree.count() {
		return nil, nil, fail(ErrArgument, "11.2", "a successor has the members of its group")
	}
	params.GroupID, params.Extensions = g.reinit.GroupID, g.reinit.Extensions
	if params.Leaf.Suite != g.reinit.Suite {
		return nil, nil, fail(ErrArgument, "11.2", "suite of the successor")
	}
	return g.follow(env, params, UsageReInit)
}

// Branch begins a group of some of g's members (RFC 9420, Section 11.3), known by
// their credentials as there. It fails with ErrArgument for another suite or for the
// group id of g, and as Stage does.
func (g *Group) Branch(env Env, params SuccessorParams) (*Group, *Staged, error) {
	if err := g.usable(); err != nil {
		return nil, nil, err
	}
	if params.Leaf.Suite != g.context.Suite {
		return nil, nil, fail(ErrArgument, "11.3", "a branch has the suite of the group that it comes from")
	}
	if len(params.GroupID) == 0 || equal(params.GroupID, g.context.GroupID) {
		return nil, nil, fail(ErrArgument, "11.3", "a branch has a group id of its own")
	}
	return g.follow(env, params, UsageBranch)
}

// follow makes a group of one, and the commit that adds the others and proves that
// its members were in g.
func (g *Group) follow(env Env, params SuccessorParams, usage PSKUsage) (*Group, *Staged, error) {
	next, err := Create(env, CreateParams{GroupID: params.GroupID, Leaf: params.Leaf, Extensions: params.Extensions})
	if err != nil {
		return nil, nil, err
	}
	id, err := next.p.newPSKID(env.Rand, PreSharedKeyID{
		Type: PSKResumption, Usage: usage, GroupID: g.context.GroupID, Epoch: g.context.Epoch,
	})
	if err != nil {
		next.Drop()
		return nil, nil, err
	}
	proposals := []*Proposal{{Type: ProposalPSK, PSK: id}}
	for _, k := range params.Members {
		proposals = append(proposals, AddProposal(k))
	}
	psk, err := g.ResumptionPSK(g.context.Epoch)
	if err != nil {
		next.Drop()
		return nil, nil, err
	}
	outer := env.PSK
	env.PSK = func(want PreSharedKeyID) (Secret, error) {
		if equal(want.GroupID, id.GroupID) && want.Epoch == id.Epoch && want.Usage == usage {
			return psk, nil
		}
		if outer == nil {
			return Secret{}, nil
		}
		return outer(want)
	}
	staged, err := next.Stage(env, CommitParams{Proposals: proposals, TreeAside: params.TreeAside, succession: true})
	if err != nil {
		next.Drop()
		return nil, nil, err
	}
	if err := g.correspond(env, staged.next.tree, usage == UsageReInit); err != nil {
		staged.Drop()
		next.Drop()
		return nil, nil, err
	}
	return next, staged, nil
}
