package group

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// tendRift is what rules 7 to 10 do with time. It comes first in a tick: what it
// changes decides what else is done. It reports false if this device is in another
// group now, or in none.
func (g *group) tendRift() (bool, error) {
	g.stopEnds()
	if g.wentOn() {
		// Where members went on what this device cannot read is a commit for them. It
		// asks on whether the group goes on, in case that is no truth.
		if err := g.behind(); err != nil {
			return false, err
		}
	}
	if err := g.answerAskers(); err != nil {
		return false, err
	}
	var l *line
	if len(g.r.Rift.Statements) > 0 {
		var err error
		if l, err = g.line(); err != nil {
			return false, err
		}
		if err := l.pass(Device{}); err != nil { // what came to count
			return false, err
		}
		if err := l.follow(); err != nil {
			return false, err
		}
		for _, id := range l.ids() {
			if o := l.groups[id]; o != g {
				if err := o.save(); err != nil {
					return false, err
				}
			}
		}
		if g.r.State == Replaced || g.r.State == Out {
			return false, nil
		}
	}
	if g.soleIsLate() {
		if err := g.halt(StopSole, nil); err != nil {
			return false, err
		}
	}
	if l != nil {
		if err := g.letIn(l); err != nil {
			return false, err
		}
	}
	if err := g.askWhether(l); err != nil {
		return false, err
	}
	if err := g.tendHold(); err != nil {
		return false, err
	}
	if err := g.inquire(); err != nil {
		return false, err
	}
	if late, err := g.overdue(); err != nil {
		return false, err
	} else if late {
		return false, g.remake(reasonOf(g.r.Rift.Why))
	}
	if err := g.takeOver(); err != nil {
		return false, err
	}
	if g.r.State == Replaced {
		return false, nil
	}
	return true, g.compareLists()
}

// wentOn reports whether a slot that is burnt for this device ended its epoch for
// others: one who is senior to its person says so, or two persons.
func (g *group) wentOn() bool {
	f := &g.r.Rift
	if f.Why != StopBurnt || g.r.State == Behind {
		return false
	}
	var said []key.SignPublic
	for _, a := range g.r.Acks {
		if a.Head > f.Epoch && g.agree(f.Epoch, a.Device, &said) {
			return true
		}
	}
	return false
}

// askWhether asks the person whether to wait for a successor that lets this device in
// for an hour already.
func (g *group) askWhether(l *line) error {
	f := &g.r.Rift
	if f.Why != StopRemade || f.Offered || l == nil {
		return nil
	}
	if at := f.Since + seconds(askFollow); g.unix() < at {
		g.at(at)
		return nil
	}
	s := l.statement(f.Toward)
	if s == nil {
		return nil
	}
	f.Offered = true
	g.ask(Question{Kind: AskFollow, About: []key.SignPublic{s.Root()}, Text: followText(g.outranks(l, s))})
	return nil
}

// outranks reports whether what this person makes counts more than a statement.
func (g *group) outranks(l *line, s *said) bool {
	return s.Old == g.r.ID && (&roster.State{Admins: l.judge(s)}).Senior(g.Self.Manifest.Root, s.Root())
}

// decideFollow is a person's word about a successor that did not let this device in.
// Who is senior to its author can make the group again instead.
//
// spec: group.md#two-successors
func (g *group) decideFollow(q Question, yes bool) error {
	f := &g.r.Rift
	if yes || f.Toward == (ID{}) {
		return nil
	}
	l, err := g.line()
	if err != nil {
		return err
	}
	s := l.statement(f.Toward)
	if s == nil || !slices.Contains(q.About, s.Root()) {
		return nil
	}
	over := g.outranks(l, s)
	f.Refused = append(f.Refused, f.Toward)
	f.Refused = f.Refused[max(0, len(f.Refused)-keepRefused):]
	if err := l.follow(); err != nil {
		return err
	}
	if over && g.r.State != Replaced {
		g.ask(Question{Kind: AskRemake, Text: overruleText})
	}
	return l.save()
}

