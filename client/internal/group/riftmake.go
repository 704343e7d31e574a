package group

import (
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// reasonOf is what a statement says of why a device stopped.
func reasonOf(why StopReason) roster.Reason {
	switch why {
	case StopTwo:
		return roster.Contradicted
	case StopBurnt:
		return roster.SlotBurnt
	case StopSole:
		return roster.TakenOver
	}
	return roster.RelayGone
}

// elsewhere is the home of a group that is made again: another realm than that of the
// old one. Without one that this device can use, false: then one device commits.
func (g *group) elsewhere(old roster.Home) (roster.Home, bool) {
	for _, h := range append([]roster.Home{g.Self.Home}, g.Self.Elsewhere...) {
		if h.Pin != old.Pin && h.Name != "" {
			return h, true
		}
	}
	return old, false
}

// remake makes the group again: from its roster, less everyone whose removal was
// shown here, or is wished by somebody who has the right. Key packages are asked for
// anew, since stocks may have been copied.
//
// spec: group.md#statements
func (g *group) remake(reason roster.Reason) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	old, err := h.agreed()
	if err != nil {
		return err
	}
	if err := g.wishedGone(h, old); err != nil {
		return err
	}
	if g.goneHere(g.Self.Manifest.Root, g.me()) {
		return nil // who was more senior wants this device out: it makes nothing
	}
	l, err := g.line()
	if err != nil {
		return err
	}
	members := []roster.Leaf{h.self()}
	var gone []key.SignPublic
	// Who was to come in and has not yet is to be in the next one, too.
	for _, x := range append(h.others(), g.r.Rift.Expect...) {
		switch {
		case l.shownGone(x, old.Admins):
			gone = append(gone, x.Root)
		default:
			members = append(members, x)
		}
	}
	state := old.Clone()
	home, other := g.elsewhere(old.Home)
	if reason == roster.Overruled {
		home, other = old.Home, true // nothing is wrong with its relay
	}
	// Who burnt a slot is a member still, and can do so again; and where there is no
	// other relay there are no slots.
	sole := old.Sole != nil && reason == roster.Overruled || reason == roster.SlotBurnt || reason == roster.TakenOver || !other
	me := g.me()
	state.Home, state.Past, state.Makers, state.Sole, state.Origin = home, nil, nil, nil, nil
	if sole {
		state.Sole = &me
	}
	state.Born = max(state.Born, day(g.now))
	state.Turn += min(roster.Leap, ^state.Turn)
	state.Admins = slices.DeleteFunc(state.Admins, func(r key.SignPublic) bool {
		return !slices.ContainsFunc(members, func(x roster.Leaf) bool { return x.Root == r })
	})
	stay := uint64(0)
	for i, r := range old.Admins {
		if slices.Contains(state.Admins, r) {
			stay |= 1 << i
		}
	}
	roll := &roster.Roll{Gone: roster.SortKeys(gone)}
	for _, x := range members {
		roll.Members = append(roll.Members, x.Device)
	}
	roster.SortKeys(roll.Members)
	id, err := g.id()
	if err != nil {
		return err
	}
	st := &roster.Statement{
		Old: g.r.ID, Origin: g.r.Origin, Epoch: h.Number, New: id, Order: old.Admins, Home: home, Reason: reason, Sole: sole, Roll: roll.Hash(),
		Mark: h.Mark, Stay: stay,
	}
	if err := st.Sign(g.Self.Sign, g.Self.Manifest); err != nil {
		return err
	}
	told := Told{}
	if told.Statement, err = st.Append(nil); err != nil {
		return err
	}
	if told.Roll, err = roll.Append(nil); err != nil {
		return err
	}
	state.Origin = told.Statement
	t, err := g.treeOf(h)
	if err != nil {
		return err
	}
	suite := t.Suite()
	next, err := g.work.foundAs(id, state, suite)
	if err != nil {
		return err
	}
	next.r.Origin, next.r.Old, next.r.Rift.Made = g.r.Origin, g.r.ID, told.Statement
	for i, o := range g.r.Wishes { // what it was made with is done there, and open if that does not count
		w, err := roster.ParseWish(o.Wish)
		if err == nil && o.Applied == 0 && slices.Contains(gone, w.Root) && (w.Kind == roster.Remove || w.Kind == roster.Leave || w.Kind == roster.Revoked) {
			g.r.Wishes[i].Applied, g.r.Wishes[i].In = 1, id
		}
	}
	next.r.Rift.Expect = append(next.r.Rift.Expect, members[1:]...)
	l.groups[id] = next
	if err := l.learn(g.me(), g.Self.Manifest.Root, []Told{told}); err != nil {
		return err
	}
	for _, x := range members[1:] {
		if err := next.invite(x); err != nil {
			return err
		}
	}
	if err := l.follow(); err != nil {
		return err
	}
	return l.save()
}

