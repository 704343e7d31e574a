package group

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Times of asking to be added again.
const (
	begFirst = time.Minute
	begMost  = 6 * time.Hour
	// againEach is how often an admin's device wishes that one and the same device is
	// added again: each time is a commit of the group.
	againEach = time.Hour
	shownEach = 24 * time.Hour // who was removed is shown that
)

// behind is a device that cannot follow: the blob of a slot is gone, its own commit
// won and the state after it is lost, or its leaf was replaced. It asks admins to be
// added again; its messages wait.
//
// spec: group.md#behind
func (g *group) behind() error {
	if g.r.State == Behind {
		return nil
	}
	g.r.State, g.r.Try, g.r.Begging, g.r.Begs = Behind, 0, g.unix(), 0
	g.trouble(waitsBehind)
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	_ = msgs // their copies stay: who is behind us can read them still
	return g.beg()
}

// beg asks admins to be added again: the most senior first, then others at random.
func (g *group) beg() error {
	if g.unix() < g.r.Begging {
		g.at(g.r.Begging)
		return nil
	}
	h, err := g.epochKept()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	var to []roster.Leaf
	for _, l := range h.others() {
		if _, admin := s.Rank(l.Root); admin || l.Root == g.Self.Manifest.Root {
			to = append(to, l)
		}
	}
	if len(to) == 0 {
		to = h.others() // the last admin may be gone: somebody took over
	}
	p, err := g.offer(h)
	if err != nil {
		return err
	}
	a := encode(WordAgain, &Again{Group: g.r.ID, Head: h.Number, Package: p, Lost: g.r.Rift.Lost})
	// All of them, twelve at a time: which of them is there nobody knows.
	for i := range min(len(to), 12) {
		l := to[(i+g.r.Begs*12)%len(to)]
		g.word(l.Device, l.Root, a)
	}
	g.r.Begging = g.unix() + backoff(begFirst, begMost, g.r.Begs)
	g.r.Begs++
	g.at(g.r.Begging)
	return nil
}

// epochKept is the newest epoch that is here.
func (g *group) epochKept() (*opened, error) { return g.head() }

// offer is the key package by which this device can be added again: the same until it
// was used, so that two admins make one wish of it.
func (g *group) offer(h *opened) ([]byte, error) {
	t, err := g.treeOf(h)
	if err != nil {
		return nil, err
	}
	return g.offerOf(t.Suite(), credentialOf(t, g.me()))
}

func (g *group) suiteOf(h *opened) (Suite, error) {
	t, err := g.treeOf(h)
	if err != nil {
		return 0, err
	}
	return t.Suite(), nil
}

// offerOf is offer for a suite, and the credential of the own leaf; nil: there is none.
func (g *group) offerOf(s Suite, was *roster.Credential) ([]byte, error) {
	for _, hash := range g.r.Offered {
		o, err := g.tx.OwnPackage(hash)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if g.unix()-o.Born < seconds(7*24*time.Hour) {
			return o.Public, nil
		}
	}
	o, err := g.packageFor(Device{}, s, g.r.ID, was)
	if err != nil {
		return nil, err
	}
	g.r.Offered = append(g.r.Offered, o.Hash)
	g.r.Offered = g.r.Offered[max(0, len(g.r.Offered)-4):]
	return o.Public, nil
}

