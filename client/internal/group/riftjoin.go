package group

import (
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// origins checks that a group which this device is invited to is of the line that the
// invitation names: it is the first itself, or its state has the statement by which it
// was made, fits it, and the statement counts here. A device that knows nothing of the
// line takes it as its past. One that was in the line, and is in it no more, also takes
// the word of an admin whom it knows from there, who brings the invitation.
//
// spec: group.md#statements
func (g *group) origins(by key.SignPublic, s *roster.State, j *Joining) error {
	made := g.r.Rift.Made
	if s.Origin == nil {
		if j.Origin != j.Group || made != nil {
			return ErrWelcome
		}
		return nil
	}
	st, err := roster.ParseStatement(s.Origin)
	if err != nil || st.New != j.Group || st.Origin != j.Origin || !st.Makes(s) {
		return ErrWelcome
	}
	l, err := g.work.line(j.Origin, nil)
	if err != nil {
		return err
	}
	if l.groups[j.Group] != nil && !slices.Equal(made, s.Origin) {
		return ErrWelcome // no change of a group gives it another past
	}
	if len(l.groups) == 0 || made != nil {
		return nil
	}
	v := l.read(s.Origin)
	for _, o := range l.said {
		if v == nil && slices.Equal(o.raw, s.Origin) {
			v = o
		}
	}
	if l.judge(v) != nil || l.current() == nil && l.wasAdmin(by) {
		return nil
	}
	return ErrWelcome
}

// wasAdmin reports whether a person was an admin in the last epoch that this device
// knows of a group of the line.
func (l *line) wasAdmin(root key.SignPublic) bool {
	return slices.ContainsFunc(l.ids(), func(id ID) bool { return slices.Contains(l.groups[id].r.admins(), root) })
}

// deadLine reports whether a state, or the receipt that goes with it, descends from a
// slot that was shown to be settled with other content. What lost stays lost: nobody
// is taken back there.
//
// spec: group.md#evidence
func (g *group) deadLine(s *roster.State, last *wire.Receipt) bool {
	lost := func(id, hash [32]byte) bool {
		d := g.r.decidedSlot(id)
		return d != nil && d.Settled && d.Receipt.Hash != hash
	}
	return last != nil && lost(last.ID, last.Hash) || slices.ContainsFunc(s.Past, func(p roster.Past) bool { return lost(p.ID, p.Hash) })
}

// cameIn goes on from the groups of the line in which this device was, once it has
// entered one of them.
func (g *group) cameIn() error {
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	if st, err := roster.ParseStatement(s.Origin); err == nil {
		g.r.Old, g.r.Rift.Made = st.Old, s.Origin
	}
	l, err := g.line()
	if err != nil {
		return err
	}
	var before *group
	for _, id := range l.ids() {
		o := l.groups[id]
		if o == g || o.r.State == Out || o.r.State == Replaced {
			continue
		}
		if before == nil || o.r.Since > before.r.Since {
			before = o
		}
	}
	if before != nil {
		if l.best() == g.r.ID {
			err = l.move(before, g)
		} else {
			g.r.State, g.r.Next, g.r.Rift.Never = Replaced, before.r.ID, true
		}
		if err != nil {
			return err
		}
	}
	for _, id := range l.ids() {
		if o := l.groups[id]; o != g {
			if err := o.save(); err != nil {
				return err
			}
		}
	}
	return nil
}

// expect notes who is to be in a successor and is not yet: what is said there waits
// for them. It is everybody of the group that it was made again from, less whom its
// author took out, by the roll; and everybody of the group that this device comes
// from, who asks to be let in as it did.
func (l *line) expect(from, to *group) error {
	old, roll, err := l.madeFrom(to)
	if err != nil {
		return err
	}
	in, err := to.head()
	if err != nil {
		return err
	}
	all := old
	if from != nil && from.r.State != Out {
		more, err := from.roughly()
		if err != nil {
			return err
		}
		all = append(slices.Clone(old), more...)
	}
	for _, x := range all {
		if _, there := leafOf(in.Roster, x.Device); there || x.Device == l.me() || to.expected(x.Device) || l.gone(x) {
			continue
		}
		if _, was := leafOf(old, x.Device); was && roll != nil && !slices.Contains(roll.Members, x.Device) {
			continue
		}
		to.r.Rift.Expect = append(to.r.Rift.Expect, x)
	}
	return nil
}

// unexpect is for a roll that came after its statement: whom it leaves out is not
// waited for any more.
func (l *line) unexpect(to *group) error {
	old, roll, err := l.madeFrom(to)
	if err != nil || roll == nil {
		return err
	}
	var gone []Device
	to.r.Rift.Expect = slices.DeleteFunc(to.r.Rift.Expect, func(x roster.Leaf) bool {
		_, was := leafOf(old, x.Device)
		if was = was && !slices.Contains(roll.Members, x.Device); was {
			gone = append(gone, x.Device)
		}
		return was
	})
	if len(gone) == 0 {
		return nil
	}
	h, err := to.head()
	if err != nil {
		return err
	}
	return to.retarget(h, gone, nil)
}

// madeFrom is who was in the group that one was made again from, as far as that is
// known, and the roll of those who are to be in it; nil: that did not come.
func (l *line) madeFrom(to *group) ([]roster.Leaf, *roster.Roll, error) {
	s := l.statement(to.r.ID)
	if s == nil {
		return nil, nil, nil
	}
	_, roll, err := l.roll(s)
	if err != nil {
		return nil, nil, err
	}
	old := l.groups[s.Old]
	if old == nil || old.r.State == Out {
		return nil, roll, nil
	}
	all, err := old.roughly()
	return all, roll, err
}

// roughly is who is in a group's newest epoch, and who is to be in it; nobody, once it
// was left long ago.
func (g *group) roughly() ([]roster.Leaf, error) {
	h, err := g.head()
	if err == ErrUnknown {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(h.Roster), g.r.Rift.Expect...), nil
}

// expected reports whether a device is to be in the group and is not yet.
func (g *group) expected(d Device) bool {
	_, ok := leafOf(g.r.Rift.Expect, d)
	return ok
}

// expectedBy reports whether a wish takes out somebody who is to be in the group and
// is not yet: by what this device waits for, or, if their removal was shown here, by
// the roll of an author who had not heard of it.
func (g *group) expectedBy(w *roster.Wish) (bool, error) {
	switch w.Kind {
	case roster.Remove, roster.Leave, roster.Revoked:
	default:
		return false, nil
	}
	about := func(l roster.Leaf) bool {
		return l.Root == w.Root && (w.Device == (Device{}) || w.Device == l.Device)
	}
	if slices.ContainsFunc(g.r.Rift.Expect, about) {
		return true, nil
	}
	if g.r.Old == (ID{}) {
		return false, nil
	}
	l, err := g.line()
	if err != nil {
		return false, err
	}
	_, roll, err := l.madeFrom(g)
	if err != nil {
		return false, err
	}
	h, err := g.head()
	if err != nil {
		return false, err
	}
	epochs, err := g.tx.Epochs(g.r.Old) // the one who was removed is in an older one
	if err != nil {
		return false, err
	}
	for _, e := range epochs {
		if e, err = g.tx.Epoch(g.r.Old, e.Number); err != nil { // a list has no rosters
			return false, err
		}
		for _, x := range e.Roster {
			if _, in := leafOf(h.Roster, x.Device); !in && about(x) && (roll == nil || slices.Contains(roll.Members, x.Device)) && !g.wasRemoved(x.Device) {
				return true, nil
			}
		}
	}
	return false, nil
}

// lose is what a device does that is on a line of commits which lost: what it took
// there does not count, and it asks to be added again.
func (g *group) lose(d *Decided, winner wire.Receipt) error {
	loser := d.Receipt
	d.Receipt, d.Second, d.Settled = winner, &loser, true
	last := d.Epoch
	g.r.Decided = slices.DeleteFunc(g.r.Decided, func(o Decided) bool { return o.Epoch > last })
	return g.lost()
}

// lost makes the device ask to be added again, since its line does not count.
func (g *group) lost() error {
	g.r.Rift.Lost = true
	h, err := g.head()
	if err != nil {
		return err
	}
	h.end(func(x *Ending) { x.Staged = nil })
	if w := g.r.Rift.Why; w == StopTwo || w == StopBurnt || w == StopAsked {
		g.resume()
	}
	return g.behind()
}

// hearHolds takes the word of a member that a slot is settled, with the receipt for
// what it holds. It counts once somebody said so who is senior to this device's person,
// or two persons did, of the epoch whose slot it is. Who went another way by it is
// behind then; who went this way counts it as settled, too: it might never collect all
// acks. Before, a device that has another receipt stops.
//
// spec: group.md#evidence
func (g *group) hearHolds(from Device, v *Holds) error {
	r, err := wire.ParseReceipt(v.Receipt)
	if err != nil {
		return ErrSaid
	}
	if _, err := slot.Check(r.ID, g.r.Rift.Home.Receipt, &r); err != nil {
		return ErrSaid
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	d := g.r.decidedSlot(r.ID)
	if d == nil {
		s, err := h.agreed()
		if err != nil {
			return err
		}
		for _, p := range s.Past { // from before this device was there
			if p.ID == r.ID && p.Hash != r.Hash && g.agree(h.Number, from, &g.r.Rift.Against) {
				return g.lost()
			}
		}
		return nil
	}
	switch {
	case d.Settled:
	case d.Receipt.Hash == r.Hash:
		if g.agree(d.Epoch, from, &d.Ours) && d.Second != nil {
			d.Settled = true
			g.stopEnds()
		}
	default:
		if err := g.contradicts(d, &r); err != nil || d.Second.Hash != r.Hash {
			return err
		}
		if g.agree(d.Epoch, from, &d.Theirs) {
			return g.lose(d, r)
		}
	}
	return nil
}

// agree notes who says that a slot is settled, and reports whether that is enough: one
// who is senior to this device's person and could remove it anyway, or two persons.
// Only who was in the epoch counts.
func (g *group) agree(epoch uint64, from Device, said *[]key.SignPublic) bool {
	o, err := g.epoch(epoch)
	if err != nil {
		if o, err = g.head(); err != nil {
			return false
		}
	}
	l, in := leafOf(o.Roster, from)
	if !in || l.Root == g.Self.Manifest.Root {
		return false
	}
	if !slices.Contains(*said, l.Root) {
		*said = append(*said, l.Root)
	}
	state := &roster.State{Admins: g.r.order(epoch)}
	return len(*said) > 1 || state.Senior(l.Root, g.Self.Manifest.Root)
}
