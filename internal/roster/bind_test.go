package roster

import (
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// do applies a commit of wishes by Ada and goes on from there: who is added gets a
// leaf, and a membership of its own.
func (w *town) do(t *testing.T, wishes ...*Wish) {
	t.Helper()
	w.commit.Maker, _ = leafOf(w.commit.Leaves, w.ada.Device(0))
	w.commit.Wishes = wishes
	Sort(w.commit.Wishes)
	p, err := Apply(w.commit)
	if err != nil {
		t.Fatal(err)
	}
	w.commit.State, w.commit.Slot = p.State, Past{}
	w.commit.Leaves = slices.DeleteFunc(w.commit.Leaves, func(l Leaf) bool { return slices.Contains(p.Remove, l.Index) })
	for _, a := range p.Add {
		w.ids++
		w.commit.Leaves = append(w.commit.Leaves, Leaf{Index: 100 + uint32(w.ids), Root: a.Root, Device: a.Device, Entry: Entry{99, w.ids}})
	}
	if _, err := p.State.Append(nil); err != nil {
		t.Fatal(err)
	}
}

// refused has a wish carried by Ada, who may carry any.
func (w *town) refused(t *testing.T, what string, v *Wish, want error) {
	t.Helper()
	w.commit.Maker, _ = leafOf(w.commit.Leaves, w.ada.Device(0))
	w.commit.Wishes = []*Wish{v}
	if _, err := Apply(w.commit); err != want {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// TestAWishIsOfOneMembership: what was wished by or about a device that has come in
// anew since means nothing, whoever kept it.
func TestAWishIsOfOneMembership(t *testing.T) {
	about := func(w *town) map[string]*Wish {
		return map[string]*Wish{
			"leave":              w.wish(w.dan, 0, Wish{Kind: Leave, Root: w.dan.Root()}),
			"leave, one device":  w.wish(w.dan, 0, Wish{Kind: Leave, Root: w.dan.Root(), Device: w.dan.Device(1)}),
			"remove":             w.wish(w.bob, 0, Wish{Kind: Remove, Root: w.dan.Root()}),
			"remove, one device": w.wish(w.bob, 0, Wish{Kind: Remove, Root: w.dan.Root(), Device: w.dan.Device(1)}),
			"add again":          w.wish(w.bob, 0, Wish{Kind: ReAdd, Root: w.dan.Root(), Device: w.dan.Device(1), Package: []byte{1}}),
			"promote":            w.wish(w.bob, 0, Wish{Kind: Promote, Root: w.dan.Root()}),
			"rename":             w.wish(w.bob, 0, Wish{Kind: Rename, Text: "village"}),
			"add":                w.wish(w.bob, 0, Wish{Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0), Package: []byte{1}}),
		}
	}
	for name, v := range about(newTown(t)) {
		w := newTown(t)
		w.refused(t, name, v, nil)
		for i, l := range w.commit.Leaves {
			if l.Root == w.bob.Root() || l.Root == w.dan.Root() {
				w.commit.Leaves[i].Entry[0] ^= 1
			}
		}
		w.refused(t, name+", wisher and target came in anew", v, ErrPast)
		if v.By == w.bob.Device(0) && v.Of == nil {
			continue
		}
		w = newTown(t)
		for i, l := range w.commit.Leaves {
			if l.Root == w.dan.Root() && l.Device != v.By {
				w.commit.Leaves[i].Entry[0] ^= 1
			}
		}
		want := ErrPast
		if v.By == w.dan.Device(0) && v.Device == (key.SignPublic{}) {
			want = nil // the person was there all the time with one device
		}
		if _, err := Select(w.commit, []*Wish{v}); true {
			if got := err[v.Key()]; got != want && !(want == nil && got == nil) {
				t.Errorf("%s, target came in anew: got %v, want %v", name, got, want)
			}
		}
	}
	w := newTown(t)
	v := w.wish(w.bob, 0, Wish{Kind: Remove, Root: w.dan.Root()})
	w.commit.Leaves[4].Entry[0] ^= 1 // one device of Dan's was exchanged: the person stayed
	w.refused(t, "of a person who has one device of then", v, nil)
}

// TestWhatWasDoneIsNotDoneAgain: a wish that a commit carried is never good again, nor
// is one from before the last change of the same thing.
func TestWhatWasDoneIsNotDoneAgain(t *testing.T) {
	w := newTown(t)
	promote := w.wish(w.bob, 0, Wish{Kind: Promote, Root: w.cyd.Root()})
	w.do(t, promote)
	demote := w.wish(w.bob, 0, Wish{Kind: Demote, Root: w.cyd.Root()})
	w.do(t, demote)
	w.refused(t, "promoted again", promote, ErrPast)
	w.do(t, w.wish(w.ada, 0, Wish{Kind: Promote, Root: w.cyd.Root()}))
	w.refused(t, "demoted again", demote, ErrPast)

	first := w.wish(w.bob, 0, Wish{Kind: Rename, Text: "village"})
	late := w.wish(w.cyd, 0, Wish{Kind: Rename, Text: "hamlet"})
	timer := w.wish(w.bob, 0, Wish{Kind: SetTimer, Number: 60})
	picture := w.wish(w.bob, 0, Wish{Kind: SetPicture, Bytes: []byte{1}})
	fanout := w.wish(w.bob, 0, Wish{Kind: SetFanout, Number: uint32(OneCopy)})
	w.do(t, first, timer, picture, fanout)
	w.refused(t, "renamed by who did not know", late, ErrPast)
	w.do(t, w.wish(w.ada, 0, Wish{Kind: Rename, Text: "town"}), w.wish(w.ada, 0, Wish{Kind: SetTimer}), w.wish(w.ada, 0, Wish{Kind: SetPicture}), w.wish(w.ada, 0, Wish{Kind: SetFanout}))
	for _, v := range []*Wish{first, timer, picture, fanout} {
		w.refused(t, "set again", v, ErrPast)
	}

	add := w.wish(w.bob, 0, Wish{Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0), Package: []byte{1}})
	w.do(t, add)
	remove := w.wish(w.bob, 0, Wish{Kind: Remove, Root: w.eve.Root()})
	w.do(t, remove)
	w.refused(t, "let in again", add, ErrPast)
	w.do(t, w.wish(w.ada, 0, Wish{Kind: Add, Root: w.eve.Root(), Device: w.eve.Device(0), Package: []byte{1}}))
	w.refused(t, "thrown out again", remove, ErrPast)

	open := w.wish(w.bob, 0, Wish{Kind: OpenLink, Link: &Link{ID: [16]byte{1}, By: w.bob.Root(), Ends: 30_000}})
	w.do(t, open)
	w.do(t, w.wish(w.ada, 0, Wish{Kind: CloseLink, Link: &Link{ID: [16]byte{1}}}))
	w.refused(t, "opened again", open, ErrPast)
}

// TestMarksAreBounded: whose mark fell out of the list is held to the floor.
func TestMarksAreBounded(t *testing.T) {
	var m Marks
	for i := range byte(MaxMarks + 3) {
		m.set(key.SignPublic{i}, uint64(i)+1)
	}
	if m.Floor != 3 || len(m.List) != MaxMarks || m.since(key.SignPublic{0}) != 3 || m.since(key.SignPublic{5}) != 6 || !m.good() {
		t.Errorf("floor %d, %d marks", m.Floor, len(m.List))
	}
	m.set(key.SignPublic{5}, 99)
	if len(m.List) != MaxMarks || m.since(key.SignPublic{5}) != 99 || !m.good() {
		t.Error("who is marked again is there twice, or not last")
	}
}

// TestANewDeviceComesBeforeTheOldOneGoes: the person keeps their place and rank.
func TestANewDeviceComesBeforeTheOldOneGoes(t *testing.T) {
	w := newTown(t)
	tablet := key.SignPublic{77}
	w.commit.State.Admins = []key.SignPublic{w.bob.Root(), w.ada.Root()}
	w.commit.Maker = w.ada.leaf(0, 0)
	w.commit.Wishes = []*Wish{w.wish(w.bob, 0, Wish{Kind: Leave, Root: w.bob.Root(), Device: w.bob.Device(0)}),
		w.wish(w.bob, 0, Wish{Kind: Add, Root: w.bob.Root(), Device: tablet, Package: []byte{1}})}
	Sort(w.commit.Wishes)
	p, err := Apply(w.commit)
	if err != nil {
		t.Fatal(err)
	}
	if want := []key.SignPublic{w.bob.Root(), w.ada.Root()}; !slices.Equal(p.State.Admins, want) || len(p.Add) != 1 || !slices.Equal(p.Remove, []uint32{2}) {
		t.Errorf("admins %x, %d added, removed %d", p.State.Admins, len(p.Add), p.Remove)
	}
	// Who leaves with all devices brings none.
	w.commit.Wishes = []*Wish{w.wish(w.bob, 0, Wish{Kind: Leave, Root: w.bob.Root()}),
		w.wish(w.bob, 0, Wish{Kind: Add, Root: w.bob.Root(), Device: tablet, Package: []byte{1}})}
	good, bad := Select(w.commit, w.commit.Wishes)
	if len(good) != 1 || good[0].Kind != Leave || len(bad) != 1 {
		t.Errorf("%d are taken, %v", len(good), bad)
	}
}

// TestLinksEndWithTheirAdmin: nobody comes in by the link of who is no admin any more,
// or by one whose day is over.
func TestLinksEndWithTheirAdmin(t *testing.T) {
	for name, end := range map[string]func(*town) *Wish{
		"demoted": func(w *town) *Wish { return w.wish(w.ada, 0, Wish{Kind: Demote, Root: w.bob.Root()}) },
		"removed": func(w *town) *Wish { return w.wish(w.ada, 0, Wish{Kind: Remove, Root: w.bob.Root()}) },
		"over": func(w *town) *Wish {
			w.commit.Born = 20_011
			return w.wish(w.ada, 0, Wish{Kind: Rename, Text: "x"})
		},
	} {
		w := newTown(t)
		open := w.wish(w.bob, 0, Wish{Kind: OpenLink, Link: &Link{ID: [16]byte{1}, By: w.bob.Root(), Ends: 20_010}})
		w.do(t, open)
		if len(w.commit.State.Links) != 1 {
			t.Fatal("no link")
		}
		w.do(t, end(w))
		if len(w.commit.State.Links) != 0 {
			t.Errorf("%s: the link is open", name)
		}
		if name == "demoted" {
			w.do(t, w.wish(w.ada, 0, Wish{Kind: Promote, Root: w.bob.Root()}))
			w.refused(t, name, open, ErrPast)
		}
	}
}
