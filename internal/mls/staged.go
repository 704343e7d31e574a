package mls

import "slices"

// CommitParams is what a commit is to cover.
type CommitParams struct {
	Proposals  []*Proposal   // by value
	Refs       []ProposalRef // of pending proposals
	AllPending bool          // also all pending ones that go together
	ForcePath  bool          // new keys for oneself, also where RFC 9420 does not ask for it
	Leaf       LeafChange    // what else is to be new in one's own leaf
	Framing    Framing

	GroupInfoExtensions []Extension // for who is added
	TreeAside           bool        // Staged.Tree instead of a tree in the Welcome

	succession bool // the first commit of a successor or branch
}

// Staged is a commit that was made or processed and leads to a next epoch, which no
// group has entered yet. It belongs to the epoch that it starts from: a commit can be
// held back, chosen against another, or dropped.
type Staged struct {
	Message *Message // the commit, of [Group.Stage]; nil from [Group.Process]
	Welcome *Message // for those who were added; nil if there are none, and from Process
	Tree    []byte   // the ratchet_tree, if it was asked to go aside

	Committer         Sender
	AuthenticatedData []byte
	Proposals         []PendingProposal // that the commit covers, in its order; those by value without Ref
	Added             []LeafIndex       // who joined by an external commit included
	Updated           []LeafIndex
	Removed           []LeafIndex
	Path              bool // the committer has a new path

	base [32]byte // identity of the epoch before
	next *Group   // nil once it was merged or dropped
}

// Next is the group as it will be, to read; it is still the commit's. Nil once that
// was merged or dropped.
func (s *Staged) Next() *Group { return s.next }

// Clone returns an independent copy, for another clone of the group.
func (s *Staged) Clone() *Staged {
	c := *s
	if s.next != nil {
		c.next = s.next.Clone()
	}
	return &c
}

// Drop gives the commit up and wipes the secrets of the epoch it leads to.
func (s *Staged) Drop() {
	if s.next != nil {
		s.next.Drop()
		s.next = nil
	}
}

// Merge enters the epoch that a staged commit leads to. The secrets of the epoch that
// is left are wiped; take [Group.Past] before, to open what comes late. Proposals of
// the old epoch are gone. A commit that was read into another [Lineage] comes into that of
// the group. It fails with ErrStale for a commit that starts from another epoch or was
// merged already, and with ErrArgument if it has clones in another lineage.
func (g *Group) Merge(s *Staged) error {
	if s.next == nil || g.identity() != s.base {
		return fail(ErrStale, "", "commit")
	}
	if g.removed {
		return fail(ErrRemoved, "", "group")
	}
	if s.next.messages != nil {
		if err := s.next.messages.rehome(g.messages.lineage()); err != nil {
			return err
		}
	}
	old := *g
	*g, s.next = *s.next, nil
	old.Drop()
	return nil
}

// staged begins the description of a commit.
func (g *Group) staged(a *authenticatedContent, list []listed, c *changes) *Staged {
	s := &Staged{
		Committer: a.Content.Sender, AuthenticatedData: a.Content.AuthenticatedData,
		Removed: slices.Clone(c.removed), Updated: slices.Clone(c.updated),
		Path: a.Content.Commit.Path != nil, base: g.identity(),
	}
	for i, l := range list {
		s.Proposals = append(s.Proposals, PendingProposal{a.Content.Commit.Proposals[i].Ref, l.sender, l.proposal})
	}
	for _, a := range c.added {
		s.Added = append(s.Added, a.at)
	}
	return s
}
