package group

import (
	"slices"

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

// said is a statement that was read.
type said struct {
	*roster.Statement
	Told
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
		for _, s := range l.groups[id].r.Rift.Statements {
			l.read(s)
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

func (l *line) read(s Told) *said {
	st, err := roster.ParseStatement(s.Statement)
	if err != nil || st.Origin != l.origin {
		return nil
	}
	for _, o := range l.said {
		if slices.Equal(o.Told.Statement, s.Statement) {
			return nil
		}
	}
	v := &said{Statement: st, Told: s}
	l.said = append(l.said, v)
	return v
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

// counts reports whether a statement counts here.
//
// spec: group.md#statements
func (l *line) counts(s *said) bool {
	if l.against(s) != nil {
		return false
	}
	g := l.groups[s.Old]
	if g == nil {
		return true
	}
	if slices.Contains(g.r.order(s.Epoch), s.Root()) {
		return true
	}
	// Somebody who was no admin here can be one on another branch of the old group,
	// and there is one only if its relay lied.
	return g.r.parted() || s.Epoch > g.r.Head && g.r.State == Behind
}

// against is the removal by which a statement does not count; nil: none is known.
func (l *line) against(s *said) []byte {
	for _, id := range l.ids() {
		for _, b := range l.groups[id].r.Rift.Gone {
			_, v, ok := readShown(b)
			if ok && v.Group == s.Old && v.Epoch > s.Epoch && v.Against(l.origin, s.Order, s.Root(), s.By) {
				return b
			}
		}
	}
	return nil
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
		for _, s := range l.said {
			if s.Old == at && !been[s.New] && l.counts(s) {
				here = append(here, s.Statement)
			}
		}
		p := roster.Pick(here)
		if p == nil {
			return at
		}
		at = p.New
		been[at] = true
	}
}

// first is where the way to the best begins. A joiner of a successor may not have
// heard of what was before it.
func (l *line) first() ID {
	if l.groups[l.origin] != nil {
		return l.origin
	}
	known := func(id ID) bool { return slices.ContainsFunc(l.said, func(s *said) bool { return s.Old == id }) }
	if known(l.origin) {
		return l.origin
	}
	// The oldest group of which something is known and that no statement leads to.
	for _, s := range l.said {
		if !slices.ContainsFunc(l.said, func(o *said) bool { return o.New == s.Old }) {
			return s.Old
		}
	}
	if g := l.current(); g != nil {
		return g.r.ID
	}
	return l.origin
}

// successor is the statement of a group; nil for the first of a line.
func (l *line) statement(of ID) *said {
	for _, s := range l.said {
		if s.New == of {
			return s
		}
	}
	return nil
}

// learn keeps statements that are new, passes them on, and reports whether there were
// any. Whoever is told by a removed admin's statement shows them the removal.
func (l *line) learn(from Device, root key.SignPublic, list []Told) error {
	if len(list) > maxSaid {
		return ErrSaid
	}
	g := l.current()
	if g == nil {
		return nil
	}
	var fresh []Told
	for _, t := range list {
		st, err := roster.ParseStatement(t.Statement)
		if err != nil {
			return ErrSaid
		}
		r, err := roster.ParseRoll(t.Roll)
		if t.Roll != nil && (err != nil || r.Hash() != st.Roll) {
			return ErrSaid
		}
		if l.unroll(t) { // it came without its roll before
			if to := l.groups[st.New]; to != nil && to.r.State != Out {
				if err := l.expect(to); err != nil {
					return err
				}
			}
			continue
		}
		v := l.read(t)
		if v == nil {
			continue
		}
		g.r.Rift.Statements = append(g.r.Rift.Statements, t)
		g.r.Rift.Statements = g.r.Rift.Statements[max(0, len(g.r.Rift.Statements)-keepStatements):]
		fresh = append(fresh, t)
	}
	for _, t := range list {
		if b := l.againstBytes(t); b != nil {
			if err := l.show(from, root, t, b); err != nil {
				return err
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return l.pass(fresh, from)
}

// unroll keeps the roll of a statement that is known without it, and reports whether
// there was one.
func (l *line) unroll(t Told) bool {
	found := false
	for _, s := range l.said {
		if slices.Equal(s.Told.Statement, t.Statement) && s.Told.Roll == nil && t.Roll != nil {
			s.Told.Roll, found = t.Roll, true
		}
	}
	for _, g := range l.groups {
		for i, s := range g.r.Rift.Statements {
			if found && slices.Equal(s.Statement, t.Statement) {
				g.r.Rift.Statements[i].Roll = t.Roll
			}
		}
	}
	return found
}

func (l *line) againstBytes(t Told) []byte {
	for _, s := range l.said {
		if slices.Equal(s.Told.Statement, t.Statement) {
			return l.against(s)
		}
	}
	return nil
}

// show answers a statement that does not count with the removal of its author, and
// with the commits that did it.
func (l *line) show(to Device, root key.SignPublic, t Told, removal []byte) error {
	s, err := roster.ParseStatement(t.Statement)
	if err != nil {
		return ErrSaid
	}
	out := &Removals{Group: s.Old, Removed: [][]byte{removal}}
	if g := l.groups[s.Old]; g != nil && g.r.State != Out {
		if out.News, err = g.newsFrom(s.Epoch); err != nil {
			return err
		}
	}
	l.word(to, root, encode(WordShown, out))
	return nil
}

// pass tells everybody of the line what was learned: who is in a group that is here,
// and who is on a roll and known by a leaf.
func (l *line) pass(list []Told, but Device) error {
	to := map[Device]key.SignPublic{}
	var all []roster.Leaf
	for _, id := range l.ids() {
		g := l.groups[id]
		if g.r.State == Out {
			continue
		}
		h, err := g.head()
		if err == ErrUnknown {
			continue
		}
		if err != nil {
			return err
		}
		for _, f := range append(slices.Clone(h.Roster), g.r.Rift.Expect...) {
			if _, twice := to[f.Device]; !twice && f.Device != l.me() && f.Device != but {
				to[f.Device] = f.Root
				all = append(all, f)
			}
		}
	}
	g := l.current()
	if g == nil {
		return nil
	}
	all, err := g.some(all, evidenceTo)
	if err != nil {
		return err
	}
	for ; len(list) > 0; list = list[min(len(list), maxSaid):] {
		b := encode(WordStatements, &Stated{Origin: l.origin, Said: list[:min(len(list), maxSaid)], Removed: l.removed(list)})
		for _, f := range all {
			l.word(f.Device, f.Root, b)
		}
	}
	return nil
}

// removed are the removals that speak against the authors of statements.
func (l *line) removed(list []Told) [][]byte {
	var out [][]byte
	for _, t := range list {
		if b := l.againstBytes(t); b != nil && len(out) < maxShown {
			out = append(out, b)
		}
	}
	return out
}

// told is every statement of the line, for somebody who may not know them.
func (l *line) told() []Told {
	var out []Told
	for _, s := range l.said[max(0, len(l.said)-maxSaid):] {
		out = append(out, s.Told)
	}
	return out
}

// hearStated takes statements, and goes where they lead.
func (w *work) hearStated(from Device, root key.SignPublic, v *Stated) error {
	l, err := w.line(v.Origin, nil)
	if err != nil || len(l.groups) == 0 {
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
			if err := g.takeRemovals([][]byte{b}); err != nil {
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

func (l *line) save() error {
	for _, id := range l.ids() {
		if err := l.groups[id].save(); err != nil {
			return err
		}
	}
	return nil
}
