package group_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Counterexamples C6 and C7: a relay forgets a slot, and somebody who was removed there
// while away commits in it again. The branch is found though nobody watches it, and a
// slot that is long settled stops nobody.
func TestABranchOfOneIsFoundAndStopsNobody(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd", "Dan")
	ada, bob, cyd, dan := w.people[0], w.people[1], w.people[2], w.people[3]
	old := w.found(2)
	bob.off = true
	w.must(ada.remove(old, bob))
	w.hours(2)
	w.together(ada, cyd, dan)
	for _, s := range w.people { // what is said to Bob is lost
		s.out, s.late = nil, nil
	}
	clear(w.relays[0].stores[0])
	clear(w.relays[0].stores[1])
	w.cutOff(bob, ada, cyd, dan)
	bob.off = false
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "mine"}))
	w.minutes(10)
	if bob.now() == nil || bob.now().Name != "mine" {
		t.Fatalf("Bob has no branch of his own: %+v", bob.now())
	}
	// One of them has not collected all acks, and is not sure.
	w.must(dan.store.Update(func(tx group.Tx) error {
		r, err := tx.Group(old)
		for i := range r.Decided {
			r.Decided[i].Settled = false
		}
		return errors.Join(err, tx.PutGroup(r))
	}))
	w.heal()
	w.hours(30)
	w.together(ada, cyd, dan)
	if ada.now().ID != old || bob.now() != nil || !bob.told(group.EventOut, "") {
		t.Errorf("Ada is in %x, Bob in %+v", ada.now().ID[:3], bob.now())
	}
	if !ada.told(group.EventTrouble, "confirmed a second change") || ada.told(group.EventTrouble, "Member changes are waiting") {
		t.Error("Ada was not shown the second change, or stopped for it")
	}
	if !dan.told(group.EventTrouble, "confirmed two different changes") || dan.now().State != group.Active {
		t.Errorf("Dan did not stop, or not go on once others said what is settled: %d", dan.now().State)
	}
	w.must(dan.want(old, roster.Wish{Kind: roster.Leave, Root: dan.root()}))
	w.hours(1)
	w.together(ada, cyd)
}

// One member with a relay that lies does not put a device outside: two persons do, or
// one who could remove it anyway.
func TestOneWordEndsNoLine(t *testing.T) {
	for _, c := range []struct {
		name  string
		to    int
		first []int // who says it, and is not enough
		last  int
	}{
		{"juniors to the senior", 0, []int{3, 3}, 2},
		{"a senior to a member", 2, []int{3}, 0},
		{"a senior at once", 3, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, id, p := four(t, 220)
			to, mal := p[c.to], w.device("mal", nil)
			p[1].on = false // nothing settles
			if c.to == 1 || c.last == 1 {
				p[1].on, p[2].on = true, false
			}
			if err := p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "hikes"}); err != nil {
				t.Fatal(err)
			}
			w.settle(10 * time.Minute)
			r := to.record(id)
			d := r.Decided[len(r.Decided)-1]
			if d.Settled {
				t.Fatal("the slot is settled")
			}
			w.drop = func(_, _ *device) bool { return true }
			second := w.realm.sign(d.Slot, []byte("another")).Append(nil)
			say := func(by *device) { to.hears(by, group.WordHolds, &group.Holds{Group: id, Receipt: second}) }
			say(mal)
			for _, i := range c.first {
				say(p[i])
			}
			if r := to.record(id); r.State != group.Stopped || r.Rift.Why != group.StopTwo {
				t.Errorf("at one word: state %d, stopped for %d", r.State, r.Rift.Why)
			}
			say(p[c.last])
			if r := to.record(id); r.State != group.Behind || !r.Rift.Lost {
				t.Errorf("where enough say so: state %d", r.State)
			}
			// Who waits to be added again goes at no stranger's word.
			to.hears(mal, group.WordRemoved, &group.Gone{Group: id, Epoch: r.Head + 5})
			if to.record(id).State != group.Behind {
				t.Error("a stranger's word puts it out")
			}
		})
	}
}