// letIn asks to be added to the successor that counts: its author, and its admins
// again and again.
func (g *group) letIn(l *line) error {
	f := &g.r.Rift
	if f.Toward == (ID{}) {
		return nil
	}
	if f.LetIn != 0 && g.unix() < f.LetIn+seconds(letInEach) {
		g.at(f.LetIn + seconds(letInEach))
		return nil
	}
	s := l.statement(f.Toward)
	if s == nil {
		return nil
	}
	f.LetIn = g.unix()
	g.at(f.LetIn + seconds(letInEach))
	h, err := g.head()
	if err != nil {
		return err
	}
	t, err := g.treeOf(h)
	if err != nil {
		return err
	}
	to := []roster.Leaf{{Root: s.Root(), Device: s.By}}
	for _, x := range h.Roster {
		if x.Device != s.By && x.Device != g.me() && slices.Contains(s.Order, x.Root) {
			to = append(to, x)
		}
	}
	for _, x := range to {
		if x.Device == g.me() {
			continue
		}
		p, err := g.packageFor(x.Device, t.Suite(), f.Toward, nil)
		if err != nil {
			return err
		}
		g.word(x.Device, x.Root, encode(WordLetIn, &LetIn{Group: f.Toward, Package: p.Public}))
	}
	return nil
}

