package group_test

import (
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

func leaves(t group.Tree) (out []roster.Leaf) {
	for _, m := range t.Members() {
		out = append(out, m.Leaf)
	}
	return out
}

// hear takes a word of another device.
func (d *device) hear(from *device, b []byte) error {
	return d.do(func(tx group.Tx) (*group.Change, error) { return d.eng.Hear(tx, d.w.now, from.id(), from.person(), b) })
}

// commits puts a commit of wishes as d would be judged by, right or not.
func (d *device) commits(id group.ID, wishes ...*roster.Wish) {
	d.w.t.Helper()
	d.put(id, func(tree group.Tree, s *roster.State) ([]byte, error) {
		r := d.record(id)
		c := &roster.Commit{Origin: r.Origin, State: s, Leaves: leaves(tree), Born: s.Born}
		for _, l := range c.Leaves {
			if l.Device == d.id() {
				c.Maker = l
			}
		}
		for _, x := range r.Decided {
			if x.Epoch == r.Head-1 {
				c.Slot = roster.Past{ID: x.Slot, Hash: x.Receipt.Hash}
			}
		}
		// What a wish does is taken from one that is in order.
		for _, w := range wishes {
			v := *w
			if err := v.Bind(s, c.Leaves); err != nil {
				return nil, err
			}
			c.Wishes = append(c.Wishes, &v)
		}
		plan, err := roster.Apply(c)
		if err != nil {
			return nil, err
		}
		p := group.StageParams{Remove: plan.Remove}
		if p.State, err = plan.State.Append(nil); err != nil {
			return nil, err
		}
		for _, x := range plan.Add {
			p.Add = append(p.Add, x.Package)
		}
		if p.Carried, err = roster.Carry(wishes); err != nil {
			return nil, err
		}
		st, err := tree.Stage(group.Env{Now: d.w.now, Rand: d.w.rand}, p)
		if err != nil {
			return nil, err
		}
		content := map[int][]byte{0: st.Commit}
		if st.Welcome != nil {
			content[1] = st.Welcome
		}
		return word(0, content)[1:], nil
	})
}

// TestAnOldLeaveIsNotCarriedAgain: whoever kept the wish of a member who left and came
// back cannot have it done once more.
func TestAnOldLeaveIsNotCarriedAgain(t *testing.T) {
	w, id, p := four(t, 64)
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	if err := cat.want(id, roster.Wish{Kind: roster.Leave, Root: cat.person()}); err != nil {
		t.Fatal(err)
	}
	old, err := roster.ParseWish(cat.record(id).Wishes[0].Wish)
	if err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	if cat.record(id).State != group.Out {
		t.Fatal("cat did not leave")
	}
	w.give(cat, ann)
	w.settle(time.Minute)
	ann.add(id, cat)
	w.settle(time.Hour)
	w.together(id, p...)
	dan.commits(id, old)
	w.settle(2 * time.Hour)
	for _, d := range []*device{ann, ben, cat} {
		r := d.record(id)
		if r.State == group.Out || len(d.epoch(id, r.Head).Roster) != 4 {
			t.Errorf("%s: state %d, %d members", d.name, r.State, len(d.epoch(id, r.Head).Roster))
		}
	}
}

// TestNobodyIsAddedAgainUnasked: a package out of a stock, or one by which a device was
// added again before, puts nobody's leaf away.
func TestNobodyIsAddedAgainUnasked(t *testing.T) {
	w, id, p := four(t, 63)
	ann, ben := p[0], p[1]
	wish := &roster.Wish{Group: id, ID: roster.WishID{1}, Kind: roster.ReAdd, Root: ann.person(), Device: ann.id(), Package: ben.stockOf(ann, group.SuiteClassic), By: ben.id()}
	e := ben.epoch(id, ben.record(id).Head)
	s, err := roster.ParseState(e.State)
	if err != nil {
		t.Fatal(err)
	}
	if err := wish.Bind(s, e.Roster); err != nil {
		t.Fatal(err)
	}
	wish.Sign(ben.eng.Self.Sign)
	ben.commits(id, wish)
	ben.on = false
	w.settle(2 * time.Hour)
	if st := ann.record(id).State; st == group.Behind {
		t.Error("a junior admin put a senior one's leaf away")
	}
}

// TestAnOldCallForHelpIsNotAnsweredTwice: an admin who was away hears of a device that
// lost its way after another admin added it again.
func TestAnOldCallForHelpIsNotAnsweredTwice(t *testing.T) {
	w, id, p := four(t, 70)
	ann, ben, cat := p[0], p[1], p[2]
	cat.on, ben.on = false, false
	ann.want(id, roster.Wish{Kind: roster.Rename, Text: "other walks"})
	w.settle(16 * 24 * time.Hour) // nobody has it any more but the relay, and soon not that
	for b := range w.realm.blobs {
		w.realm.lost[b] = true
	}
	w.drop = func(from, to *device) bool { return from == cat && to == ben }
	cat.on = true
	cat.start()
	w.settle(12 * time.Hour)
	clear(w.realm.lost)
	calls := 0
	for _, x := range cat.words {
		if x.To == ben.id() && x.Payload[0] == byte(group.WordAgain) {
			calls++
		}
	}
	if r := cat.record(id); r.State != group.Active || calls == 0 {
		t.Fatalf("cat is in state %d, after %d calls", r.State, calls)
	}
	ben.on = true
	ben.start()
	w.settle(8 * time.Hour)
	head := cat.record(id).Head
	n := len(cat.saw(group.EventTrouble))
	w.drop = nil
	w.settle(8 * time.Hour)
	if got := len(cat.saw(group.EventTrouble)); got != n {
		t.Error("cat lost its way again, by its own old words")
	}
	for _, d := range p {
		if r := d.record(id); r.Head > head+1 || r.State != group.Active {
			t.Errorf("%s: state %d, epoch %d, from %d", d.name, r.State, r.Head, head)
		}
	}
}

// TestWhoCommittedLatelyForgetsNothing: of two people one wants to leave, or is to: the
// other, who just committed a path of its own, does it.
func TestWhoCommittedLatelyForgetsNothing(t *testing.T) {
	start := func(seed uint64) (*world, group.ID, *device, *device) {
		w := newWorld(t, seed)
		p := w.people("ann", "ben")
		id := p[0].create("walks")
		p[0].add(id, p[1])
		w.settle(time.Hour)
		p[1].disk.Update(func(tx group.Tx) error {
			r, err := tx.Group(id)
			if err != nil {
				return err
			}
			r.Update = true
			return tx.PutGroup(r)
		})
		p[1].start()
		w.settle(time.Hour)
		return w, id, p[0], p[1]
	}
	w, id, ann, ben := start(65)
	if err := ann.want(id, roster.Wish{Kind: roster.Leave, Root: ann.person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(8 * time.Hour)
	if st := ann.record(id).State; st != group.Out {
		t.Errorf("ann cannot leave: state %d", st)
	}
	if n := len(ben.epoch(id, ben.record(id).Head).Roster); n != 1 {
		t.Errorf("ben sees %d members", n)
	}

	w, id, ann, ben = start(66)
	devs := append([]manifest.Device(nil), ann.eng.Self.Manifest.Devices...)
	devs[0].Revoked = true
	devs = append(devs, manifest.Device{Sign: key.SignPublicOf(w.key()), DH: key.DHPublicOf(w.dh()), XWing: [32]byte{3}})
	next := w.sign(ann.root, ann.eng.Self.Manifest, devs...)
	ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Manifest(tx, w.now, next) })
	w.settle(8 * time.Hour)
	if n := len(ben.epoch(id, ben.record(id).Head).Roster); n != 1 {
		t.Errorf("ann's stolen device is in the tree: %d members", n)
	}
}

// TestOnesOwnTextAtTheSlot: what a member puts there and is no commit is burnt for all
// alike, though to its author it is a message of their own.
func TestOnesOwnTextAtTheSlot(t *testing.T) {
	w, id, p := four(t, 68)
	ben, cat := p[1], p[2]
	k := len(w.cells)
	ben.send(id, "hello")
	text := w.cells[k].copy.Payload
	cat.put(id, func(group.Tree, *roster.State) ([]byte, error) { return word(0, map[int][]byte{0: text})[1:], nil })
	p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "runs"})
	w.settle(10 * time.Minute)
	for _, d := range p {
		if st := d.record(id).State; st == group.Behind {
			t.Errorf("%s lost its way", d.name)
		}
	}
}