// Counterexample C8: a commit adds Eve, nobody is left who gives her the Welcome, and
// the group is made again.
func TestAGhostComesInWhereTheGroupIsMadeAgain(t *testing.T) {
	w := newTown(t, 2, "Ada", "Bob", "Cyd", "Eve")
	ada, bob, cyd, eve := w.people[0], w.people[1], w.people[2], w.people[3]
	old := w.found(2, ada, bob, cyd)
	w.cutOff(eve, bob, cyd)
	w.must(ada.want(old, roster.Wish{Kind: roster.Add, Root: eve.root(), Device: eve.device()}))
	if len(ada.now().Lacking) != 0 || len(ada.epoch().Roster) != 3 {
		t.Fatal("Eve's package is not there yet, or she is in already")
	}
	w.cutOff(eve, ada)
	w.minutes(5)
	if n := len(bob.epoch().Roster); n != 4 || eve.now() != nil {
		t.Fatalf("%d are in, Eve %+v", n, eve.now())
	}
	ada.off = true
	for _, s := range w.people { // the Welcome is lost with Ada, and with all others
		s.out = slices.DeleteFunc(s.out, func(p parcel) bool { return p.to == eve.device() })
	}
	w.vanish(bob, old)
	bob.answers(group.AskRemake, true)
	w.heal()
	w.hours(8)
	w.together(bob, cyd, eve)
	w.must(eve.says("I am here"))
	w.minutes(2)
	if bob.heard("I am here") != 1 || cyd.heard("I am here") != 1 {
		t.Error("Eve is not heard")
	}
}

// Counterexample C11: who cannot get a blob does not take the slot for burnt: members
// give it.
func TestAMissingBlobIsNoBurntSlot(t *testing.T) {
	w, id, p := four(t, 221)
	cat := p[2]
	cat.on = false
	if err := p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "hikes"}); err != nil {
		t.Fatal(err)
	}
	w.settle(7 * time.Hour) // who was away so long looks at once
	for b := range w.realm.blobs {
		w.realm.lost[b] = true
	}
	cat.on = true
	cat.start()
	w.settle(10 * time.Minute)
	if r := cat.record(id); r.State != group.Active || r.Name != "hikes" || len(cat.saw(group.EventTrouble)) > 0 {
		t.Errorf("state %d, %q, troubles %v", r.State, r.Name, cat.saw(group.EventTrouble))
	}
	w.settle(time.Hour)
	w.together(id, p...)
}

// An unsigned word of the relay that something is lost is no answer at all.
func TestAnUnsignedLossIsNoAnswer(t *testing.T) {
	w, id, p := four(t, 222)
	for _, d := range p {
		for _, r := range []*wire.Receipt{nil, w.realm.sign(wire.BlobID{1}, []byte("of another slot"))} {
			h := d.record(id).Head
			d.must(func(tx group.Tx) (*group.Change, error) {
				return d.eng.Answer(tx, w.now, group.SlotAnswer{Group: id, Epoch: h, Trouble: group.Lost, Receipt: r})
			})
		}
		if s := d.record(id).State; s != group.Active {
			t.Errorf("%s: state %d", d.name, s)
		}
	}
	if err := p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "hikes"}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	w.together(id, p...)
}

// A device that is behind, and whom nobody adds again, goes on when the relay has the
// content after all; and if it never has, its admins make the group again.
func TestBehindIsNoEnd(t *testing.T) {
	for _, found := range []bool{true, false} {
		w, id, p := four(t, 223)
		ann := p[0]
		ann.on = false
		if err := p[1].want(id, roster.Wish{Kind: roster.Rename, Text: "hikes"}); err != nil {
			t.Fatal(err)
		}
		w.settle(7 * time.Hour) // who was away so long looks at once
		for b := range w.realm.blobs {
			w.realm.lost[b] = true
		}
		w.drop = func(from, to *device) bool { return from == ann || to == ann }
		ann.on = true
		ann.start()
		w.settle(40 * time.Minute)
		if s := ann.record(id).State; s != group.Behind {
			t.Fatalf("found %v: state %d, want behind", found, s)
		}
		if found {
			clear(w.realm.lost)
			w.settle(30 * time.Minute)
			if r := ann.record(id); r.State != group.Active || r.Name != "hikes" {
				t.Errorf("the content is there: state %d, %q", r.State, r.Name)
			}
			w.drop = nil
			w.settle(7 * time.Hour)
			w.together(id, p...)
			continue
		}
		w.settle(2 * time.Hour)
		q := ann.question(id, group.AskRemake)
		if q == nil {
			t.Fatal("Ann is not asked whether to make the group again")
		}
		ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Decide(tx, w.now, id, *q, true) })
		if ann.record(id).State != group.Replaced {
			t.Error("she cannot make it again while she is behind")
		}
	}
}

