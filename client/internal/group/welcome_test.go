package group_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// leafParams is what a leaf of a device says that it makes by hand.
func (d *device) leafParams() group.LeafParams {
	_, pub, err := addr.NewOwner(d.w.rand)
	if err != nil {
		d.w.t.Fatal(err)
	}
	return group.LeafParams{Device: d.eng.Self.Sign, Manifest: d.eng.Self.Manifest.Append(nil),
		Route: &roster.Route{Public: pub, Pin: [32]byte{1}, Period: 1800, Relay: "relay.example"}}
}

// stockOf is a key package of x that d holds.
func (d *device) stockOf(x *device, s group.Suite) []byte {
	var out []byte
	d.disk.Update(func(tx group.Tx) error {
		all, _ := tx.Stock(x.id())
		for _, p := range all {
			_, _, ps, err := group.MLS{}.PackageOf(p.Public)
			if err == nil && ps == s {
				out = p.Public
			}
		}
		return nil
	})
	return out
}

// fake makes a group by hand, with an id and an epoch as one likes, and a Welcome.
func (d *device) fake(id group.ID, origin group.ID, epoch uint64, state *roster.State, adds ...*device) (group.Tree, []byte) {
	t := d.w.t
	env := group.Env{Now: d.w.now, Rand: d.w.rand}
	b, err := state.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := group.MLS{}.Create(env, group.CreateParams{ID: id, Suite: group.SuiteClassic, Leaf: d.leafParams(), State: b})
	if err != nil {
		t.Fatal(err)
	}
	for tree.Epoch()+1 < epoch {
		st, err := tree.Stage(env, group.StageParams{State: b})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tree.Merge(st); err != nil {
			t.Fatal(err)
		}
	}
	p := group.StageParams{State: b}
	for _, x := range adds {
		p.Add = append(p.Add, d.stockOf(x, group.SuiteClassic))
	}
	st, err := tree.Stage(env, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Merge(st); err != nil {
		t.Fatal(err)
	}
	j := group.Joining{Group: id, Origin: origin, Epoch: tree.Epoch(), Welcome: st.Welcome, Tree: tree.Public()}
	h := sha256.Sum256(p.Add[0])
	j.Package = h[:]
	if state.Sole == nil {
		j.Receipt = d.w.realm.sign(wire.BlobID{9}, []byte("whatever")).Append(nil)
	}
	return tree, word(group.WordWelcome, &j)
}

// TestWelcomeIntoALiveGroup: who was removed knows the group's id and has key packages
// of its members. A group of their own with that id takes nobody's place.
func TestWelcomeIntoALiveGroup(t *testing.T) {
	w, id, p := four(t, 60)
	ann, ben, dan := p[0], p[1], p[3]
	if err := ann.remove(id, dan); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	before := ben.record(id)
	s, err := roster.ParseState(ben.epoch(id, before.Head).State)
	if err != nil {
		t.Fatal(err)
	}
	s.Admins = []key.SignPublic{dan.person()}
	tree, welcome := dan.fake(id, id, 40, s, ben)
	ben.must(func(tx group.Tx) (*group.Change, error) {
		return ben.eng.Hear(tx, w.now, dan.id(), dan.person(), welcome)
	})
	if r := ben.record(id); r.Head != before.Head || r.State != group.Active {
		t.Errorf("epoch %d and state %d, want %d and the group as it was", r.Head, r.State, before.Head)
	}
	n := len(w.cells)
	ben.send(id, "only for my friends")
	if len(w.cells) == n {
		t.Fatal("nothing left: the test proves nothing")
	}
	for _, c := range w.cells[n:] {
		if _, err := tree.Process(group.Env{Now: w.now, Rand: w.rand}, c.copy.Payload); err == nil {
			t.Error("who was removed reads what is said")
		}
	}
}
