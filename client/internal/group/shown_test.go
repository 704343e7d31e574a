package group_test

import (
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// shows has a device show a removal to another.
func (d *device) shows(to *device, id group.ID, s *roster.Shown) {
	d.w.t.Helper()
	b, err := s.Append(nil)
	if err != nil {
		d.w.t.Fatal(err)
	}
	if err := to.hear(d, word(group.WordShown, &group.Removals{Group: id, Removed: [][]byte{b}})); err != nil {
		d.w.t.Fatal(err)
	}
}

func (d *device) change(id group.ID, f func(*group.Record)) {
	d.disk.Update(func(tx group.Tx) error {
		r, err := tx.Group(id)
		if err != nil {
			return err
		}
		f(r)
		return tx.PutGroup(r)
	})
}

// TestAnOldRemovalShownThrowsNobodyOut: of a member who left and came back, by a
// stranger or a member, to themselves or to others, whatever state they are in.
func TestAnOldRemovalShownThrowsNobodyOut(t *testing.T) {
	w, id, p := four(t, 82)
	ann, cat, dan := p[0], p[2], p[3]
	if err := cat.want(id, roster.Wish{Kind: roster.Leave, Root: cat.person()}); err != nil {
		t.Fatal(err)
	}
	old := &roster.Shown{Group: id, Epoch: 1 << 60, Wish: cat.record(id).Wishes[0].Wish, Manifest: cat.eng.Self.Manifest.Append(nil)}
	w.settle(time.Hour)
	w.give(cat, ann)
	w.settle(time.Minute)
	ann.add(id, cat)
	w.settle(time.Hour)
	w.together(id, p...)
	mal := w.device("mal", nil)
	for _, by := range []*device{mal, dan} {
		for _, to := range []*device{ann, cat} {
			n := len(to.record(id).Rift.Gone)
			by.shows(to, id, old)
			if r := to.record(id); r.State != group.Active || len(r.Rift.Gone) != n {
				t.Errorf("shown to %s by %s: state %d, %d removals are kept, were %d", to.name, by.name, r.State, len(r.Rift.Gone), n)
			}
		}
	}
	cat.change(id, func(r *group.Record) { r.State = group.Behind })
	dan.shows(cat, id, old)
	if r := cat.record(id); r.State != group.Behind {
		t.Errorf("cat, who lost her way: state %d", r.State)
	}

	// The wish to remove her as she is now, in place of the old one, puts her out then;
	// by a stranger's word not.
	s, err := roster.ParseState(cat.epoch(id, cat.record(id).Head).State)
	if err != nil {
		t.Fatal(err)
	}
	wish := &roster.Wish{Group: id, ID: roster.WishID{1}, Kind: roster.Remove, Root: cat.person(), By: ann.id()}
	if err := wish.Bind(s, cat.epoch(id, cat.record(id).Head).Roster); err != nil {
		t.Fatal(err)
	}
	wish.Sign(ann.eng.Self.Sign)
	b, err := wish.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := &roster.Shown{Group: id, Epoch: 1 << 60, Wish: b, Manifest: ann.eng.Self.Manifest.Append(nil)}
	mal.shows(cat, id, now)
	if r := cat.record(id); r.State != group.Behind {
		t.Errorf("by a stranger: state %d", r.State)
	}
	dan.shows(cat, id, now)
	if r := cat.record(id); r.State != group.Out {
		t.Errorf("by a member: state %d", r.State)
	}
}

// TestTheRemovalOfWhoWasAwayIsShown: whom nothing at a slot can tell any more is shown that it was
// removed. What it wrote is told as not sent; what it has stays readable for 14 days.
func TestTheRemovalOfWhoWasAwayIsShown(t *testing.T) {
	w, id, p := four(t, 83)
	ann, ben, cat := p[0], p[1], p[2]
	cat.on = false
	w.drop = func(from, _ *device) bool { return from == cat }
	m := cat.send(id, "still there?")
	if err := ann.remove(id, cat); err != nil {
		t.Fatal(err)
	}
	head := cat.record(id).Head
	w.settle(16 * 24 * time.Hour)
	for b := range w.realm.blobs {
		w.realm.lost[b] = true
	}
	cat.on, w.drop = true, nil
	cat.start()
	w.settle(time.Hour)
	r := cat.record(id)
	if r.State != group.Out || len(cat.saw(group.EventOut)) != 1 {
		t.Fatalf("state %d, told %d times", r.State, len(cat.saw(group.EventOut)))
	}
	if u := cat.saw(group.EventUnsent); len(u) != 1 || u[0].Message != m || u[0].Reached != 0 || u[0].Of != 3 {
		t.Errorf("what was written is told as %+v", u)
	}
	if ben.got("still there?") != 0 || len(cat.rows) != 0 {
		t.Errorf("shown %d times, %d rows are left", ben.got("still there?"), len(cat.rows))
	}
	if cat.epoch(id, head) == nil || len(cat.routes()) == 0 {
		t.Error("what it had is not readable")
	}
	w.settle(15 * 24 * time.Hour)
	if cat.epoch(id, head) != nil || len(cat.routes()) != 0 || cat.record(id) == nil {
		t.Error("it is there for ever, or its name is gone")
	}
}

// TestRevokedIsForGood: a device that its person revoked comes in again by an admin who
// does not know. Who does says nothing to it, and has it removed.
func TestRevokedIsForGood(t *testing.T) {
	w, id, p := four(t, 93)
	ann, ben, cat := p[0], p[1], p[2]
	phone, eve := w.device("cat's phone", cat), w.device("eve", nil)
	all := append(append([]*device(nil), p...), phone, eve)
	w.stock(all...)
	cat.add(id, phone)
	w.settle(time.Hour)
	devs := append([]manifest.Device(nil), cat.eng.Self.Manifest.Devices...)
	for i := range devs {
		devs[i].Revoked = devs[i].Sign == phone.id()
	}
	next := w.sign(cat.root, cat.eng.Self.Manifest, devs...)
	cat.eng.Self.Manifest = next
	ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Manifest(tx, w.now, next) })
	w.settle(7 * time.Hour) // nobody says anything to it: it reads the slot
	if phone.record(id).State != group.Out {
		t.Fatal("the phone is in")
	}
	if err := ann.want(id, roster.Wish{Kind: roster.Add, Root: cat.person(), Device: phone.id()}); err != roster.ErrEvidence {
		t.Errorf("ann, who knows, adds it: %v", err)
	}
	ann.add(id, eve)
	w.settle(time.Hour)
	if err := ann.want(id, roster.Wish{Kind: roster.Promote, Root: eve.person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	for _, d := range p { // nobody who knows commits for a while, nor does eve hear of it
		d.change(id, func(r *group.Record) {
			r.State, r.Rift.Why, r.Rift.Until = group.Stopped, group.StopAsked, w.now.Add(50*time.Minute).Unix()
		})
	}
	w.drop = func(_, to *device) bool { return to == eve }
	w.text = nil
	eve.add(id, phone)
	w.settle(10 * time.Minute)
	in := false
	for _, l := range ben.epoch(id, ben.record(id).Head).Roster {
		in = in || l.Device == phone.id()
	}
	if !in {
		t.Fatal("eve does not get it in: the test proves nothing")
	}
	ben.send(id, "secret")
	w.settle(time.Minute)
	w.drop = nil
	w.settle(8 * time.Hour)
	if phone.got("secret") != 0 {
		t.Error("the revoked phone reads")
	}
	if eve.got("secret") != 1 {
		t.Error("eve does not")
	}
	for _, l := range ben.epoch(id, ben.record(id).Head).Roster {
		if l.Device == phone.id() {
			t.Error("the revoked phone is in the tree")
		}
	}
}

// TestWhoWasTakenOutIsNotLetInByItsOwnWord: to an admin who came in since, the word of a
// device that it is another one of a member is an old word.
func TestWhoWasTakenOutIsNotLetInByItsOwnWord(t *testing.T) {
	w, id, p := four(t, 94)
	ann, cat := p[0], p[2]
	phone, eve := w.device("cat's phone", cat), w.device("eve", nil)
	w.stock(append(append([]*device(nil), p...), phone, eve)...)
	cat.add(id, phone)
	w.settle(time.Hour)
	if err := ann.want(id, roster.Wish{Kind: roster.Remove, Root: cat.person(), Device: phone.id()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	ann.add(id, eve)
	w.settle(time.Hour)
	if err := ann.want(id, roster.Wish{Kind: roster.Promote, Root: eve.person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	if err := eve.hear(phone, word(group.WordEnter, &group.Enter{Group: id, Package: eve.stockOf(phone, group.SuiteClassic)})); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	in := func() (in bool) {
		for _, l := range ann.epoch(id, ann.record(id).Head).Roster {
			in = in || l.Device == phone.id()
		}
		return in
	}
	if in() || len(eve.record(id).Wishes) != 0 {
		t.Errorf("in %t, %d wishes", in(), len(eve.record(id).Wishes))
	}
	ann.add(id, phone) // who has the right wants it
	w.settle(time.Hour)
	if !in() {
		t.Error("an admin cannot add it any more")
	}
}
