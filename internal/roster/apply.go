package roster

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Why a commit, or a wish in it, is refused. ErrRefused is all of them.
var (
	ErrRefused  = errors.New("change of the group is refused")
	ErrRight    = refused("who wishes it has no right to")
	ErrDone     = refused("there is nothing left to do")
	ErrNobody   = refused("it is about nobody in the group")
	ErrSelf     = refused("a device cannot commit its own removal")
	ErrMaker    = refused("this device may not commit this now")
	ErrLast     = refused("the group would be left without an admin or a member")
	ErrEvidence = refused("the manifest does not show what it should")
	ErrOrder    = refused("wishes are not in their order, or one comes twice")
	ErrForeign  = refused("the wish is for another group")
	ErrBounds   = refused("there is no room for it")
	ErrPast     = refused("it was wished before something that changes what it means")
)

type refusal struct{ text string }

func (r *refusal) Error() string      { return r.text }
func (*refusal) Is(target error) bool { return target == ErrRefused }
func refused(text string) error       { return &refusal{text} }

// Leaf is one member's device in the tree of an epoch.
type Leaf struct {
	Index  uint32
	Root   key.SignPublic
	Device key.SignPublic
	Entry  Entry // its membership
}

// leafOf is the leaf of a device.
func leafOf(leaves []Leaf, device key.SignPublic) (Leaf, bool) {
	for _, l := range leaves {
		if l.Device == device {
			return l, true
		}
	}
	return Leaf{}, false
}

// Commit is what a commit is made of, as Apply judges it.
type Commit struct {
	Origin GroupID // what wishes name: the group, or the first of those it was made again from
	State  *State  // of the epoch that ends
	Leaves []Leaf  // of that epoch
	Maker  Leaf    // who commits
	Slot   Past    // the slot of the epoch before the one that ends, with what it holds; zeros: none
	Born   uint32  // day, by the committer's clock
	Most   int     // leaves that the slots of the group have room for; 0: no bound
	Wishes []*Wish // in Sort's order
}

// Plan is what a commit does.
type Plan struct {
	State  *State   // of the next epoch
	Remove []uint32 // leaves, ascending; those of Again included
	Add    []*Wish  // whose packages are added, in this order
	Again  []uint32 // leaves that are removed and added again
}

// Sort puts wishes into the order in which a commit carries and applies them: by
// kind, so that removals come before what they settle, then by id and wisher.
func Sort(w []*Wish) { slices.SortFunc(w, compare) }

func compare(a, b *Wish) int {
	return cmp.Or(cmp.Compare(a.order(), b.order()), bytes.Compare(a.ID[:], b.ID[:]), bytes.Compare(a.By[:], b.By[:]))
}

// order is the order of kinds in a commit: what somebody does to others counts
// only if nobody more senior took their right away in the same commit. Whose old
// device leaves as the new one comes is there all the time; who leaves altogether
// brings nobody.
func (w *Wish) order() int {
	switch w.Kind {
	case Revoked:
		return 0
	case Remove:
		return 1
	case Demote:
		return 2
	case Leave:
		if w.Device != (key.SignPublic{}) {
			return 5
		}
		return 3
	case Add:
		return 4
	case ReAdd:
		return 6
	case Promote:
		return 7
	}
	return 10 + int(w.Kind)
}

// Apply is what a commit does, or why it is refused. Everybody who has the epoch
// comes to the same answer: it depends on nothing but c. A committer leaves out of
// c.Wishes what is refused (see Select), a receiver refuses the whole.
//
// spec: group.md#who-may-what
func Apply(c *Commit) (*Plan, error) {
	if len(c.Wishes) > MaxWishes {
		return nil, ErrBounds
	}
	if !slices.IsSortedFunc(c.Wishes, compare) {
		return nil, ErrOrder
	}
	a := newApplying(c)
	if err := a.maker(); err != nil {
		return nil, err
	}
	for i, w := range c.Wishes {
		if i > 0 && compare(c.Wishes[i-1], w) == 0 {
			return nil, ErrOrder
		}
		if err := a.judge(w); err != nil {
			return nil, err
		}
	}
	return a.finish()
}

