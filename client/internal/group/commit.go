package group

import (
	"errors"
	"fmt"

	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
)

// commitWithin is within how many seconds a commit is made that nobody hurries: by
// then others may have made it.
const commitWithin = 30

// spread is over how many seconds commits are spread.
func (w *work) spread() int64 {
	switch {
	case w.Spread == 0:
		return commitWithin
	case w.Spread < 0:
		return 0
	}
	return seconds(w.Spread)
}

// schedule plans a commit if there is something to commit that this device may:
// removals at once, all else at a random time.
//
// spec: group.md#commit
func (g *group) schedule() error {
	good, urgent, err := g.carriable()
	if err != nil {
		return err
	}
	within := g.spread()
	if good && !g.r.Update && len(g.openWishes()) == 0 {
		h, err := g.head()
		if err != nil {
			return err
		}
		within = g.pathWithin(h)
	}
	switch {
	case !good:
		g.r.Try = 0
	case urgent:
		if g.r.Try == 0 || g.r.Try > g.unix() {
			g.r.Try = g.unix()
		}
	case g.r.Try == 0:
		n, err := g.random(within + 1)
		if err != nil {
			return err
		}
		g.r.Try = g.unix() + n
	}
	return nil
}

// carriable reports whether this device has something to commit, and whether it is
// urgent. It forgets wishes that are done or refused.
func (g *group) carriable() (any, urgent bool, err error) {
	if !g.mayCommit() { // nor is a time for it planned that would never be used
		return false, false, nil
	}
	h, err := g.head()
	if err != nil {
		return false, false, err
	}
	open, path := g.openWishes(), g.pathWanted(h)
	if len(open) == 0 && !path {
		return false, false, nil
	}
	c, err := g.commitOf(h)
	if err != nil {
		return false, false, err
	}
	good, bad := roster.Select(c, open)
	if err := g.asOthers(bad); err != nil {
		return false, false, err
	}
	if err := g.settleWishes(bad); err != nil {
		return false, false, err
	}
	for _, w := range good {
		urgent = urgent || w.Kind == roster.Remove || w.Kind == roster.Revoked
	}
	if len(good) == 0 && !path {
		return false, false, nil
	}
	c.Wishes = good
	_, err = roster.Apply(c) // it may be another's turn, or for others to commit
	return err == nil, urgent, nil
}

// asOthers judges what this device may not commit as one who may would, once in each
// epoch: what somebody did meanwhile, or nobody can do any more, is not wished on.
//
// spec: group.md#wishes
func (g *group) asOthers(bad map[roster.WishKey]error) error {
	for i := range g.r.Wishes {
		o := &g.r.Wishes[i]
		if !errors.Is(bad[o.key()], roster.ErrMaker) || o.Judged == g.r.Head+1 {
			continue
		}
		w, err := o.read()
		if err != nil {
			return err
		}
		switch err := g.possible(w); {
		case err == nil:
			o.Judged = g.r.Head + 1
		case errors.Is(err, roster.ErrRefused):
			bad[o.key()] = err
		default:
			return err
		}
	}
	return nil
}

// stage makes a commit of all that this device may carry, stores it with the state
// after it, and asks for it to be put. It is called when the slot was read and is
// empty. Nothing of the commit leaves but the sealed blob until there is a receipt.
//
// spec: group.md#commit
func (g *group) stage(h *opened) error {
	c, err := g.commitOf(h)
	if err != nil {
		return err
	}
	good, bad := roster.Select(c, g.openWishes())
	if err := g.settleWishes(bad); err != nil {
		return err
	}
	for {
		c.Wishes = good
		if len(good) == 0 && !g.pathWanted(h) {
			g.r.Try = 0
			return nil
		}
		done, err := g.stageThese(h, c)
		switch {
		case err == nil:
			h.end(func(x *Ending) { x.Staged = done })
			g.r.Asked = 0
			return nil
		case errors.Is(err, roster.ErrRefused):
			g.r.Try = 0 // for others to commit, or for later
			return nil
		case errors.Is(err, slot.ErrSize) && len(good) > 1:
			good = good[:len(good)/2] // the others go into the next commit
		case errors.Is(err, slot.ErrSize) && len(good) == 0:
			g.tight(h)
			return nil
		case errors.Is(err, slot.ErrSize):
			g.tooLarge(good[0])
			good, _ = roster.Select(c, g.openWishes())
		case len(good) == 0:
			return err
		default:
			if good, err = g.sift(h, c, err); err != nil {
				return err
			}
		}
	}
}