// wishedGone notes as shown the removals that are wished, by who has the right to,
// and not done yet: in the new group there is nobody to remove.
func (g *group) wishedGone(h *opened, s *roster.State) error {
	t, err := g.treeOf(h)
	if err != nil {
		return err
	}
	for _, w := range g.openWishes() {
		i, in := leafOf(h.Roster, w.By)
		if !in || w.From != i.Entry {
			continue
		}
		switch {
		case w.Kind == roster.Remove && s.Senior(i.Root, w.Root), w.Kind == roster.Leave && i.Root == w.Root, w.Kind == roster.Revoked:
		default:
			continue
		}
		shown, err := g.removals(t.Members(), []*roster.Wish{w}, h.Number+1)
		if err != nil {
			return err
		}
		for _, b := range shown {
			g.keepGone(b)
		}
	}
	return nil
}

// invite asks a device for a fresh key package, and adds it once that is there. What
// lies in the stock may have been copied with this device's or theirs.
func (g *group) invite(x roster.Leaf) error {
	stock, err := g.tx.Stock(x.Device)
	if err != nil {
		return err
	}
	for _, p := range stock {
		if err := g.tx.DeleteStock(x.Device, p.Hash); err != nil {
			return err
		}
	}
	g.r.Lacking = append(g.r.Lacking, Lacking{Root: x.Root, Device: x.Device, Since: g.unix(), Asked: g.unix()})
	g.word(x.Device, x.Root, []byte{byte(WordAsk)})
	return nil
}

// shownGone reports whether somebody's removal was shown in the line: by a commit on
// another branch, or by a word of a member. Those of this device's own past count no
// more once somebody was added again.
func (l *line) shownGone(x roster.Leaf, order []key.SignPublic) bool {
	for _, id := range l.ids() {
		for _, b := range l.groups[id].r.Rift.Gone {
			if w, s, ok := readShown(b); ok && w.Kind != roster.Demote && s.Against(l.origin, order, x.Root, x.Device) {
				return true
			}
		}
	}
	return false
}

// takeOver makes the group again where one device commits and this one, more senior,
// wants it removed.
//
// spec: group.md#one-committer
func (g *group) takeOver() error {
	sole := g.r.Rift.Sole
	if sole == nil || *sole == g.me() || g.r.State == Behind {
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	l, in := leafOf(h.Roster, *sole)
	state := &roster.State{Admins: g.r.admins()}
	if in && !state.Senior(g.Self.Manifest.Root, l.Root) {
		return nil
	}
	for _, o := range g.r.Wishes {
		w, err := roster.ParseWish(o.Wish)
		if err != nil || w.Kind != roster.Remove || o.Applied != 0 || w.Root != l.Root || w.Device != (Device{}) && w.Device != *sole {
			continue
		}
		if by, ok := leafOf(h.Roster, w.By); !ok || by.Root != g.Self.Manifest.Root {
			continue
		}
		return g.remake(roster.TakenOver)
	}
	return nil
}
