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

// Counterexample C3: a senior who was cut off makes the group again with somebody whom
// a junior removed meanwhile.
func TestASeniorWhoWasCutOffBringsNobodyBackUnasked(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(2)
	w.cutOff(ada, bob, cyd)
	w.vanish(ada, old)
	ada.answers(group.AskRemake, true)
	// Bob cannot hear Ada, removes Cyd and makes another.
	w.must(bob.remove(old, cyd))
	w.hours(2)
	bob.answers(group.AskRemake, true)
	w.hours(1)
	if bob.now().ID == old || ada.now().ID == bob.now().ID {
		t.Fatal("there are no two successors")
	}
	w.heal()
	w.hours(1)
	if bob.now().ID != ada.now().ID {
		t.Fatal("Bob did not go to the successor of the more senior")
	}
	if err := bob.says("secret"); err == nil && cyd.heard("secret") > 0 {
		t.Fatal("Bob writes to Cyd, whom he removed")
	}
	// His wish goes on there.
	w.hours(1)
	w.together(ada, bob)
	if cyd.now() != nil {
		t.Error("Cyd is still in a group")
	}
	if bob.asked(group.AskMembers) {
		bob.answers(group.AskMembers, true)
	}
	w.must(bob.says("after"))
	w.minutes(2)
	if ada.heard("after") != 1 || cyd.heard("after")+cyd.heard("secret") != 0 {
		t.Errorf("Ada heard it %d times, Cyd %d", ada.heard("after"), cyd.heard("after"))
	}
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

// Counterexample C5: one half reaches the relay, the other does not. The half that
// does goes on, and nothing that it did is lost.
func TestWhereItWorksForSomeNothingIsMadeAgainByItself(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd", "Dan", "Eve", "Fay")
	ada, bob, cyd, dan := w.people[0], w.people[1], w.people[2], w.people[3]
	old := w.found(2)
	w.blind[ada], w.blind[cyd] = true, true
	w.must(ada.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.days(8)
	for _, s := range w.people {
		if s.now().ID != old {
			t.Fatalf("%s made the group again, though it works for others", s.name)
		}
	}
	// What Bob commits reaches them by the members.
	w.must(bob.remove(old, dan))
	w.hours(8)
	w.together(ada, bob, cyd, w.people[4], w.people[5])
	if ada.now().Name != "village" {
		t.Errorf("Ada's wish was not done by Bob: the name is %q", ada.now().Name)
	}
	w.heal()
	w.hours(13)
	if ada.now().State != group.Active || !ada.told(group.EventWell, "") {
		t.Errorf("the stop did not end when the relay answered: %+v", ada.now())
	}
}

func TestAfterSevenDaysHalfOfTheLeavesSuffice(t *testing.T) {
	if testing.Short() {
		t.Skip("days go by")
	}
	w := newTown(t, 2, "Ada", "Bob", "Cyd", "Dan")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(2)
	w.people[3].off = true
	w.vanish(ada, old)
	w.days(6)
	if ada.now().ID != old || bob.now().ID != old {
		t.Fatal("it was made again before seven days, and nobody said so")
	}
	w.must(cyd.says("meanwhile"))
	w.days(2)
	w.together(ada, bob, cyd)
	if ada.now().ID == old {
		t.Fatal("it was not made again though over half stopped")
	}
	w.people[3].off = false
	w.hours(14)
	w.together(w.people...)
	for _, s := range w.people {
		if s != cyd && s.heard("meanwhile") != 1 {
			t.Errorf("%s heard it %d times", s.name, s.heard("meanwhile"))
		}
	}
}

func TestFewerThanHalfNeedAPersonsWord(t *testing.T) {
	if testing.Short() {
		t.Skip("days go by")
	}
	w := newTown(t, 2, "Ada", "Bob", "Cyd", "Dan")
	ada := w.people[0]
	old := w.found(1)
	w.people[2].off, w.people[3].off = true, true
	w.vanish(ada, old)
	w.days(9)
	if ada.now().ID != old {
		t.Fatal("made again by two of four")
	}
	ada.answers(group.AskRemake, true)
	w.hours(1)
	w.together(ada, w.people[1])
	w.must(ada.says("after")) // goes to all who are to be in it
	w.people[2].off, w.people[3].off = false, false
	w.hours(14)
	w.together(w.people...)
	for _, s := range w.people[1:] {
		if s.heard("after") != 1 {
			t.Errorf("%s heard it %d times", s.name, s.heard("after"))
		}
	}
}
