package group

import (
	"slices"

	"github.com/tacet-chat/tacet/internal/roster"
)

// sole reports whether a state has one committer, and so no slots.
func (o *opened) sole() bool {
	s, err := o.agreed()
	return err == nil && s.Sole != nil
}

// commitSole makes the commit for which the time has come, where this device alone
// commits. There is no slot to win: what is stored counts, and is passed on like any.
//
// spec: group.md#one-committer
func (g *group) commitSole() error {
	if g.r.Rift.Sole == nil || !g.mayCommit() || g.r.Try == 0 || g.unix() < g.r.Try {
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	if h.End.Staged == nil {
		if err := g.stage(h); err != nil || h.End.Staged == nil {
			return err
		}
	}
	s, err := h.slotOf()
	if err != nil {
		return err
	}
	defer s.Wipe()
	content, err := s.Open(h.End.Staged.Blob)
	if err != nil {
		return err // our own bug
	}
	f := &found{content: append(slices.Clone(h.End.Staged.Blob[:nonceSize]), content...)}
	if err := decode(content, &f.commit); err != nil {
		return err
	}
	t, err := g.treeOf(h)
	if err != nil {
		return err
	}
	return g.won(h, t, f)
}

// hearSole takes a commit of the one committer. Nothing but its place in the tree
// and the signature says that it is the one: a committer who makes two for one epoch
// parts the group, and is seen by the marks of heads.
//
// spec: group.md#one-committer
func (g *group) hearSole(o *opened, n *News) error {
	if !o.sole() {
		return ErrSaid
	}
	if n.Epoch > g.r.Head {
		g.r.Known = max(g.r.Known, n.Epoch+1)
		return nil
	}
	if n.Epoch != o.Number || n.Epoch != g.r.Head || g.r.State == Behind {
		return nil
	}
	if len(n.Content) < nonceSize {
		return ErrSaid
	}
	f := &found{content: n.Content}
	if err := decode(n.Content[nonceSize:], &f.commit); err != nil {
		return err
	}
	t, err := g.treeOf(o)
	if err != nil {
		return err
	}
	if !g.Crypto.IsCommit(f.commit.Commit) {
		return ErrSaid // somebody's text, this device's perhaps
	}
	// A commit that this device made itself is none that another brings: it would be the
	// one committer, who knows what it committed.
	op, err := t.Process(g.env(), f.commit.Commit)
	if err != nil || op.Staged == nil {
		return ErrSaid
	}
	wishes, plan, err := g.judge(o, op.Staged)
	if err != nil {
		return err
	}
	return g.enter(o, t, &entering{found: f, staged: op.Staged, wishes: wishes, plan: plan, owner: o.Own})
}

// goes reports whether a wish takes the one committer out of the group, which no
// commit of its can do.
func (g *group) goes(w *roster.Wish) bool {
	sole := g.r.Rift.Sole
	h, err := g.head()
	if sole == nil || err != nil {
		return false
	}
	l, in := leafOf(h.Roster, *sole)
	if !in || w.Root != l.Root || w.Device != (Device{}) && w.Device != *sole {
		return false
	}
	return w.Kind == roster.Remove || w.Kind == roster.Leave || w.Kind == roster.Revoked
}
