package group_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// sharing is a group of six who share the fan-out; far's relay is another than the
// group's.
func sharing(t *testing.T, seed uint64) (w *world, id group.ID, p []*device) {
	w = newWorld(t, seed)
	for _, name := range []string{"ann", "ben", "cat", "dan", "eve", "far"} {
		p = append(p, w.device(name, nil))
	}
	p[5].eng.Self.Home = roster.Home{Name: "other.example", Pin: [32]byte{2}}
	w.stock(p...)
	id = p[0].create("shared")
	p[0].add(id, p[1:]...)
	if err := p[0].want(id, roster.Wish{Kind: roster.SetFanout, Number: uint32(roster.OneCopy)}); err != nil {
		t.Fatal(err)
	}
	w.settle(2 * time.Hour)
	w.together(id, p...)
	return w, id, p
}

// All who are there get one cell between them. Who is far gets a copy at once, who did
// not get it after a while, who was away when they come back; nobody twice. The author
// starts anew in between.
func TestSharedAddressLosesNothing(t *testing.T) {
	w, id, p := sharing(t, 70)
	ann, cat, dan, far := p[0], p[2], p[3], p[5]
	w.deaf, cat.on = dan, false
	m := ann.send(id, "to all")
	if n := len(w.cells); n != 2 || w.cells[0].copy.Leaf != group.All && w.cells[1].copy.Leaf != group.All {
		t.Fatalf("got %d copies, want one for all and one for who is far", n)
	}
	for _, c := range w.cells {
		if c.copy.Leaf == group.All && c.copy.Keep || c.copy.Leaf != group.All && (c.copy.To != far.id() || !c.copy.Keep) {
			t.Errorf("got copy %+v, want what is for all to be no row, and that of who is far to be one", c.copy)
		}
	}
	w.settle(0)
	for _, d := range p[1:] {
		want := 1
		if d == dan || d == cat {
			want = 0
		}
		if got := d.got("to all"); got != want {
			t.Errorf("%s got it %d times at once, want %d", d.name, got, want)
		}
	}
	ann.start()
	w.settle(time.Minute)
	if dan.got("to all") != 1 {
		t.Errorf("who did not hear it got it %d times after a minute, want once", dan.got("to all"))
	}
	w.settle(3 * time.Hour)
	cat.on = true
	cat.start()
	w.settle(2 * time.Hour)
	for _, d := range p[1:] {
		if got := d.got("to all"); got != 1 {
			t.Errorf("%s got it %d times, want once", d.name, got)
		}
	}
	ev := ann.saw(group.EventDelivery)
	if e := ev[len(ev)-1]; e.Message != m || e.Reached != 5 || e.Of != 5 || len(ann.rows) != 0 {
		t.Errorf("got %d of %d and %d rows, want all to have it", e.Reached, e.Of, len(ann.rows))
	}
}

// Members watch the shared address of their epochs, who is far none, and who was removed
// none that counts after.
func TestSharedAddressIsOfTheEpoch(t *testing.T) {
	w, id, p := sharing(t, 71)
	shared := func(d *device) (out []group.OwnRoute) {
		for _, r := range d.routes() {
			if r.Group == id && r.Leaf == group.All {
				out = append(out, r)
			}
		}
		return out
	}
	before := shared(p[0])
	if len(before) != 1 {
		t.Fatalf("got %d shared addresses, want one", len(before))
	}
	for _, d := range p[1:] {
		got := shared(d)
		switch {
		case d == p[5] && len(got) != 0:
			t.Error("who is far watches the shared address of another relay")
		case d != p[5] && (len(got) != 1 || !bytes.Equal(got[0].Secret, before[0].Secret) || !bytes.Equal(got[0].Owner, before[0].Owner)):
			t.Errorf("%s watches another address than the others", d.name)
		}
	}
	if err := p[0].remove(id, p[4]); err != nil {
		t.Fatal(err)
	}
	w.settle(2 * time.Hour)
	for _, d := range p[:4] {
		for _, r := range shared(d) {
			if bytes.Equal(r.Secret, before[0].Secret) || bytes.Equal(r.Owner, before[0].Owner) {
				t.Errorf("%s watches what a removed one knows", d.name)
			}
		}
	}
	w.text = nil
	p[0].send(id, "without eve")
	w.settle(time.Hour)
	if p[4].got("without eve") != 0 || p[1].got("without eve") != 1 || len(p[4].saw(group.EventOut)) != 1 {
		t.Error("who was removed heard what was said after, or was not told")
	}
}

// A device that was revoked and still stands in the tree must hear nothing: there is no
// copy for all as long.
func TestNothingIsSharedWithWhoWasRevoked(t *testing.T) {
	w, id, p := sharing(t, 72)
	w.realm.away = true // no commit goes through
	w.device("eve's second", p[4])
	old := p[4].eng.Self.Manifest
	devs := slices.Clone(old.Devices)
	for i := range devs {
		if devs[i].Sign == p[4].id() {
			devs[i].Revoked = true
		}
	}
	next := w.sign(p[4].root, old, devs...)
	p[0].must(func(tx group.Tx) (*group.Change, error) { return p[0].eng.Manifest(tx, w.now, next) })
	w.cells = nil
	w.text = nil
	p[0].send(id, "not to eve")
	for _, c := range w.cells {
		if c.copy.Leaf == group.All || c.copy.To == p[4].id() {
			t.Error("a revoked device can hear what was said after")
		}
	}
	if len(w.cells) < 4 {
		t.Errorf("got %d copies, want one for each other", len(w.cells))
	}
}
