package group

import (
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
)

// Times of telling a wish.
const (
	wishFirst = time.Minute
	wishMost  = 6 * time.Hour
)

// tellNewWish tells a wish to who can commit it, unless this device can: then the
// others hear of it only if its commit does not come.
func (g *group) tellNewWish(w *roster.Wish, ours bool) error {
	if err := g.schedule(); err != nil {
		return err
	}
	if !ours {
		return nil
	}
	i := slices.IndexFunc(g.r.Wishes, func(o Wanted) bool { return o.key() == w.Key() })
	if i < 0 {
		return nil // refused at once
	}
	o := &g.r.Wishes[i]
	o.Told = g.unix()
	can, err := g.canCommit(w)
	if err != nil || can || w.By != g.me() {
		return err
	}
	o.Tells++
	return g.tellWish(w)
}

// canCommit reports whether this device may carry a wish.
func (g *group) canCommit(w *roster.Wish) (bool, error) {
	if g.r.State != Active {
		return false, nil
	}
	h, err := g.head()
	if err != nil {
		return false, err
	}
	c, err := g.commitOf(h)
	if err != nil {
		return false, err
	}
	c.Wishes = []*roster.Wish{w}
	_, err = roster.Apply(c)
	return err == nil, nil
}

// tellWishes tells own wishes again until they are done.
//
// spec: group.md#wishes
func (g *group) tellWishes() error {
	for i := range g.r.Wishes {
		o := &g.r.Wishes[i]
		w, err := o.read()
		if err != nil || !o.Own || w.By != g.me() || o.Applied != 0 && o.In == g.r.ID {
			continue
		}
		next := o.Told + backoff(wishFirst, wishMost, o.Tells)
		if g.unix() < next {
			g.at(next)
			continue
		}
		o.Told = g.unix()
		o.Tells++
		g.at(o.Told + backoff(wishFirst, wishMost, o.Tells))
		if err := g.tellWish(w); err != nil {
			return err
		}
	}
	return nil
}

// tellWish says a wish to the admins' devices and the own ones; to all, if any device
// may commit it.
func (g *group) tellWish(w *roster.Wish) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	var to []roster.Leaf
	for _, l := range h.others() {
		_, admin := s.Rank(l.Root)
		if admin || l.Root == g.Self.Manifest.Root || w.Kind == roster.Leave || w.Kind == roster.Revoked {
			to = append(to, l)
		}
	}
	b, err := w.Append(nil)
	if err != nil {
		return err
	}
	return g.sayObject(h, encode(ObjectWishes, [][]byte{b}), to)
}
