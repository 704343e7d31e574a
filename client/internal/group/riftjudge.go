package group

import (
	"cmp"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// history is what this device knows of the admins of one group of a line.
type history struct {
	orders      []Ordered // oldest first, at least one
	first, last uint64    // epochs from and to which it knows them
	// loose: there was another branch, or this device has only a statement's word. Then
	// an order need not be the known one, only fit it.
	loose bool
	mark  func(epoch uint64) (m [8]byte, known bool)
}

func (h *history) at(epoch uint64) []key.SignPublic {
	out := h.orders[0].Admins
	for _, o := range h.orders {
		if o.Epoch <= epoch {
			out = o.Admins
		}
	}
	return out
}

// history is what is known of a group: by having been in it; else by the statements in
// the states of the groups here that were made from it; else by a statement that counts
// and leads to it. nil: nothing, and then no statement about it counts.
//
// spec: group.md#statements
func (l *line) history(of ID, been map[ID]bool) *history {
	none := func(uint64) (m [8]byte, known bool) { return m, false }
	if g := l.groups[of]; g != nil && len(g.r.Rift.Orders) > 0 {
		o := g.r.Rift.Orders
		return &history{orders: o, first: o[0].Epoch, last: max(g.r.Head, o[len(o)-1].Epoch), loose: g.r.parted() || g.r.Rift.Lost,
			mark: func(n uint64) (m [8]byte, known bool) {
				e, err := g.epoch(n)
				if err != nil {
					return m, false
				}
				return e.Mark, true
			}}
	}
	var orders []Ordered
	for _, id := range l.ids() {
		if s := l.made(id); s != nil && s.Old == of {
			orders = append(orders, Ordered{Epoch: s.Epoch, Admins: s.Order})
		}
	}
	if orders == nil && !been[of] {
		been[of] = true
		ranks := map[*roster.Statement]int{}
		var here []*roster.Statement
		for _, s := range l.said {
			if s.New != of {
				continue
			}
			if o := l.judgeIn(s, been); o != nil {
				here = append(here, s.Statement)
				ranks[s.Statement] = slices.Index(o, s.Root())
			}
		}
		if s := roster.Pick(here, func(s *roster.Statement) int { return ranks[s] }); s != nil {
			orders = append(orders, Ordered{Admins: staying(s)})
		}
		delete(been, of)
	}
	if orders == nil {
		return nil
	}
	slices.SortStableFunc(orders, func(a, b Ordered) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return &history{orders: orders, first: orders[0].Epoch, last: orders[len(orders)-1].Epoch, loose: true, mark: none}
}

// staying are the admins with whom a group begins that a statement leads to.
func staying(s *roster.Statement) []key.SignPublic {
	return slices.DeleteFunc(slices.Clone(s.Order), func(r key.SignPublic) bool { return !s.Stays(r) })
}

// judge returns the order of admins, as this device knows it, by which a statement
// counts; nil: it does not count. What its author says of itself decides nothing.
//
// spec: group.md#statements
func (l *line) judge(s *said) []key.SignPublic { return l.judgeIn(s, map[ID]bool{}) }

func (l *line) judgeIn(s *said, been map[ID]bool) []key.SignPublic {
	if l.refused(s.New) {
		return nil
	}
	order, sure := l.basis(s, been)
	if order == nil || l.speaks(s, order, sure) != nil {
		return nil
	}
	// Nobody is left out who stands before the author, unless that was shown here.
	for _, a := range order[:slices.Index(order, s.Root())] {
		if !s.Stays(a) && !l.shownOut(order, a) {
			return nil
		}
	}
	return order
}

// basis is the order of admins by which a statement is judged: that of its epoch, which
// must be the one it names; of a later epoch than this device knows the last, of an
// earlier the first, which it must fit. sure: this device was in the epoch that it
// names. nil: its author was no admin as far as this device knows.
func (l *line) basis(s *said, been map[ID]bool) (order []key.SignPublic, sure bool) {
	h := l.history(s.Old, been)
	if h == nil {
		return nil, false
	}
	order = h.at(min(s.Epoch, h.last))
	admin := slices.Contains(order, s.Root())
	var fits bool
	switch mark, known := h.mark(s.Epoch); {
	case s.Epoch > h.last:
		fits = roster.Follows(order, s.Order)
	case s.Epoch < h.first:
		fits = roster.Follows(s.Order, order)
	case known && mark == s.Mark, !known && !h.loose:
		if admin && slices.Equal(order, s.Order) {
			return order, true
		}
		return nil, false
	case !h.loose:
		return nil, false // of another branch, and nobody has shown that there is one
	default:
		fits = roster.Follows(order, s.Order) || roster.Follows(s.Order, order)
	}
	if admin && fits {
		return order, false
	}
	if h.loose {
		for _, o := range slices.Backward(h.orders) {
			if slices.Contains(o.Admins, s.Root()) && (roster.Follows(o.Admins, s.Order) || roster.Follows(s.Order, o.Admins)) {
				return o.Admins, false
			}
		}
	}
	return nil, false
}

// speaks is the removal of its author by which a statement does not count; nil: none is
// known. Where this device was in the epoch itself a removal from before it is over.
func (l *line) speaks(s *said, order []key.SignPublic, sure bool) []byte {
	for _, id := range l.ids() {
		for _, b := range l.groups[id].r.Rift.Gone {
			_, v, ok := readShown(b)
			if ok && v.Group == s.Old && (v.Epoch > s.Epoch || !sure) && v.Against(l.origin, order, s.Root(), s.By) {
				return b
			}
		}
	}
	return nil
}

// against is speaks for a statement that may not count for other reasons, too: what its
// author is shown.
func (l *line) against(s *said) []byte {
	order, sure := l.basis(s, map[ID]bool{})
	if order == nil {
		g := l.groups[s.Old]
		if g == nil || s.Epoch > g.r.Head {
			return nil
		}
		order = g.r.order(s.Epoch)
	}
	return l.speaks(s, order, sure)
}

// shownOut reports whether it was shown here that somebody is no admin any more.
func (l *line) shownOut(order []key.SignPublic, root key.SignPublic) bool {
	for _, g := range l.groups {
		if slices.ContainsFunc(g.r.Rift.Gone, func(b []byte) bool {
			w, v, ok := readShown(b)
			return ok && w.Root == root && v.Against(l.origin, order, root, w.Device)
		}) {
			return true
		}
	}
	return false
}

// refused reports whether the person of this device does not go to a group.
func (l *line) refused(id ID) bool {
	for _, g := range l.groups {
		if slices.Contains(g.r.Rift.Refused, id) {
			return true
		}
	}
	return false
}
