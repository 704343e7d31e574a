package group_test

import (
	"testing"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

func TestAGroupWhoseRelayIsGoneIsMadeAgainByItsAdmin(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(1)
	w.must(bob.says("before"))
	w.relays[0].away = true
	w.must(ada.remove(old, cyd)) // something to commit, so that somebody looks
	w.hours(3)
	if !ada.told(group.EventTrouble, "has not answered for an hour") || ada.now().State != group.Stopped {
		t.Fatalf("Ada was not told that changes wait: %+v", ada.now())
	}
	w.must(bob.says("meanwhile"))
	if ada.heard("meanwhile") != 1 || cyd.heard("meanwhile") != 1 {
		t.Error("messages do not go on while changes wait")
	}
	ada.answers(group.AskRemake, true)
	w.minutes(20)
	w.together(ada, bob)
	if ada.now().ID == old {
		t.Fatal("it is the old group still")
	}
	w.must(ada.says("after"))
	w.minutes(2)
	if bob.heard("after") != 1 || cyd.heard("after") != 0 {
		t.Errorf("after it was made again: Bob heard it %d times, Cyd, who was removed, %d", bob.heard("after"), cyd.heard("after"))
	}
}

// vanish makes a relay go away, and something to commit there.
func (w *town) vanish(by *somebody, id group.ID) {
	w.t.Helper()
	w.relays[0].away = true
	w.must(by.want(id, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.hours(2)
}

// Counterexample C1: a member puts what is no commit at the slot, and would do so again.
func TestWhoBurnsASlotDoesItOnce(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Mal")
	ada, bob, mal := w.people[0], w.people[1], w.people[2]
	old := w.found(1)
	// Whoever is a member knows where the slot is.
	w.burn(mal)
	w.must(ada.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.minutes(15)
	if !ada.told(group.EventTrouble, "something useless") {
		t.Fatal("Ada was not told that the slot was burnt")
	}
	w.must(bob.says("meanwhile"))
	ada.answers(group.AskRemake, true)
	w.minutes(30)
	w.together(ada, bob, mal)
	if ada.now().ID == old || ada.now().Rift.Sole == nil || *ada.now().Rift.Sole != ada.device() {
		t.Fatalf("not made again with one committer: %+v", ada.now().Rift)
	}
	if ada.now().Name != "village" {
		t.Errorf("the wish that waited was not done: the name is %q", ada.now().Name)
	}
	// There is nothing to burn any more, and the committer removes whom it likes.
	w.must(ada.remove(ada.now().ID, mal))
	w.minutes(5)
	w.together(ada, bob)
	if mal.now() != nil {
		t.Error("Mal is in a group still")
	}
	w.must(ada.says("after"))
	w.minutes(2)
	if bob.heard("after") != 1 || mal.heard("after") != 0 || ada.heard("meanwhile") != 1 {
		t.Errorf("after: Bob %d, Mal %d; meanwhile: Ada %d", bob.heard("after"), mal.heard("after"), ada.heard("meanwhile"))
	}
}

// burn puts what is no commit at the slot of somebody's head.
func (w *town) burn(s *somebody) {
	w.t.Helper()
	sl, err := slot.Derive(s.epoch().Slot)
	w.must(err)
	w.relays[0].stores[0][sl.ID] = make([]byte, wire.BlobClasses[2])
	w.relays[0].stores[1][sl.ID] = make([]byte, wire.BlobClasses[2])
}

// Counterexample C4: a removed admin who does not know it makes the group again.
func TestARemovedAdminWhoMakesTheGroupAgainIsShownItsRemoval(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(2)
	bob.off = true
	w.must(ada.remove(old, bob))
	w.minutes(10)
	w.together(ada, cyd)
	// The relay goes, and what Ada said to Bob is lost: he wakes in the old epoch.
	w.relays[0].away = true
	ada.out, cyd.out = nil, nil
	w.cutOff(bob, ada, cyd)
	bob.off = false
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "mine"}))
	w.hours(2)
	bob.answers(group.AskRemake, true)
	w.hours(1)
	if bob.now().ID == old {
		t.Fatal("Bob did not make the group again")
	}
	w.heal()
	w.hours(2)
	w.together(ada, cyd)
	if ada.now().ID != old || bob.now() != nil || !bob.told(group.EventOut, "") {
		t.Errorf("Ada is in %x, Bob in %+v", ada.now().ID[:3], bob.now())
	}
	w.must(cyd.says("after"))
	w.minutes(2)
	if ada.heard("after") != 1 || bob.heard("after") != 0 {
		t.Errorf("Ada heard it %d times, Bob %d", ada.heard("after"), bob.heard("after"))
	}
}
