package group_test

import (
	"bytes"
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

func (d *device) dump() []byte {
	var b bytes.Buffer
	d.disk.Dump(func(name string, v []byte) { b.WriteString(name); b.Write(v) })
	return b.Bytes()
}

// refuses checks that a call fails with an error and changes nothing.
func (d *device) refuses(what string, want error, f func(tx group.Tx) (*group.Change, error)) {
	d.w.t.Helper()
	before := d.dump()
	err := d.do(f)
	if !errors.Is(err, want) || err == nil {
		d.w.t.Errorf("%s: got %v, want %v", what, err, want)
	}
	if !bytes.Equal(before, d.dump()) {
		d.w.t.Errorf("%s: it changed something", what)
	}
}

func word(kind group.WordKind, v any) []byte {
	m, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err)
	}
	b, err := m.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append([]byte{byte(kind)}, b...)
}

func TestBadWelcomes(t *testing.T) {
	w := newWorld(t, 50)
	p := w.people("ann", "ben", "cat", "mal")
	ann, ben, mal := p[0], p[1], p[3]
	id := ann.create("walks")
	ben.on = false
	ann.add(id, ben)
	for len(ann.words) == 0 {
		w.settle(time.Second)
	}
	var j group.Joining
	good := ann.words[len(ann.words)-1].Payload
	if good[0] != byte(group.WordWelcome) {
		t.Fatalf("got word %d, want a Welcome", good[0])
	}
	if err := cbor.Unmarshal(good[1:], &j); err != nil {
		t.Fatal(err)
	}
	other := group.ID{1}
	forged := key.SignMessage(w.key(), wire.LabelReceipt, make([]byte, 32), make([]byte, 32))
	for what, change := range map[string]func(j *group.Joining) group.Device{
		"unknown package": func(j *group.Joining) group.Device { j.Package = make([]byte, 32); return ann.id() },
		"by a stranger":   func(*group.Joining) group.Device { return mal.id() },
		"other group":     func(j *group.Joining) group.Device { j.Group = other; return ann.id() },
		"other epoch":     func(j *group.Joining) group.Device { j.Epoch++; return ann.id() },
		"wrong tree":      func(j *group.Joining) group.Device { j.Tree = j.Tree[:len(j.Tree)-40]; return ann.id() },
		"changed tree":    func(j *group.Joining) group.Device { j.Tree = bytes.Clone(j.Tree); j.Tree[60] ^= 1; return ann.id() },
		"no tree":         func(j *group.Joining) group.Device { j.Tree = nil; return ann.id() },
		"cut":             func(j *group.Joining) group.Device { j.Welcome = j.Welcome[:len(j.Welcome)-1]; return ann.id() },
		"no receipt":      func(j *group.Joining) group.Device { j.Receipt = nil; return ann.id() },
		"forged receipt": func(j *group.Joining) group.Device {
			j.Receipt = (&wire.Receipt{Sig: forged}).Append(nil)
			return ann.id()
		},
	} {
		bad := j
		by := change(&bad)
		ben.refuses(what, group.ErrWelcome, func(tx group.Tx) (*group.Change, error) {
			return ben.eng.Hear(tx, w.now, by, by, word(group.WordWelcome, &bad))
		})
	}
	ben.refuses("rubbish", group.ErrSaid, func(tx group.Tx) (*group.Change, error) {
		return ben.eng.Hear(tx, w.now, ann.id(), ann.person(), []byte{byte(group.WordWelcome), 1, 2, 3})
	})
	ben.refuses("another's key package", group.ErrSaid, func(tx group.Tx) (*group.Change, error) {
		pkg, err := ann.packageFor(ben)
		if err != nil {
			return nil, err
		}
		return ben.eng.Hear(tx, w.now, mal.id(), mal.person(), pkg)
	})
	ben.on = true
	w.settle(time.Hour)
	w.together(id, ann, ben)
	// The same again, long after: it changes nothing.
	before := ben.dump()
	ben.do(func(tx group.Tx) (*group.Change, error) { return ben.eng.Hear(tx, w.now, ann.id(), ann.person(), good) })
	if !bytes.Equal(before, ben.dump()) {
		t.Error("a Welcome that was used changed something")
	}
}

// packageFor makes a word with key packages without keeping it.
func (d *device) packageFor(to *device) (b []byte, err error) {
	err = d.disk.Update(func(tx group.Tx) (err error) {
		b, err = d.eng.Packages(tx, d.w.now, to.id(), 1)
		return err
	})
	return b, err
}

