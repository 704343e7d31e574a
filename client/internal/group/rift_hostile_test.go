package group_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/whisper"
	"github.com/tacet-chat/tacet/internal/wire"
)

// hears has one device hear a word of another, outside of any schedule.
func (d *device) hears(from *device, kind group.WordKind, v any) {
	d.w.t.Helper()
	err := d.do(func(tx group.Tx) (*group.Change, error) {
		return d.eng.Hear(tx, d.w.now, from.id(), from.person(), word(kind, v))
	})
	if err != nil {
		d.w.t.Fatalf("%s hears word %d of %s: %v", d.name, kind, from.name, err)
	}
}

// claim makes a statement by hand: of the epoch that somebody says they were in, by
// what they say was the order there.
func (d *device) claim(v roster.Statement) (*roster.Statement, group.Told) {
	t := d.w.t
	t.Helper()
	roll := &roster.Roll{Members: []key.SignPublic{d.id()}}
	v.Home, v.Reason, v.Roll = d.w.realm.home, roster.RelayGone, roll.Hash()
	v.Home.Pin = [32]byte{2}
	if v.Stay == 0 {
		v.Stay = ^uint64(0) >> (64 - len(v.Order))
	}
	if err := v.Sign(d.eng.Self.Sign, d.eng.Self.Manifest); err != nil {
		t.Fatal(err)
	}
	var told group.Told
	var err error
	if told.Statement, err = v.Append(nil); err != nil {
		t.Fatal(err)
	}
	if told.Roll, err = roll.Append(nil); err != nil {
		t.Fatal(err)
	}
	return &v, told
}

// forge makes a group by hand, with an id and a state as one likes, and the Welcome of
// somebody to its first epoch.
func (d *device) forge(id, origin group.ID, state *roster.State, guest *device) (group.Tree, *group.Joining) {
	tree, j, _ := d.forgeOwned(id, origin, state, guest)
	return tree, j
}