// Select returns those of the wishes that a commit by c.Maker can carry, in their
// order, and what is wrong with each other one: c.Wishes is not looked at. Each
// wish is judged after those before it, so Apply takes what is returned unless the
// maker may not commit at all.
func Select(c *Commit, from []*Wish) (good []*Wish, bad map[WishKey]error) {
	all := slices.Clone(from)
	Sort(all)
	bad = map[WishKey]error{}
	a := newApplying(c)
	for i, w := range all {
		if i > 0 && compare(all[i-1], w) == 0 {
			continue // the same twice
		}
		if len(good) == MaxWishes {
			bad[w.Key()] = ErrBounds
			continue
		}
		if err := a.judge(w); err != nil {
			bad[w.Key()] = err
			continue
		}
		good = append(good, w)
	}
	return good, bad
}

// applying is a commit half way through.
type applying struct {
	c      *Commit
	next   *State
	leaves []Leaf          // that are left
	gone   map[uint32]bool // leaves that are removed
	plan   *Plan
}

func newApplying(c *Commit) *applying {
	return &applying{c: c, next: c.State.Clone(), leaves: slices.Clone(c.Leaves), gone: map[uint32]bool{}, plan: &Plan{}}
}

// maker checks that the committer may commit at all, and that it is their turn. Where
// the group has one committer nobody else may.
func (a *applying) maker() error {
	m := a.c.Maker
	if !slices.Contains(a.c.Leaves, m) {
		return ErrNobody
	}
	if s := a.c.State.Sole; s != nil && *s != m.Device {
		return ErrMaker
	} else if s != nil {
		return nil // nobody else could end its row
	}
	// Leaves and revocations are each done once: nobody makes a chain of them.
	if _, admin := a.c.State.Rank(m.Root); !admin && len(a.c.Wishes) > 0 {
		return nil
	}
	return a.rested()
}

// judge applies one wish if this committer may carry it. One that is refused
// changes nothing.
func (a *applying) judge(w *Wish) error {
	if _, admin := a.c.State.Rank(a.c.Maker.Root); !admin && w.Kind != Leave && w.Kind != Revoked {
		return ErrMaker
	}
	return a.wish(w)
}

func (a *applying) find(device key.SignPublic) (Leaf, bool) { return leafOf(a.leaves, device) }

// bound fails with ErrPast for a wish of another membership of who wished it, or about
// another of who it is about. Who is not there at all is for others to say.
//
// spec: group.md#wishes
func (a *applying) bound(w *Wish, by Leaf) error {
	if w.From != by.Entry {
		return ErrPast
	}
	var all key.SignPublic
	there := false
	for _, l := range a.c.Leaves {
		if l.Root != w.Root || w.Device != all && l.Device != w.Device {
			continue
		}
		if there = true; slices.Contains(w.Of, l.Entry) {
			return nil
		}
	}
	switch w.Kind {
	case Remove, Leave, ReAdd, Promote, Demote:
		if there {
			return ErrPast
		}
	}
	return nil
}

// wish applies one wish, by the right of who wishes it.
func (a *applying) wish(w *Wish) error {
	if w.Group != a.c.Origin {
		return ErrForeign
	}
	// Who is removed in this very commit has no say in it any more.
	by, ok := a.find(w.By)
	if !ok {
		return ErrRight
	}
	if err := a.bound(w, by); err != nil {
		return err
	}
	_, admin := a.next.Rank(by.Root)
	switch w.Kind {
	case Remove:
		if !a.next.Senior(by.Root, w.Root) {
			return ErrRight
		}
		return a.remove(w.Root, w.Device)
	case Leave:
		if by.Root != w.Root {
			return ErrRight
		}
		return a.remove(w.Root, w.Device)
	case Revoked:
		return a.revoked(w)
	case Add:
		if !admin && by.Root != w.Root {
			return ErrRight
		}
		return a.add(w)
	case ReAdd:
		if !admin && by.Root != w.Root {
			return ErrRight
		}
		return a.again(w)
	case Promote:
		if !admin {
			return ErrRight
		}
		return a.promote(w)
	case Demote:
		if !a.next.Senior(by.Root, w.Root) && (by.Root != w.Root || !admin) {
			return ErrRight
		}
		return a.demote(w)
	}
	if !admin {
		return ErrRight
	}
	return a.set(w, by.Root)
}