func TestForgedReceipts(t *testing.T) {
	w, id, p := four(t, 51)
	ann := p[0]
	ann.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"})
	for len(ann.slots) == 0 {
		w.now = w.now.Add(time.Second)
		ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Tick(tx, w.now) })
	}
	call := ann.slots[0]
	blob := make([]byte, wire.BlobClasses[2])
	good := w.realm.sign(call.Slot, blob)
	hash := slot.Hash(blob)
	other := *w.realm.sign(wire.BlobID{9}, blob)
	forged := &wire.Receipt{ID: call.Slot, Hash: hash, Sig: key.SignMessage(w.key(), wire.LabelReceipt, call.Slot[:], hash[:])}
	for what, a := range map[string]group.SlotAnswer{
		"by another key":  {Blob: blob, Receipt: forged},
		"for another id":  {Blob: blob, Receipt: &other},
		"of another blob": {Blob: append(bytes.Clone(blob[1:]), 1), Receipt: good},
		"of a past epoch": {Epoch: call.Epoch, Receipt: &wire.Receipt{ID: call.Slot}},
	} {
		a.Group, a.Epoch = id, call.Epoch
		ann.refuses(what, slot.ErrReceipt, func(tx group.Tx) (*group.Change, error) { return ann.eng.Answer(tx, w.now, a) })
	}
	ann.refuses("unknown group", group.ErrUnknown, func(tx group.Tx) (*group.Change, error) {
		return ann.eng.Answer(tx, w.now, group.SlotAnswer{Group: group.ID{1}, Receipt: good})
	})
	w.settle(time.Hour)
	w.together(id, p...)
}

func TestBadCells(t *testing.T) {
	w, id, p := four(t, 52)
	ann, ben := p[0], p[1]
	ann.send(id, "hello")
	c := w.cells[0].copy
	epoch := c.Epoch
	for what, payload := range map[string][]byte{
		"short":  c.Payload[:len(c.Payload)-1],
		"zeros":  make([]byte, group.SealedSize),
		"random": func() []byte { b := make([]byte, group.SealedSize); w.rand.Read(b); return b }(),
		"changed": func() []byte {
			b := bytes.Clone(c.Payload)
			b[700] ^= 1
			return b
		}(),
	} {
		before := ben.dump()
		err := ben.do(func(tx group.Tx) (*group.Change, error) {
			taken, ch, err := ben.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: epoch, Payload: payload})
			if taken != group.Rejected {
				t.Errorf("%s: got %d, want it rejected", what, taken)
			}
			return ch, err
		})
		if err == nil || !bytes.Equal(before, ben.dump()) {
			t.Errorf("%s: got %v, want an error that changes nothing", what, err)
		}
	}
	ben.refuses("another group", group.ErrUnknown, func(tx group.Tx) (*group.Change, error) {
		_, ch, err := ben.eng.Take(tx, w.now, group.Arrival{Group: group.ID{1}, Payload: c.Payload})
		return ch, err
	})
	ben.refuses("another epoch", group.ErrUnknown, func(tx group.Tx) (*group.Change, error) {
		_, ch, err := ben.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: epoch + 1, Payload: c.Payload})
		return ch, err
	})
	ann.refuses("own message", group.ErrOwn, func(tx group.Tx) (*group.Change, error) {
		_, ch, err := ann.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: epoch, Payload: c.Payload})
		return ch, err
	})
	w.settle(time.Hour)
	if ben.got("hello") != 1 {
		t.Error("the true cell was not taken after the false ones")
	}
}

