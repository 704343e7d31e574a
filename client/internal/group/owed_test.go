package group_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/whisper"
)

// line is the way on which one member whispers to another in the newest epoch.
func (d *device) line(id group.ID, to *device) *whisper.Line {
	e := d.epoch(id, d.record(id).Head)
	l := &whisper.Line{Group: id, Epoch: e.Number, Secret: e.Whisper, Owner: e.Own}
	for i, x := range e.Roster {
		end := whisper.End{Leaf: x.Index, Device: x.Device, Route: addr.Public(e.Routes[i])}
		switch x.Device {
		case d.id():
			l.From = end
		case to.id():
			l.To = end
		}
	}
	return l
}

// says has a member whisper what it likes.
func (d *device) says(id group.ID, to *device, s *group.Said) {
	d.w.t.Helper()
	plain, err := s.Append(nil)
	if err != nil {
		d.w.t.Fatal(err)
	}
	l := d.line(id, to)
	b, err := l.Seal(d.w.rand, plain)
	if err != nil {
		d.w.t.Fatal(err)
	}
	to.must(func(tx group.Tx) (*group.Change, error) {
		_, ch, err := to.eng.Take(tx, d.w.now, group.Arrival{Group: id, Epoch: l.Epoch, Payload: b})
		return ch, err
	})
}

func (w *world) acks(from *device) (n int) {
	for _, c := range w.cells {
		if c.from == from && !c.copy.Urgent {
			n++
		}
	}
	return n
}

// TestAcksAreGathered: many texts are acked by one whisper, some while later, and to
// somebody who is not wanted much later.
func TestAcksAreGathered(t *testing.T) {
	w, id, p := four(t, 97)
	ann, ben, cat := p[0], p[1], p[2]
	ben.eng.AckMean = 2 * time.Minute
	for range 20 {
		ann.send(id, "hello")
	}
	cells := w.cells
	w.cells = nil
	for _, c := range cells {
		if c.copy.To == ben.id() {
			w.deliver(c)
			w.deliver(c) // what comes again is not acked apart
		}
	}
	if n := w.acks(ben); n != 0 {
		t.Errorf("got %d acks at once, want none", n)
	}
	if o := ben.record(id).Owes; len(o) != 1 || len(o[0].Acks) != 20*16 || o[0].At < w.now.Unix() || o[0].At > w.now.Unix()+600 {
		t.Errorf("got %+v, want 20 acks owed to one, within ten minutes", o)
	}
	ben.start() // what is owed is owed after a crash
	w.settle(11 * time.Minute)
	waits := 0
	for k := range ann.rows {
		if ann.rows[k].To == ben.id() {
			waits++
		}
	}
	if waits != 0 {
		t.Errorf("%d rows are left", waits)
	}
	// Somebody who is blocked here learns of it within a day, and not today's hour.
	cat.eng.AckMean = 2 * time.Minute
	cat.eng.Unwanted = func(_ group.Tx, root key.SignPublic) (bool, error) { return root == ann.person(), nil }
	far := 0
	for range 6 {
		ann.send(id, "and you?")
		w.settle(0)
		o := cat.record(id).Owes
		if len(o) != 1 {
			t.Fatalf("got %+v, want one", o)
		}
		if o[0].At-w.now.Unix() > 600 {
			far++
		}
		w.settle(25 * time.Hour)
	}
	if far == 0 {
		t.Error("who is blocked is acked as fast as any other")
	}
	w.settle(time.Hour)
	if len(ann.rows) != 0 {
		t.Errorf("%d rows are left", len(ann.rows))
	}
}

// TestNobodyIsPingedSilently: who asks again and again is told once.
func TestNobodyIsPingedSilently(t *testing.T) {
	w, id, p := four(t, 98)
	ann, ben := p[0], p[1]
	head := ben.record(id).Head
	for i := range 30 {
		ann.says(id, ben, &group.Said{Kind: group.SaidAck, Flags: 1, Head: head + uint64(i), Low: ^uint64(0), Mark: ben.epoch(id, head).Mark})
	}
	if n := w.acks(ben); n > 1 {
		t.Errorf("got %d answers, want one at most", n)
	}
}