// remove takes out a device of a person, or all of them.
func (a *applying) remove(root, device key.SignPublic) error {
	var none key.SignPublic
	out := func(l Leaf) bool { return l.Root == root && (device == none || l.Device == device) }
	if out(a.c.Maker) {
		return ErrSelf
	}
	n := len(a.leaves)
	a.leaves = slices.DeleteFunc(a.leaves, func(l Leaf) bool {
		if out(l) {
			a.gone[l.Index] = true
			a.next.Away.set(l.Device, a.now())
		}
		return out(l)
	})
	if len(a.leaves) == n {
		return ErrDone
	}
	return nil
}

func (a *applying) revoked(w *Wish) error {
	m, err := manifest.Parse(w.Proof)
	if err != nil || m.Root != w.Root || !m.Signed() {
		return ErrEvidence
	}
	i, ok := m.Find(w.Device)
	if !ok {
		return ErrEvidence
	}
	if _, active := m.Active(i); active {
		return ErrEvidence
	}
	return a.remove(w.Root, w.Device)
}

func (a *applying) add(w *Wish) error {
	if _, ok := a.find(w.Device); ok {
		return ErrDone
	}
	for _, l := range a.c.Leaves {
		if l.Device == w.Device { // removed in this commit: not in and out at once
			return ErrRight
		}
	}
	for _, o := range a.plan.Add {
		if o.Device == w.Device {
			return ErrDone
		}
	}
	if w.Turn < a.next.Away.since(w.Device) {
		return ErrPast // it was there since, and was taken out
	}
	if err := a.room(w.Root); err != nil {
		return err
	}
	a.plan.Add = append(a.plan.Add, w)
	return nil
}

// now is the turn from which on wishes count about what this commit changes.
func (a *applying) now() uint64 { return a.c.State.turn() }

func (a *applying) again(w *Wish) error {
	l, ok := a.find(w.Device)
	if !ok || l.Root != w.Root {
		return ErrNobody
	}
	if l == a.c.Maker {
		return ErrSelf
	}
	if slices.Contains(a.plan.Again, l.Index) {
		return ErrDone
	}
	a.plan.Again = append(a.plan.Again, l.Index)
	a.plan.Add = append(a.plan.Add, w)
	return nil
}

func (a *applying) promote(w *Wish) error {
	root := w.Root
	if _, ok := a.next.Rank(root); ok {
		return ErrDone
	}
	if !slices.ContainsFunc(a.leaves, func(l Leaf) bool { return l.Root == root }) {
		return ErrNobody
	}
	if w.Turn < a.next.Roles.since(root) {
		return ErrPast
	}
	if len(a.next.Admins) == MaxAdmins {
		return ErrBounds
	}
	a.next.Roles.set(root, a.now())
	a.next.Admins = append(a.next.Admins, root)
	return nil
}

func (a *applying) demote(w *Wish) error {
	root := w.Root
	i, ok := a.next.Rank(root)
	if !ok {
		return ErrDone
	}
	if w.Turn < a.next.Roles.since(root) {
		return ErrPast
	}
	if len(a.next.Admins) == 1 {
		return ErrLast
	}
	a.next.Roles.set(root, a.now())
	a.next.Admins = slices.Delete(a.next.Admins, i, i+1)
	return nil
}

// set applies what changes the group's looks. by is the person who wishes it. Of two
// wishes about one thing, made before either was done, the first is done.
func (a *applying) set(w *Wish, by key.SignPublic) error {
	s := a.next
	var done bool
	switch w.Kind {
	case Rename:
		done = s.Name == w.Text
	case SetPicture:
		done = bytes.Equal(s.Picture, w.Bytes)
	case SetTimer:
		done = s.Timer == w.Number
	case SetFanout:
		done = s.Fanout == Fanout(w.Number)
	case OpenLink:
		done = w.Link.Ends < a.day() || slices.ContainsFunc(s.Links, func(l Link) bool { return l.ID == w.Link.ID })
	case CloseLink:
		done = !slices.ContainsFunc(s.Links, func(l Link) bool { return l.ID == w.Link.ID })
	default:
		return ErrRight
	}
	if done {
		return ErrDone
	}
	if w.Kind != CloseLink && w.Turn < s.since(w.Kind) {
		return ErrPast
	}
	switch w.Kind {
	case Rename:
		s.Name = w.Text
	case SetPicture:
		s.Picture = bytes.Clone(w.Bytes)
	case SetTimer:
		s.Timer = w.Number
	case SetFanout:
		s.Fanout = Fanout(w.Number)
	case OpenLink:
		if w.Link.By != by {
			return ErrRight
		}
		if len(s.Links) == MaxLinks {
			return ErrBounds
		}
		s.Links = append(s.Links, *w.Link)
		return nil
	case CloseLink:
		s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.ID == w.Link.ID })
	}
	s.set(w.Kind, a.now())
	return nil
}

