package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// four is a group of four people, of whom ann and ben are admins.
func four(t *testing.T, seed uint64) (w *world, id group.ID, p []*device) {
	w = newWorld(t, seed)
	p = w.people("ann", "ben", "cat", "dan")
	id = p[0].create("walks")
	p[0].add(id, p[1], p[2], p[3])
	w.settle(10 * time.Minute)
	if err := p[0].want(id, roster.Wish{Kind: roster.Promote, Root: p[1].person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(10 * time.Minute)
	w.together(id, p...)
	return w, id, p
}

// TestRemovalsRace has two admins who cannot hear each other remove two people at once:
// one of them loses the slot, and its wish is done in the next.
func TestRemovalsRace(t *testing.T) {
	for seed := range uint64(3) {
		w, id, p := four(t, 10+seed)
		ann, ben, cat, dan := p[0], p[1], p[2], p[3]
		w.drop = func(from, to *device) bool { return from == ann && to == ben || from == ben && to == ann }
		if err := ann.remove(id, cat); err != nil {
			t.Fatal(err)
		}
		if err := ben.remove(id, dan); err != nil {
			t.Fatal(err)
		}
		w.settle(time.Minute)
		w.drop = nil
		w.settle(time.Hour)
		w.together(id, ann, ben)
		for _, d := range []*device{cat, dan} {
			if r := d.record(id); r.State != group.Out {
				t.Errorf("seed %d: %s: got state %d, want out", seed, d.name, r.State)
			}
		}
		if len(ann.record(id).Wishes)+len(ben.record(id).Wishes) != 0 {
			t.Errorf("seed %d: wishes are left after all is settled", seed)
		}
	}
}

// TestMutualRemoval has two admins remove each other: the more senior has the right.
func TestMutualRemoval(t *testing.T) {
	w, id, p := four(t, 20)
	if err := p[1].remove(id, p[0]); err == nil {
		t.Error("got no error, want that a junior admin cannot remove a senior one")
	}
	if err := p[0].remove(id, p[1]); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	w.together(id, p[0], p[2], p[3])
}

// TestAddRacesMessage: a message stays in its epoch while the roster grows, and who
// was added does not read it.
func TestAddRacesMessage(t *testing.T) {
	w, id, p := four(t, 21)
	eve := w.device("eve", nil)
	w.stock(append(p, eve)...)
	p[3].on = false
	for i := range 5 {
		p[2].send(id, fmt.Sprint("before ", i))
	}
	p[0].add(id, eve)
	w.settle(time.Hour)
	p[3].on = true
	p[3].start()
	w.settle(12 * time.Hour)
	w.together(id, append(p, eve)...)
	for i := range 5 {
		text := fmt.Sprint("before ", i)
		if eve.got(text) != 0 || p[3].got(text) != 1 || p[0].got(text) != 1 {
			t.Errorf("%q: got %d at eve, %d at dan and %d at ann, want 0, 1, 1", text, eve.got(text), p[3].got(text), p[0].got(text))
		}
	}
}

// TestAway: a device that was away for three weeks, while others committed and spoke,
// walks the slots and reads what was said meanwhile.
func TestAway(t *testing.T) {
	w, id, p := four(t, 22)
	dan := p[3]
	dan.on = false
	const days = 5
	for i := range days {
		p[0].want(id, roster.Wish{Kind: roster.Rename, Text: fmt.Sprint("walks ", i)})
		p[1].send(id, fmt.Sprint("day ", i))
		w.settle(4 * time.Hour)
	}
	w.settle(20 * 24 * time.Hour) // the keys of all these epochs are gone
	dan.on = true
	dan.start()
	w.settle(24 * time.Hour)
	w.together(id, p...)
	for i := range days {
		if n := dan.got(fmt.Sprint("day ", i)); n != 1 {
			t.Errorf("day %d: got it %d times, want once", i, n)
		}
	}
	if name := dan.record(id).Name; name != fmt.Sprint("walks ", days-1) {
		t.Errorf("got name %q, want the last", name)
	}
}

// TestSlotIsGone: whoever comes back when the realm keeps the content no more asks to
// be added again, and nothing is lost.
func TestSlotIsGone(t *testing.T) {
	w, id, p := four(t, 23)
	dan := p[3]
	dan.on = false
	p[1].send(id, "first")
	p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "other walks"})
	w.settle(24 * time.Hour)
	p[1].send(id, "second")
	for b := range w.realm.blobs {
		w.realm.lost[b] = true
	}
	// Nobody is left who could give it either: all settle by age.
	w.settle(16 * 24 * time.Hour)
	dan.on = true
	dan.start()
	dan.send(id, "I am back")
	w.settle(3 * 24 * time.Hour)
	w.together(id, p...)
	for _, text := range []string{"first", "second"} {
		if dan.got(text) != 1 {
			t.Errorf("%q: got it %d times, want once", text, dan.got(text))
		}
	}
	for _, d := range p[:3] {
		if d.got("I am back") != 1 {
			t.Errorf("%s: got dan's text %d times, want once", d.name, d.got("I am back"))
		}
	}
	if len(dan.saw(group.EventTrouble)) == 0 || len(dan.saw(group.EventWell)) == 0 {
		t.Error("dan was not told that messages wait, or that they do not any more")
	}
}