func TestBadWishes(t *testing.T) {
	w, id, p := four(t, 53)
	ann, ben, cat := p[0], p[1], p[2]
	var none key.SignPublic
	for _, c := range []struct {
		what string
		by   *device
		wish roster.Wish
		want error
	}{
		{"a member renames", cat, roster.Wish{Kind: roster.Rename, Text: "x"}, roster.ErrRight},
		{"a member removes", cat, roster.Wish{Kind: roster.Remove, Root: p[3].person()}, roster.ErrRight},
		{"a member promotes themselves", cat, roster.Wish{Kind: roster.Promote, Root: cat.person()}, roster.ErrRight},
		{"a junior demotes a senior", ben, roster.Wish{Kind: roster.Demote, Root: ann.person()}, roster.ErrRight},
		{"of a stranger", ann, roster.Wish{Kind: roster.Promote, Root: key.SignPublic{1}}, roster.ErrNobody},
		{"nobody", ann, roster.Wish{Kind: roster.Remove, Root: none}, roster.ErrWish},
		{"twice", ann, roster.Wish{Kind: roster.Promote, Root: ben.person()}, roster.ErrDone},
		{"a name of two lines", ann, roster.Wish{Kind: roster.Rename, Text: "a\nb"}, roster.ErrWish},
		{"a name that turns around", ann, roster.Wish{Kind: roster.Rename, Text: "a\u202eb"}, roster.ErrWish},
		{"somebody who is in", ann, roster.Wish{Kind: roster.Add, Root: ben.person(), Device: ben.id()}, roster.ErrDone},
		{"a member adds a stranger", cat, roster.Wish{Kind: roster.Add, Root: key.SignPublic{1}, Device: key.SignPublic{1}}, roster.ErrRight},
	} {
		c.by.refuses(c.what, c.want, func(tx group.Tx) (*group.Change, error) { return c.by.eng.Want(tx, w.now, id, c.wish) })
	}
	// An admin who demotes everyone is the last admin, and stays it.
	if err := ann.want(id, roster.Wish{Kind: roster.Demote, Root: ben.person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	ann.refuses("demoting the last admin", roster.ErrLast, func(tx group.Tx) (*group.Change, error) {
		return ann.eng.Want(tx, w.now, id, roster.Wish{Kind: roster.Demote, Root: ann.person()})
	})
	w.together(id, p...)
	// Two groups of one name are two groups.
	if other := ann.create("walks"); other == id {
		t.Error("two groups have one id")
	}
}

// put puts a commit that a member made by hand into the slot of the group's epoch.
func (d *device) put(id group.ID, make func(t group.Tree, s *roster.State) ([]byte, error)) {
	d.w.t.Helper()
	e := d.epoch(id, d.record(id).Head)
	f, err := e.Fixed(group.MLS{}.Fixed)
	if err != nil {
		d.w.t.Fatal(err)
	}
	tree, err := group.MLS{}.Parse(f, e.Secret)
	if err != nil {
		d.w.t.Fatal(err)
	}
	state, err := roster.ParseState(e.State)
	if err != nil {
		d.w.t.Fatal(err)
	}
	s, err := slot.Derive(e.Slot)
	if err != nil {
		d.w.t.Fatal(err)
	}
	content, err := make(tree, state)
	if err != nil {
		d.w.t.Fatal(err)
	}
	blob, err := s.Seal(d.w.rand, state.Class, content)
	if err != nil {
		d.w.t.Fatal(err)
	}
	d.w.realm.blobs[s.ID] = blob
}

// TestBurntSlots (C1, C11, C12): what lies at the slot and is no valid commit stops the
// changes of a group, in words; nobody is removed by it, and messages go on.
func TestBurntSlots(t *testing.T) {
	stage := func(tree group.Tree, w *world, p group.StageParams) ([]byte, error) {
		st, err := tree.Stage(group.Env{Now: w.now, Rand: w.rand}, p)
		if err != nil {
			return nil, err
		}
		return word(0, map[int][]byte{0: st.Commit})[1:], nil
	}
	for what, f := range map[string]func(w *world, p []*device, tree group.Tree, s *roster.State) ([]byte, error){
		"rubbish": func(*world, []*device, group.Tree, *roster.State) ([]byte, error) { return []byte("rubbish"), nil },
		"no wish": func(w *world, _ []*device, tree group.Tree, s *roster.State) ([]byte, error) {
			return stage(tree, w, group.StageParams{Remove: []uint32{0}})
		},
		"no state": func(w *world, _ []*device, tree group.Tree, s *roster.State) ([]byte, error) {
			return stage(tree, w, group.StageParams{})
		},
		"a removal that nobody wished": func(w *world, p []*device, tree group.Tree, s *roster.State) ([]byte, error) {
			e := p[2].epoch(tree.ID(), tree.Epoch())
			d := p[2].record(tree.ID()).Decided
			last := d[len(d)-1]
			c := &roster.Commit{Origin: tree.ID(), State: s, Leaves: e.Roster, Born: s.Born, Slot: roster.Past{ID: last.Slot, Hash: last.Receipt.Hash}}
			for _, l := range e.Roster {
				if l.Device == p[2].id() {
					c.Maker = l
				}
			}
			plan, err := roster.Apply(c)
			if err != nil {
				return nil, err
			}
			b, err := plan.State.Append(nil)
			if err != nil {
				return nil, err
			}
			carried, err := roster.Carry(nil)
			if err != nil {
				return nil, err
			}
			return stage(tree, w, group.StageParams{State: b, Carried: carried, Remove: []uint32{0}})
		},
		"a forged wish": func(w *world, p []*device, tree group.Tree, s *roster.State) ([]byte, error) {
			wish := &roster.Wish{Group: tree.ID(), Kind: roster.Promote, Root: p[2].person(), By: p[0].id()}
			if err := wish.Bind(s, leaves(tree)); err != nil {
				return nil, err
			}
			wish.Sign(p[2].eng.Self.Sign)
			wish.By = p[0].id()
			carried, err := roster.Carry([]*roster.Wish{wish})
			if err != nil {
				return nil, err
			}
			return stage(tree, w, group.StageParams{Carried: carried})
		},
		"without the right": func(w *world, p []*device, tree group.Tree, s *roster.State) ([]byte, error) {
			wish := &roster.Wish{Group: tree.ID(), Kind: roster.Remove, Root: p[0].person(), By: p[2].id()}
			if err := wish.Bind(s, leaves(tree)); err != nil {
				return nil, err
			}
			wish.Sign(p[2].eng.Self.Sign)
			carried, err := roster.Carry([]*roster.Wish{wish})
			if err != nil {
				return nil, err
			}
			next := s.Clone()
			next.Admins = next.Admins[1:]
			b, err := next.Append(nil)
			if err != nil {
				return nil, err
			}
			return stage(tree, w, group.StageParams{Carried: carried, Remove: []uint32{0}, State: b})
		},
	} {
		t.Run(what, func(t *testing.T) {
			w, id, p := four(t, 54)
			cat := p[2]
			cat.put(id, func(tree group.Tree, s *roster.State) ([]byte, error) { return f(w, p, tree, s) })
			p[0].want(id, roster.Wish{Kind: roster.Rename, Text: "runs"})
			w.settle(time.Hour)
			for _, d := range p[:2] {
				r := d.record(id)
				if d == p[0] && (r.State != group.Stopped || len(d.saw(group.EventTrouble)) != 1 || d.saw(group.EventTrouble)[0].Text == "") {
					t.Errorf("%s: got state %d and %+v, want it stopped, and told once", d.name, r.State, d.saw(group.EventTrouble))
				}
				if n := len(d.epoch(id, r.Head).Roster); n != 4 {
					t.Errorf("%s: got %d members, want four", d.name, n)
				}
			}
			p[0].send(id, "still here")
			w.settle(time.Hour)
			for _, d := range p[1:] {
				if d.got("still here") != 1 {
					t.Errorf("%s: got it %d times, want once", d.name, d.got("still here"))
				}
			}
		})
	}
}

// TestStalePackage: a key package that is too old adds nobody; another is asked for.
func TestStalePackage(t *testing.T) {
	w := newWorld(t, 55)
	p := w.people("ann", "ben")
	id := p[0].create("walks")
	w.now = w.now.Add(100 * 24 * time.Hour)
	p[0].start()
	p[0].add(id, p[1])
	w.settle(time.Hour)
	w.together(id, p...)
}

// TestStrangersDoNotRead: what waits for somebody whose keys are gone is not encrypted
// again for people who came later, unless its author says so.
func TestStrangersDoNotRead(t *testing.T) {
	for _, yes := range []bool{true, false} {
		w, id, p := four(t, 56)
		dan := p[3]
		eve := w.device("eve", nil)
		w.stock(append(p, eve)...)
		dan.on = false
		m := p[1].send(id, "about eve")
		w.settle(time.Minute)
		p[0].add(id, eve)
		w.settle(15 * 24 * time.Hour)
		if eve.got("about eve") != 0 {
			t.Error("eve read what was said before she came")
		}
		q := p[1].record(id).Questions
		if len(q) != 1 || q[0].Kind != group.AskWrite || !slices.Contains(q[0].About, eve.person()) {
			t.Fatalf("got questions %+v, want one about eve", q)
		}
		if yes {
			w.text[m] = append(w.text[m], eve.id())
		}
		p[1].must(func(tx group.Tx) (*group.Change, error) { return p[1].eng.Decide(tx, w.now, id, q[0], yes) })
		p[1].refuses("answering twice", group.ErrUnknown, func(tx group.Tx) (*group.Change, error) {
			return p[1].eng.Decide(tx, w.now, id, q[0], yes)
		})
		dan.on = true
		dan.start()
		w.settle(24 * time.Hour)
		if got, want := dan.got("about eve"), btoi(yes); got != want || eve.got("about eve") != 0 {
			t.Errorf("answer %t: got it %d times at dan and %d at eve, want %d and none", yes, got, eve.got("about eve"), want)
		}
		if len(p[1].record(id).Questions) != 0 || len(p[1].rows) != 0 {
			t.Errorf("got %+v and %d rows left, want no question and no row", p[1].record(id).Questions, len(p[1].rows))
		}
	}
}