// hearAgain is a device that asks to be added again. An admin's device wishes it, and
// so does one of the same person; who was removed is told so.
//
// spec: group.md#behind
func (w *work) hearAgain(from Device, root key.SignPublic, b []byte) error {
	var a Again
	if err := decode(b, &a); err != nil {
		return err
	}
	g, err := w.load(a.Group)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if g.r.State == Replaced {
		return g.tellLine(from, root)
	}
	if g.r.State != Active && g.r.State != Stopped {
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	l, in := leafOf(h.Roster, from)
	if !in {
		shown, err := g.shownTo(from, root)
		if err != nil {
			return err
		}
		if !shown && a.Lost && !g.wishesAdd(from) {
			w.word(from, root, encode(WordRemoved, &Gone{Group: a.Group, Epoch: h.Number}))
		}
		return nil
	}
	if a.Head > h.Number && !a.Lost {
		return nil // it is we who are behind
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	if _, admin := s.Rank(w.Self.Manifest.Root); !admin && l.Root != w.Self.Manifest.Root {
		return nil
	}
	for _, o := range g.openWishes() {
		if o.Kind == roster.ReAdd && o.Device == from {
			return nil // it is on its way
		}
	}
	wish := &roster.Wish{Kind: roster.ReAdd, Root: l.Root, Device: from, Package: a.Package}
	if err := g.wish(wish); err != nil {
		return ErrSaid
	}
	if err := g.fits(h, wish); errors.Is(err, roster.ErrPast) {
		return nil // it was added again by it since, or it is of another membership
	} else if err != nil {
		return ErrSaid
	}
	if ok, err := g.every(groupNotes(g.r.ID)+"again/"+hex.EncodeToString(from[:16]), againEach); err != nil || !ok {
		return err
	}
	if err := g.keepWish(wish, true); err != nil {
		return err
	}
	if err := g.due(false); err != nil {
		return err
	}
	return g.save()
}

// wasRemoved reports whether this device saw that one removed.
func (g *group) wasRemoved(d Device) bool { return slices.Contains(g.r.Removed, d) }

// shownTo shows a device its removal, without the commits, which a device that lost its
// way cannot read; once a day. It reports whether there is one.
func (g *group) shownTo(to Device, root key.SignPublic) (bool, error) {
	out := &Removals{Group: g.r.ID}
	for _, b := range g.r.Rift.Gone {
		w, s, ok := readShown(b)
		if ok && w.Kind != roster.Demote && s.Against(g.r.Origin, g.r.order(s.Epoch), root, to) {
			out.Removed = append(out.Removed, b)
		}
	}
	if len(out.Removed) == 0 {
		return false, nil
	}
	if ok, err := g.every(groupNotes(g.r.ID)+"shown/"+hex.EncodeToString(to[:16]), shownEach); err != nil || !ok {
		return true, err
	}
	g.word(to, root, encode(WordShown, out))
	return true, nil
}

// hearRemoved tells this device that it is in no group that counts: it came in on a line
// of commits that lost, so there is no removal to show. It counts only for who knows
// that its line lost, and from an admin of the last epoch that it was in. Nothing is
// deleted by it.
func (w *work) hearRemoved(from Device, b []byte) error {
	var r Gone
	if err := decode(b, &r); err != nil {
		return err
	}
	g, err := w.load(r.Group)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if g.r.State != Behind || !g.r.Rift.Lost {
		return nil
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	l, in := leafOf(h.Roster, from)
	if _, admin := s.Rank(l.Root); !in || !admin && l.Root != w.Self.Manifest.Root {
		return nil
	}
	if err := g.out(from, "the part of the group in which this device was does not count", true); err != nil {
		return err
	}
	return g.save()
}

// hearWelcome enters a group, or enters it again. A Welcome that is for no key package
// of ours, for a group that was left or of which this device has a newer epoch, changes
// nothing.
//
// spec: group.md#key-packages
func (w *work) hearWelcome(from Device, root key.SignPublic, b []byte) error {
	return w.enterBy(from, root, b, false)
}

// enterBy is hearWelcome; with agreed the person said yes to it.
func (w *work) enterBy(from Device, root key.SignPublic, b []byte, agreed bool) error {
	var j Joining
	if err := decode(b, &j); err != nil {
		return err
	}
	if len(j.Package) != sha256.Size {
		return ErrSaid
	}
	r, err := w.tx.Group(j.Group)
	switch {
	case errors.Is(err, ErrUnknown):
		r = &Record{ID: j.Group, Origin: j.Origin, Since: w.unix()}
	case err != nil:
		return err
	case r.State == Replaced, r.Origin != j.Origin:
		return nil
	case r.State == Active || r.State == Stopped:
		// It is in already. That its leaf was replaced it reads at the slot, before it
		// takes a Welcome: else whoever knows the group's id and a key package could put
		// a group of their own into its place. The Welcome is passed on again.
		return nil
	case (r.State == Behind || r.State == Entering) && !slices.Contains(r.Offered, [32]byte(j.Package)):
		return nil // it asks with other packages
	}
	p, err := w.tx.OwnPackage([32]byte(j.Package))
	if errors.Is(err, ErrUnknown) {
		if asked, err := w.waits(j.Group, j.Package); err != nil || asked {
			return err
		}
		return ErrWelcome // used before, or nobody gave it away
	}
	if err != nil {
		return err
	}
	t, err := w.Crypto.Join(w.env(), j.Welcome, j.Tree, p.Public, p.Secrets)
	if err != nil {
		return errors.Join(ErrWelcome, err)
	}
	g := &group{work: w, r: r, open: map[uint64]*opened{}}
	if err := g.admit(from, &j, t); err != nil {
		return err
	}
	by, ask, err := w.asksFirst(r, root, p, t)
	if err != nil {
		return err
	}
	if ask && !agreed {
		return w.invited(from, root, by, p, t, &j, b)
	}
	return g.joined(t, p, &j)
}

// admit checks that a Welcome leads where it says.
func (g *group) admit(from Device, j *Joining, t Tree) error {
	if t.ID() != j.Group || t.Epoch() != j.Epoch || j.Epoch == 0 {
		return ErrWelcome
	}
	s, err := roster.ParseState(t.State())
	if err != nil {
		return errors.Join(ErrWelcome, err)
	}
	if err := g.sameHome(s); err != nil {
		return err
	}
	known, by := false, key.SignPublic{}
	for _, m := range t.Members() {
		if m.Device == from {
			known, by = true, m.Root
		}
		if m.Index == t.Self() && (m.Device != g.me() || m.Root != g.Self.Manifest.Root) {
			return ErrWelcome
		}
		if !goodRoute(m.Route) {
			return ErrWelcome
		}
	}
	if !known {
		return ErrWelcome // who brings it is no member
	}
	if err := g.origins(by, s, j); err != nil {
		return err
	}
	if s.Sole != nil {
		return nil
	}
	rec, err := wire.ParseReceipt(j.Receipt)
	if err != nil {
		return ErrWelcome
	}
	if _, err := slot.Check(rec.ID, s.Home.Receipt, &rec); err != nil {
		return errors.Join(ErrWelcome, err)
	}
	if g.deadLine(s, &rec) {
		return ErrWelcome
	}
	return nil
}

// sameHome refuses the state of a group that is here if its slots lie elsewhere: no
// change of a group moves them.
func (g *group) sameHome(s *roster.State) error {
	if g.r.State == Entering && !g.r.Entry.fits(s) {
		return ErrWelcome
	}
	if g.r.State != Behind {
		return nil
	}
	h, err := g.epochKept()
	if err != nil {
		return err
	}
	was, err := h.agreed()
	if err != nil {
		return err
	}
	if s.Home != was.Home || s.Class != was.Class || (s.Sole == nil) != (was.Sole == nil) {
		return ErrWelcome
	}
	return nil
}

// joined makes the group's record and first epoch, and thanks for the key package with
// another.
func (g *group) joined(t Tree, p *OwnPackage, j *Joining) error {
	again := g.r.State == Behind
	g.r.Entry = nil
	g.r.Put, g.r.Quit = 0, false
	if err := g.tx.DeleteNotes(invitedIn(g.r.ID)); err != nil {
		return err
	}
	if err := g.dropOld(); err != nil {
		return err
	}
	h, err := g.begin(t, p.Owner)
	if err != nil {
		return err
	}
	g.wasLetIn(h)
	if err := g.noticed(h, nil, nil); err != nil {
		return err
	}
	if err := g.holdAgainst(h.Roster); err != nil {
		return err
	}
	g.r.State, g.r.Try, g.r.Begging, g.r.Begs, g.r.Offered = Active, 0, 0, 0, nil
	g.r.Asked, g.r.Away, g.r.Looked, g.r.Known = 0, 0, g.unix(), 0
	g.r.Acks = nil
	// Of the slot before nothing is kept: the receipt that came along may be for any blob
	// of that relay.
	g.r.Decided = slices.DeleteFunc(g.r.Decided, func(d Decided) bool { return d.Epoch >= j.Epoch-1 })
	if err := g.tx.DeleteOwnPackage(p.Hash); err != nil {
		return err
	}
	if p.For != (Device{}) {
		if l, ok := leafOf(h.Roster, p.For); ok && l.Device != g.me() {
			stock, err := g.packages(p.For, 1, t.Suite())
			if err != nil {
				return err
			}
			g.word(l.Device, l.Root, stock)
		}
	}
	g.trouble("")
	msgs, err := g.messages()
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := g.again(h, m); err != nil {
			return err
		}
	}
	if err := g.cameIn(); err != nil {
		return err
	}
	if g.r.State != Replaced {
		if !again {
			g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventJoined})
		}
		if err := g.entered(nil, false); err != nil {
			return err
		}
	}
	return g.save()
}

// dropOld deletes the epochs from before this device was added again: its leaf in them
// is void.
func (g *group) dropOld() error {
	epochs, err := g.epochs()
	if err != nil {
		return err
	}
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
	}
	for _, e := range epochs {
		if err := g.drop(e.Number); err != nil {
			return err
		}
	}
	return nil
}

// ErrWelcome: a Welcome is for nobody here, or leads elsewhere than it says.
var ErrWelcome = errors.New("invitation to a group does not fit")