// forgeOwned is forge with the private half of the forger's route.
func (d *device) forgeOwned(id, origin group.ID, state *roster.State, guest *device) (group.Tree, *group.Joining, []byte) {
	t := d.w.t
	t.Helper()
	env := group.Env{Now: d.w.now, Rand: d.w.rand}
	owner, pub, err := addr.NewOwner(d.w.rand)
	if err != nil {
		t.Fatal(err)
	}
	b, err := state.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf := group.LeafParams{Device: d.eng.Self.Sign, Manifest: d.eng.Self.Manifest.Append(nil),
		Route: &roster.Route{Public: pub, Pin: [32]byte{1}, Period: 1800, Relay: "relay.example"}}
	tree, err := group.MLS{}.Create(env, group.CreateParams{ID: id, Suite: group.SuiteClassic, Leaf: leaf, State: b})
	if err != nil {
		t.Fatal(err)
	}
	var pack []byte
	if err := d.disk.Update(func(tx group.Tx) error {
		all, err := tx.Stock(guest.id())
		for _, p := range all {
			if _, _, s, err := (group.MLS{}).PackageOf(p.Public); err == nil && s == group.SuiteClassic {
				pack = p.Public
			}
		}
		return err
	}); err != nil || pack == nil {
		t.Fatalf("%s has no key package of %s: %v", d.name, guest.name, err)
	}
	st, err := tree.Stage(env, group.StageParams{State: b, Add: [][]byte{pack}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Merge(st); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(pack)
	j := &group.Joining{Group: id, Origin: origin, Epoch: tree.Epoch(), Welcome: st.Welcome, Tree: tree.Public(), Package: h[:]}
	if state.Sole == nil {
		j.Receipt = d.w.realm.sign(wire.BlobID{9}, []byte("whatever")).Append(nil)
	}
	return tree, j, bytes.Clone(owner.Bytes())
}

func (d *device) toward(id group.ID) group.ID { return d.record(id).Rift.Toward }

// tell has devices hear statements from one.
func tell(from *device, origin group.ID, list []group.Told, to ...*device) {
	for _, d := range to {
		d.hears(from, group.WordStatements, &group.Stated{Origin: origin, Said: list})
	}
}

// A statement counts by the order of admins that its receiver knows, whatever its author
// says of it.
func TestAStatementIsJudgedByTheOwnOrder(t *testing.T) {
	w, id, p := four(t, 201)
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	then := ben.record(id).Head
	mark := ben.epoch(id, then).Mark
	if err := ann.remove(id, ben); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	mal := w.device("mal", nil)
	now := ann.record(id).Head
	stay := []*device{ann, cat, dan}
	w.together(id, stay...)
	a, b := ann.person(), ben.person()
	for _, c := range []struct {
		name string
		by   *device
		s    roster.Statement
	}{
		{"an order of its own", ben, roster.Statement{Epoch: then, Mark: mark, Order: []key.SignPublic{b}}},
		{"the order of then", ben, roster.Statement{Epoch: then, Mark: mark, Order: []key.SignPublic{a, b}}},
		{"from long ago", ben, roster.Statement{Epoch: 0, Mark: mark, Order: []key.SignPublic{a, b}}},
		{"from an epoch to come", ben, roster.Statement{Epoch: 1 << 60, Mark: mark, Order: []key.SignPublic{a, b}}},
		{"of now", ben, roster.Statement{Epoch: now, Mark: ann.epoch(id, now).Mark, Order: []key.SignPublic{a, b}}},
		{"a member who is no admin", dan, roster.Statement{Epoch: now, Mark: ann.epoch(id, now).Mark, Order: []key.SignPublic{a, dan.person()}}},
		{"a member from an epoch to come", dan, roster.Statement{Epoch: now + 1, Order: []key.SignPublic{a, dan.person()}}},
		{"a stranger", mal, roster.Statement{Epoch: now, Order: []key.SignPublic{mal.person()}}},
	} {
		c.s.Old, c.s.Origin, c.s.New = id, id, group.ID{9}
		_, told := c.by.claim(c.s)
		tell(c.by, id, []group.Told{told}, stay...)
		for _, d := range stay {
			if r := d.record(id); r.Rift.Toward != (group.ID{}) || r.State != group.Active {
				t.Fatalf("%s: %s goes toward %x, in state %d", c.name, d.name, r.Rift.Toward[:2], r.State)
			}
		}
	}
	// An admin's own counts, and brings its members along.
	_, told := ann.claim(roster.Statement{Old: id, Origin: id, New: group.ID{8}, Epoch: now, Mark: ann.epoch(id, now).Mark, Order: []key.SignPublic{a}})
	tell(ann, id, []group.Told{told}, cat)
	if cat.toward(id) != (group.ID{8}) {
		t.Error("an admin's own statement does not count")
	}
	_, told = ann.claim(roster.Statement{Old: id, Origin: id, New: group.ID{7}, Epoch: now, Mark: [8]byte{1}, Order: []key.SignPublic{a}})
	tell(ann, id, []group.Told{told}, dan)
	if dan.toward(id) != (group.ID{}) {
		t.Error("a statement from another branch counts, though nobody has shown that there is one")
	}
}

// Where the relay signed two contents there may be an order that a device does not know;
// yet only who was an admin here is followed.
func TestWhereThereAreBranchesOnlyKnownAdminsCount(t *testing.T) {
	w, id, p := four(t, 202)
	ann, cat, dan := p[0], p[2], p[3]
	now := cat.record(id).Head
	if err := cat.disk.Update(func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		d := &r.Decided[len(r.Decided)-1]
		d.Second = w.realm.sign(d.Slot, []byte("another"))
		d.Settled = true
		return tx.PutGroup(r)
	}); err != nil {
		t.Fatal(err)
	}
	order := []key.SignPublic{ann.person(), dan.person()}
	_, told := dan.claim(roster.Statement{Old: id, Origin: id, New: group.ID{9}, Epoch: now, Order: order})
	tell(dan, id, []group.Told{told}, cat)
	if cat.toward(id) != (group.ID{}) {
		t.Error("somebody who never was an admin here makes the group again")
	}
	_, told = ann.claim(roster.Statement{Old: id, Origin: id, New: group.ID{8}, Epoch: now, Mark: [8]byte{1}, Order: order})
	tell(ann, id, []group.Told{told}, cat)
	if cat.toward(id) != (group.ID{8}) {
		t.Error("the admin from the other branch is not followed")
	}
}

// A junior admin does not leave a senior out, and a senior who is not let in overrules.
func TestAJuniorLeavesNoSeniorOut(t *testing.T) {
	w, id, p := four(t, 203)
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	now := ben.record(id).Head
	s := roster.Statement{Old: id, Origin: id, New: group.ID{9}, Epoch: now, Mark: ben.epoch(id, now).Mark, Order: []key.SignPublic{ann.person(), ben.person()}}
	s.Stay = 2
	_, told := ben.claim(s)
	tell(ben, id, []group.Told{told}, ann, cat, dan)
	for _, d := range []*device{ann, cat, dan} {
		if d.toward(id) != (group.ID{}) {
			t.Fatalf("%s goes where Ann is not to be", d.name)
		}
	}
	// Nor does he rise by an order of his own.
	s.Stay, s.New, s.Order = 3, group.ID{7}, []key.SignPublic{ben.person(), ann.person()}
	_, told = ben.claim(s)
	tell(ben, id, []group.Told{told}, cat)
	if cat.toward(id) != (group.ID{}) {
		t.Fatal("an order that is not the known one counts")
	}
	s.Order = []key.SignPublic{ann.person(), ben.person()}
	// He names her, and never lets her in.
	s.Stay, s.New = 3, group.ID{8}
	_, told = ben.claim(s)
	ben.on = false
	tell(ben, id, []group.Told{told}, ann, cat, dan)
	if ann.record(id).Rift.Why != group.StopRemade || cat.toward(id) != (group.ID{8}) {
		t.Fatal("a statement that leaves nobody out does not count")
	}
	w.settle(2 * time.Hour)
	q := ann.question(id, group.AskFollow)
	if q == nil {
		t.Fatal("Ann is not asked whether to wait")
	}
	ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Decide(tx, w.now, id, *q, false) })
	if q = ann.question(id, group.AskRemake); q == nil {
		t.Fatal("Ann is not asked whether to overrule")
	}
	ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Decide(tx, w.now, id, *q, true) })
	ben.on = true
	w.settle(2 * time.Hour)
	var next group.ID
	for _, d := range p {
		if d.record(id).State != group.Replaced {
			t.Fatalf("%s is still in the old group, in state %d", d.name, d.record(id).State)
		}
		next = d.record(id).Next
	}
	w.together(next, p...)
	if next == (group.ID{8}) {
		t.Error("they went where Ann is not")
	}
}