// TestRemovedWhileAway: who was removed while the slots were still there walks into its
// own removal; who cannot walk is shown it.
func TestRemovedWhileAway(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w, id, p := four(t, 24)
		dan := p[3]
		dan.on = false
		p[1].send(id, "dan does not get this any more")
		w.settle(time.Minute)
		if len(p[1].rows) != 1 {
			t.Fatalf("got %d rows, want the one for dan", len(p[1].rows))
		}
		if err := p[0].remove(id, dan); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Minute)
		if len(p[1].rows) != 0 {
			t.Errorf("got %d rows, want that what waited for dan ended", len(p[1].rows))
		}
		w.settle(16 * 24 * time.Hour)
		if gone {
			for b := range w.realm.blobs {
				w.realm.lost[b] = true
			}
		}
		dan.on = true
		dan.start()
		w.settle(24 * time.Hour)
		if r := dan.record(id); r.State != group.Out {
			t.Errorf("slots gone %t: got state %d, want out", gone, r.State)
		}
		if ev := dan.saw(group.EventOut); len(ev) != 1 || ev[0].Text == "" {
			t.Errorf("slots gone %t: got %+v, want it told once, in words", gone, ev)
		}
	}
}

// TestAdderDies (C8): whose commit adds somebody dies between the put and the Welcome;
// the others read the slot and pass the Welcome on.
func TestAdderDies(t *testing.T) {
	w, id, p := four(t, 25)
	eve := w.device("eve", nil)
	w.stock(append(p, eve)...)
	puts := w.realm.puts
	p[0].add(id, eve)
	for i := 0; w.realm.puts == puts && i < 100; i++ {
		w.now = w.now.Add(time.Second)
		p[0].must(func(tx group.Tx) (*group.Change, error) { return p[0].eng.Tick(tx, w.now) })
		for _, s := range p[0].slots {
			a := w.realm.answer(s)
			if w.realm.puts > puts {
				break // it never hears the answer
			}
			p[0].must(func(tx group.Tx) (*group.Change, error) { return p[0].eng.Answer(tx, w.now, a) })
		}
	}
	if w.realm.puts == puts {
		t.Fatal("ann put nothing")
	}
	p[0].on = false
	w.settle(24 * time.Hour)
	if r := eve.record(id); r.State != group.Active {
		t.Fatalf("got state %d, want eve in", r.State)
	}
	eve.send(id, "hello from eve")
	w.settle(time.Hour)
	if p[2].got("hello from eve") != 1 {
		t.Error("cat does not hear eve")
	}
	p[0].on = true
	p[0].start()
	w.settle(24 * time.Hour)
	w.together(id, append(p, eve)...)
	if p[0].got("hello from eve") != 1 {
		t.Error("ann does not hear eve")
	}
}

// TestOwnCommitLost (C9): a disk that was put back knows nothing of the commit that won:
// the device asks to be added again, and never goes on from a state of its own.
func TestOwnCommitLost(t *testing.T) {
	w, id, p := four(t, 26)
	ben := p[1]
	old := ben.disk.Clone()
	if err := ben.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	ben.disk = old
	ben.start()
	w.settle(24 * time.Hour)
	w.together(id, p...)
	ben.send(id, "here again")
	w.settle(time.Hour)
	if p[3].got("here again") != 1 {
		t.Error("ben is not heard after he was added again")
	}
}

// TestLeave (C2): nobody commits their own removal; any other device commits a leave,
// and the last admin's place is taken.
func TestLeave(t *testing.T) {
	w := newWorld(t, 27)
	p := w.people("ann", "ben", "cat")
	id := p[0].create("walks")
	p[0].add(id, p[1], p[2])
	w.settle(time.Hour)
	p[0].send(id, "bye")
	if err := p[0].want(id, roster.Wish{Kind: roster.Leave, Root: p[0].person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	w.together(id, p[1], p[2])
	if p[0].record(id).State != group.Out || p[1].got("bye") != 1 || p[2].got("bye") != 1 {
		t.Error("ann is not out, or what she said last is lost")
	}
	// The person at the left is the admin now.
	next, other := p[1], p[2]
	if e := next.epoch(id, next.record(id).Head); e.Roster[0].Device != next.id() {
		next, other = other, next
	}
	if err := next.remove(id, other); err != nil {
		t.Errorf("got %v, want that %s took over", err, next.name)
	}
	w.settle(time.Hour)
	w.together(id, next)
	if err := next.want(id, roster.Wish{Kind: roster.Leave, Root: next.person()}); err != nil {
		t.Fatal(err)
	}
	if next.record(id).State != group.Out || len(next.routes()) != 0 {
		t.Error("a group of one that its member leaves goes on")
	}
}

// TestRunner (C16): a device that is no admin's cannot commit twice within nine commits.
func TestRunner(t *testing.T) {
	w, id, p := four(t, 28)
	cat := p[2]
	cat.disk.Update(func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		r.Update = true
		return tx.PutGroup(r)
	})
	cat.start()
	w.settle(time.Hour)
	before := cat.record(id).Head
	cat.disk.Update(func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		r.Update = true
		return tx.PutGroup(r)
	})
	puts := w.realm.puts
	cat.start()
	w.settle(24 * time.Hour)
	if got := cat.record(id).Head; got != before || w.realm.puts != puts {
		t.Errorf("got epoch %d and %d puts, want %d and none", got, w.realm.puts-puts, before)
	}
	w.together(id, p...)
}

