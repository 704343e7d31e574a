package group

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// ErrBurnt: what lies at the slot is no commit that this device can take.
var ErrBurnt = errors.New("the slot of the group holds no valid change")

const nonceSize = 24

// found is a commit that lies at the slot of the head.
type found struct {
	receipt wire.Receipt
	content []byte // nonce ‖ content
	commit  slotContent
}

// checkReceipt checks that a receipt is for the slot of an epoch of ours, by the realm
// that the epoch names. It fails with slot.ErrReceipt.
//
// spec: group.md#receipts
func (g *group) checkReceipt(o *opened, r *wire.Receipt) error {
	s, err := o.agreed()
	if err != nil {
		return err
	}
	var id wire.BlobID
	if o.Slot != nil {
		if id, err = o.slotID(); err != nil {
			return err
		}
	} else if d := g.decided(o.Number); d != nil {
		id = d.Slot
	} else {
		return slot.ErrReceipt
	}
	_, err = slot.Check(id, s.Home.Receipt, r)
	return err
}

// note keeps a receipt that was checked, and reports whether it agrees with what was
// known. If it does not, the realm said two things: the group stops.
func (g *group) note(epoch uint64, r *wire.Receipt) (bool, error) {
	if d := g.decided(epoch); d != nil {
		if d.Receipt.Hash == r.Hash {
			return true, nil
		}
		return false, g.contradicts(d, r)
	}
	g.r.Decided = append(g.r.Decided, Decided{Epoch: epoch, Slot: r.ID, Receipt: *r})
	g.r.Decided = g.r.Decided[max(0, len(g.r.Decided)-maxDecided):]
	return true, nil
}

// maxDecided is how many receipts are kept: those of the slots that a state lists, and
// as many again.
const maxDecided = 2 * roster.MaxPast

// advance takes the blob that lies at the slot of the head: it becomes the end of
// that epoch, or the slot is burnt. The receipt was checked.
//
// spec: group.md#advance
func (g *group) advance(h *opened, blob []byte, receipt *wire.Receipt) error {
	if slot.Hash(blob) != receipt.Hash {
		return slot.ErrReceipt
	}
	if ok, err := g.note(h.Number, receipt); !ok || g.r.Rift.Lost {
		return err
	}
	burnt := func() error {
		if g.r.State == Behind {
			return nil // it lost its way: what it cannot read proves nothing
		}
		return g.burnt(h, blob, receipt)
	}
	s, err := h.slotOf()
	if err != nil {
		return err
	}
	defer s.Wipe()
	f := &found{receipt: *receipt}
	content, err := s.Open(blob)
	if err != nil || decode(content, &f.commit) != nil {
		return burnt()
	}
	f.content = append(slices.Clone(blob[:nonceSize]), content...)
	t, err := g.treeOf(h)
	if err != nil {
		return err
	}
	if h.End.Staged != nil && bytes.Equal(h.End.Staged.Blob, blob) {
		return g.won(h, t, f)
	}
	if !g.Crypto.IsCommit(f.commit.Commit) {
		return g.burnt(h, blob, receipt) // somebody's text, this device's perhaps
	}
	o, err := t.Process(g.env(), f.commit.Commit)
	switch {
	case errors.Is(err, ErrOwn):
		// Ours, and the state after it is lost: the disk went back.
		return g.behind()
	case errors.Is(err, ErrPath):
		// It counts for others, and this device cannot follow.
		return g.behind()
	case err != nil || o.Staged == nil:
		return burnt()
	}
	wishes, plan, err := g.judge(h, o.Staged)
	if err != nil {
		return burnt()
	}
	return g.enter(h, t, &entering{found: f, staged: o.Staged, wishes: wishes, plan: plan, owner: h.Own})
}

