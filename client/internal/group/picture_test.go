package group_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

func (d *device) setPicture(id group.ID, b []byte) error {
	f := func(tx group.Tx) (*group.Change, error) { return d.eng.SetPicture(tx, d.w.now, id, b) }
	err := d.do(f)
	for errors.Is(err, errCrash) {
		err = d.do(f)
	}
	return err
}

func (d *device) picture(id group.ID) (b []byte, err error) {
	d.disk.Update(func(tx group.Tx) error { b, err = d.eng.Picture(tx, id); return nil })
	return b, err
}

// notes counts what a device keeps of pictures.
func (d *device) pictures(id group.ID) (n int) {
	origin := d.record(id).Origin
	d.disk.Update(func(tx group.Tx) error {
		all, err := tx.Notes(group.PictureNotes(origin))
		n = len(all)
		return err
	})
	return n
}

func (w *world) show(id group.ID, want []byte, devs ...*device) {
	w.t.Helper()
	for _, d := range devs {
		if b, err := d.picture(id); err != nil || !bytes.Equal(b, want) {
			w.t.Errorf("%s has a picture of %d bytes, %v, want %d", d.name, len(b), err, len(want))
		}
		if n := d.pictures(id); n > 1 || n == 0 && want != nil {
			w.t.Errorf("%s keeps %d pictures", d.name, n)
		}
	}
}

// TestAPictureIsGivenFromMemberToMember: also to who was away, who came later and while
// who set it is away; the one before is gone then.
func TestAPictureIsGivenFromMemberToMember(t *testing.T) {
	for _, harm := range []bool{false, true} {
		w := newWorld(t, 11)
		devs := w.people("ann", "ben", "cat", "dan")
		ann, ben, cat, dan := devs[0], devs[1], devs[2], devs[3]
		id := ann.create("walkers")
		ann.add(id, ben, cat)
		w.settle(time.Hour)
		w.rough = harm
		cat.on = false
		first := bytes.Repeat([]byte("p"), group.MaxPicture)
		if err := ann.setPicture(id, first); err != nil {
			t.Fatal(err)
		}
		w.settle(8 * time.Hour)
		w.show(id, first, ann, ben)
		ann.on, cat.on = false, true // ben alone can give it
		cat.start()
		w.settle(30 * time.Hour)
		w.show(id, first, cat)
		ann.on = true
		ann.start()
		ann.add(id, dan)
		w.settle(30 * time.Hour)
		w.show(id, first, dan)
		second := []byte("another one")
		if err := ann.setPicture(id, second); err != nil {
			t.Fatal(err)
		}
		w.settle(30 * time.Hour)
		w.show(id, second, devs...)
		if err := ann.setPicture(id, nil); err != nil {
			t.Fatal(err)
		}
		w.settle(30 * time.Hour)
		w.show(id, nil, devs...)
	}
}

func TestWhoMaySetAPicture(t *testing.T) {
	w := newWorld(t, 12)
	devs := w.people("ann", "ben", "cat")
	ann, ben, cat := devs[0], devs[1], devs[2]
	id := ann.create("walkers")
	ann.add(id, ben, cat)
	w.settle(time.Hour)
	if err := ben.setPicture(id, []byte("mine")); !errors.Is(err, roster.ErrRight) {
		t.Errorf("no admin: got %v, want ErrRight", err)
	}
	if n := ben.pictures(id); n != 0 {
		t.Errorf("%d pictures were kept that nobody may set", n)
	}
	if err := ann.setPicture(id, make([]byte, group.MaxPicture+1)); !errors.Is(err, group.ErrLong) {
		t.Errorf("too long: got %v, want ErrLong", err)
	}
	if err := ann.setPicture(group.ID{9}, []byte("x")); !errors.Is(err, group.ErrUnknown) {
		t.Errorf("no such group: got %v, want ErrUnknown", err)
	}
	if err := ann.setPicture(id, []byte("x")); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	w.show(id, []byte("x"), devs...)
	if err := ann.remove(id, cat); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	if n := cat.pictures(id); n != 0 {
		t.Errorf("who was removed keeps %d pictures", n)
	}
}

// TestAReferenceOfAMemberIsNoOrder: what the state names and nobody has, or what this
// version does not know, is no picture, and who asks for it is given nothing.
func TestAReferenceOfAMemberIsNoOrder(t *testing.T) {
	for name, ref := range map[string][]byte{"nobody has it": group.PictureRef([]byte("nowhere")), "of another version": bytes.Repeat([]byte{9}, 37), "one byte": {1}} {
		w := newWorld(t, 13)
		devs := w.people("ann", "ben")
		ann, ben := devs[0], devs[1]
		id := ann.create("walkers")
		ann.add(id, ben)
		w.settle(time.Hour)
		if err := ann.want(id, roster.Wish{Kind: roster.SetPicture, Bytes: ref}); err != nil {
			t.Fatal(err)
		}
		w.settle(30 * time.Hour)
		b, err := ben.picture(id)
		if b != nil || err != nil && !errors.Is(err, group.ErrBusy) {
			t.Errorf("%s: got %q, %v, want none, or that it has not come", name, b, err)
		}
		w.together(id, devs...)
	}
}

// TestABlockedMemberIsNotGivenThePicture: it would learn that this device is there.
func TestABlockedMemberIsNotGivenThePicture(t *testing.T) {
	w := newWorld(t, 14)
	devs := w.people("ann", "ben")
	ann, ben := devs[0], devs[1]
	id := ann.create("walkers")
	ann.add(id, ben)
	w.settle(time.Hour)
	ann.eng.Unwanted = func(_ group.Tx, root key.SignPublic) (bool, error) { return root == ben.person(), nil }
	if err := ann.setPicture(id, []byte("x")); err != nil {
		t.Fatal(err)
	}
	w.settle(30 * time.Hour)
	if b, err := ben.picture(id); !errors.Is(err, group.ErrBusy) {
		t.Errorf("got %q, %v, want that it has not come", b, err)
	}
}
