package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Kept is a statement that is kept. Its roll is a note beside the record.
type Kept struct {
	Statement []byte `cbor:"1,keyasint"`           // roster.Statement
	Passed    bool   `cbor:"2,keyasint,omitempty"` // everybody of the line was told
}

// keepDoubtful is how many statements are kept that do not count and may later.
const keepDoubtful = 8

func rollNote(origin ID, hash [32]byte) string { return fmt.Sprintf("roll/%x/%x", origin, hash) }

// roll is the roll of a statement; nil: it is not known here.
func (l *line) roll(s *said) ([]byte, *roster.Roll, error) {
	b, err := l.tx.Note(rollNote(l.origin, s.Roll))
	if err == ErrUnknown {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := roster.ParseRoll(b)
	if err != nil {
		return nil, nil, nil
	}
	return b, r, nil
}

// learn keeps statements that count or may come to, and tells others those that do.
// Whoever tells a removed admin's statement is shown the removal.
func (l *line) learn(from Device, root key.SignPublic, list []Told) error {
	if len(list) > maxSaid {
		return ErrSaid
	}
	if l.current() == nil {
		return nil
	}
	for _, t := range list {
		st, err := roster.ParseStatement(t.Statement)
		if err != nil {
			return ErrSaid
		}
		if r, err := roster.ParseRoll(t.Roll); t.Roll != nil && (err != nil || r.Hash() != st.Roll) {
			return ErrSaid
		}
	}
	for _, t := range list {
		v := l.read(t.Statement)
		fresh := v != nil
		for _, s := range l.said {
			if v == nil && slices.Equal(s.raw, t.Statement) {
				v = s
			}
		}
		if v == nil {
			continue // of another line
		}
		if b := l.against(v); b != nil {
			if fresh {
				l.forget(v)
			}
			if err := l.show(from, root, v, b); err != nil {
				return err
			}
			continue
		}
		if fresh {
			if !l.keep(v, from) {
				l.forget(v)
				continue
			}
			if err := l.prune(v); err != nil {
				return err
			}
		}
		if err := l.unroll(t); err != nil {
			return err
		}
	}
	return l.pass(from)
}

// keep reports whether a statement is worth keeping: it counts; or its author was a
// member here, or a member tells it of a group that is not known here, and it may count
// once more is known.
func (l *line) keep(s *said, from Device) bool {
	if l.judge(s) != nil {
		return true
	}
	if l.refused(s.New) {
		return false
	}
	if l.history(s.Old, map[ID]bool{}) == nil {
		return l.stands(func(x roster.Leaf) bool { return x.Device == from })
	}
	if l.stands(func(x roster.Leaf) bool { return x.Root == s.Root() }) {
		return true
	}
	return slices.ContainsFunc(l.ids(), func(id ID) bool {
		return slices.ContainsFunc(l.groups[id].r.Rift.Orders, func(o Ordered) bool { return slices.Contains(o.Admins, s.Root()) })
	})
}

// stands reports whether there is such a leaf in an epoch that this device holds, or
// among those who are to come into a successor.
func (l *line) stands(is func(roster.Leaf) bool) bool {
	for _, id := range l.ids() {
		g := l.groups[id]
		if g.held(is) {
			return true
		}
		if slices.ContainsFunc(g.r.Rift.Expect, is) {
			return true
		}
	}
	return false
}

// held reports whether there is such a leaf in an epoch of the group that this device
// holds.
func (g *group) held(is func(roster.Leaf) bool) bool {
	epochs, err := g.epochs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(epochs, func(e *Epoch) bool {
		o, err := g.epoch(e.Number) // a list has no rosters
		return err == nil && slices.ContainsFunc(o.Roster, is)
	})
}

// prune stores a new statement with the group in which this device is, and drops what
// it makes needless: of one author and one old group one is kept, the one that would be
// followed, beside those of groups that are here; of those that do not count a few.
func (l *line) prune(fresh *said) error {
	g := l.current()
	g.r.Rift.Statements = append(g.r.Rift.Statements, Kept{Statement: fresh.raw})
	var drop, doubtful []*said
	for _, s := range l.said {
		if l.groups[s.New] != nil {
			continue
		}
		if l.judge(s) == nil {
			doubtful = append(doubtful, s)
		}
		if s == fresh || s.Old != fresh.Old || s.Root() != fresh.Root() {
			continue
		}
		a, b := l.judge(s), l.judge(fresh)
		switch {
		case b == nil && a != nil:
			drop = append(drop, fresh)
		case a == nil && b != nil:
			drop = append(drop, s)
		case roster.Pick([]*roster.Statement{s.Statement, fresh.Statement}, func(o *roster.Statement) int {
			if o == fresh.Statement {
				return slices.Index(b, o.Root())
			}
			return slices.Index(a, o.Root())
		}) == s.Statement:
			drop = append(drop, fresh)
		default:
			drop = append(drop, s)
		}
	}
	drop = append(drop, doubtful[:max(0, len(doubtful)-keepDoubtful)]...)
	for _, s := range drop {
		if err := l.drop(s); err != nil {
			return err
		}
	}
	return nil
}

// forget takes a statement out of those of this call.
func (l *line) forget(s *said) {
	l.said = slices.DeleteFunc(l.said, func(o *said) bool { return o == s })
}

// drop deletes a statement that is kept.
func (l *line) drop(s *said) error {
	l.forget(s)
	for _, g := range l.groups {
		g.r.Rift.Statements = slices.DeleteFunc(g.r.Rift.Statements, func(k Kept) bool { return slices.Equal(k.Statement, s.raw) })
	}
	if slices.ContainsFunc(l.said, func(o *said) bool { return o.Roll == s.Roll }) {
		return nil
	}
	return l.tx.DeleteNotes(rollNote(l.origin, s.Roll))
}

// unroll keeps the roll of a statement that is known. Who is on it is waited for.
func (l *line) unroll(t Told) error {
	for _, s := range l.said {
		if t.Roll == nil || !slices.Equal(s.raw, t.Statement) {
			continue
		}
		if have, _, err := l.roll(s); err != nil || have != nil {
			return err
		}
		if err := l.tx.PutNote(rollNote(l.origin, s.Roll), t.Roll); err != nil {
			return err
		}
		if to := l.groups[s.New]; to != nil && to.r.State != Out {
			return l.unexpect(to)
		}
	}
	return nil
}

// show answers a statement that does not count with the removal of its author, and with
// the commits that led to it: no later ones.
func (l *line) show(to Device, root key.SignPublic, s *said, removal []byte) error {
	g := l.groups[s.Old]
	_, v, ok := readShown(removal)
	if g == nil || !ok {
		return nil
	}
	if yes, err := g.onceShown(to, removal); err != nil || !yes {
		return err
	}
	out := &Removals{Group: s.Old, Removed: [][]byte{removal}}
	if g.r.State != Out {
		var err error
		if out.News, err = g.newsFrom(s.Epoch, v.Epoch); err != nil {
			return err
		}
	}
	l.word(to, root, encode(WordShown, out))
	return nil
}

// onceShown reports whether a removal was not shown to a device today.
func (g *group) onceShown(to Device, removal []byte) (bool, error) {
	h := key.Hash("tacet/v1/group/shown", removal)
	return g.every(fmt.Sprintf("%sshown/%x/%x", groupNotes(g.r.ID), to[:8], h[:8]), 24*time.Hour)
}

// pass tells everybody of the line what counts and was not passed on yet: who is in a
// group that is here, and who is on a roll and known by a leaf.
func (l *line) pass(but Device) error {
	var list []*said
	for _, s := range l.said {
		for _, g := range l.groups {
			for i, k := range g.r.Rift.Statements {
				if k.Passed || !slices.Equal(k.Statement, s.raw) || l.judge(s) == nil {
					continue
				}
				g.r.Rift.Statements[i].Passed = true
				if !slices.Contains(list, s) {
					list = append(list, s)
				}
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	to, err := l.everybody(but)
	if err != nil {
		return err
	}
	for ; len(list) > 0; list = list[min(len(list), maxSaid):] {
		said, err := l.tell(list[:min(len(list), maxSaid)])
		if err != nil {
			return err
		}
		b := encode(WordStatements, &Stated{Origin: l.origin, Said: said, Removed: l.removed(list)})
		for _, f := range to {
			l.word(f.Device, f.Root, b)
		}
	}
	return nil
}

// everybody are the devices of the line but one, some of them in a large one.
func (l *line) everybody(but Device) ([]roster.Leaf, error) {
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
			return nil, err
		}
		for _, f := range append(slices.Clone(h.Roster), g.r.Rift.Expect...) {
			if _, twice := leafOf(all, f.Device); !twice && f.Device != l.me() && f.Device != but {
				all = append(all, f)
			}
		}
	}
	g := l.current()
	if g == nil {
		return nil, nil
	}
	return g.some(all, evidenceTo)
}

// tell makes of statements what is told of them.
func (l *line) tell(list []*said) ([]Told, error) {
	var out []Told
	for _, s := range list {
		b, _, err := l.roll(s)
		if err != nil {
			return nil, err
		}
		out = append(out, Told{Statement: s.raw, Roll: b})
	}
	return out, nil
}

// removed are the removals without which others might not take statements: of admins
// who stood before their authors and are not to be in the new groups.
func (l *line) removed(list []*said) [][]byte {
	var out [][]byte
	for _, s := range list {
		order, _ := l.basis(s, map[ID]bool{})
		for _, id := range l.ids() {
			for _, b := range l.groups[id].r.Rift.Gone {
				w, _, ok := readShown(b)
				if ok && slices.Contains(order, w.Root) && !s.Stays(w.Root) && len(out) < maxShown &&
					!slices.ContainsFunc(out, func(o []byte) bool { return slices.Equal(o, b) }) {
					out = append(out, b)
				}
			}
		}
	}
	return out
}

// tellLine tells a device where this group went.
func (g *group) tellLine(to Device, root key.SignPublic) error {
	l, err := g.line()
	if err != nil {
		return err
	}
	v, err := l.stated()
	if err != nil {
		return err
	}
	g.word(to, root, encode(WordStatements, v))
	return nil
}

// stated is every statement of the line that counts, for somebody who may not know
// them.
func (l *line) stated() (*Stated, error) {
	var list []*said
	for _, s := range l.said {
		if l.judge(s) != nil {
			list = append(list, s)
		}
	}
	list = list[max(0, len(list)-maxSaid):]
	said, err := l.tell(list)
	return &Stated{Origin: l.origin, Said: said, Removed: l.removed(list)}, err
}