// won enters the epoch after our own commit, from what was stored before it was put.
func (g *group) won(h *opened, t Tree, f *found) error {
	u, ok := t.(Unstager)
	if !ok {
		return ErrForeign
	}
	st, err := u.Unstage(h.End.Staged.Stored)
	if err != nil {
		return g.behind() // what was stored is damaged
	}
	wishes, plan, err := g.judge(h, st)
	if err != nil {
		return fmt.Errorf("own commit: %w", err) // our own bug
	}
	return g.enter(h, t, &entering{found: f, staged: st, wishes: wishes, plan: plan, owner: h.End.Staged.Own, ours: true})
}

// judge holds a commit against what its wishes make of the state.
//
// spec: group.md#who-may-what
func (g *group) judge(h *opened, st *Staged) ([]*roster.Wish, *roster.Plan, error) {
	maker, ok := leafAt(h.Roster, st.Maker)
	if !ok || st.Others {
		return nil, nil, ErrBurnt
	}
	wishes, err := roster.Carried(st.Carried, st.Add)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range wishes {
		if err := g.fits(h, w); err != nil {
			return nil, nil, err
		}
	}
	next, err := roster.ParseState(st.State)
	if err != nil {
		return nil, nil, err
	}
	c, err := g.commitOf(h)
	if err != nil {
		return nil, nil, err
	}
	c.Maker, c.Wishes, c.Born = maker, wishes, next.Born
	c.Slot = slotNamed(h, c, next)
	plan, err := roster.Apply(c)
	if err != nil {
		return nil, nil, err
	}
	want, err := plan.State.Append(nil)
	if err != nil {
		return nil, nil, err
	}
	removed := slices.Clone(st.Remove)
	slices.Sort(removed)
	if !bytes.Equal(want, st.State) || !slices.Equal(removed, plan.Remove) || len(plan.Add) != len(st.Add) {
		return nil, nil, ErrBurnt
	}
	for i, w := range plan.Add {
		if !bytes.Equal(w.Package, st.Add[i]) {
			return nil, nil, ErrBurnt
		}
	}
	return wishes, plan, nil
}

// slotNamed is the slot of the epoch before that a commit may name. Whoever came in with
// this epoch does not know it, so a commit may name none; and a device that does not
// know it itself takes the one that is named. What the Welcome said of it counts for
// nothing: whoever brings a Welcome could choose it.
//
// spec: group.md#state
func slotNamed(h *opened, c *roster.Commit, next *roster.State) roster.Past {
	n, had := len(next.Past), len(c.State.Past)
	if n == 0 || had > 0 && next.Past[n-1] == c.State.Past[had-1] {
		return roster.Past{}
	}
	if c.Slot == (roster.Past{}) && h.Number > 0 && c.State.Sole == nil {
		return next.Past[n-1]
	}
	return c.Slot
}

// entering is a commit that was judged good.
type entering struct {
	*found
	staged *Staged
	wishes []*roster.Wish
	plan   *roster.Plan
	owner  []byte // private half of the own leaf's route from then on
	ours   bool
}

