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
// kind, so that removals come before what they settle, then by id.
func Sort(w []*Wish) {
	slices.SortFunc(w, func(a, b *Wish) int {
		return cmp.Or(cmp.Compare(order(a.Kind), order(b.Kind)), bytes.Compare(a.ID[:], b.ID[:]))
	})
}

// order is the order of kinds in a commit: what somebody does to others counts
// only if nobody more senior took their right away in the same commit.
func order(k WishKind) int {
	switch k {
	case Revoked:
		return 0
	case Remove:
		return 1
	case Demote:
		return 2
	case Leave:
		return 3
	case ReAdd:
		return 4
	case Add:
		return 5
	case Promote:
		return 6
	}
	return 10 + int(k)
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
	if !slices.IsSortedFunc(c.Wishes, func(a, b *Wish) int {
		return cmp.Or(cmp.Compare(order(a.Kind), order(b.Kind)), bytes.Compare(a.ID[:], b.ID[:]))
	}) {
		return nil, ErrOrder
	}
	a := newApplying(c)
	if err := a.maker(); err != nil {
		return nil, err
	}
	for i, w := range c.Wishes {
		if i > 0 && c.Wishes[i-1].ID == w.ID && order(c.Wishes[i-1].Kind) == order(w.Kind) {
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
func Select(c *Commit, from []*Wish) (good []*Wish, bad map[WishID]error) {
	all := slices.Clone(from)
	Sort(all)
	bad = map[WishID]error{}
	a := newApplying(c)
	for i, w := range all {
		if i > 0 && all[i-1].ID == w.ID && order(all[i-1].Kind) == order(w.Kind) {
			continue // the same twice
		}
		if len(good) == MaxWishes {
			bad[w.ID] = ErrBounds
			continue
		}
		if err := a.judge(w); err != nil {
			bad[w.ID] = err
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

func (a *applying) find(device key.SignPublic) (Leaf, bool) {
	for _, l := range a.leaves {
		if l.Device == device {
			return l, true
		}
	}
	return Leaf{}, false
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
		return a.promote(w.Root)
	case Demote:
		if !a.next.Senior(by.Root, w.Root) && (by.Root != w.Root || !admin) {
			return ErrRight
		}
		return a.demote(w.Root)
	}
	if !admin {
		return ErrRight
	}
	return a.set(w)
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
	if err := a.room(w.Root); err != nil {
		return err
	}
	a.plan.Add = append(a.plan.Add, w)
	return nil
}

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

func (a *applying) promote(root key.SignPublic) error {
	if _, ok := a.next.Rank(root); ok {
		return ErrDone
	}
	if !slices.ContainsFunc(a.leaves, func(l Leaf) bool { return l.Root == root }) {
		return ErrNobody
	}
	if len(a.next.Admins) == MaxAdmins {
		return ErrBounds
	}
	a.next.Admins = append(a.next.Admins, root)
	return nil
}

func (a *applying) demote(root key.SignPublic) error {
	i, ok := a.next.Rank(root)
	if !ok {
		return ErrDone
	}
	if len(a.next.Admins) == 1 {
		return ErrLast
	}
	a.next.Admins = slices.Delete(a.next.Admins, i, i+1)
	return nil
}

// set applies what changes the group's looks.
func (a *applying) set(w *Wish) error {
	s := a.next
	switch w.Kind {
	case Rename:
		if s.Name == w.Text {
			return ErrDone
		}
		s.Name = w.Text
	case SetPicture:
		if bytes.Equal(s.Picture, w.Bytes) {
			return ErrDone
		}
		s.Picture = bytes.Clone(w.Bytes)
	case SetTimer:
		if s.Timer == w.Number {
			return ErrDone
		}
		s.Timer = w.Number
	case SetFanout:
		if s.Fanout == Fanout(w.Number) {
			return ErrDone
		}
		s.Fanout = Fanout(w.Number)
	case OpenLink:
		if slices.ContainsFunc(s.Links, func(l Link) bool { return l.ID == w.Link.ID }) {
			return ErrDone
		}
		if len(s.Links) == MaxLinks {
			return ErrBounds
		}
		s.Links = append(s.Links, *w.Link)
	case CloseLink:
		n := len(s.Links)
		s.Links = slices.DeleteFunc(s.Links, func(l Link) bool { return l.ID == w.Link.ID })
		if len(s.Links) == n {
			return ErrDone
		}
	default:
		return ErrRight
	}
	return nil
}

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
	// An admin who had no leaf before is one of a group that was made again, who is
	// not in it yet: they keep their rank.
	s.Admins = slices.DeleteFunc(s.Admins, func(r key.SignPublic) bool { return leaf(a.c.Leaves, r) && !leaf(a.leaves, r) })
	if !slices.ContainsFunc(s.Admins, func(r key.SignPublic) bool { return leaf(a.leaves, r) }) {
		// Succession: the person whose leaf stands most to the left.
		if r := slices.MinFunc(a.leaves, func(x, y Leaf) int { return cmp.Compare(x.Index, y.Index) }).Root; len(s.Admins) < MaxAdmins {
			s.Admins = append(s.Admins, r)
		}
	}
	if a.c.Slot != (Past{}) {
		if slices.ContainsFunc(s.Past, func(p Past) bool { return p.ID == a.c.Slot.ID }) {
			return nil, ErrOrder
		}
		s.Past = append(s.Past, a.c.Slot)
		s.Past = s.Past[max(0, len(s.Past)-MaxPast):]
	}
	s.Makers = append(s.Makers, a.c.Maker.Device)
	s.Makers = s.Makers[max(0, len(s.Makers)-Between):]
	s.Born = max(s.Born, a.c.Born)
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
