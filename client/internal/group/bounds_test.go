package group_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// madeByHand is a commit with nothing but a member's own path, as roster judges it right
// but for what edit changes, and puts it into the slot.
func (d *device) madeByHand(id group.ID, edit func(c *roster.Commit, p *group.StageParams)) {
	d.w.t.Helper()
	d.put(id, func(tree group.Tree, s *roster.State) ([]byte, error) {
		r := d.record(id)
		e := d.epoch(id, r.Head)
		c := &roster.Commit{Origin: r.Origin, State: s, Leaves: e.Roster, Born: s.Born}
		for _, l := range e.Roster {
			if l.Device == d.id() {
				c.Maker = l
			}
		}
		for _, x := range r.Decided {
			if x.Epoch == r.Head-1 {
				c.Slot = roster.Past{ID: x.Slot, Hash: x.Receipt.Hash}
			}
		}
		var p group.StageParams
		edit(c, &p)
		plan, err := roster.Apply(c)
		if err != nil {
			return nil, err
		}
		if p.State, err = plan.State.Append(nil); err != nil {
			return nil, err
		}
		if p.Carried, err = roster.Carry(nil); err != nil {
			return nil, err
		}
		st, err := tree.Stage(group.Env{Now: d.w.now, Rand: d.w.rand}, p)
		if err != nil {
			return nil, err
		}
		return word(0, map[int][]byte{0: st.Commit})[1:], nil
	})
}

// look has a device read the slot now.
func (d *device) look(id group.ID) {
	d.disk.Update(func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		r.Look = d.w.now.Unix()
		return tx.PutGroup(r)
	})
	d.start()
}

// refresh has a device want a path of its own.
func (d *device) refresh(id group.ID) {
	d.disk.Update(func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		r.Update = true
		return tx.PutGroup(r)
	})
	d.start()
}