// question is what somebody is asked of a kind; nil: nothing.
func (d *device) question(id group.ID, k group.QuestionKind) *group.Question {
	for _, q := range d.record(id).Questions {
		if q.Kind == k {
			return &q
		}
	}
	return nil
}

// A successor into which nobody lets a device does not hold it up for ever.
func TestWhoIsNotLetInGoesOn(t *testing.T) {
	w, id, p := four(t, 204)
	ann, ben, cat := p[0], p[1], p[2]
	now := ben.record(id).Head
	_, told := ben.claim(roster.Statement{Old: id, Origin: id, New: group.ID{9}, Epoch: now, Mark: ben.epoch(id, now).Mark, Order: []key.SignPublic{ann.person(), ben.person()}})
	ben.on = false
	tell(ben, id, []group.Told{told}, ann, cat, p[3])
	if err := ann.want(id, roster.Wish{Kind: roster.Rename, Text: "hikes"}); err != nil {
		t.Fatal(err)
	}
	w.settle(23 * time.Hour)
	if ann.record(id).Rift.Why != group.StopRemade || ann.record(id).Name != "walks" {
		t.Fatalf("it does not wait: %d, %q", ann.record(id).Rift.Why, ann.record(id).Name)
	}
	w.settle(3 * time.Hour)
	for _, d := range []*device{ann, cat} {
		if r := d.record(id); r.State != group.Active || r.Name != "hikes" {
			t.Errorf("%s: state %d, %q after a day", d.name, r.State, r.Name)
		}
	}
}

