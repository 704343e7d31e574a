package group

import (
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Entry is what a device that was linked knows of a group in which another device of
// its person is, until it is let in.
type Entry struct {
	Leaves []roster.Leaf `cbor:"1,keyasint"` // who can let it in: own devices, and admins'
	Suite  Suite         `cbor:"2,keyasint"`
	Home   roster.Home   `cbor:"3,keyasint"`
	Class  byte          `cbor:"4,keyasint"`
	Sole   bool          `cbor:"5,keyasint,omitempty"`
}

// entryLeaves bounds whom a device asks to let it in, entryLife for how long.
const (
	entryLeaves = 64
	entryLife   = 60 * 24 * time.Hour
)

// fits reports whether a state is one of the group that was handed over: no change of a
// group moves its slots. A group that was made again meanwhile is entered by its
// successor's Welcome.
func (e *Entry) fits(s *roster.State) bool {
	return e != nil && s.Home == e.Home && s.Class == e.Class && (s.Sole != nil) == e.Sole
}

// Handover is what of a group goes over to a device of ours that is being linked, for
// its store: it asks to be let in by it. nil: of this group only what was said does. It
// holds no secret of the group. It fails with ErrUnknown.
//
// spec: link.md#pack
func (e *Engine) Handover(tx Tx, now time.Time, id ID) (*Record, error) {
	r, err := tx.Group(id)
	if err != nil {
		return nil, err
	}
	out := &Record{ID: r.ID, Origin: r.Origin, Since: r.Since, Name: r.Name, State: Entering, Entry: r.Entry, Read: r.Read, Muted: r.Muted}
	switch r.State {
	case Entering:
		return out, nil
	case Out, Replaced:
		return nil, nil
	}
	g := &group{work: e.work(tx, now), r: r, open: map[uint64]*opened{}}
	h, err := g.head()
	if err != nil {
		return nil, err
	}
	s, err := h.agreed()
	if err != nil {
		return nil, err
	}
	out.Entry = &Entry{Home: s.Home, Class: s.Class, Sole: s.Sole != nil}
	if out.Entry.Suite, err = g.suiteOf(h); err != nil {
		return nil, err
	}
	for _, own := range []bool{true, false} { // own devices come first
		for _, l := range h.Roster {
			_, admin := s.Rank(l.Root)
			if is := l.Root == e.Self.Manifest.Root; is == own && (is || admin) && len(out.Entry.Leaves) < entryLeaves {
				out.Entry.Leaves = append(out.Entry.Leaves, l)
			}
		}
	}
	return out, nil
}

// HandedOver reports whether a record is one that Handover makes.
func (r *Record) HandedOver() bool {
	return r.State == Entering && r.Entry != nil && len(r.Entry.Leaves) <= entryLeaves &&
		len(r.Wishes)+len(r.Decided)+len(r.Questions)+len(r.Offered)+len(r.Acks) == 0
}

// askEntry asks to be let in: at once and after 1, 2, 4 … min up to 6 h, twelve devices
// at a time.
//
// spec: group.md#other-devices
func (g *group) askEntry() error {
	if g.unix() < g.r.Begging || g.r.Entry == nil {
		g.at(g.r.Begging)
		return nil
	}
	if g.r.Swept == 0 {
		g.r.Swept = g.unix() // when it began
	}
	if g.unix()-g.r.Swept > seconds(entryLife) {
		return g.out(g.me(), "nobody let this device in", false)
	}
	p, err := g.offerOf(g.r.Entry.Suite, nil)
	if err != nil {
		return err
	}
	to := slices.DeleteFunc(slices.Clone(g.r.Entry.Leaves), func(l roster.Leaf) bool { return l.Device == g.me() })
	for i := range min(len(to), 12) {
		l := to[(i+g.r.Begs*12)%len(to)]
		g.word(l.Device, l.Root, encode(WordEnter, &Enter{Group: g.r.ID, Package: p}))
	}
	g.r.Begging = g.unix() + backoff(begFirst, begMost, g.r.Begs)
	g.r.Begs++
	g.at(g.r.Begging)
	return nil
}

// hearEnter lets another device of a member in: one of that member's devices wishes it,
// and so does an admin's. That it is theirs the pair session says, and the manifest in
// its key package. A device that was removed is not let in by its own word.
//
// spec: group.md#other-devices
func (w *work) hearEnter(from Device, root key.SignPublic, b []byte) error {
	var a Enter
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
	switch g.r.State {
	case Active, Stopped:
	case Replaced:
		return g.tellLine(from, root)
	default:
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
	_, admin := s.Rank(w.Self.Manifest.Root)
	if _, in := leafOf(h.Roster, from); in || root != w.Self.Manifest.Root && !admin || g.wishesAdd(from) || slices.Contains(g.r.Revoked, from) || g.wasRemoved(from) || s.TakenOut(from, 0) {
		return nil
	}
	devices := 0
	for _, l := range h.Roster {
		if l.Root == root {
			devices++
		}
	}
	if devices == 0 || devices >= manifest.MaxDevices {
		return nil
	}
	wish := &roster.Wish{Kind: roster.Add, Root: root, Device: from, Package: a.Package}
	if err := g.wish(wish); err != nil {
		return ErrSaid
	}
	if err := g.fits(h, wish); err != nil {
		return ErrSaid
	}
	if err := g.possible(wish); errors.Is(err, roster.ErrRefused) {
		return nil
	} else if err != nil {
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
