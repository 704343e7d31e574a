package group

import (
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
)

// What a commit takes at worst, in bytes: when no parent in the tree has a key, a path
// has a part for every leaf. Measured by TestCommitsFitIntoTheirSlots.
//
// spec: group.md#room
var worst = map[Suite]struct {
	leaf  int // a part of a path: HPKE ciphertext of a path secret
	fixed int // two states of a usual size (a Welcome has one, too), a key package, its Welcome, the maker's leaf, keys on the way to the root
}{
	SuiteHybrid:  {leaf: 1_180, fixed: 32 << 10},
	SuiteClassic: {leaf: 90, fixed: 21 << 10},
}

// mostLeaves is how many leaves a group may have, so that any member's commit fits into
// its slots: an add with a state of usual size, all else with the largest. At least 1.
func mostLeaves(class byte, s Suite) int {
	w, ok := worst[s]
	if !ok {
		return 1
	}
	return max(1, (slot.Room(class)-w.fixed)/w.leaf)
}

// classFor is the class of slots for so many leaves to begin with: there is room for
// three times as many.
func classFor(size int, s Suite) byte {
	if size > 64 || mostLeaves(2, s) < 3*size {
		return 3
	}
	return 2
}

// pathWanted reports whether this device wants a commit with nothing but its own path:
// its leaf is to change, it was away, or somebody made so many commits in a row that
// another has to make the next.
//
// spec: group.md#turns
func (g *group) pathWanted(h *opened) bool {
	if g.r.Tight == h.Number+1 {
		return false
	}
	if g.r.Update {
		return true
	}
	s, err := h.agreed()
	if err != nil {
		return false
	}
	root, row := s.Row(h.Roster)
	return row && root != g.Self.Manifest.Root
}

// pathWithin is over how many seconds paths are spread that end somebody's row: every
// member wants to make one.
func (g *group) pathWithin(h *opened) int64 { return max(g.spread(), int64(len(h.Roster))) }

// tight notes that the own path does not fit into the slot of the head: it is wanted
// again in the next epoch. The class was chosen too small for who is in the group.
func (g *group) tight(h *opened) {
	g.r.Tight, g.r.Try = h.Number+1, 0
	g.trouble(waitsTight)
}

// room makes a commit be judged by how many leaves the slots have room for.
func (g *group) room(c *roster.Commit) *roster.Commit {
	c.Most = mostLeaves(c.State.Class, g.r.Suite)
	return c
}