// A group that says of itself that it is the successor of another comes into no
// conversation, unless its statement counts.
func TestNobodyWritesIntoAnotherConversation(t *testing.T) {
	w, id, p := four(t, 205)
	ben := p[1]
	mal := w.device("mal", nil)
	w.stock(ben, mal)
	for i, old := range []group.ID{id, {7}} {
		next := group.ID{9, byte(i)}
		s, told := mal.claim(roster.Statement{Old: old, Origin: id, New: next, Epoch: 1, Order: []key.SignPublic{mal.person()}})
		_, j := mal.forge(next, id, &roster.State{Name: "walks", Home: s.Home, Class: 2, Born: 20833, Admins: s.Order, Origin: told.Statement}, ben)
		ben.refuses("an invitation to a stranger's successor", group.ErrWelcome, func(tx group.Tx) (*group.Change, error) {
			return ben.eng.Hear(tx, w.now, mal.id(), mal.person(), word(group.WordWelcome, j))
		})
	}
	// Nor once Ben has left: then only an admin whom he knows from there brings him back.
	if err := ben.want(id, roster.Wish{Kind: roster.Leave, Root: ben.person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	s, told := mal.claim(roster.Statement{Old: group.ID{7}, Origin: id, New: group.ID{9, 9}, Epoch: 1, Order: []key.SignPublic{mal.person()}})
	_, j := mal.forge(group.ID{9, 9}, id, &roster.State{Name: "walks", Home: s.Home, Class: 2, Born: 20833, Admins: s.Order, Origin: told.Statement}, ben)
	ben.refuses("an invitation after leaving", group.ErrWelcome, func(tx group.Tx) (*group.Change, error) {
		return ben.eng.Hear(tx, w.now, mal.id(), mal.person(), word(group.WordWelcome, j))
	})
}

// An invitation to a successor that counts, and is not the one to follow: nothing is
// shown of it, and nothing taken there.
func TestALosingSuccessorIsSilent(t *testing.T) {
	w, id, p := four(t, 206)
	ann, ben, cat := p[0], p[1], p[2]
	now := ben.record(id).Head
	order := []key.SignPublic{ann.person(), ben.person()}
	mark := ben.epoch(id, now).Mark
	senior, first := ann.claim(roster.Statement{Old: id, Origin: id, New: group.ID{8}, Epoch: now, Mark: mark, Order: order})
	_, j := ann.forge(group.ID{8}, id, &roster.State{Name: "walks", Home: senior.Home, Class: 2, Born: 20833, Admins: order, Origin: first.Statement}, cat)
	cat.hears(ann, group.WordWelcome, j)
	if cat.record(group.ID{8}).State != group.Active || cat.record(id).State != group.Replaced {
		t.Fatal("the successor that counts is not entered")
	}
	if at := cat.current(id); at != (group.ID{8}) {
		t.Errorf("the conversation goes on in %x", at[:2])
	}
	ann.on, ben.on = false, false
	w.give(cat, ben)
	ben.on = true
	w.settle(time.Minute)
	ben.on = false
	junior, second := ben.claim(roster.Statement{Old: id, Origin: id, New: group.ID{9}, Epoch: now, Mark: mark, Order: order})
	_, j = ben.forge(group.ID{9}, id, &roster.State{Name: "walks", Home: junior.Home, Class: 2, Born: 20833, Admins: order, Origin: second.Statement}, cat)
	n := len(cat.saw(group.EventJoined)) + len(cat.saw(group.EventAgain))
	cat.hears(ben, group.WordWelcome, j)
	if got := len(cat.saw(group.EventJoined)) + len(cat.saw(group.EventAgain)); got != n || cat.current(id) != (group.ID{8}) {
		t.Errorf("%d events of a successor that loses; the conversation goes on in %x", got-n, cat.current(id))
	}
	c := make([]byte, group.SealedSize) // whatever it is
	err := cat.do(func(tx group.Tx) (*group.Change, error) {
		_, ch, err := cat.eng.Take(tx, w.now, group.Arrival{Group: group.ID{9}, Epoch: 1, Payload: c})
		return ch, err
	})
	if !errors.Is(err, group.ErrLeft) {
		t.Errorf("a cell of a group in which this device never was: got %v", err)
	}
}

// current is where a conversation goes on.
func (d *device) current(origin group.ID) (id group.ID) {
	d.w.t.Helper()
	if err := d.disk.Update(func(tx group.Tx) (err error) {
		id, err = d.eng.Current(tx, origin)
		return err
	}); err != nil {
		d.w.t.Fatalf("%s: current: %v", d.name, err)
	}
	return id
}

// A device that came in after the group was made again believes what its state says of
// the past, and no stranger.
func TestALateJoinerFollowsNoStranger(t *testing.T) {
	w := newWorld(t, 207)
	p := w.people("ann", "ben")
	ann, ben := p[0], p[1]
	old, next := group.ID{8}, group.ID{9}
	cyd := w.device("cyd", nil)
	order := []key.SignPublic{ann.person(), cyd.person()}
	s, told := ann.claim(roster.Statement{Old: old, Origin: old, New: next, Epoch: 5, Order: order})
	_, j := ann.forge(next, old, &roster.State{Name: "walks", Home: s.Home, Class: 2, Born: 20833, Admins: order[:1], Origin: told.Statement}, ben)
	ben.hears(ann, group.WordWelcome, j)
	if ben.record(next).State != group.Active {
		t.Fatal("the successor is not entered")
	}
	mal := w.device("mal", nil)
	for i := range byte(12) { // ties go to the smaller hash, which can be ground
		for _, by := range []*device{mal, ben} {
			_, x := by.claim(roster.Statement{Old: old, Origin: old, New: group.ID{10, i}, Epoch: 5, Order: []key.SignPublic{by.person()}})
			tell(mal, old, []group.Told{x}, ben)
		}
	}
	if r := ben.record(next); r.Rift.Toward != (group.ID{}) || r.State != group.Active {
		t.Errorf("it goes toward %x", r.Rift.Toward[:2])
	}
	// An admin of then is followed, if it stands before the author.
	ann.on = false
	_, x := cyd.claim(roster.Statement{Old: old, Origin: old, New: group.ID{11}, Epoch: 5, Order: order})
	tell(cyd, old, []group.Told{x}, ben)
	if ben.toward(next) != (group.ID{}) {
		t.Error("a junior's successor is followed")
	}
	for i := range byte(20) { // of one author the smaller hash
		_, x = ann.claim(roster.Statement{Old: old, Origin: old, New: group.ID{12, i}, Epoch: 5, Order: order})
		tell(cyd, old, []group.Told{x}, ben)
		if ben.toward(next) != (group.ID{}) {
			return
		}
	}
	t.Error("the senior's other successor is not followed")
}

// A yes is about those whom the person was shown.
func TestAYesIsAboutThoseWhoWereNamed(t *testing.T) {
	w, id, p := four(t, 208)
	ann, ben, cat := p[0], p[1], p[2]
	eve, mal := w.device("eve", nil), w.device("mal", nil)
	w.stock(append(p, eve, mal)...)
	cat.on = false
	w.text = nil
	ben.send(id, "for the four of us")
	w.settle(time.Minute)
	ann.add(id, eve)
	w.settle(15 * 24 * time.Hour) // the epoch in which it was said goes
	q := ben.question(id, group.AskWrite)
	if q == nil {
		t.Fatal("Ben is not asked")
	}
	ann.add(id, mal)
	w.settle(10 * time.Minute)
	ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Decide(tx, w.now, id, *q, true) })
	m := ben.waiting(id)[0]
	saw := func(d *device) bool {
		return slices.ContainsFunc(m.Saw, func(l roster.Leaf) bool { return l.Root == d.person() })
	}
	if !saw(eve) || saw(mal) {
		t.Errorf("after a yes about Eve: Eve %v, Mal %v", saw(eve), saw(mal))
	}
	again := ben.question(id, group.AskWrite)
	if again == nil || !slices.Equal(again.About, []key.SignPublic{mal.person()}) || again.ID == q.ID {
		t.Fatalf("Ben is not asked about Mal alone: %+v", again)
	}
	if err := ben.do(func(tx group.Tx) (*group.Change, error) { return ben.eng.Decide(tx, w.now, id, *q, true) }); err == nil {
		t.Error("the first question is answered twice")
	}
	ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Decide(tx, w.now, id, *again, true) })
	if m = ben.waiting(id)[0]; !saw(mal) || m.Epoch == ^uint64(0) {
		t.Error("the text is held after both")
	}
}