// day is the day of the next state.
func (a *applying) day() uint32 { return max(a.c.State.Born, a.c.Born) }

// finish settles what follows from the wishes: who is still an admin, who takes
// over from the last one, and what the next state lists.
func (a *applying) finish() (*Plan, error) {
	if len(a.leaves)+len(a.plan.Add)-len(a.plan.Again) == 0 {
		return nil, ErrLast
	}
	s := a.next
	leaf := func(in []Leaf, r key.SignPublic) bool {
		return slices.ContainsFunc(in, func(l Leaf) bool { return l.Root == r })
	}
	stays := func(r key.SignPublic) bool { // with a device that comes in by this commit, too
		return leaf(a.leaves, r) || slices.ContainsFunc(a.plan.Add, func(w *Wish) bool { return w.Root == r })
	}
	// An admin who had no leaf before is one of a group that was made again, who is
	// not in it yet: they keep their rank.
	s.Admins = slices.DeleteFunc(s.Admins, func(r key.SignPublic) bool { return leaf(a.c.Leaves, r) && !stays(r) })
	if !slices.ContainsFunc(s.Admins, stays) {
		// Succession: the person whose leaf stands most to the left.
		if r := slices.MinFunc(a.leaves, func(x, y Leaf) int { return cmp.Compare(x.Index, y.Index) }).Root; len(s.Admins) < MaxAdmins {
			s.Admins = append(s.Admins, r)
			s.Roles.set(r, a.now())
		}
	}
	a.marks()
	if a.c.Slot != (Past{}) {
		if slices.ContainsFunc(s.Past, func(p Past) bool { return p.ID == a.c.Slot.ID }) {
			return nil, ErrOrder
		}
		s.Past = append(s.Past, a.c.Slot)
		s.Past = s.Past[max(0, len(s.Past)-MaxPast):]
	}
	s.Makers = append(s.Makers, a.c.Maker.Device)
	s.Makers = s.Makers[max(0, len(s.Makers)-Between):]
	s.Born, s.Turn = a.day(), a.now()
	if s.Sole != nil && !slices.ContainsFunc(a.leaves, func(l Leaf) bool { return l.Device == *s.Sole }) {
		return nil, ErrMaker
	}
	if !s.good() {
		return nil, ErrBounds
	}
	a.plan.State = s
	for i := range a.gone {
		a.plan.Remove = append(a.plan.Remove, i)
	}
	a.plan.Remove = append(a.plan.Remove, a.plan.Again...)
	slices.Sort(a.plan.Remove)
	a.plan.Remove = slices.Compact(a.plan.Remove)
	return a.plan, nil
}

// marks ends the links of who is no admin any more and those whose day is over, and
// forgets of whom it needs no marks: a role of who is not there is bound to another
// membership, and who is added is there.
func (a *applying) marks() {
	s := a.next
	n := len(s.Links)
	s.Links = slices.DeleteFunc(s.Links, func(l Link) bool {
		_, admin := s.Rank(l.By)
		return !admin || l.Ends < a.day()
	})
	if len(s.Links) < n {
		s.set(CloseLink, a.now())
	}
	s.Roles.keep(func(m Mark) bool {
		is := func(r key.SignPublic) bool { return markOf(r) == m.Whom }
		return slices.ContainsFunc(s.Admins, is) || slices.ContainsFunc(a.leaves, func(l Leaf) bool { return is(l.Root) })
	})
	s.Away.keep(func(m Mark) bool {
		return !slices.ContainsFunc(a.plan.Add, func(w *Wish) bool { return markOf(w.Device) == m.Whom })
	})
}
