package group_test

import (
	"testing"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
)

// What an ack has to be of counts in the epochs of one group: a text that waited there
// for somebody who was added again leaves in the next group like any.
func TestAcksOfAnotherGroupDoNotHoldATextForEver(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(1)
	w.cutOff(cyd, ada, bob)
	w.must(cyd.says("text"))
	w.must(cyd.store.Update(func(tx group.Tx) error { // both were added again in an epoch that this group has
		all, err := tx.Messages(old)
		for _, m := range all {
			for i := range m.Waits {
				m.Waits[i].Since = 40
			}
			w.must(tx.PutMessage(m))
		}
		return err
	}))
	w.vanish(ada, old)
	ada.answers(group.AskRemake, true)
	w.hours(1) // Bob is there before Cyd
	w.heal()
	w.hours(8)
	w.together(ada, bob, cyd)
	if ada.heard("text") != 1 || bob.heard("text") != 1 {
		t.Errorf("Ada heard it %d times, Bob %d", ada.heard("text"), bob.heard("text"))
	}
	if m := cyd.waiting(); len(m) != 0 {
		t.Errorf("Cyd still waits for acks of %d messages", len(m))
	}
}

// waiting are the messages of somebody that wait for acks.
func (s *somebody) waiting() (out []*group.Message) {
	id := s.now().ID
	s.w.must(s.store.Update(func(tx group.Tx) (err error) {
		out, err = tx.Messages(id)
		return err
	}))
	return out
}

// A wish that came along into a group where its person has no right to it any more, and
// where another device alone commits, stops nobody.
func TestAWishWithoutRightDoesNotWaitForTheOneCommitter(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(2)
	w.burn(cyd)
	w.must(ada.want(old, roster.Wish{Kind: roster.SetTimer, Number: 60}))
	w.minutes(15)
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.cutOff(bob, ada, cyd)
	ada.answers(group.AskRemake, true)
	w.minutes(10)
	w.must(ada.want(ada.now().ID, roster.Wish{Kind: roster.Demote, Root: bob.root()}))
	w.hours(30) // longer than a wish waits
	w.heal()
	w.hours(30)
	w.together(ada, bob, cyd)
	r := bob.now()
	if r.State != group.Active {
		t.Errorf("Bob is in state %d, stopped for %d", r.State, r.Rift.Why)
	}
	for _, o := range r.Wishes {
		if v, err := roster.ParseWish(o.Wish); o.Own && o.Applied == 0 {
			t.Errorf("Bob has a wish of kind %v still: %v", v.Kind, err)
		}
	}
	if bob.told(group.EventTrouble, "has not made yours for a day") {
		t.Error("Bob was told that the one committer is late")
	}
}

// Who comes into a successor when the others have gone on to another hears of that.
func TestWhoComesInLateHearsOfTheSuccessor(t *testing.T) {
	w := newTown(t, 3, "Ada", "Bob", "Cyd", "Dan")
	ada, bob, cyd, dan := w.people[0], w.people[1], w.people[2], w.people[3]
	old := w.found(2, ada, bob, cyd)
	w.cutOff(ada, bob, cyd, dan)
	w.vanish(ada, old)
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "other"}))
	w.hours(2)
	ada.answers(group.AskRemake, true)
	bob.answers(group.AskRemake, true)
	w.minutes(10)
	second := bob.now().ID
	if second == old || second == ada.now().ID {
		t.Fatal("there are no two successors")
	}
	w.must(bob.want(second, roster.Wish{Kind: roster.Add, Root: dan.root(), Device: dan.device()}))
	dan.off = true // the key package came; the Welcome waits
	w.minutes(10)
	w.heal()
	w.hours(8)
	w.together(ada, bob, cyd)
	for _, s := range w.people { // what was told of the other one was told before Dan had any
		var kept []parcel
		for _, p := range s.out {
			if p.to != dan.device() || p.word != nil && group.WordKind(p.word.Payload[0]) == group.WordWelcome {
				kept = append(kept, p)
			}
		}
		s.out = kept
	}
	w.must(bob.store.Update(func(tx group.Tx) error { // who wished to add Dan does so no more
		r, err := tx.Group(ada.now().ID)
		if err != nil {
			return err
		}
		r.Lacking, r.Wishes = nil, nil
		return tx.PutGroup(r)
	}))
	dan.off = false
	w.minutes(1)
	if r := dan.now(); r == nil || r.ID != second {
		t.Fatal("Dan did not come into the second one")
	}
	w.days(3)
	w.together(ada, bob, cyd, dan)
}

// Who was left out of the successor that counts, because its removal was wished, and
// made another one itself, is shown that and goes.
func TestWhoIsLeftOutOfASuccessorGoes(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob, cyd := w.people[0], w.people[1], w.people[2]
	old := w.found(3) // Cyd is an admin, too, and could let Bob in, not knowing why he is left out
	w.burn(cyd)
	w.cutOff(bob, ada, cyd)
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "mine"}))
	w.must(ada.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.minutes(30)
	w.must(ada.remove(old, bob))
	bob.answers(group.AskRemake, true)
	ada.answers(group.AskRemake, true)
	w.hours(1)
	if bob.now().ID == old || bob.now().ID == ada.now().ID {
		t.Fatal("there are no two successors")
	}
	w.heal()
	w.days(3)
	w.together(ada, cyd)
	if bob.now() != nil || !bob.told(group.EventOut, "") {
		t.Error("Bob is still in a group")
	}
}

// A relay that shows nothing at a slot for which it signed a receipt is not believed:
// members give what lies there.
func TestASlotIsNotEmptyForWhichThereIsAReceipt(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd")
	ada, bob := w.people[0], w.people[1]
	old := w.found(1)
	w.relays[0].lies, bob.side = true, 1
	bob.off = true
	w.must(ada.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.minutes(10)
	for _, s := range w.people { // what was said meanwhile is lost, but for what comes again
		s.out, s.late = nil, nil
	}
	bob.off = false
	w.days(2)
	w.together(w.people...)
	if bob.now().Name != "village" {
		t.Errorf("Bob's group has the name %q", bob.now().Name)
	}
}

// One device that commits does so as long as it is wished, whoever is senior to it; and
// who was removed while it was away is shown that, as there is no slot to read it at.
func TestOneCommitterHasNoTurns(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd", "Dan")
	ada, bob, cyd, dan := w.people[0], w.people[1], w.people[2], w.people[3]
	old := w.found(2)
	w.burn(dan)
	ada.off = true
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.minutes(25)
	bob.answers(group.AskRemake, true)
	w.minutes(10)
	ada.off = false
	w.hours(1)
	w.together(w.people...)
	id := ada.now().ID
	if s := ada.now().Rift.Sole; s == nil || *s != bob.device() {
		t.Fatal("Bob is not the one committer")
	}
	cyd.off = true
	for i := range 8 {
		w.must(ada.want(id, roster.Wish{Kind: roster.Rename, Text: string(rune('a' + i))}))
		w.minutes(2)
	}
	w.must(ada.remove(id, cyd))
	w.minutes(20)
	w.together(ada, bob, dan)
	for _, s := range w.people { // nothing that was said to Cyd meanwhile came
		var kept []parcel
		for _, p := range s.out {
			if p.to != cyd.device() {
				kept = append(kept, p)
			}
		}
		s.out = kept
	}
	cyd.off = false
	w.days(2)
	w.together(ada, bob, dan)
	if cyd.now() != nil || !cyd.told(group.EventOut, "") {
		t.Error("Cyd, who was removed, is in the group still")
	}
}