// TestReadsAtWill: a member's word that a newer epoch is there, or of another branch,
// has the slot read once; when nothing lies there the next such read waits.
func TestReadsAtWill(t *testing.T) {
	w, id, p := four(t, 99)
	ann, ben := p[0], p[1]
	w.settle(time.Hour)
	head := ben.record(id).Head
	w.settle(0)
	before := w.realm.reads
	for i := range 20 {
		s := &group.Said{Kind: group.SaidAck, Head: ^uint64(0) - uint64(20-i), Low: ^uint64(0)}
		if i%2 == 1 {
			s.Head = head // and another mark
		}
		ann.says(id, ben, s)
		w.settle(0)
		w.settle(10 * time.Second)
	}
	if n := w.realm.reads - before; n > 1 {
		t.Errorf("got %d reads of an empty slot in some minutes, want one", n)
	}
	if r := ben.record(id); r.Prompt < w.now.Unix()+300 {
		t.Errorf("the next is allowed in %d s, want it some minutes later", r.Prompt-w.now.Unix())
	}
	// Honest news counts all the same: by the own look at the latest.
	if err := ann.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"}); err != nil {
		t.Fatal(err)
	}
	w.settle(7 * time.Hour)
	w.together(id, p...)
}

// TestRemovedWrites: what a member says after its removal is shown with words, and not
// at all an hour later; neither taken nor acked.
func TestRemovedWrites(t *testing.T) {
	w, id, p := four(t, 72)
	ann, ben, cat, dan := p[0], p[1], p[2], p[3]
	cat.on, dan.on = false, false // cat keeps the epoch
	if err := ann.remove(id, dan); err != nil {
		t.Fatal(err)
	}
	w.settle(20 * time.Minute)
	dan.send(id, "early")
	w.settle(0)
	for _, d := range []*device{ann, ben} {
		if d.got("early") != 1 {
			t.Fatalf("%s: got %d texts, want what came within the hour", d.name, d.got("early"))
		}
		if e := d.saw(group.EventText); !strings.Contains(e[len(e)-1].Text, "removed") {
			t.Errorf("%s: got %q with it, want that its author was removed", d.name, e[len(e)-1].Text)
		}
	}
	w.settle(2 * time.Hour)
	dan.send(id, "late")
	for _, c := range w.cells {
		for _, d := range []*device{ann, ben} {
			before := d.dump()
			if err := d.do(func(tx group.Tx) (*group.Change, error) {
				_, ch, err := d.eng.Take(tx, w.now, group.Arrival{Group: id, Epoch: c.copy.Epoch, Payload: c.copy.Payload})
				return ch, err
			}); err == nil || !bytes.Equal(before, d.dump()) {
				t.Errorf("%s took what a removed member says hours later: %v", d.name, err)
			}
		}
	}
	w.settle(0)
	if ann.got("late")+ben.got("late") != 0 {
		t.Error("it is shown")
	}
}

// TestAClockSetAheadOnce: no key of an old epoch goes because a clock was wrong once.
func TestAClockSetAheadOnce(t *testing.T) {
	w, id, p := four(t, 73)
	ann, cat := p[0], p[2]
	cat.on = false
	if err := ann.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	old := ann.record(id).Head - 1
	if ann.epoch(id, old) == nil {
		t.Fatal("the epoch is not held though one has not acked")
	}
	right := w.now
	for range 3 {
		w.now = right.Add(15 * 24 * time.Hour)
		ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Tick(tx, w.now) })
		w.now = right
		ann.must(func(tx group.Tx) (*group.Change, error) { return ann.eng.Tick(tx, w.now) })
	}
	if ann.epoch(id, old) == nil {
		t.Error("a clock that was wrong took the keys of an epoch")
	}
	ann.next = time.Time{}
	ann.start()
	w.settle(15 * 24 * time.Hour)
	if ann.epoch(id, old) != nil {
		t.Error("it is never forgotten")
	}
}

// TestAllPartsAfterAddedAgain: a reader that lost its disk had acked a part of a long
// text. Added again it is sent all of it, and what it acked before does not count.
func TestAllPartsAfterAddedAgain(t *testing.T) {
	w, id, p := four(t, 74)
	ann, ben := p[0], p[1]
	old := ben.disk.Clone()
	text := strings.Repeat("long ", 1000)
	m := ann.send(id, text)
	cells := w.cells
	w.cells = nil
	for _, c := range cells {
		if c.copy.To == ben.id() && c.copy.Message == m { // its first part alone
			w.deliver(c)
		}
	}
	acks := w.cells
	w.drop = func(from, _ *device) bool { return from == ann } // the others do not come
	if err := ben.want(id, roster.Wish{Kind: roster.Rename, Text: "runs"}); err != nil {
		t.Fatal(err)
	}
	w.settle(7 * time.Hour) // who was away for long looks at once, and not at what else comes
	w.drop = nil
	ben.disk = old
	ben.start()
	w.settle(time.Minute)
	w.cells = append(w.cells, acks...) // its old ack comes once more
	w.settle(24 * time.Hour)
	if ben.got(text) != 1 || len(ann.rows) != 0 {
		t.Errorf("got it %d times, %d rows are left", ben.got(text), len(ann.rows))
	}
}
