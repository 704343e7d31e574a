package group

import (
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// turn is when this device asks the members, in unix seconds: the k-th device of an
// admin by seniority k times ten minutes after it stopped. 0: never.
//
// spec: group.md#asking
func (g *group) turn() (int64, error) {
	h, err := g.head()
	if err != nil {
		return 0, err
	}
	k := int64(0)
	for _, a := range g.r.admins() {
		for _, l := range h.Roster { // by leaf
			if l.Root != a {
				continue
			}
			k++
			if l.Device == g.me() {
				return g.r.Rift.Since + k*seconds(askEach), nil
			}
		}
	}
	return 0, nil
}

// inquire asks all members whether the group can go on, when it is this device's turn.
func (g *group) inquire() error {
	f := &g.r.Rift
	if f.Why == 0 || f.Why == StopAsked || f.Why == StopRemade {
		return nil
	}
	at, err := g.turn()
	if err != nil || at == 0 {
		return err
	}
	if f.AskedAt >= f.Since {
		at = max(at, f.AskedAt+seconds(askEvery))
	}
	if g.unix() < at {
		g.at(at)
		return nil
	}
	if f.Ask, err = g.id(); err != nil {
		return err
	}
	f.AskedAt = g.unix()
	g.at(f.AskedAt + seconds(askEvery))
	h, err := g.head()
	if err != nil {
		return err
	}
	b := encode(WordQuestion, &Inquiry{
		Group: g.r.ID, Ask: f.Ask, Head: g.r.Head, Why: f.Why, Proof: f.Proof, List: g.list(), Removed: f.Gone,
	})
	for _, l := range h.others() {
		g.word(l.Device, l.Root, b)
	}
	return g.offerRemake()
}

// hearInquiry answers whether the group can go on.
func (g *group) hearInquiry(from Device, root key.SignPublic, v *Inquiry) error {
	if len(v.Removed) > maxShown {
		return ErrSaid
	}
	in, err := g.showRemoval(from, root)
	if err != nil {
		return err
	}
	if !in {
		return g.compare(from, root, v.List) // what the relay signed counts from anybody
	}
	if err := g.takeRemovals(from, v.Removed); err != nil || g.r.State == Out {
		return err
	}
	if err := g.compare(from, root, v.List); err != nil {
		return err
	}
	if ok, err := g.mayAsk(from, root); err != nil || !ok {
		return err
	}
	kind, said, err := g.standing(v, root)
	if err != nil {
		return err
	}
	x := Asker{Device: from, Root: root, Ask: v.Ask, Head: v.Head, At: g.unix()}
	if kind == 0 { // this device has not looked for hours: it looks, and says then
		f := &g.r.Rift
		f.Askers = slices.DeleteFunc(f.Askers, func(o Asker) bool { return o.Device == from })
		f.Askers = append(f.Askers, x)
		if g.unix()-g.r.Looked >= seconds(oneTry) || f.Tried != 0 {
			g.r.Look, g.r.Asked = g.unix(), 0
		}
		return g.calls(false)
	}
	return g.report(x, kind, said)
}

// mayAsk reports whether a member's question is answered: an admin's, unless the
// members wait for its own removal, which no question holds up.
//
// spec: group.md#asking
func (g *group) mayAsk(from Device, root key.SignPublic) (bool, error) {
	h, err := g.head()
	if err != nil {
		return false, err
	}
	s, err := h.agreed()
	if err != nil {
		return false, err
	}
	if _, admin := s.Rank(root); !admin {
		return false, nil
	}
	for _, w := range g.openWishes() {
		by, in := leafOf(h.Roster, w.By)
		if !in || w.Root != root || w.Device != (Device{}) && w.Device != from {
			continue
		}
		if w.Kind == roster.Remove && s.Senior(by.Root, root) || w.Kind == roster.Revoked || w.Kind == roster.Leave && by.Root == root {
			return false, nil
		}
	}
	return true, nil
}

// answerAskers answers who waits for what the relay says to this device.
func (g *group) answerAskers() error {
	f := &g.r.Rift
	var keep []Asker
	for _, x := range f.Askers {
		kind := roster.AnswerKind(0)
		switch {
		case f.Answered >= x.At:
			kind = roster.WorksFor
		case f.Tried >= x.At:
			kind = roster.IStop
			if err := g.bind(); err != nil {
				return err
			}
		}
		switch {
		case kind != 0:
			if err := g.report(x, kind, nil); err != nil {
				return err
			}
		case g.unix()-x.At < seconds(bound):
			keep = append(keep, x)
		}
	}
	f.Askers = keep
	return nil
}

// bind makes this device commit nothing for an hour.
func (g *group) bind() error {
	if err := g.halt(StopAsked, nil); err != nil {
		return err
	}
	f := &g.r.Rift
	f.Bound = g.unix() + seconds(bound)
	if f.Why == StopAsked {
		f.Until = f.Bound
		g.at(f.Until)
	}
	return nil
}

func (g *group) report(to Asker, kind roster.AnswerKind, said *Stated) (err error) {
	out := &Reported{List: g.list(), Removed: g.r.Rift.Gone}
	if said != nil {
		out.Said = said.Said
	}
	a := roster.Answer{Group: g.r.ID, Ask: to.Ask, Head: g.r.Head, Kind: kind}
	if out.News, err = g.newsFrom(to.Head, g.r.Head); err != nil {
		return err
	}
	a.Sign(g.Self.Sign)
	if out.Answer, err = a.Append(nil); err != nil {
		return err
	}
	g.word(to.Device, to.Root, encode(WordAnswer, out))
	return nil
}

// standing is what this device answers: a successor, if it knows one that counts; that
// it works, if its relay answered within the hour and the evidence does not hold; else
// that it stops, which binds it for an hour. 0: the relay has to be tried first.
func (g *group) standing(v *Inquiry, asker key.SignPublic) (roster.AnswerKind, *Stated, error) {
	l, err := g.line()
	if err != nil {
		return 0, nil, err
	}
	if l.best() != g.r.ID || g.r.State == Replaced {
		said, err := l.stated()
		return roster.Succeeds, said, err
	}
	holds := false
	if v.Proof != nil {
		if holds, err = g.judgeProof(v.Proof); err != nil {
			return 0, nil, err
		}
	}
	f := &g.r.Rift
	fine := f.Answered != 0 && g.unix()-f.Answered < seconds(silence)
	switch {
	case holds || f.Why != 0 && f.Why != StopAsked:
	case v.Why == StopSole:
		// What it asks for is a wish of its own: who commits is for those senior to who
		// does. It has no evidence: a word alone stops nobody two hours in a row.
		switch {
		case !g.overSole(asker):
			return roster.WorksFor, nil, nil
		case g.unix() < f.Bound:
			return roster.IStop, nil, nil
		case g.unix() < f.Rest:
			return roster.WorksFor, nil, nil
		}
		f.Rest = g.unix() + 2*seconds(bound)
	case v.Why == StopGone && fine, v.Why != StopGone:
		return roster.WorksFor, nil, nil
	case f.Tried == 0 || g.unix()-f.Tried >= seconds(silence):
		return 0, nil, nil
	}
	return roster.IStop, nil, g.bind()
}

// overSole reports whether a person is senior to the one who commits, where one does.
func (g *group) overSole(root key.SignPublic) bool {
	h, err := g.head()
	if err != nil || g.r.Rift.Sole == nil {
		return false
	}
	l, in := leafOf(h.Roster, *g.r.Rift.Sole)
	return !in || (&roster.State{Admins: g.r.admins()}).Senior(root, l.Root)
}

// hearReport takes an answer: what it proves is taken in any case, what it says counts
// if it is to the newest question.
func (w *work) hearReport(from Device, root key.SignPublic, v *Reported) error {
	a, err := roster.ParseAnswer(v.Answer)
	if err != nil || a.By != from || len(v.Removed) > maxShown || len(v.News) > maxNews {
		return ErrSaid
	}
	err = w.inGroup(a.Group, func(g *group) error {
		if err := g.takeNews(v.News); err != nil || g.r.State == Out {
			return err
		}
		if err := g.takeRemovals(from, v.Removed); err != nil || g.r.State == Out {
			return err
		}
		if err := g.compare(from, root, v.List); err != nil {
			return err
		}
		f := &g.r.Rift
		if a.Ask != f.Ask || f.Why == 0 {
			return nil
		}
		h, err := g.head()
		if err != nil {
			return err
		}
		if _, in := leafOf(h.Roster, from); !in {
			return nil
		}
		f.Replies = slices.DeleteFunc(f.Replies, func(r Reply) bool { return r.By == from })
		f.Replies = append(f.Replies, Reply{By: from, Kind: a.Kind, Head: a.Head, At: f.AskedAt})
		if f.Why == StopBurnt && a.Kind == roster.WorksFor && a.Head > f.Epoch {
			// What this device cannot read is a commit for others: it lost its way.
			return g.behind()
		}
		if late, err := g.overdue(); late || err != nil {
			if err != nil {
				return err
			}
			return g.remake(reasonOf(f.Why))
		}
		return g.offerRemake()
	})
	if err != nil || len(v.Said) == 0 {
		return err
	}
	g, err := w.load(a.Group)
	if err != nil {
		return nil
	}
	return w.hearStated(from, root, &Stated{Origin: g.r.Origin, Said: v.Said})
}

// tally counts this device and the members who answered within the hour: who stopped,
// and for whom it works.
func (g *group) tally() (stopped, works, of int, err error) {
	h, err := g.head()
	if err != nil {
		return 0, 0, 0, err
	}
	stopped = 1
	for _, r := range g.r.Rift.Replies {
		if _, in := leafOf(h.Roster, r.By); !in || g.unix()-r.At >= seconds(bound) {
			continue
		}
		switch r.Kind {
		case roster.IStop:
			stopped++
		case roster.WorksFor:
			works++
		}
	}
	return stopped, works, len(h.Roster), nil
}

// offerRemake asks the person of an admin's device whether to make the group again.
func (g *group) offerRemake() error {
	f := &g.r.Rift
	stopped, works, of, err := g.tally()
	if err != nil {
		return err
	}
	text := remakeText(f.Why, f.Home.Name, stopped-1, works, of)
	for i, q := range g.r.Questions {
		if q.Kind == AskRemake {
			g.r.Questions[i].Text = text
			return nil
		}
	}
	if !f.Offered {
		f.Offered = true
		g.ask(Question{Kind: AskRemake, Text: text})
	}
	return nil
}

// overdue reports whether the group is made again without anybody's word: it has been
// stopped for seven days, and over half of the leaves answered that they stop.
func (g *group) overdue() (bool, error) {
	f := &g.r.Rift
	if f.Why == 0 || f.Why == StopAsked || f.Why == StopRemade || g.unix()-f.Since < seconds(byItself) {
		return false, nil
	}
	if at, err := g.turn(); err != nil || at == 0 || g.unix() < at {
		return false, err
	}
	stopped, _, of, err := g.tally()
	return 2*stopped > of, err
}
