package group_test

import (
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// TestOneBadGroupStopsNoOther: a group whose newest state is damaged keeps no other from
// what its time has come for, and what it could not take of a manifest it takes once it
// can: a revocation is not lost.
func TestOneBadGroupStopsNoOther(t *testing.T) {
	w := newWorld(t, 75)
	p := w.people("ann", "ben")
	ann, ben := p[0], p[1]
	phone := w.device("ben's phone", ben)
	w.stock(ann, ben, phone)
	bad, good := ann.create("walks"), ann.create("swims")
	for _, id := range []group.ID{bad, good} {
		ann.add(id, ben, phone)
		w.settle(time.Hour)
		w.together(id, ann, ben, phone)
	}
	// Ann's newest state of one group is lost for a while.
	whole := ann.epoch(bad, ann.record(bad).Head)
	if err := ann.disk.Update(func(tx group.Tx) error { return tx.DeleteEpoch(bad, whole.Number) }); err != nil {
		t.Fatal(err)
	}
	ann.mayFail = true
	ben.on, phone.on = false, false // only Ann hears of the revocation
	devs := ben.eng.Self.Manifest.Devices
	m := append(devs[:0:0], devs...)
	for i := range m {
		m[i].Revoked = m[i].Sign == phone.id()
	}
	next := w.sign(ben.root, ben.eng.Self.Manifest, m...)
	ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Manifest(tx, w.now, next) })
	w.settle(time.Hour)
	has := func(id group.ID) bool {
		for _, l := range ann.epoch(id, ann.record(id).Head).Roster {
			if l.Device == phone.id() {
				return true
			}
		}
		return false
	}
	if has(good) {
		t.Error("the revoked device is in the good group still: the bad one held it up")
	}
	if len(ann.failed) == 0 || ann.failed[0].Group != bad {
		t.Errorf("no failure of the bad group is told: %v", ann.failed)
	}
	if err := ann.want(good, roster.Wish{Kind: roster.Rename, Text: "dives"}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	if n := ann.record(good).Name; n != "dives" {
		t.Errorf("the good group is called %q, want dives", n)
	}
	if err := ann.disk.Update(func(tx group.Tx) error { return tx.PutEpoch(whole) }); err != nil {
		t.Fatal(err)
	}
	ann.mayFail, ann.failed = false, nil
	ann.start()
	w.settle(time.Hour)
	if has(bad) {
		t.Error("the revocation is lost in the group that could not take it at once")
	}
	names := 0
	ann.disk.Update(func(tx group.Tx) error {
		all, err := tx.Notes("later/")
		names = len(all)
		return err
	})
	if names != 0 {
		t.Errorf("%d manifests wait still", names)
	}
}