// TestRevoked: a device that its person revoked leaves every group at once, whoever
// hears of it first, and reads nothing that is said after.
func TestRevoked(t *testing.T) {
	w := newWorld(t, 29)
	p := w.people("ann", "ben")
	phone := w.device("ann's phone", p[0])
	w.stock(p[0], p[1], phone)
	id := p[0].create("walks")
	p[0].add(id, p[1], phone)
	w.settle(time.Hour)
	w.together(id, p[0], p[1], phone)
	m := *p[0].eng.Self.Manifest
	m.Devices = append(m.Devices[:0:0], m.Devices...)
	m.Devices[1].Revoked = true
	next := w.sign(p[0].root, p[0].eng.Self.Manifest, m.Devices...)
	p[0].eng.Self.Manifest = next
	p[0].on = false // the root's device is off: ben heard of it
	if key.SignPublicOf(phone.eng.Self.Sign) != m.Devices[1].Sign {
		t.Fatal("the phone is not the second device")
	}
	p[1].must(func(tx group.Tx) (*group.Change, error) { return p[1].eng.Manifest(tx, w.now, next) })
	for m := range w.text {
		delete(w.text, m)
	}
	w.text = nil
	p[1].send(id, "secret")
	w.settle(time.Hour)
	if phone.got("secret") != 0 {
		t.Error("the revoked phone read what was said after")
	}
	p[0].on = true
	p[0].start()
	w.settle(24 * time.Hour)
	w.together(id, p[0], p[1])
	if phone.record(id).State != group.Out || p[0].got("secret") != 1 {
		t.Error("the phone is not out, or ann lost the text")
	}
}

// TestOwnDevice: a second device of a person who is no admin is added at its person's
// wish, by an admin's commit, and both get everything.
func TestOwnDevice(t *testing.T) {
	w, id, p := four(t, 30)
	tablet := w.device("cat's tablet", p[2])
	w.stock(append(p, tablet)...)
	p[2].add(id, tablet)
	w.settle(time.Hour)
	w.together(id, append(p, tablet)...)
	p[2].on = false
	tablet.send(id, "from the tablet")
	w.settle(time.Hour)
	p[2].on = true
	p[2].start()
	w.settle(12 * time.Hour)
	for _, d := range p {
		if d.got("from the tablet") != 1 {
			t.Errorf("%s: got it %d times, want once", d.name, d.got("from the tablet"))
		}
	}
}

// TestNoPackage: who has no key package of a device asks it for one, and adds it then.
func TestNoPackage(t *testing.T) {
	w := newWorld(t, 31)
	ann, ben := w.device("ann", nil), w.device("ben", nil)
	id := ann.create("walks")
	ben.on = false
	ann.add(id, ben)
	w.settle(48 * time.Hour)
	ben.on = true
	w.settle(24 * time.Hour)
	w.together(id, ann, ben)
}

// TestShownOnce: a message whose ack never came is encrypted again once its keys are
// gone, and is not shown again.
func TestShownOnce(t *testing.T) {
	w, id, p := four(t, 32)
	ben, dan := p[1], p[3]
	w.drop = func(from, to *device) bool { return from == dan && to == ben }
	m := ben.send(id, "once")
	w.settle(time.Minute)
	p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "runs"})
	w.settle(15 * 24 * time.Hour)
	var epoch uint64
	ben.disk.Update(func(tx group.Tx) error {
		v, err := tx.Message(id, m)
		if err == nil {
			epoch = v.Epoch
		}
		return err
	})
	if epoch != ben.record(id).Head {
		t.Fatalf("got it waiting in epoch %d, want it encrypted again in %d", epoch, ben.record(id).Head)
	}
	w.drop = nil
	w.settle(24 * time.Hour)
	if dan.got("once") != 1 || len(ben.rows) != 0 {
		t.Errorf("got it %d times, and %d rows left, want once and none", dan.got("once"), len(ben.rows))
	}
}