// enter leaves the head for the epoch after it.
func (g *group) enter(h *opened, t Tree, e *entering) error {
	me := h.self()
	maker, _ := leafAt(h.Roster, e.staged.Maker)
	if slices.Contains(e.plan.Again, me.Index) {
		// Our leaf is void; the Welcome to the new one is on its way.
		g.ch.Routes = true
		return g.behind()
	}
	if slices.Contains(e.plan.Remove, me.Index) {
		by, why := removalOf(e.wishes, me)
		g.r.Quit = why == leftText
		g.changed(maker, e.wishes)
		return g.out(by, why, false)
	}
	if g.r.State == Behind { // what it lacked came
		g.r.State, g.r.Begging, g.r.Begs = Active, 0, 0
		if g.r.Rift.Why != 0 {
			g.r.State = Stopped
		}
		g.trouble("")
	}
	gone, err := g.removals(t.Members(), e.wishes, h.Number+1)
	if err != nil {
		return err
	}
	past, err := t.Merge(e.staged)
	if err != nil {
		return fmt.Errorf("entering epoch: %w", err)
	}
	// Of the epoch that ended only what opens and says messages stays, and what passes
	// its end on to the others.
	h.tree, h.past, h.Basis = nil, past, h.left(past.Fixed())
	h.Slot, h.Left, h.Aged = nil, g.unix(), g.age()
	h.end(func(x *Ending) { x.Staged, x.Commit = nil, e.content })
	next, err := g.begin(t, e.owner)
	if err != nil {
		return err
	}
	if len(e.plan.Add) > 0 {
		h.end(func(x *Ending) {
			x.Welcome, x.Aside = e.commit.Welcome, t.Public()
			for _, w := range e.plan.Add {
				if l, ok := leafOf(next.Roster, w.Device); ok && l.Device != g.me() {
					x.Added = append(x.Added, Joiner{Leaf: l, Package: sha256.Sum256(w.Package)})
				}
			}
		})
	}
	if err := g.applied(e, next); err != nil {
		return err
	}
	if err := g.noticed(next, e.wishes, gone); err != nil {
		return err
	}
	g.changed(maker, e.wishes)
	if err := g.learnFrom(e.wishes, next); err != nil {
		return err
	}
	if err := g.rosterChanged(h, next, e.plan); err != nil {
		return err
	}
	return g.entered(h, e.ours)
}

// entered starts what follows on a new epoch: the others hear of it.
func (g *group) entered(left *opened, ours bool) error {
	g.r.Try, g.r.Asked = 0, 0
	g.r.Prompted, g.r.Prompt, g.r.Vain, g.r.Rolls = false, 0, 0, 0
	if g.r.Trouble == waitsTight {
		g.trouble("")
	}
	if ours {
		g.r.Update = false
	}
	g.r.Tell, g.r.Tells = g.unix(), 0
	n, err := g.random(lookEvery)
	if err != nil {
		return err
	}
	g.r.Look = g.unix() + n
	if left != nil {
		left.Pass = g.unix()
		if !ours {
			if n, err = g.random(90); err != nil {
				return err
			}
			left.Pass += 30 + n
		}
	}
	if err := g.schedule(); err != nil {
		return err
	}
	return g.due(false)
}

// applied marks wishes that a commit carried, and forgets those that it made needless.
func (g *group) applied(e *entering, next *opened) error {
	carried := map[roster.WishKey]bool{}
	again := map[Device]bool{}
	for _, w := range e.wishes {
		carried[w.Key()] = true
		if w.Kind == roster.Revoked && !slices.Contains(g.r.Revoked, w.Device) {
			g.r.Revoked = append(g.r.Revoked, w.Device)
		}
		if w.Kind == roster.Add || w.Kind == roster.ReAdd {
			again[w.Device] = true
		}
		if err := g.tx.MarkSeen(g.r.Origin, w.By, wishMark(w.ID), int64(day(g.now))); err != nil {
			return err
		}
	}
	var keep []Wanted
	for _, o := range g.r.Wishes {
		if carried[o.key()] {
			o.Applied, o.In = next.Number, g.r.ID
		} else if w, err := o.read(); err != nil || w.Kind == roster.ReAdd && again[w.Device] {
			continue
		}
		keep = append(keep, o)
	}
	g.r.Wishes = keep
	g.r.Lacking = slices.DeleteFunc(g.r.Lacking, func(l Lacking) bool {
		_, in := leafOf(next.Roster, l.Device)
		return in
	})
	return nil
}