// hearLetIn adds who asks to be let in, if its removal is not known here: then it is
// shown that.
func (g *group) hearLetIn(from Device, root key.SignPublic, v *LetIn) error {
	if g.r.State == Replaced {
		return g.tellLine(from, root)
	}
	l, err := g.line()
	if err != nil {
		return err
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	x := roster.Leaf{Root: root, Device: from}
	if _, in := leafOf(h.Roster, from); in {
		return g.letInAgain(x, v.Package)
	}
	for _, id := range l.ids() {
		if o := l.groups[id]; o.r.State != Out && o.goneHere(x.Root, x.Device) {
			return o.showGone(from, root)
		}
	}
	if s := l.made(g.r.ID); s != nil {
		_, roll, err := l.roll(s)
		if err != nil {
			return err
		}
		if roll != nil && slices.Contains(roll.Gone, root) && !slices.Contains(roll.Members, from) {
			return nil // its author has the removal and shows it: others may not know it
		}
	}
	if !slices.ContainsFunc(g.r.Rift.Expect, func(e roster.Leaf) bool { return e.Root == x.Root && e.Device == x.Device }) && !l.wasMember(x) {
		return nil // nobody that this device knows of the old groups
	}
	if st, err := h.agreed(); err != nil || st.TakenOut(from, 0) {
		return err // whoever was taken out here is not let in by its own word, which may be an old one
	}
	if !slices.Contains(g.r.admins(), g.Self.Manifest.Root) || g.wishesAdd(from) {
		return nil
	}
	g.r.Lacking = slices.DeleteFunc(g.r.Lacking, func(o Lacking) bool { return o.Device == from })
	w := &roster.Wish{Kind: roster.Add, Root: root, Device: from, Package: v.Package}
	if g.wish(w) != nil || g.possible(w) != nil {
		return nil
	}
	return g.keepWish(w, true)
}

// letInAgain is for who asks to be let in and is in by its roster. Its Welcome is on its
// way; or it is for a key package that the device used elsewhere, and never opens: then
// nothing was heard of it here, and it asks again.
func (g *group) letInAgain(x roster.Leaf, pkg []byte) error {
	if g.acked(x.Device) != nil || !slices.Contains(g.r.admins(), g.Self.Manifest.Root) {
		return nil
	}
	name := fmt.Sprintf("%slet/%x", groupNotes(g.r.ID), x.Device[:8])
	b, err := g.tx.Note(name)
	if errors.Is(err, ErrUnknown) {
		return g.tx.PutNote(name, []byte(strconv.FormatInt(g.unix(), 10)))
	}
	if err != nil {
		return err
	}
	if at, err := strconv.ParseInt(string(b), 10, 64); err == nil && g.unix()-at < seconds(letInEach)/2 {
		return nil
	}
	if err := g.tx.PutNote(name, []byte(strconv.FormatInt(g.unix(), 10))); err != nil {
		return err
	}
	w := &roster.Wish{Kind: roster.ReAdd, Root: x.Root, Device: x.Device, Package: pkg}
	if g.wish(w) != nil || g.possible(w) != nil {
		return nil
	}
	return g.keepWish(w, true)
}

func (g *group) wishesAdd(d Device) bool {
	return slices.ContainsFunc(g.openWishes(), func(w *roster.Wish) bool { return w.Kind == roster.Add && w.Device == d })
}

// wasMember reports whether a device is in the newest epoch of an older group of the
// line.
func (l *line) wasMember(x roster.Leaf) bool {
	for _, id := range l.ids() {
		g := l.groups[id]
		if g.r.State == Out {
			continue
		}
		h, err := g.head()
		if err != nil {
			continue
		}
		if o, in := leafOf(h.Roster, x.Device); in && o.Root == x.Root {
			return true
		}
	}
	return false
}

// compareLists sends the own receipts to some members once a day, and when nothing
// was heard of anybody for an hour though something waits: a branch on which this
// device is alone is found by that alone.
//
// spec: group.md#evidence
func (g *group) compareLists() error {
	f := &g.r.Rift
	if f.Compared == 0 {
		f.Compared = g.unix()
	}
	alone, err := g.aloneSince()
	if err != nil {
		return err
	}
	due := f.Compared + seconds(compareEach)
	if alone != 0 {
		due = min(due, max(alone, f.Compared)+seconds(quiet))
	}
	if g.unix() < due {
		g.at(due)
		return nil
	}
	f.Compared = g.unix()
	g.at(g.unix() + seconds(compareEach))
	// Also who has no receipts asks so. Where one device commits there are none: who was
	// removed while nobody reached it has no slot to read that at, and is shown its removal
	// when it asks. And who has just come in may have come late: the others went to a
	// successor before it could hear of that.
	h, err := g.head()
	if err != nil {
		return err
	}
	to := h.others()
	if alone == 0 && len(to) > compareWith {
		for i := range compareWith {
			n, err := g.random(int64(len(to) - i))
			if err != nil {
				return err
			}
			to[i], to[i+int(n)] = to[i+int(n)], to[i]
		}
		to = to[:compareWith]
	}
	if to, err = g.some(to, evidenceTo); err != nil {
		return err
	}
	b := encode(WordList, &Lists{Group: g.r.ID, List: g.list(), Past: g.past(), Back: true})
	for _, x := range to {
		g.word(x.Device, x.Root, b)
	}
	return nil
}

// aloneSince is since when nobody was heard though something waits for them; 0: that
// is not so.
func (g *group) aloneSince() (int64, error) {
	open, err := g.unsettled()
	if err != nil {
		return 0, err
	}
	msgs, err := g.messages()
	if err != nil {
		return 0, err
	}
	since := int64(0)
	for _, m := range msgs {
		if since == 0 || m.Born < since {
			since = m.Born
		}
	}
	if since == 0 && !open {
		return 0, nil
	}
	for _, a := range g.r.Acks {
		since = max(since, a.At)
	}
	return max(since, g.r.Since), nil
}

// decideRift is a person's answer to a question of rules 7 to 10, which is not in the
// record any more.
func (g *group) decideRift(q Question, yes bool) error {
	f := &g.r.Rift
	switch q.Kind {
	case AskRemake:
		switch {
		case !yes:
		case f.Why == 0 && len(f.Refused) > 0:
			return g.remake(roster.Overruled)
		case f.Why != 0 && f.Why != StopRemade && f.Why != StopAsked:
			return g.remake(reasonOf(f.Why))
		}
		return nil
	case AskMembers:
		if !yes {
			g.r.Questions = append(g.r.Questions, q) // one can say yes later
			return nil
		}
		// About those who were named, and nobody who came since.
		f.Allowed = roster.SortKeys(append(f.Allowed, q.About...))
		return g.tendHold()
	case AskFollow:
		return g.decideFollow(q, yes)
	}
	return nil
}

// fade drops the secrets of a group that was replaced, some time after: until then
// others may write there still, or come back to it.
//
// spec: group.md#two-successors
func (g *group) fade() error {
	if g.r.Rift.Left == 0 {
		g.r.Rift.Left = g.unix()
		return g.save()
	}
	epochs, err := g.tx.Epochs(g.r.ID)
	if err != nil {
		return err
	}
	for _, e := range epochs {
		since := e.Left
		if since == 0 {
			since = g.r.Rift.Left
		}
		if g.unix()-since >= seconds(epochLife) {
			if err := g.drop(e.Number); err != nil {
				return err
			}
			continue
		}
		g.at(since + seconds(epochLife))
	}
	return g.save()
}

// otherBranch compares lists with a member that stands in an epoch of the same number
// and another history, but not with each word of theirs.
func (g *group) otherBranch(from roster.Leaf) {
	g.prompted()
	if f := &g.r.Rift; g.unix()-f.Compared >= seconds(oneTry) || f.Compared == 0 {
		f.Compared = g.unix()
		g.word(from.Device, from.Root, encode(WordList, &Lists{Group: g.r.ID, List: g.list(), Past: g.past(), Back: true}))
	}
}
