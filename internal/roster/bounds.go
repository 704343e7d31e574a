package roster

import (
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
)

// MaxLeavesOf is how many devices of one person a group has at most: each is a copy of
// every message, and a part of every commit.
const MaxLeavesOf = 8

// rested checks that it is the turn of the committer's person. Whoever commits knows
// the epoch that follows before anybody else, and so could fill its slot, too, and so
// on: a change that others want would never come to a slot. So between two commits of
// a person who is no admin there are Between of others; and an admin whose removal
// somebody in the group could want makes at most Between in a row, which anybody else
// may break by a path of their own. Nobody has a right over the most senior admin: there
// is nothing that a row of theirs could keep out but what they may do themselves.
//
// spec: group.md#turns
func (a *applying) rested() error {
	s, m := a.c.State, a.c.Maker
	n := 0
	for _, d := range s.Makers {
		if l, ok := leafOf(a.c.Leaves, d); ok && l.Root == m.Root {
			n++
		}
	}
	switch _, admin := s.Rank(m.Root); {
	case !admin && n > 0:
		return ErrMaker
	case admin && n == Between && s.eldest(a.c.Leaves) != m.Root:
		return ErrMaker
	}
	return nil
}

// Row reports whether the last Between commits are all of one person, whose turn is
// over: another one is to make the next.
//
// spec: group.md#turns
func (s *State) Row(leaves []Leaf) (key.SignPublic, bool) {
	if len(s.Makers) < Between || s.Sole != nil {
		return key.SignPublic{}, false
	}
	first, ok := leafOf(leaves, s.Makers[0])
	if !ok || s.eldest(leaves) == first.Root {
		return key.SignPublic{}, false
	}
	for _, d := range s.Makers[1:] {
		if l, ok := leafOf(leaves, d); !ok || l.Root != first.Root {
			return key.SignPublic{}, false
		}
	}
	return first.Root, true
}

// eldest is the most senior admin who has a leaf; zeros: none has.
func (s *State) eldest(leaves []Leaf) key.SignPublic {
	for _, r := range s.Admins {
		if slices.ContainsFunc(leaves, func(l Leaf) bool { return l.Root == r }) {
			return r
		}
	}
	return key.SignPublic{}
}

// room checks that one more device of a person has a place: among those of that person,
// and in what the slots of the group hold. Who is added again takes no new one.
//
// spec: group.md#room
func (a *applying) room(root key.SignPublic) error {
	of, all := 0, len(a.leaves)
	for _, l := range a.leaves {
		if l.Root == root {
			of++
		}
	}
	for _, w := range a.plan.Add {
		if w.Kind == Add {
			all++
			if w.Root == root {
				of++
			}
		}
	}
	if of >= MaxLeavesOf || a.c.Most > 0 && all >= a.c.Most {
		return ErrBounds
	}
	return nil
}