// changed tells what a commit did, wish by wish.
func (g *group) changed(maker roster.Leaf, wishes []*roster.Wish) {
	h, err := g.head()
	if err != nil {
		return
	}
	for _, w := range wishes {
		ev := Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventMembers, By: w.By, ByRoot: maker.Root, Wish: w.Kind, About: aboutOf(w), Devices: devicesOf(w)}
		for _, l := range h.Roster {
			if l.Device == w.By {
				ev.ByRoot = l.Root
			}
		}
		switch w.Kind {
		case roster.Rename:
			ev.Kind, ev.Text = EventSettings, w.Text
		case roster.SetPicture:
			ev.Kind, ev.Content = EventSettings, w.Bytes
			g.r.PictureBy = w.By
		case roster.SetTimer, roster.SetFanout:
			ev.Kind, ev.Text = EventSettings, fmt.Sprint(w.Number)
		case roster.OpenLink, roster.CloseLink:
			ev.Kind = EventSettings
		}
		g.event(ev)
	}
}

// leftText is why somebody is out who left.
const leftText = "you left"

// removalOf says who removed a leaf, and why, in plain words.
func removalOf(wishes []*roster.Wish, l roster.Leaf) (Device, string) {
	for _, w := range wishes {
		if w.Root != l.Root || w.Device != (Device{}) && w.Device != l.Device {
			continue
		}
		switch w.Kind {
		case roster.Leave:
			return w.By, leftText
		case roster.Revoked:
			return w.By, "this device was revoked"
		case roster.Remove:
			return w.By, "an admin removed you"
		}
	}
	return Device{}, "you were removed"
}

// out ends a group for this device. What waits for others is shown as not sent. The
// record stays, so that the conversation has its name. keep is for a removal that was
// shown and not read at a slot: epochs stay readable and messages stay here for 14 days,
// in case this device is let in again.
//
// spec: group.md#shown-removals
func (g *group) out(by Device, why string, keep bool) error {
	if err := g.unsent(); err != nil {
		return err
	}
	if keep {
		h, err := g.head()
		if err != nil {
			return err
		}
		h.Slot, h.dirty = nil, true
		if h.End != nil {
			h.end(func(e *Ending) { e.Staged = nil })
		}
		g.r.Put = g.unix()
		g.at(g.r.Put + seconds(epochLife))
	} else if err := g.clear(); err != nil {
		return err
	}
	g.r.State, g.r.Wishes, g.r.Lacking, g.r.Acks, g.r.Questions = Out, nil, nil, nil, nil
	g.r.Try, g.r.Look, g.r.Tell, g.r.Begging = 0, 0, 0, 0
	g.ch.Routes = true
	g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventOut, By: by, Text: why})
	return nil
}

// unsent takes back what waits for others, and tells that it was not sent.
func (g *group) unsent() error {
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := g.withdraw(m); err != nil {
			return err
		}
		m.Epoch, m.Sealed = held, nil
		if err := g.tx.PutMessage(m); err != nil {
			return err
		}
		g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventUnsent, Message: m.ID, Reached: m.Of - len(m.Waits), Of: m.Of})
	}
	return nil
}

// forgetOut deletes what was kept of a group that a shown removal ended, in time.
func (g *group) forgetOut() error {
	if g.r.State != Out || g.r.Put == 0 {
		return nil
	}
	if end := g.r.Put + seconds(epochLife); g.unix() < end {
		g.at(end)
		return nil
	}
	g.r.Put = 0
	g.ch.Routes = true
	if err := g.clear(); err != nil {
		return err
	}
	return g.save()
}

// clear deletes all epochs and messages of the group.
func (g *group) clear() error {
	msgs, err := g.tx.Messages(g.r.ID)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := g.withdraw(m); err != nil {
			return err
		}
		if err := g.tx.DeleteMessage(g.r.ID, m.ID); err != nil {
			return err
		}
	}
	epochs, err := g.epochs()
	if err != nil {
		return err
	}
	for _, e := range epochs {
		if err := g.drop(e.Number); err != nil {
			return err
		}
	}
	for n := range g.open { // those that were not stored yet
		delete(g.open, n)
	}
	if g.r.State != Replaced {
		if err := g.tx.DeleteNotes(pictureNotes(g.r.Origin)); err != nil {
			return err
		}
	}
	return g.tx.DeleteNotes(groupNotes(g.r.ID))
}