// picky reads no commit while it is told to: what a committer does to one half of a tree.
type picky struct {
	group.MLS
	deaf *bool
}

type pickyTree struct {
	group.Tree
	deaf *bool
}

func (p picky) Parse(f group.Fixed, b []byte) (group.Tree, error) {
	t, err := p.MLS.Parse(f, b)
	return pickyTree{t, p.deaf}, err
}

func (t pickyTree) Process(env group.Env, m []byte) (*group.Opened, error) {
	o, err := t.Tree.Process(env, m)
	if err == nil && o.Staged != nil && *t.deaf {
		return nil, errors.New("rubbish in this path")
	}
	return o, err
}

func (t pickyTree) Unstage(b []byte) (*group.Staged, error) {
	return t.Tree.(group.Unstager).Unstage(b)
}

// Counterexample C12: a commit is good for some and not for others. The admin reads both
// names, and who could not read it is added again.
func TestACommitThatIsGoodForSomeNamesTwo(t *testing.T) {
	w, id, p := four(t, 224)
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	deaf := true
	dan.eng.Crypto = picky{deaf: &deaf}
	ann.on = false
	if err := ben.want(id, roster.Wish{Kind: roster.Rename, Text: "hikes"}); err != nil {
		t.Fatal(err)
	}
	w.settle(10 * time.Minute)
	burnt := func(e group.Event) bool { return e.Kind == group.EventTrouble }
	if !slices.ContainsFunc(dan.events, burnt) {
		t.Fatal("Dan does not complain")
	}
	ann.on = true
	deaf = false
	w.settle(3 * time.Hour)
	named := func(e group.Event) bool {
		return e.Kind == group.EventTrouble && slices.Contains(e.Devices, dan.id()) && slices.Contains(e.Devices, ben.id())
	}
	if !slices.ContainsFunc(ben.events, named) {
		t.Errorf("no admin reads the two names: %+v", ben.saw(group.EventTrouble))
	}
	if slices.ContainsFunc(cat.events, named) {
		t.Error("somebody who is no admin is told")
	}
	w.settle(12 * time.Hour)
	w.together(id, p...)
}

// Counterexample C15: where a junior's device commits alone it makes what a senior
// wants, of whomever; and its own removal makes the senior take over.
func TestASeniorIsServedByAJuniorAndTakesOver(t *testing.T) {
	w := newTown(t, 2, "Ada", "Cyd", "Bob", "Mal", "Dan")
	ada, cyd, bob, mal, dan := w.people[0], w.people[1], w.people[2], w.people[3], w.people[4]
	old := w.found(3)
	ada.off, cyd.off = true, true
	w.burn(mal)
	w.must(bob.want(old, roster.Wish{Kind: roster.Rename, Text: "village"}))
	w.minutes(45)
	bob.answers(group.AskRemake, true)
	w.minutes(10)
	ada.off, cyd.off = false, false
	w.hours(14)
	w.together(w.people...)
	if s := bob.now().Rift.Sole; s == nil || *s != bob.device() {
		t.Fatal("Bob is not the one who commits")
	}
	w.must(ada.remove(ada.now().ID, cyd)) // who stands before Bob
	w.minutes(10)
	w.together(ada, bob, mal, dan)
	w.must(ada.remove(ada.now().ID, bob))
	w.hours(2)
	w.together(ada, mal, dan)
	if s := ada.now().Rift.Sole; s == nil || *s != ada.device() || bob.now() != nil && bob.now().ID == ada.now().ID {
		t.Errorf("Ada did not take over, or Bob is with her: %+v", ada.now().Rift)
	}
	w.must(dan.says("after"))
	w.minutes(2)
	if ada.heard("after") != 1 || bob.heard("after") != 0 {
		t.Errorf("Ada heard it %d times, Bob %d", ada.heard("after"), bob.heard("after"))
	}
}