func (d *device) waiting(id group.ID) (out []*group.Message) {
	d.disk.Update(func(tx group.Tx) (err error) {
		out, err = tx.Messages(id)
		return err
	})
	return out
}

// A member who is no admin holds nobody up, and who is to be removed neither.
func TestAQuestionHoldsUpNoRemoval(t *testing.T) {
	w, id, p := four(t, 209)
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	ask := func(who *device, why group.StopReason) {
		for _, d := range p {
			if d != who && d.record(id).State == group.Active {
				d.hears(who, group.WordQuestion, &group.Inquiry{Group: id, Ask: [16]byte{1}, Head: who.record(id).Head, Why: why})
			}
		}
		w.settle(time.Minute)
	}
	for _, who := range []*device{dan, ben} { // no admin; a junior where nobody commits alone
		ask(who, group.StopSole)
		ask(who, group.StopGone)
		ask(who, group.StopTwo)
		for _, d := range p {
			if r := d.record(id); r.Rift.Why != 0 {
				t.Errorf("%s asked, and %s stops: %d", who.name, d.name, r.Rift.Why)
			}
		}
	}
	// The relay is away; the removal of who asks waits: it is put as soon as it can be.
	w.realm.away = true
	if err := ann.remove(id, ben); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Minute)
	ask(ben, group.StopGone)
	if r := ann.record(id); r.Rift.Why != 0 {
		t.Errorf("Ann stops at the word of whom she removes: %d", r.Rift.Why)
	}
	w.realm.away = false
	w.settle(10 * time.Minute)
	w.together(id, ann, cat, dan)
}

