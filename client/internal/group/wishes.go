package group

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of wishes.
const (
	maxOpenWishes = 256 // in one group
	maxWishesOf   = 32  // of them, of one device
	// wishLife is how long a wish of somebody else is kept if nobody may carry it.
	wishLife = 7 * 24 * time.Hour
)

// Want makes a wish of this device and keeps it until it is settled: add, remove,
// leave, promote and so on. Of want, Kind and what it is about count. A device whose
// key package is missing is asked for one first, and is added once it is there.
//
// It fails with ErrUnknown and ErrLeft, and with a refusal of roster (ErrRight, ErrDone
// and others) if nobody could carry the wish now.
//
// spec: group.md#wishes
func (e *Engine) Want(tx Tx, now time.Time, id ID, want roster.Wish) (*Change, error) {
	g, err := e.work(tx, now).member(id)
	if err != nil {
		return nil, err
	}
	want.Package = nil
	if err := g.want(want); err != nil {
		return nil, err
	}
	if err := g.due(false); err != nil {
		return nil, err
	}
	return g.ch, g.save()
}

func (g *group) want(want roster.Wish) error {
	if want.Kind == roster.Add && g.revoked(want.Root, want.Device) {
		return roster.ErrEvidence
	}
	if (want.Kind == roster.Add || want.Kind == roster.ReAdd) && want.Package == nil {
		p, err := g.takePackage(want.Device)
		if errors.Is(err, ErrNoPackage) {
			return g.lack(want)
		}
		if err != nil {
			return err
		}
		want.Package = p
	}
	w := &want
	if err := g.wish(w); err != nil {
		return err
	}
	if alone, err := g.leavesAlone(w); alone || err != nil {
		return err
	}
	if err := g.possible(w); err != nil {
		return err
	}
	return g.keepWish(w, true)
}