// stageThese makes the commit of the wishes in c.
func (g *group) stageThese(h *opened, c *roster.Commit) (*Commit, error) {
	plan, err := roster.Apply(c)
	if err != nil {
		return nil, err
	}
	t, err := g.treeOf(h)
	if err != nil {
		return nil, err
	}
	p := StageParams{Remove: plan.Remove}
	if p.State, err = plan.State.Append(nil); err != nil {
		return nil, err
	}
	for _, w := range plan.Add {
		p.Add = append(p.Add, w.Package)
	}
	if p.Carried, err = roster.Carry(c.Wishes); err != nil {
		return nil, err
	}
	out := &Commit{Own: h.Own}
	if g.staleLeaf(t) {
		l, owner, err := g.newLeaf()
		if err != nil {
			return nil, err
		}
		if c := credentialOf(t, g.me()); c != nil {
			l.Entry, l.Times, l.For = c.Entry, c.Times, c.For // the same membership
		}
		p.Leaf, out.Own = &l, owner
	}
	st, err := t.Stage(g.env(), p)
	if err != nil {
		return nil, fmt.Errorf("making commit: %w", err)
	}
	h.dirty = true // a generation of the ratchet was used
	content, err := enc.Marshal(&slotContent{Commit: st.Commit, Welcome: st.Welcome})
	if err != nil {
		return nil, err
	}
	s, err := h.slotOf()
	if err != nil {
		return nil, err
	}
	defer s.Wipe()
	if out.Blob, err = s.Seal(g.Rand, c.State.Class, content); err != nil {
		return nil, err
	}
	out.Stored = st.Stored
	return out, nil
}

// tooLarge notes that a wish alone does not fit into a commit. It waits for the next
// epoch, whose tree is another.
func (g *group) tooLarge(w *roster.Wish) {
	for i := range g.r.Wishes {
		if o := &g.r.Wishes[i]; o.key() == w.Key() {
			o.Large = g.r.Head + 1
		}
	}
	g.trouble(waitsTight)
}

// sift drops wishes by which no commit can be made: their key package is stale or
// false. Nothing else is a reason to drop one. An own one is told; another package is
// asked for.
//
// spec: group.md#commit
func (g *group) sift(h *opened, c *roster.Commit, why error) ([]*roster.Wish, error) {
	alone := *c
	alone.Wishes = nil
	if _, err := g.stageThese(h, &alone); err != nil && !errors.Is(err, slot.ErrSize) {
		return nil, why // it is not for what is added
	}
	var good []*roster.Wish
	for _, w := range c.Wishes {
		if w.Kind != roster.Add && w.Kind != roster.ReAdd {
			good = append(good, w)
			continue
		}
		alone.Wishes = []*roster.Wish{w}
		if _, err := g.stageThese(h, &alone); err == nil || errors.Is(err, slot.ErrSize) || errors.Is(err, roster.ErrRefused) {
			good = append(good, w)
			continue
		}
		g.forget(w.Key())
		if w.By == g.me() {
			g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventRefused, By: w.By, ByRoot: g.Self.Manifest.Root, Wish: w.Kind,
				About: aboutOf(w), Devices: devicesOf(w), Text: "their key package cannot be used; try again"})
		}
	}
	if len(good) == len(c.Wishes) {
		if len(good) == 1 {
			return nil, why
		}
		return good[:len(good)/2], nil // together they do not go
	}
	return good, nil
}

// forget drops a wish.
func (g *group) forget(k roster.WishKey) {
	for i, o := range g.r.Wishes {
		if o.key() == k {
			g.r.Wishes = append(g.r.Wishes[:i:i], g.r.Wishes[i+1:]...)
			return
		}
	}
}

// credentialOf is the credential of a device's leaf; nil: it has none.
func credentialOf(t Tree, d Device) *roster.Credential {
	for _, m := range t.Members() {
		if m.Device == d {
			return m.Credential
		}
	}
	return nil
}

// staleLeaf reports whether the own leaf shows an older manifest than the own one.
func (g *group) staleLeaf(t Tree) bool {
	for _, m := range t.Members() {
		if m.Index == t.Self() {
			return newer(g.Self.Manifest, m.Credential.Manifest)
		}
	}
	return false
}

func newer(a, b *manifest.Manifest) bool { return a.Root == b.Root && a.Sequence > b.Sequence }