// Who promised to commit nothing does not even put what it had made before.
func TestAPromiseHoldsBackAStagedCommit(t *testing.T) {
	w, id, p := four(t, 210)
	ann, ben := p[0], p[1]
	w.realm.away = true
	w.drop = func(from, to *device) bool { return from == ben } // nobody else does it
	if err := ben.remove(id, p[3]); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Minute) // its read is not answered: nothing is made
	w.realm.away = false
	ben.slots = nil
	head := ben.record(id).Head
	made := func() bool { return ben.epoch(id, head).End.Staged != nil }
	for range 100 {
		if made() {
			break
		}
		w.now = w.now.Add(5 * time.Second)
		ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Tick(tx, w.now) })
		for _, s := range ben.slots {
			if s.Put == nil {
				a := w.realm.answer(s)
				ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Answer(tx, w.now, a) })
				break
			}
		}
	}
	if !made() {
		t.Fatal("Ben makes no commit")
	}
	// The relay goes before the put; Ann asks, and Ben, who has not heard of it for an
	// hour either, promises.
	ben.slots = nil
	w.realm.away = true
	ben.on = false
	w.settle(70 * time.Minute)
	ben.on = true
	ben.hears(p[2], group.WordQuestion, &group.Inquiry{Group: id, Ask: [16]byte{2}, Head: head, Why: group.StopGone})
	w.settle(time.Minute)
	if r := ben.record(id); r.Rift.Why != 0 {
		t.Fatalf("Ben promises to somebody who is no admin: %d", r.Rift.Why)
	}
	ben.hears(ann, group.WordQuestion, &group.Inquiry{Group: id, Ask: [16]byte{1}, Head: head, Why: group.StopGone})
	w.settle(time.Minute)
	if r := ben.record(id); r.Rift.Why != group.StopAsked {
		t.Fatalf("Ben does not promise: %d", r.Rift.Why)
	}
	w.realm.away = false
	puts := w.realm.puts
	w.settle(50 * time.Minute)
	if ben.record(id).Head != head {
		t.Error("it commits within the hour that it promised")
	}
	if w.realm.puts != puts {
		t.Errorf("%d puts within the hour that it promised", w.realm.puts-puts)
	}
	w.settle(time.Hour)
	if ben.record(id).Head == head {
		t.Error("after the hour it does not go on")
	}
}