// wish signs a wish, for the memberships of the newest epoch.
func (g *group) wish(w *roster.Wish) error {
	id, err := g.id()
	if err != nil {
		return err
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	w.Group, w.ID, w.By = g.r.Origin, id, g.me()
	if err := w.Bind(s, h.Roster); err != nil {
		return err
	}
	w.Sign(g.Self.Sign)
	_, err = w.Append(nil)
	return err
}

// leavesAlone ends a group whose last member leaves: there is nobody to commit it.
func (g *group) leavesAlone(w *roster.Wish) (bool, error) {
	if w.Kind != roster.Leave {
		return false, nil
	}
	h, err := g.head()
	if err != nil {
		return false, err
	}
	for _, l := range h.Roster {
		if l.Root != w.Root || w.Device != (Device{}) && l.Device != w.Device {
			return false, nil
		}
	}
	g.r.Quit = true
	return true, g.out(g.me(), leftText, false)
}

// possible reports why nobody in the group could carry a wish now.
func (g *group) possible(w *roster.Wish) error {
	h, err := g.head()
	if err != nil {
		return err
	}
	if err := g.fits(h, w); err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	// Whether it is right does not depend on who commits it, but for their own removal.
	var why error
	for i, m := range candidates(s, h) {
		c := &roster.Commit{Origin: g.r.Origin, State: s.Clone(), Leaves: h.Roster, Maker: m, Born: s.Born, Wishes: []*roster.Wish{w}}
		g.room(c).State.Makers, c.State.Sole = nil, nil
		_, err := roster.Apply(c)
		if err == nil {
			return nil
		}
		if why == nil || errors.Is(why, roster.ErrSelf) || errors.Is(why, roster.ErrMaker) {
			why = err
		}
		if i > 8 {
			break
		}
	}
	return why
}

// candidates are leaves by which a wish could be carried: admins first.
func candidates(s *roster.State, h *opened) []roster.Leaf {
	out := slices.Clone(h.Roster)
	slices.SortStableFunc(out, func(a, b roster.Leaf) int {
		_, x := s.Rank(a.Root)
		_, y := s.Rank(b.Root)
		switch {
		case x && !y:
			return -1
		case y && !x:
			return 1
		}
		return 0
	})
	return out
}

// fits checks the key package of a wish: that it is of the device that is named, for
// the suite of the group, and can be reached. To be added again a device makes one for
// that, so nobody but itself wants it, and nobody twice.
//
// spec: group.md#credential
func (g *group) fits(h *opened, w *roster.Wish) error {
	if w.Kind != roster.Add && w.Kind != roster.ReAdd {
		return nil
	}
	c, r, s, err := g.Crypto.PackageOf(w.Package)
	if err != nil {
		return err
	}
	t, err := g.treeOf(h)
	if err != nil {
		return err
	}
	if c.Root() != w.Root || c.Device != w.Device || s != t.Suite() || !goodRoute(r) {
		return roster.ErrEvidence
	}
	if w.Kind == roster.Add {
		if c.For != (ID{}) && c.For != t.ID() {
			return roster.ErrEvidence // it asks another group
		}
		return newest(h, t, w, c.Manifest)
	}
	if was := credentialOf(t, w.Device); was == nil || !was.Renews(c, t.ID()) {
		return roster.ErrPast
	}
	return nil
}

// newest refuses a device that its own person adds by another manifest than the newest
// in the tree, or one that follows it: a root could make devices without end, each in
// a manifest of its own.
//
// spec: group.md#room
func newest(h *opened, t Tree, w *roster.Wish, m *manifest.Manifest) error {
	if by, in := leafOf(h.Roster, w.By); !in || by.Root != w.Root {
		return nil
	}
	for _, x := range t.Members() {
		if o := x.Credential.Manifest; x.Root == w.Root && (o.Sequence > m.Sequence || o.Sequence == m.Sequence && o.Hash() != m.Hash()) {
			return roster.ErrEvidence
		}
	}
	return nil
}

// keepWish adds a wish to those that are open, and plans a commit.
func (g *group) keepWish(w *roster.Wish, ours bool) error {
	if slices.ContainsFunc(g.r.Wishes, func(o Wanted) bool { return o.key() == w.Key() }) {
		return nil
	}
	done, err := g.tx.Seen(g.r.Origin, w.By, wishMark(w.ID))
	if err != nil || done {
		return err // it was done once: who says it again wants to do it twice
	}
	of := 0
	for _, o := range g.r.Wishes {
		if o.By == w.By {
			of++
		}
	}
	if !ours && (of >= maxWishesOf || len(g.r.Wishes) >= maxOpenWishes) || len(g.r.Wishes) >= 2*maxOpenWishes {
		return roster.ErrBounds
	}
	b, err := w.Append(nil)
	if err != nil {
		return err
	}
	g.r.Wishes = append(g.r.Wishes, Wanted{Wish: b, By: w.By, ID: w.ID, Bound: g.r.ID, Own: ours, Since: g.unix()})
	return g.tellNewWish(w, ours)
}

// hearWishes takes wishes from a member. Each must come from a device of the person
// who wishes, and be of the membership of now: an old wish that somebody else kept does
// not come back.
func (g *group) hearWishes(from roster.Leaf, b []byte) error {
	var list [][]byte
	if err := decode(b, &list); err != nil {
		return err
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	for _, raw := range list {
		w, err := roster.ParseWish(raw)
		if err != nil {
			return err
		}
		if l, ok := leafOf(h.Roster, w.By); !ok || l.Root != from.Root || l.Entry != w.From || w.Group != g.r.Origin {
			continue
		}
		if err := g.fits(h, w); err != nil {
			continue // nobody could carry it
		}
		if err := g.keepWish(w, from.Root == g.Self.Manifest.Root); err != nil && !errors.Is(err, roster.ErrBounds) {
			return err
		}
	}
	return nil
}

// open are the wishes that are not applied yet, as far as they could be read.
func (g *group) openWishes() []*roster.Wish {
	var out []*roster.Wish
	for _, o := range g.r.Wishes {
		if o.Applied != 0 && o.In == g.r.ID || o.Large == g.r.Head+1 {
			continue
		}
		w, err := o.read()
		if err != nil || (w.Kind == roster.Add || w.Kind == roster.ReAdd) && g.revoked(w.Root, w.Device) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// commitOf is what a commit by this device in the head would be judged by.
func (g *group) commitOf(h *opened) (*roster.Commit, error) {
	s, err := h.agreed()
	if err != nil {
		return nil, err
	}
	c := &roster.Commit{Origin: g.r.Origin, State: s, Leaves: h.Roster, Maker: h.self(), Born: day(g.now)}
	if h.Number > 0 && s.Sole == nil {
		// Who has just come in does not know it, and names none.
		if d := g.decided(h.Number - 1); d != nil {
			c.Slot = roster.Past{ID: d.Slot, Hash: d.Receipt.Hash}
		}
	}
	return g.room(c), nil
}

// decided is what is known of the slot of an epoch; nil: nothing.
func (g *group) decided(epoch uint64) *Decided {
	for i := range g.r.Decided {
		if g.r.Decided[i].Epoch == epoch {
			return &g.r.Decided[i]
		}
	}
	return nil
}

// settleWishes forgets wishes that are done everywhere, or that cannot be done. An
// own one that is refused is told.
func (g *group) settleWishes(bad map[roster.WishKey]error) error {
	var keep []Wanted
	for _, o := range g.r.Wishes {
		w, err := o.read()
		if err != nil {
			continue
		}
		why := bad[o.key()]
		switch {
		case o.Applied != 0 && o.In == g.r.ID:
			if _, err := g.epoch(o.Applied - 1); err == nil {
				keep = append(keep, o) // not settled yet
			}
			continue
		case errors.Is(why, roster.ErrDone):
			to, err := g.expectedBy(w)
			if err != nil {
				return err
			}
			if to { // it is about somebody who is to be in a successor, and is not yet
				break
			}
			// Somebody else did the same.
			if err := g.tx.MarkSeen(g.r.Origin, w.By, wishMark(w.ID), int64(day(g.now))); err != nil {
				return err
			}
			continue
		case errors.Is(why, roster.ErrPast) && o.Bound != g.r.ID:
			// From the group that this one was made again from: see renewWishes.
		case errors.Is(why, roster.ErrPast) && !o.Own:
			continue // it never counts again
		case errors.Is(why, roster.ErrPast) && w.By == g.me() && g.renewed(w):
			if n, err := g.renew(w); err != nil {
				return err
			} else if n != nil {
				n.Since = o.Since
				keep = append(keep, *n)
			}
			continue
		case errors.Is(why, roster.ErrSelf), errors.Is(why, roster.ErrMaker), errors.Is(why, roster.ErrBounds), why == nil:
			// For others to commit, or for later.
		case o.Own && w.By == g.me():
			g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventRefused, By: w.By, ByRoot: g.Self.Manifest.Root, Wish: w.Kind,
				About: aboutOf(w), Devices: devicesOf(w), Text: why.Error()})
			continue
		}
		if !o.Own && g.unix()-o.Since > seconds(wishLife) {
			continue
		}
		keep = append(keep, o)
	}
	g.r.Wishes = keep
	return nil
}

func aboutOf(w *roster.Wish) []key.SignPublic {
	if w.Root == (key.SignPublic{}) {
		return nil
	}
	return []key.SignPublic{w.Root}
}

func devicesOf(w *roster.Wish) []Device {
	if w.Device == (Device{}) {
		return nil
	}
	return []Device{w.Device}
}

// wishMark names a wish among the messages of its device that were taken.
func wishMark(id roster.WishID) wire.MessageID {
	h := key.Hash("tacet/v1/group/done", id[:])
	return wire.MessageID(h[:])
}

// read reads a wish that is kept: its signature was checked when it came.
func (o *Wanted) read() (*roster.Wish, error) {
	w := new(roster.Wish)
	if err := decode(o.Wish, w); err != nil {
		return nil, err
	}
	return w, nil
}
