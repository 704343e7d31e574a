package group

import (
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// line is a group with all that it was made again as, as far as this device has
// them, and the statements that it knows.
type line struct {
	*work
	origin ID
	groups map[ID]*group
	said   []*said
}

// said is a statement that was read. Only what counts leads anywhere: see judge.
type said struct {
	*roster.Statement
	raw []byte
}

// line reads the line of a group, which is part of it as it is.
func (g *group) line() (*line, error) { return g.work.line(g.r.Origin, g) }

func (w *work) line(origin ID, have *group) (*line, error) {
	all, err := w.tx.Groups()
	if err != nil {
		return nil, err
	}
	l := &line{work: w, origin: origin, groups: map[ID]*group{}}
	if have != nil {
		l.groups[have.r.ID] = have
	}
	for _, r := range all {
		if r.Origin == origin && l.groups[r.ID] == nil {
			l.groups[r.ID] = &group{work: w, r: r, open: map[uint64]*opened{}}
		}
	}
	for _, id := range l.ids() {
		f := &l.groups[id].r.Rift
		if f.Made != nil {
			l.read(f.Made)
		}
		for _, k := range f.Statements {
			l.read(k.Statement)
		}
	}
	return l, nil
}

// ids are the groups of the line that are here, in one order.
func (l *line) ids() []ID {
	var out []ID
	for id := range l.groups {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b ID) int { return slices.Compare(a[:], b[:]) })
	return out
}

// read adds a statement to those that are known in this call; nil: it is none of this
// line, or was read before.
func (l *line) read(raw []byte) *said {
	st, err := roster.ParseStatement(raw)
	if err != nil || st.Origin != l.origin || l.has(raw) {
		return nil
	}
	v := &said{Statement: st, raw: raw}
	l.said = append(l.said, v)
	return v
}

func (l *line) has(raw []byte) bool {
	return slices.ContainsFunc(l.said, func(o *said) bool { return slices.Equal(o.raw, raw) })
}

// current is the group in which this device is now: nil if it is in none.
func (l *line) current() *group {
	var best *group
	for _, id := range l.ids() {
		g := l.groups[id]
		if s := g.r.State; s != Active && s != Behind && s != Stopped {
			continue
		}
		if best == nil || g.r.Since > best.r.Since {
			best = g
		}
	}
	return best
}

// Current is the group in which the conversation of an origin goes on. It fails with
// ErrUnknown where this device is in none: it left, was removed, or never was there.
func (e *Engine) Current(tx Tx, origin ID) (ID, error) {
	l, err := e.work(tx, time.Time{}).line(origin, nil)
	if err != nil {
		return ID{}, err
	}
	if g := l.current(); g != nil {
		return g.r.ID, nil
	}
	return ID{}, ErrUnknown
}

// best is the group that counts: from the first of the line, or the first that is
// known, by the statement to follow at each.
//
// spec: group.md#two-successors
func (l *line) best() ID {
	at := l.first()
	been := map[ID]bool{at: true}
	for {
		var here []*roster.Statement
		ranks := map[*roster.Statement]int{}
		for _, s := range l.said {
			if s.Old != at || been[s.New] {
				continue
			}
			if order := l.judge(s); order != nil {
				here = append(here, s.Statement)
				ranks[s.Statement] = slices.Index(order, s.Root())
			}
		}
		p := roster.Pick(here, func(s *roster.Statement) int { return ranks[s] })
		if p == nil {
			return at
		}
		at = p.New
		been[at] = true
	}
}

// first is where the way to the best begins. A joiner of a successor has not heard of
// what was before it but by the statement in its state.
func (l *line) first() ID {
	if l.groups[l.origin] != nil {
		return l.origin
	}
	g := l.current()
	for _, id := range l.ids() {
		if g == nil {
			g = l.groups[id]
		}
	}
	if g == nil {
		return l.origin
	}
	at, been := g.r.ID, map[ID]bool{}
	for !been[at] {
		been[at] = true
		if s := l.made(at); s != nil {
			at = s.Old
		}
	}
	return at
}

// made is the statement in the state of a group that is here; nil: it is the first of
// its line, or is not here.
func (l *line) made(id ID) *said {
	g := l.groups[id]
	if g == nil || g.r.Rift.Made == nil {
		return nil
	}
	for _, s := range l.said {
		if slices.Equal(s.raw, g.r.Rift.Made) {
			return s
		}
	}
	return nil
}

// statement is the statement that made a group: that of its state, or one that counts.
func (l *line) statement(of ID) *said {
	if s := l.made(of); s != nil {
		return s
	}
	for _, s := range l.said {
		if s.New == of && l.judge(s) != nil {
			return s
		}
	}
	return nil
}

func (l *line) save() error {
	for _, id := range l.ids() {
		if err := l.groups[id].save(); err != nil {
			return err
		}
	}
	return nil
}

// hearStated takes statements, and goes where they lead.
func (w *work) hearStated(from Device, root key.SignPublic, v *Stated) error {
	l, err := w.line(v.Origin, nil)
	if err != nil || l.current() == nil {
		return err
	}
	if len(v.Removed) > maxShown {
		return ErrSaid
	}
	for _, b := range v.Removed {
		_, s, ok := readShown(b)
		if !ok {
			return ErrSaid
		}
		if g := l.groups[s.Group]; g != nil && g.r.State != Out {
			if err := g.takeRemovals(from, [][]byte{b}); err != nil {
				return err
			}
		}
	}
	if err := l.learn(from, root, v.Said); err != nil {
		return err
	}
	if err := l.follow(); err != nil {
		return err
	}
	return l.save()
}