// Removals of strangers are nothing to a group, and one of a person pushes out no other.
func TestStrangersRemovalsPushOutNone(t *testing.T) {
	w, id, p := four(t, 225)
	ann, dan := p[0], p[3]
	if err := ann.remove(id, dan); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	first := ann.record(id).Rift.Gone
	if len(first) != 1 {
		t.Fatalf("%d removals are kept, want Dan's", len(first))
	}
	mal := w.device("mal", nil)
	for i := range byte(130) {
		for _, by := range []*device{mal, p[2]} {
			wish := &roster.Wish{Group: id, ID: roster.WishID{i, 1}, Kind: roster.Leave, Root: by.person(), From: roster.Entry{1}, Of: []roster.Entry{{1}}}
			wish.Sign(by.eng.Self.Sign)
			b, err := wish.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			s := &roster.Shown{Group: id, Epoch: 1 << 60, Wish: b, Manifest: by.eng.Self.Manifest.Append(nil)}
			if b, err = s.Append(nil); err != nil {
				t.Fatal(err)
			}
			ann.do(func(tx group.Tx) (*group.Change, error) {
				return ann.eng.Hear(tx, w.now, by.id(), by.person(), word(group.WordShown, &group.Removals{Group: id, Removed: [][]byte{b}}))
			})
		}
	}
	if got := ann.record(id).Rift.Gone; len(got) > 2 || !slices.Equal(got[0], first[0]) {
		t.Errorf("%d removals are kept", len(got))
	}
}

// Who was removed is given the commit that did it, and none after, and not as often as
// they ask.
func TestTheRemovedAreGivenNoLaterCommit(t *testing.T) {
	w, id, p := four(t, 226)
	ann, cat, dan := p[0], p[2], p[3]
	cat.on, dan.on = false, false // nothing settles: all commits are kept
	if err := ann.remove(id, dan); err != nil {
		t.Fatal(err)
	}
	w.settle(10 * time.Minute)
	for _, name := range []string{"one", "two", "three"} {
		if err := ann.want(id, roster.Wish{Kind: roster.Rename, Text: name}); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Minute)
	}
	at := dan.record(id).Head
	if ann.record(id).Head != at+4 {
		t.Fatalf("Ann is in %d, Dan in %d", ann.record(id).Head, at)
	}
	given := 0
	for range 5 {
		ann.words = nil
		ann.hears(dan, group.WordQuestion, &group.Inquiry{Group: id, Ask: [16]byte{1}, Head: at, Why: group.StopGone})
		ann.hears(dan, group.WordList, &group.Lists{Group: id, Back: true})
		for _, x := range ann.words {
			if x.To != dan.id() || x.Payload[0] != byte(group.WordShown) {
				continue
			}
			var v group.Removals
			if err := cbor.Unmarshal(x.Payload[1:], &v); err != nil {
				t.Fatal(err)
			}
			given += len(v.News)
			for _, n := range v.News {
				if n.Epoch != at {
					t.Errorf("the commit of %d is given, which came after", n.Epoch)
				}
			}
		}
	}
	if given != 1 {
		t.Errorf("%d commits were given, want one", given)
	}
}

// A device that waits to be let into a successor reads a burnt slot once, and not again
// at once: it is stopped for another reason already.
func TestABurntSlotIsNotReadAgainAtOnce(t *testing.T) {
	w, id, p := four(t, 227)
	ann, ben, cat := p[0], p[1], p[2]
	now := ben.record(id).Head
	_, told := ben.claim(roster.Statement{Old: id, Origin: id, New: group.ID{9}, Epoch: now, Mark: ben.epoch(id, now).Mark, Order: []key.SignPublic{ann.person(), ben.person()}})
	ben.on = false
	tell(ben, id, []group.Told{told}, ann, cat, p[3])
	sl, err := slot.Derive(cat.epoch(id, now).Slot)
	if err != nil {
		t.Fatal(err)
	}
	w.realm.blobs[sl.ID] = make([]byte, wire.BlobClasses[2])
	before := w.realm.reads
	for i := range 3 { // a reader in whose view the time to look has come
		a := w.realm.answer(&group.SlotCall{Group: id, Epoch: now, Slot: sl.ID})
		cat.must(func(tx group.Tx) (*group.Change, error) {
			r, err := tx.Group(id)
			if err != nil {
				return nil, err
			}
			r.Look = w.now.Unix()
			if err := tx.PutGroup(r); err != nil {
				return nil, err
			}
			ch, err := cat.eng.Answer(tx, w.now, a)
			if err == nil && len(ch.Slots) != 0 {
				t.Errorf("answer %d: it asks again at once", i)
			}
			return ch, err
		})
	}
	if t.Failed() {
		return
	}
	w.settle(30 * time.Minute)
	if n := w.realm.reads - before; n > 12 {
		t.Errorf("%d reads in half an hour", n)
	}
	if cat.record(id).Rift.Why != group.StopRemade {
		t.Errorf("it is stopped for %d", cat.record(id).Rift.Why)
	}
}
