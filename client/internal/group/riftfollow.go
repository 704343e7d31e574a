package group

import (
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// follow goes to the group that counts. Where this device is not in it yet, it stops
// and asks to be let in; messages go on where it is.
//
// spec: group.md#two-successors
func (l *line) follow() error {
	to := l.best()
	cur := l.current()
	if cur == nil {
		return nil
	}
	if cur.r.ID == to {
		cur.r.Rift.Toward = ID{}
		if cur.r.Rift.Why == StopRemade {
			cur.resume()
		}
		return l.replaceOthers(cur)
	}
	next := l.groups[to]
	if next == nil {
		f := &cur.r.Rift
		if f.Toward == to {
			return nil
		}
		f.Toward, f.LetIn = to, 0
		cur.at(cur.unix())
		if f.Waited == to {
			return nil // it was waited for
		}
		if f.Why == StopRemade { // for another
			f.Since, f.Offered = cur.unix(), false
			cur.r.unask(AskFollow)
		}
		return cur.halt(StopRemade, nil)
	}
	if next.r.State == Out {
		// Removed from what counts: what it has else is nobody's.
		return cur.out(Device{}, shownText, true)
	}
	return l.move(cur, next)
}

func (l *line) replaceOthers(by *group) error {
	for _, id := range l.ids() {
		g := l.groups[id]
		if g == by || g.r.State == Out || g.r.State == Replaced && g.r.Next == by.r.ID {
			continue
		}
		if g.r.State != Replaced {
			if err := l.move(g, by); err != nil {
				return err
			}
		}
		g.r.Next = by.r.ID
	}
	return nil
}

// move goes from one group of the line to another: with the wishes that are open, the
// messages that wait and what is known of statements.
func (l *line) move(from, to *group) error {
	if to.r.State == Replaced {
		to.r.State, to.r.Next, to.r.Rift.Left, to.r.Rift.Never = Active, ID{}, 0, false
		if to.r.Rift.Why != 0 {
			to.r.State = Stopped
		}
		to.r.Rift.Hold = false // it was accepted before
	}
	if err := l.expect(from, to); err != nil {
		return err
	}
	if err := l.accept(from, to); err != nil {
		return err
	}
	from.r.State, from.r.Next, from.r.Rift.Toward = Replaced, to.r.ID, ID{}
	from.r.Questions, from.r.Rift.Left = nil, from.unix()
	from.r.Try, from.r.Look = 0, 0
	for _, s := range from.r.Rift.Statements {
		if !slices.ContainsFunc(to.r.Rift.Statements, func(o Kept) bool { return slices.Equal(o.Statement, s.Statement) }) {
			to.r.Rift.Statements = append(to.r.Rift.Statements, s)
		}
	}
	for _, id := range from.r.Rift.Refused {
		if !slices.Contains(to.r.Rift.Refused, id) {
			to.r.Rift.Refused = append(to.r.Rift.Refused, id)
		}
	}
	if err := moveWishes(from, to); err != nil {
		return err
	}
	if err := moveMessages(from, to); err != nil {
		return err
	}
	to.event(Event{Group: to.r.ID, Origin: l.origin, Kind: EventAgain, Text: againText})
	if to.r.Rift.Sole != nil {
		to.notice(EventTrouble, soleText)
	}
	to.at(to.unix())
	return nil
}

// accept looks whether everybody in the successor was in the last roster that this
// device accepted. A person's new device is no stranger; one whose removal was
// accepted is.
func (l *line) accept(from, to *group) error {
	persons := from.r.Rift.Persons
	if !from.r.Rift.Hold {
		h, err := from.head()
		if err == ErrUnknown {
			return nil // it was left long ago: what this device writes in is the successor
		}
		if err != nil {
			return err
		}
		persons = personsOf(append(slices.Clone(h.Roster), from.r.Rift.Expect...))
	}
	strangers, err := l.strangers(to, persons)
	if err != nil || len(strangers) == 0 {
		return err
	}
	to.r.Rift.Hold, to.r.Rift.Persons, to.r.Rift.Allowed = true, persons, nil
	to.askMembers(strangers)
	return nil
}

// strangers are the persons in a successor, or to come into it, who are not among those
// who were accepted, and those whose removal was accepted.
func (l *line) strangers(to *group, persons []key.SignPublic) ([]key.SignPublic, error) {
	in, err := to.head()
	if err != nil {
		return nil, err
	}
	var out []key.SignPublic
	for _, f := range append(slices.Clone(in.Roster), to.r.Rift.Expect...) {
		if f.Device != l.me() && !slices.Contains(to.r.Rift.Allowed, f.Root) && (!slices.Contains(persons, f.Root) || l.gone(f)) {
			out = append(out, f.Root)
		}
	}
	return roster.SortKeys(out), nil
}

func (g *group) askMembers(about []key.SignPublic) {
	g.ask(Question{Kind: AskMembers, About: about, Text: membersText})
}

// tendHold asks anew if others are in the group now than when its person was asked, and
// writes again where none is there who was not accepted.
func (g *group) tendHold() error {
	f := &g.r.Rift
	if !f.Hold {
		return nil
	}
	l, err := g.line()
	if err != nil {
		return err
	}
	strangers, err := l.strangers(g, f.Persons)
	if err != nil {
		return err
	}
	if len(strangers) > 0 {
		g.askMembers(strangers)
		return nil
	}
	g.r.unask(AskMembers)
	f.Hold, f.Persons, f.Allowed = false, nil, nil
	return g.tendMessages()
}

// gone reports whether the removal of a leaf was accepted anywhere in the line.
func (l *line) gone(f roster.Leaf) bool {
	for _, id := range l.ids() {
		if l.groups[id].goneHere(f.Root, f.Device) {
			return true
		}
	}
	return false
}

func personsOf(leaves []roster.Leaf) []key.SignPublic {
	var out []key.SignPublic
	for _, l := range leaves {
		out = append(out, l.Root)
	}
	return roster.SortKeys(out)
}

// moveWishes takes along what is not settled: it is proposed again.
func moveWishes(from, to *group) error {
	for _, o := range from.r.Wishes {
		w, err := roster.ParseWish(o.Wish)
		if err != nil || slices.ContainsFunc(to.r.Wishes, func(x Wanted) bool { return x.key() == o.key() }) {
			continue
		}
		if o.Applied != 0 && o.In == to.r.ID { // it was made again so
			to.r.Wishes = append(to.r.Wishes, o)
			continue
		}
		if o.Applied != 0 && o.In == from.r.ID {
			done, err := to.doneThere(w)
			if err != nil {
				return err
			}
			if done { // so it is as long as this group counts
				o.Applied, o.In = 1, to.r.ID
				to.r.Wishes = append(to.r.Wishes, o)
				continue
			}
			// Its key package was used there. Another one is asked for, by whoever wished it.
			if w.Kind == roster.Add {
				if o.Own && w.By == to.me() {
					if err := to.lack(*w); err != nil && !errors.Is(err, roster.ErrRefused) {
						return err
					}
				}
				continue
			}
		}
		o.Applied, o.In, o.Told, o.Tells, o.Since = 0, ID{}, 0, 0, to.unix() // who commits there has not had a day
		to.r.Wishes = append(to.r.Wishes, o)
	}
	from.r.Wishes = nil
	if to.r.State == Active {
		return to.schedule()
	}
	return nil
}

// doneThere reports whether a group is as if a wish had been done, or whether nothing
// is left of what it was about.
func (g *group) doneThere(w *roster.Wish) (bool, error) {
	if w.Kind == roster.ReAdd {
		return true, nil
	}
	c := *w // as it would be wished there
	h, err := g.head()
	if err != nil {
		return false, err
	}
	s, err := h.agreed()
	if err != nil {
		return false, err
	}
	if _, in := leafOf(h.Roster, c.By); !in {
		c.By = g.me()
	}
	if err = c.Bind(s, h.Roster); err == nil {
		err = g.possible(&c)
	}
	if err == nil {
		return false, nil
	}
	if to, err := g.expectedBy(w); to || err != nil {
		return false, err
	}
	for _, done := range []error{roster.ErrDone, roster.ErrNobody, roster.ErrEvidence} {
		if err == done {
			return true, nil
		}
	}
	return false, nil
}

// moveMessages takes along the messages that wait, under the same ids.
func moveMessages(from, to *group) error {
	msgs, err := from.tx.Messages(from.r.ID)
	if err != nil {
		return err
	}
	h, err := to.head()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := from.withdraw(m); err != nil {
			return err
		}
		if err := from.tx.DeleteMessage(from.r.ID, m.ID); err != nil {
			return err
		}
		m.Group, m.Sealed, m.Epoch, m.Asked = to.r.ID, nil, held, false // a question that is open was of the group before
		for i := range m.Waits {
			m.Waits[i].Since = 0 // epochs count anew: acks of before come to the other group
		}
		if err := to.again(h, m); err != nil {
			return err
		}
	}
	return nil
}
