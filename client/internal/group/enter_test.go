package group_test

import (
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// handOver gives a new device what the pack would.
func (d *device) handOver(to *device, id group.ID) {
	d.w.t.Helper()
	var r *group.Record
	d.must(func(tx group.Tx) (_ *group.Change, err error) {
		r, err = d.eng.Handover(tx, d.w.now, id)
		return nil, err
	})
	if r == nil || !r.HandedOver() {
		d.w.t.Fatalf("got %+v, want what goes over", r)
	}
	to.must(func(tx group.Tx) (*group.Change, error) { return nil, tx.PutGroup(r) })
	to.must(func(tx group.Tx) (*group.Change, error) { return to.eng.Tick(tx, to.w.now) })
}

// TestOtherDeviceIsLetIn: by an admin's device, with its sister off; by its sister, who is
// no admin, with the admin there later. It is one leaf, whoever let it in.
func TestOtherDeviceIsLetIn(t *testing.T) {
	for name, off := range map[string]int{"its sister is off": 1, "all are there": -1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 41)
			p := w.people("ann", "ben")
			ann, ben := p[0], p[1]
			id := ann.create("walks")
			ann.add(id, ben)
			w.settle(10 * time.Minute)
			pad := w.device("pad", ben)
			ben.handOver(pad, id)
			if off >= 0 {
				p[off].on = false
			}
			pad.must(func(tx group.Tx) (*group.Change, error) {
				if _, _, err := pad.eng.Send(tx, w.now, id, []byte("too early")); err != group.ErrEntering {
					t.Errorf("writing before it is let in: got %v, want ErrEntering", err)
				}
				return nil, nil
			})
			w.settle(20 * time.Minute)
			ben.on = true
			w.settle(20 * time.Minute)
			w.together(id, ann, ben, pad)
			if got := len(pad.epoch(id, pad.record(id).Head).Roster); got != 3 {
				t.Errorf("got %d leaves, want 3", got)
			}
			for _, d := range []*device{ann, ben, pad} {
				for _, o := range d.record(id).Wishes {
					if o.Applied == 0 {
						t.Errorf("%s: got the wish %x open still, want none", d.name, o.ID)
					}
				}
			}
			if r := pad.record(id); r.State != group.Active || r.Entry != nil {
				t.Errorf("got state %d, want that it is in", r.State)
			}
		})
	}
}

// TestWhoMayNotEnterDoesNot: a device of somebody who is no member, one that was removed,
// and one under a name that is not its own.
func TestWhoMayNotEnterDoesNot(t *testing.T) {
	w := newWorld(t, 42)
	p := w.people("ann", "ben", "eve")
	ann, ben, eve := p[0], p[1], p[2]
	id := ann.create("walks")
	ann.add(id, ben)
	w.settle(10 * time.Minute)
	head := ann.record(id).Head

	ben.handOver(eve, id) // as if ben had told her all
	w.settle(time.Hour)
	if got := ann.record(id); got.Head != head || len(got.Wishes) != 0 {
		t.Errorf("eve is no member: got epoch %d and %d wishes, want nothing changed", got.Head, len(got.Wishes))
	}

	pad := w.device("pad", ben)
	ben.handOver(pad, id)
	asked := pad.words[len(pad.words)-1].Payload
	w.settle(20 * time.Minute)
	w.together(id, ann, ben, pad)
	if err := ann.want(id, roster.Wish{Kind: roster.Remove, Root: ben.person(), Device: pad.id()}); err != nil {
		t.Fatal(err)
	}
	w.settle(20 * time.Minute)
	w.together(id, ann, ben)
	head = ann.record(id).Head
	for name, from := range map[string]*device{"who was removed": pad, "eve, with what the pad said": eve} {
		ann.do(func(tx group.Tx) (*group.Change, error) {
			return ann.eng.Hear(tx, w.now, from.id(), from.person(), asked)
		})
		w.settle(10 * time.Minute)
		if got := ann.record(id); got.Head != head || len(got.Wishes) != 0 {
			t.Errorf("%s: got epoch %d and %d wishes, want nothing changed", name, got.Head, len(got.Wishes))
		}
	}
}
