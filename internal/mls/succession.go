package mls

import "slices"

// checkSuccession checks what a Welcome into a successor or a branch must fit: its
// resumption PSK says that it is one (RFC 9420, Sections 11.2, 11.3 and 12.4.3.1). One
// that is to be something else than the caller expects is refused.
func (g *groupSecrets) checkSuccession(info *GroupInfo, params JoinParams) error {
	predecessor := params.Predecessor
	if (params.Usage == UsageReInit || params.Usage == UsageBranch) && predecessor == nil {
		return fail(ErrArgument, "12.4.3.1", "the group before this one is missing")
	}
	var by *PreSharedKeyID
	for i, id := range g.PSKs {
		if id.Type != PSKResumption || id.Usage == UsageApplication {
			continue
		}
		if by != nil {
			return invalid("12.4.3.1", "two groups come before this one")
		}
		by = &g.PSKs[i]
	}
	is := UsageApplication
	if by != nil {
		is = by.Usage
	}
	switch {
	case params.Usage != 0 && params.Usage != is:
		return invalid("12.4.3.1", "the group does not come from where it was expected to")
	case by == nil:
		return nil
	}
	c := &info.Context
	switch {
	case c.Epoch != 1:
		return invalid("12.4.3.1", "epoch of a successor's Welcome")
	case predecessor == nil || !equal(predecessor.context.GroupID, by.GroupID):
		return fail(ErrArgument, "12.4.3.1", "the group before this one is missing")
	case by.Usage == UsageReInit:
		return predecessor.checkReInit(c, by.Epoch)
	}
	return predecessor.checkBranch(c)
}

// checkReInit checks that a new group is what g's ReInit proposal said (RFC 9420,
// Section 11.2).
func (g *Group) checkReInit(c *GroupContext, epoch uint64) error {
	switch r := g.reinit; {
	case r == nil, epoch != g.context.Epoch:
		return invalid("11.2", "the group was not reinitialised")
	case r.Version != c.Version, r.Suite != c.Suite, !equal(r.GroupID, c.GroupID), !sameExtensions(r.Extensions, c.Extensions):
		return invalid("11.2", "the successor is not what was agreed on")
	}
	return nil
}

// checkBranch checks what a subgroup has in common with g (RFC 9420, Section 11.3).
func (g *Group) checkBranch(c *GroupContext) error {
	if c.Version != g.context.Version || c.Suite != g.context.Suite {
		return invalid("11.3", "a branch has the suite of the group that it comes from")
	}
	return nil
}

func sameExtensions(a, b []Extension) bool {
	return slices.EqualFunc(a, b, func(x, y Extension) bool { return x.Type == y.Type && equal(x.Data, y.Data) })
}

// checkMembers checks that the members of a successor are those of the group before,
// and that those of a branch are some of them, each once (RFC 9420, Sections 11.2, 11.3
// and 12.4.3.1). checkSuccession came before.
func (g *groupSecrets) checkMembers(env Env, t tree, predecessor *Group) error {
	i := slices.IndexFunc(g.PSKs, func(id PreSharedKeyID) bool {
		return id.Type == PSKResumption && id.Usage != UsageApplication
	})
	if i < 0 {
		return nil
	}
	return predecessor.correspond(env, t, g.PSKs[i].Usage == UsageReInit)
}

// correspond finds, for every member of a new group, a member of g whose credential
// is the same, or may become that one by env.Successor, and that no other stands for; with all, no
// member of g is left. Equal credentials go first, so that a change of one does not
// take the place of another.
func (g *Group) correspond(env Env, t tree, all bool) error {
	count := map[string]int{}
	for _, l := range t.members() {
		count[string(l.Credential.append(nil))]++
	}
	var left []Credential // of g, without an equal in the new group
	for _, l := range g.tree.members() {
		k := string(l.Credential.append(nil))
		if count[k] == 0 {
			left = append(left, l.Credential)
		} else {
			count[k]--
		}
	}
	for _, l := range t.members() {
		k := string(l.Credential.append(nil))
		if count[k] == 0 {
			continue
		}
		count[k]--
		i := slices.IndexFunc(left, func(old Credential) bool { return env.successor(old, l.Credential) == nil })
		if i < 0 {
			return invalid("11.3", "a member of the new group was not in the one before")
		}
		left = slices.Delete(left, i, i+1)
	}
	if all && len(left) > 0 {
		return invalid("11.2", "a member of the group before is not in its successor")
	}
	return nil
}
