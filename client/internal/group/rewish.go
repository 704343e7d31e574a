package group

import (
	"bytes"
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/internal/roster"
)

// renewed reports whether a wish is made anew by itself once changes of others made it
// void: a link, and a device that was never taken out. What else is void was wished in
// another situation: its person is told.
func (g *group) renewed(w *roster.Wish) bool {
	return w.Kind == roster.OpenLink || w.Kind == roster.Add && !g.outSince(w)
}

// outSince reports whether a device that a wish adds was taken out since it was wished.
func (g *group) outSince(w *roster.Wish) bool {
	h, err := g.head()
	if err != nil {
		return true
	}
	s, err := h.agreed()
	return err != nil || w.Kind == roster.Add && s.TakenOut(w.Device, w.Turn)
}

// renew makes a wish anew, as one of this device's for the memberships and the state of
// now. nil: nothing is left to wish.
func (g *group) renew(w *roster.Wish) (*Wanted, error) {
	n := *w
	err := g.wish(&n)
	if err == nil {
		err = g.possible(&n)
	}
	if errors.Is(err, roster.ErrRefused) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := n.Append(nil)
	if err != nil {
		return nil, err
	}
	return &Wanted{Wish: b, By: n.By, ID: n.ID, Bound: g.r.ID, Own: true, Since: g.unix()}, nil
}

// renewWishes makes those of this person's wishes anew that name memberships of
// another group of the line: in this one everybody came in anew. About whom is to come
// in still they wait.
//
// spec: group.md#wishes
func (g *group) renewWishes() error {
	var keep, fresh []Wanted
	for _, o := range g.r.Wishes {
		if !o.Own || o.Bound == g.r.ID || o.Applied != 0 && o.In == g.r.ID {
			keep = append(keep, o)
			continue
		}
		w, err := o.read()
		if err != nil || w.Kind == roster.ReAdd || g.wants(w) {
			continue
		}
		waits, err := g.waitsFor(w)
		if err != nil {
			return err
		}
		if waits {
			keep = append(keep, o)
			continue
		}
		var n *Wanted
		if !g.outSince(w) {
			if n, err = g.renew(w); err != nil {
				return err
			}
		}
		if n == nil { // so it is as long as this group counts
			o.Applied, o.In = 1, g.r.ID
			keep = append(keep, o)
			continue
		}
		fresh = append(fresh, *n)
	}
	g.r.Wishes = append(keep, fresh...)
	for i := range fresh {
		w, err := fresh[i].read()
		if err != nil {
			return err
		}
		if err := g.tellNewWish(w, true); err != nil {
			return err
		}
	}
	return g.dropDone()
}

// dropDone forgets what is done or has no right any more where another device alone
// commits: no commit of this one is planned, which would show it. It goes on where this
// device stopped because that one is late: else it would wait for what nobody can do.
func (g *group) dropDone() error {
	late := g.r.State == Stopped && g.r.Rift.Why == StopSole
	if g.r.State != Active && !late || g.r.Rift.Sole == nil || *g.r.Rift.Sole == g.me() {
		return nil
	}
	bad := map[roster.WishKey]error{}
	for _, w := range g.openWishes() {
		err := g.possible(w)
		if errors.Is(err, roster.ErrRefused) {
			bad[w.Key()] = err
		} else if err != nil {
			return err
		}
	}
	if len(bad) > 0 {
		if err := g.settleWishes(bad); err != nil {
			return err
		}
	}
	if late {
		g.stopEnds()
	}
	return nil
}

// waitsFor reports whether a wish is about a person who is to be in the group and is
// not yet.
func (g *group) waitsFor(w *roster.Wish) (bool, error) {
	h, err := g.head()
	if err != nil || w.Kind == roster.Add || w.Kind == roster.Demote || w.Kind >= roster.Rename {
		return false, err
	}
	about := func(l roster.Leaf) bool { return l.Root == w.Root && (w.Device == (Device{}) || l.Device == w.Device) }
	if slices.ContainsFunc(h.Roster, about) {
		return false, nil
	}
	if slices.ContainsFunc(g.r.Rift.Expect, about) {
		return true, nil
	}
	return g.expectedBy(w)
}

// wants reports whether a wish of this device that says the same is open here.
func (g *group) wants(w *roster.Wish) bool {
	return slices.ContainsFunc(g.r.Wishes, func(o Wanted) bool {
		if o.By != g.me() || o.Bound != g.r.ID || o.Applied != 0 && o.In == g.r.ID {
			return false
		}
		v, err := o.read()
		return err == nil && v.Kind == w.Kind && v.Root == w.Root && v.Device == w.Device && v.Text == w.Text &&
			bytes.Equal(v.Bytes, w.Bytes) && v.Number == w.Number && (v.Link == nil || w.Link != nil && v.Link.ID == w.Link.ID)
	})
}