// TestWelcomeWithAnotherReceipt: any member may bring a Welcome first, with a receipt of
// the relay for any blob. The joiner neither refuses what others commit by it, nor
// commits what others refuse.
func TestWelcomeWithAnotherReceipt(t *testing.T) {
	for _, joinerFirst := range []bool{false, true} {
		w, id, p := four(t, 62)
		ann, cat := p[0], p[2]
		eve := w.device("eve", nil)
		w.stock(append(p, eve)...)
		eve.on = false
		ann.add(id, eve)
		var j group.Joining
		for i := 0; j.Welcome == nil && i < 1000; i++ {
			w.settle(time.Second)
			for _, x := range ann.words {
				if x.Payload[0] == byte(group.WordWelcome) {
					if err := cbor.Unmarshal(x.Payload[1:], &j); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		j.Receipt = w.realm.sign(wire.BlobID{9}, []byte("whatever")).Append(nil)
		eve.must(func(tx group.Tx) (*group.Change, error) {
			return eve.eng.Hear(tx, w.now, cat.id(), cat.person(), word(group.WordWelcome, &j))
		})
		eve.on = true
		head := eve.record(id).Head
		if joinerFirst {
			eve.refresh(id)
		} else if err := ann.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"}); err != nil {
			t.Fatal(err)
		}
		w.settle(2 * time.Hour)
		if h := eve.record(id).Head; h <= head {
			t.Errorf("joiner first %t: eve is in epoch %d still", joinerFirst, h)
		}
		// And on: what the joiner's first commit did not name is missed by nobody.
		if err := ann.want(id, roster.Wish{Kind: roster.Rename, Text: "swims"}); err != nil {
			t.Fatal(err)
		}
		w.settle(2 * time.Hour)
		w.together(id, append(p, eve)...)
	}
}

// addressOf is where a leaf's route lies at a time, and on its day.
func addressOf(t *testing.T, public [32]byte, secret []byte, birth uint64, period uint16, at time.Time) (live, park wire.Address) {
	t.Helper()
	of := func(from []byte, begin uint64, k addr.Kind, n uint64) wire.Address {
		s, err := key.New[key.RouteRole](from)
		if err != nil {
			t.Fatal(err)
		}
		p, err := addr.NewChain(&addr.Offer{Public: public, Secret: s, Birth: begin, Period: period}, k).At(n)
		if err != nil {
			t.Fatalf("an address at %s: %v", at, err)
		}
		return p.Address
	}
	n, day := addr.PeriodAt(at.Unix(), period), addr.DayAt(at.Unix())
	from, begin := group.RouteAt(secret, birth, n)
	live = of(from, begin, addr.Live, n)
	from, begin = group.RouteOn(secret, birth, period, day)
	return live, of(from, begin, addr.Park, day)
}

// TestAnyDayHasItsAddress: the day from which routes are counted is some member's word.
// Whatever it says, both ends have one address for every time, and no two times one.
func TestAnyDayHasItsAddress(t *testing.T) {
	w, id, p := four(t, 69)
	for _, born := range []uint32{0xffffffff, uint32(w.now.Unix()/86_400) + 1} {
		cat := p[2]
		ann := p[0]
		if born == 0xffffffff {
			cat.madeByHand(id, func(c *roster.Commit, _ *group.StageParams) { c.Born = born })
			for _, d := range p {
				d.look(id)
			}
			w.settle(7 * time.Hour)
			w.together(id, p...)
			if got := ann.epoch(id, ann.record(id).Head).Born; got != born {
				t.Fatalf("born %d, want %d", got, born)
			}
		}
		seen := map[wire.Address]bool{}
		for _, at := range []time.Duration{-48 * time.Hour, 0, time.Hour, 24 * time.Hour, 600 * 24 * time.Hour, 5000 * 24 * time.Hour} {
			var theirs *group.LeafRoute
			mine := ann.routes()[0]
			if err := p[1].disk.Update(func(tx group.Tx) (err error) {
				theirs, err = p[1].eng.LeafRouteOf(tx, id, mine.Epoch, mine.Leaf)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			live, park := addressOf(t, theirs.Public, theirs.Secret, theirs.Birth, theirs.Period, w.now.Add(at))
			l2, p2 := addressOf(t, theirs.Public, mine.Secret, mine.Birth, mine.Period, w.now.Add(at))
			if live != l2 || park != p2 {
				t.Errorf("after %s the two ends have different addresses", at)
			}
			if seen[live] {
				t.Errorf("after %s: an address comes twice", at)
			}
			seen[live] = true
		}
	}
}

// TestRoutesThatNobodyReaches: a member whose commit gives its leaf a route that cannot
// be, and a Welcome to a group with such a leaf, are not taken.
func TestRoutesThatNobodyReaches(t *testing.T) {
	w, id, p := four(t, 70)
	ann, cat := p[0], p[2]
	head := ann.record(id).Head
	for what, r := range map[string]*roster.Route{
		"a period of 7 s": {Public: goodPoint(t, w), Pin: [32]byte{1}, Period: 7, Relay: "relay.example"},
		"no point":        {Public: [32]byte{0xff, 1}, Pin: [32]byte{1}, Period: 1800, Relay: "relay.example"},
	} {
		var entry roster.Entry
		for _, l := range cat.epoch(id, cat.record(id).Head).Roster {
			if l.Device == cat.id() {
				entry = l.Entry
			}
		}
		cat.madeByHand(id, func(_ *roster.Commit, p *group.StageParams) {
			p.Leaf = &group.LeafParams{Device: cat.eng.Self.Sign, Entry: entry, Manifest: cat.eng.Self.Manifest.Append(nil), Route: r}
		})
		ann.look(id)
		w.settle(time.Minute)
		if got := ann.record(id).Head; got != head {
			t.Errorf("%s: ann took the commit", what)
		}
		clear(w.realm.blobs)
	}
	mal, ben := w.device("mal", nil), p[1]
	w.stock(mal, ben)
	for _, period := range []uint16{1800, 7} {
		other := group.ID{7, byte(period)}
		err := ben.do(func(tx group.Tx) (*group.Change, error) {
			return ben.eng.Hear(tx, w.now, mal.id(), mal.person(), mal.welcomeTo(other, ben, period))
		})
		if want := period != 1800; errors.Is(err, group.ErrWelcome) != want {
			t.Errorf("a group whose leaf has periods of %d s: got %v", period, err)
		}
	}
}

func goodPoint(t *testing.T, w *world) [32]byte {
	t.Helper()
	_, public, err := addr.NewOwner(w.rand)
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// welcomeTo makes a group by hand, in which the maker's leaf has a live period as one
// likes, and a Welcome for a device whose package the maker has.
func (d *device) welcomeTo(id group.ID, x *device, period uint16) []byte {
	t := d.w.t
	t.Helper()
	env := group.Env{Now: d.w.now, Rand: d.w.rand}
	s := &roster.State{Name: "dance", Home: d.w.realm.home, Class: 2, Born: uint32(d.w.now.Unix() / 86_400), Admins: []key.SignPublic{d.person()}}
	state, err := s.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	l := group.LeafParams{Device: d.eng.Self.Sign, Manifest: d.eng.Self.Manifest.Append(nil),
		Route: &roster.Route{Public: goodPoint(t, d.w), Pin: [32]byte{1}, Period: period, Relay: "relay.example"}}
	tree, err := group.MLS{}.Create(env, group.CreateParams{ID: id, Suite: group.SuiteClassic, Leaf: l, State: state})
	if err != nil {
		t.Fatal(err)
	}
	var pack *group.Package
	if err := d.disk.Update(func(tx group.Tx) error {
		all, err := tx.Stock(x.id())
		for _, p := range all {
			if _, _, s, err := (group.MLS{}).PackageOf(p.Public); err == nil && s == group.SuiteClassic {
				pack = p
			}
		}
		if pack == nil {
			return group.ErrNoPackage
		}
		return errors.Join(err, tx.DeleteStock(x.id(), pack.Hash))
	}); err != nil {
		t.Fatal(err)
	}
	st, err := tree.Stage(env, group.StageParams{State: state, Add: [][]byte{pack.Public}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Merge(st); err != nil {
		t.Fatal(err)
	}
	return word(group.WordWelcome, &group.Joining{Group: id, Origin: id, Epoch: 1, Welcome: st.Welcome, Tree: tree.Public(), Package: pack.Hash[:],
		Receipt: d.w.realm.sign(wire.BlobID{9}, []byte("whatever")).Append(nil)})
}

// TestSomebodyEndsARow: an admin who has somebody above them makes eight commits in a
// row, then another member makes a path, and the admin goes on. Nothing is refused.
func TestSomebodyEndsARow(t *testing.T) {
	w, id, p := four(t, 71)
	ben := p[1]
	for i := range 12 {
		if err := ben.want(id, roster.Wish{Kind: roster.Rename, Text: fmt.Sprint("name ", i)}); err != nil {
			t.Fatal(err)
		}
		w.settle(10 * time.Minute)
	}
	w.settle(7 * time.Hour)
	if n := ben.record(id).Name; n != "name 11" {
		t.Errorf("the group is called %q, want the last of twelve names", n)
	}
	if r := ben.saw(group.EventRefused); len(r) > 0 {
		t.Errorf("refused: %q", r[0].Text)
	}
	s, err := roster.ParseState(ben.epoch(id, ben.record(id).Head).State)
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for _, m := range s.Makers {
		if row++; m != ben.id() {
			row = 0
		}
	}
	if row > roster.Between-1 {
		t.Errorf("the last %d commits are all ben's, after twelve", row)
	}
	w.together(id, p...)
}

// TestPathThatDoesNotFit: a device whose own path does not fit into the slot says so and
// does not ask the relay again and again.
func TestPathThatDoesNotFit(t *testing.T) {
	w := newWorld(t, 72)
	ann := w.device("ann", nil)
	var id group.ID
	ann.must(func(tx group.Tx) (ch *group.Change, err error) {
		id, ch, err = ann.eng.Create(tx, w.now, group.Founding{Name: "walks", Class: 0, Size: 1})
		return ch, err
	})
	for range 60 { // the list of slots grows with every commit
		ann.refresh(id)
		w.settle(10 * time.Minute)
	}
	if ann.record(id).Trouble == "" || !ann.record(id).Update {
		t.Fatal("sixty paths fit into slots of 4 KiB: the test shows nothing")
	}
	reads := w.realm.reads
	w.settle(7 * 24 * time.Hour)
	if n := w.realm.reads - reads; n > 7*24 {
		t.Errorf("%d reads in a week, for what does not fit", n)
	}
}

// TestOwnDevicesByTheNewestManifest: who is no admin adds a device of their own by the
// newest manifest in the tree, and no other: a root could make devices without end.
func TestOwnDevicesByTheNewestManifest(t *testing.T) {
	w, id, p := four(t, 73)
	cat := p[2]
	first := cat.eng.Self.Manifest
	phone := w.device("cat's phone", cat)
	w.stock(cat, phone)
	cat.add(id, phone)
	w.settle(7 * time.Hour)
	w.together(id, append(p, phone)...)
	// Another manifest of the same root, beside the one in the tree.
	fork := w.device("cat's other phone", nil)
	m := w.sign(cat.root, first, append(append([]manifest.Device(nil), first.Devices...),
		manifest.Device{Sign: fork.id(), DH: key.DHPublicOf(w.dh()), XWing: [32]byte{9}})...)
	fork.root, fork.eng.Self.Manifest = cat.root, m
	w.give(fork, cat)
	w.settle(time.Minute)
	err := cat.want(id, roster.Wish{Kind: roster.Add, Root: fork.person(), Device: fork.id()})
	if !errors.Is(err, roster.ErrEvidence) {
		t.Errorf("a device by a forked manifest: got %v, want %v", err, roster.ErrEvidence)
	}
	// The next one by the manifest that follows is taken.
	tablet := w.device("cat's tablet", cat)
	w.stock(cat, tablet)
	cat.add(id, tablet)
	w.settle(7 * time.Hour)
	w.together(id, append(p, phone, tablet)...)
}
