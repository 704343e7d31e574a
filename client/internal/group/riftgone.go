package group

import (
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// removals makes of the wishes of a commit what can be shown to those who do not see
// it: members are those of the epoch that ends, to is the epoch it leads to.
//
// spec: group.md#shown-removals
func (g *group) removals(members []Member, wishes []*roster.Wish, to uint64) ([][]byte, error) {
	var out [][]byte
	for _, w := range wishes {
		switch w.Kind {
		case roster.Remove, roster.Leave, roster.Revoked, roster.Demote:
		default:
			continue
		}
		i := slices.IndexFunc(members, func(m Member) bool { return m.Device == w.By })
		if i < 0 {
			continue // Apply refuses such a commit
		}
		b, err := w.Append(nil)
		if err != nil {
			return nil, err
		}
		s := &roster.Shown{Group: g.r.ID, Epoch: to, Wish: b, Manifest: members[i].Credential.Manifest.Append(nil)}
		if b, err = s.Append(nil); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// noticed notes what the newest epoch, which this device just entered, changed for
// rules 7 to 10: the order of admins, the relay, and who was removed. removed is of
// removals, before the epoch was left; at a join it is nil.
func (g *group) noticed(h *opened, wishes []*roster.Wish, removed [][]byte) error {
	s, err := h.agreed()
	if err != nil {
		return err
	}
	f := &g.r.Rift
	f.Home, f.Sole, f.Missing = s.Home, s.Sole, 0
	if n := len(f.Orders); n == 0 || !slices.Equal(f.Orders[n-1].Admins, s.Admins) {
		f.Orders = append(f.Orders, Ordered{Epoch: h.Number, Admins: slices.Clone(s.Admins)})
		f.Orders = f.Orders[max(0, len(f.Orders)-keepOrders):]
	}
	// Who is added is not gone any more.
	for _, w := range wishes {
		if w.Kind == roster.Add || w.Kind == roster.Promote {
			f.Gone = slices.DeleteFunc(f.Gone, func(b []byte) bool {
				v, _, ok := readShown(b)
				return ok && v.Root == w.Root && (v.Device == (Device{}) || v.Device == w.Device || w.Kind == roster.Promote && v.Kind == roster.Demote)
			})
		}
	}
	for _, b := range removed {
		g.keepGone(b)
	}
	f.Expect = slices.DeleteFunc(f.Expect, func(l roster.Leaf) bool {
		_, in := leafOf(h.Roster, l.Device)
		return in || g.goneHere(l.Root, l.Device)
	})
	if f.Why == StopBurnt && h.Number > f.Epoch {
		g.resume() // it was a commit for others, and is one now
	}
	g.at(g.unix())
	return nil
}

// wasLetIn forgets what a device knew before it was let in: who is there is there.
func (g *group) wasLetIn(h *opened) {
	f := &g.r.Rift
	f.Bound = 0
	g.resume()
	f.Lost, f.Hold, f.Persons, f.Toward, f.LetIn = false, false, nil, ID{}, 0
	f.Orders, f.Missing, f.Against = nil, 0, nil // what was between it does not know
	f.Gone = slices.DeleteFunc(f.Gone, func(b []byte) bool {
		v, _, ok := readShown(b)
		return ok && slices.ContainsFunc(h.Roster, func(l roster.Leaf) bool {
			return l.Root == v.Root && (v.Device == (Device{}) || v.Device == l.Device)
		})
	})
}

func readShown(b []byte) (*roster.Wish, *roster.Shown, bool) {
	s, err := roster.ParseShown(b)
	if err != nil {
		return nil, nil, false
	}
	w, _, err := s.Read()
	return w, s, err == nil
}

// keepGone keeps a removal: one of each person or device.
func (g *group) keepGone(b []byte) bool {
	f := &g.r.Rift
	w, _, ok := readShown(b)
	if !ok {
		return false
	}
	// One is enough for each device, or person, and for who is no admin any more.
	same := func(o []byte) bool {
		v, _, ok := readShown(o)
		return ok && v.Root == w.Root && v.Device == w.Device && (v.Kind == roster.Demote) == (w.Kind == roster.Demote)
	}
	if slices.ContainsFunc(f.Gone, same) {
		return false
	}
	f.Gone = append(f.Gone, b)
	f.Gone = f.Gone[max(0, len(f.Gone)-keepGone):]
	return true
}

// goneHere reports whether the removal of a device was accepted or shown in this group.
func (g *group) goneHere(root key.SignPublic, device Device) bool {
	return slices.ContainsFunc(g.r.Rift.Gone, func(b []byte) bool {
		w, s, ok := readShown(b)
		return ok && w.Kind != roster.Demote && s.Against(g.r.Origin, g.r.order(s.Epoch), root, device)
	})
}

// showRemoval reports whether a device is a member, and shows it its removal if it
// was one.
//
// spec: group.md#shown-removals
func (g *group) showRemoval(to Device, root key.SignPublic) (member bool, err error) {
	h, err := g.head()
	if err != nil {
		return false, err
	}
	if _, in := leafOf(h.Roster, to); in {
		return true, nil
	}
	return false, g.showGone(to, root)
}

// showGone shows a device its removal, where one is kept: also one that was only wished
// when the group was made again without it.
func (g *group) showGone(to Device, root key.SignPublic) error {
	out := &Removals{Group: g.r.ID}
	first, last := g.r.Head, g.r.Head
	for _, b := range g.r.Rift.Gone {
		w, s, ok := readShown(b)
		if !ok || w.Kind == roster.Demote || !s.Against(g.r.Origin, g.r.order(s.Epoch), root, to) {
			continue
		}
		if yes, err := g.onceShown(to, b); err != nil {
			return err
		} else if !yes {
			continue
		}
		out.Removed = append(out.Removed, b)
		if s.Group == g.r.ID && s.Epoch > 0 {
			first, last = s.Epoch-1, s.Epoch
		}
	}
	if len(out.Removed) == 0 {
		return nil
	}
	// The commit that did it, and none after: what is changed since is not theirs.
	var err error
	if out.News, err = g.newsFrom(first, last); err != nil {
		return err
	}
	g.word(to, root, encode(WordShown, out))
	return nil
}

// newsFrom are the commits that ended epochs from one on, up to that which led to
// another, as far as they are kept.
func (g *group) newsFrom(epoch, to uint64) ([]News, error) {
	all, err := g.tx.Epochs(g.r.ID)
	if err != nil {
		return nil, err
	}
	var out []News
	for _, e := range all {
		if e.Number < epoch || e.Number >= to || len(out) == maxNews {
			continue
		}
		o, err := g.epoch(e.Number)
		if err != nil {
			return nil, err
		}
		d := g.decided(e.Number)
		if len(o.End.Commit) == 0 || d == nil {
			continue
		}
		out = append(out, News{Epoch: e.Number, Receipt: d.Receipt.Append(nil), Content: o.End.Commit})
	}
	return out, nil
}

// hearRemovals takes removals that are shown. Commits that come along are taken like
// any.
func (g *group) hearRemovals(from Device, v *Removals) error {
	if len(v.Removed) > maxShown || len(v.News) > maxNews {
		return ErrSaid
	}
	if err := g.takeNews(v.News); err != nil {
		return err
	}
	return g.takeRemovals(from, v.Removed)
}

// takeRemovals takes removals that from shows. One counts for a membership that is known
// here alone: an old wish does not remove who came in again. Of others it counts when
// the group is made again. This device itself goes by it if it cannot read at a slot what
// was done, and if a member of its epoch says so; then nothing is deleted.
//
// spec: group.md#shown-removals
func (g *group) takeRemovals(from Device, list [][]byte) error {
	root := g.Self.Manifest.Root
	for _, b := range list {
		w, s, ok := readShown(b)
		if !ok {
			return ErrSaid
		}
		if g.r.State == Out {
			return nil
		}
		if s.Group != g.r.ID || !g.credible(s) || !g.knows(w.Root) || !s.Against(g.r.Origin, g.r.order(s.Epoch), w.Root, w.Device) {
			continue
		}
		h, err := g.head()
		if errors.Is(err, ErrUnknown) {
			return nil
		}
		if err != nil {
			return err
		}
		if !s.Of(h.Roster) && !s.Of(g.r.Rift.Expect) {
			continue
		}
		if _, member := leafOf(h.Roster, from); !member && w.Root == root && (w.Device == (Device{}) || w.Device == g.me()) {
			continue // it is about this device: members alone say so
		}
		g.keepGone(b)
	}
	if err := g.shownOut(); err != nil {
		return err
	}
	g.at(g.unix())
	return nil
}

// hearGone is for a removal that is shown while this device asks to be let into a
// successor, which is made without it: from a group that it knows to have left, or from
// one that it made again itself, or went on from, without having heard. Where it is then
// does not count, and so neither does its place there.
//
// spec: group.md#shown-removals
func (w *work) hearGone(from Device, v *Removals) error {
	r, err := w.tx.Group(v.Group)
	if err == ErrUnknown || err == nil && r.State != Out && r.State != Replaced {
		return nil
	}
	if err != nil {
		return err
	}
	if len(v.Removed) > maxShown {
		return ErrSaid
	}
	l, err := w.line(r.Origin, nil)
	if err != nil {
		return err
	}
	cur := l.current()
	if cur == nil || cur.r.Rift.Toward == (ID{}) {
		return nil
	}
	st := l.statement(cur.r.Rift.Toward)
	if st == nil {
		return nil
	}
	_, roll, err := l.roll(st)
	if err != nil || roll != nil && slices.Contains(roll.Members, w.me()) {
		return err // it is to be there: whoever shows this has not heard
	}
	var me []roster.Leaf // of the membership that a removal must name; nil: it knows that that ended
	if r.State == Replaced {
		h, err := l.groups[v.Group].head()
		if errors.Is(err, ErrUnknown) || err == nil && roll == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if _, in := leafOf(h.Roster, from); !in {
			return nil // members alone say so
		}
		me = []roster.Leaf{h.self()}
	}
	root := w.Self.Manifest.Root
	for _, b := range v.Removed {
		x, s, ok := readShown(b)
		if !ok {
			return ErrSaid
		}
		if s.Group == v.Group && x.Kind != roster.Demote && (me == nil || s.Of(me)) && s.Against(r.Origin, r.order(s.Epoch), root, w.me()) {
			cur.r.Quit = x.Kind == roster.Leave
			if err := cur.out(x.By, shownText, true); err != nil {
				return err
			}
			return l.save()
		}
	}
	return nil
}

// knows reports whether a person is or was a member here, as far as this device holds
// that: removals of others are nothing to it.
func (g *group) knows(root key.SignPublic) bool {
	if slices.ContainsFunc(g.r.Rift.Orders, func(o Ordered) bool { return slices.Contains(o.Admins, root) }) ||
		slices.ContainsFunc(g.r.Rift.Expect, func(l roster.Leaf) bool { return l.Root == root }) {
		return true
	}
	return g.held(func(l roster.Leaf) bool { return l.Root == root })
}

// shownOut puts this device out if it was shown that its membership of now was ended,
// and cannot read at a slot what was done.
//
// spec: group.md#shown-removals
func (g *group) shownOut() error {
	if !g.blind() {
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	me := []roster.Leaf{h.self()}
	for _, b := range g.r.Rift.Gone {
		w, s, ok := readShown(b)
		if ok && w.Kind != roster.Demote && g.credible(s) && s.Of(me) && s.Against(g.r.Origin, g.r.order(s.Epoch), me[0].Root, me[0].Device) {
			g.r.Quit = w.Kind == roster.Leave
			return g.out(w.By, shownText, true)
		}
	}
	return nil
}

// blind reports whether this device cannot read at a slot what was done: it has lost
// its way, or its relay lies, is silent or has something there that is no commit; or
// there are no slots, as one device commits.
func (g *group) blind() bool {
	if g.r.Rift.Sole != nil {
		return true
	}
	switch g.r.State {
	case Behind:
		return true
	case Stopped:
		return g.r.Rift.Why == StopTwo || g.r.Rift.Why == StopGone || g.r.Rift.Why == StopBurnt
	}
	return false
}

// credible reports whether a removal can have been done without this device seeing
// it: in a later epoch than it is in, or on another branch.
func (g *group) credible(s *roster.Shown) bool {
	return s.Epoch > g.r.Head || g.r.parted() || g.r.State == Behind || g.r.State == Replaced
}

// takeNews takes commits with their receipts, oldest first: as far as they prove. A
// device that has gone to a successor takes none.
func (g *group) takeNews(list []News) error {
	for i := range list {
		n := &list[i]
		if n.Epoch != g.r.Head || g.r.State != Active && g.r.State != Stopped {
			continue
		}
		h, err := g.head()
		if err != nil {
			return err
		}
		r, err := wire.ParseReceipt(n.Receipt)
		if err != nil || n.Content == nil {
			return ErrSaid
		}
		if err := g.checkReceipt(h, &r); err != nil {
			return nil // of another branch
		}
		if err := g.hearContent(h, &r, n.Content); err != nil {
			return err
		}
	}
	return nil
}