// What strangers say costs nothing: it is not kept, and not passed on.
func TestStrangersStatementsAreNotKept(t *testing.T) {
	w, id, p := four(t, 211)
	ann, dan := p[0], p[3]
	mal := w.device("mal", nil)
	before := ann.disk.Size()
	ann.words = nil
	now := ann.record(id).Head
	for i := range byte(80) {
		for _, old := range []group.ID{id, {7}} {
			_, x := mal.claim(roster.Statement{Old: old, Origin: id, New: group.ID{9, i}, Epoch: uint64(i), Order: []key.SignPublic{mal.person()}})
			ann.hears(mal, group.WordStatements, &group.Stated{Origin: id, Said: []group.Told{x}})
		}
	}
	if n, words := ann.disk.Size()-before, len(ann.words); n > 4096 || words > 0 {
		t.Errorf("a stranger's words take %d bytes and make %d words", n, words)
	}
	// A member's that may come to count: a few, and no two of one author.
	before = ann.disk.Size()
	for i := range byte(80) {
		_, x := dan.claim(roster.Statement{Old: id, Origin: id, New: group.ID{9, i}, Epoch: now + 1 + uint64(i), Order: []key.SignPublic{ann.person(), dan.person()}})
		ann.hears(dan, group.WordStatements, &group.Stated{Origin: id, Said: []group.Told{x}})
		_, x = dan.claim(roster.Statement{Old: group.ID{7, i}, Origin: id, New: group.ID{10, i}, Epoch: 1, Order: []key.SignPublic{dan.person()}})
		ann.hears(dan, group.WordStatements, &group.Stated{Origin: id, Said: []group.Told{x}})
	}
	if n := len(ann.record(id).Rift.Statements); n > 8 || len(ann.words) > 0 {
		t.Errorf("%d statements are kept, %d words said", n, len(ann.words))
	}
	if n := ann.disk.Size() - before; n > 64<<10 {
		t.Errorf("a member's words take %d bytes", n)
	}
	r := ann.record(id)
	if r.State != group.Active || r.Rift.Toward != (group.ID{}) {
		t.Errorf("Ann goes somewhere: %+v", r.Rift)
	}
}

// Where one device commits a member can hand somebody their own text as a commit: it is
// none, and puts nobody outside.
func TestAnOwnTextIsNoCommit(t *testing.T) {
	w := newWorld(t, 212)
	mal, ben := w.device("mal", nil), w.device("ben", nil)
	w.stock(ben, mal)
	sole, id := mal.id(), group.ID{7}
	_, j, owner := mal.forgeOwned(id, id, &roster.State{Name: "walks", Home: w.realm.home, Class: 2, Born: 20833, Admins: []key.SignPublic{mal.person()}, Sole: &sole}, ben)
	ben.hears(mal, group.WordWelcome, j)
	n := len(w.cells)
	w.text = nil
	ben.send(id, "hello")
	message := w.cells[n].copy.Payload
	content := append(make([]byte, 24), word(0, map[int][]byte{0: message})[1:]...)
	object := word(group.WordKind(group.ObjectBlob), map[int]any{0: uint64(1), 2: content})
	e := ben.epoch(id, 1)
	say := whisper.Line{Group: id, Epoch: 1, Secret: e.Whisper, Owner: owner}
	for i, l := range e.Roster {
		end := whisper.End{Leaf: l.Index, Device: l.Device, Route: addr.Public(e.Routes[i])}
		if l.Device == sole {
			say.From = end
		} else {
			say.To = end
		}
	}
	of := uint16((len(object) + group.PieceRoom - 1) / group.PieceRoom)
	var last error
	for i := range of {
		piece := group.Piece{Object: [16]byte{1}, Place: i, Of: of, Bytes: object[int(i)*group.PieceRoom : min(len(object), int(i+1)*group.PieceRoom)]}
		said := group.Said{Kind: group.SaidPiece, Head: 1, Low: ^uint64(0), Mark: e.Mark, Body: piece.Append(nil)}
		plain, err := said.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := say.Seal(w.rand, append(plain, make([]byte, whisper.PlainSize-len(plain))...))
		if err != nil {
			t.Fatal(err)
		}
		last = ben.do(func(tx group.Tx) (*group.Change, error) {
			_, ch, err := ben.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: 1, Payload: payload})
			return ch, err
		})
	}
	if !errors.Is(last, group.ErrSaid) || ben.record(id).State != group.Active {
		t.Errorf("got %v, state %d", last, ben.record(id).State)
	}
}
