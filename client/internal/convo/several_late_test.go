package convo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
)

// apart cuts two devices off from each other, or lets them meet again.
func (w *town) apart(p, q *person, apart bool) {
	w.cut[[2]*person{p, q}], w.cut[[2]*person{q, p}] = apart, apart
}

func (w *town) rounds(n int) {
	for range n {
		w.round()
	}
}

func (w *town) verify(p, o *person) {
	w.must(p, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(o.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return p.e.Verify(tx, w.now, r, true)
	})
}

func (w *town) answer(p, o *person, a convo.Answer) {
	w.must(p, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(o.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return p.e.Answer(tx, w.now, r.ID, a)
	})
}

// What a device says before it has heard of a sister that was just linked reaches the
// sister: by the one that knows both, and by itself, if that one is off for good.
func TestThirdDeviceHearsWhatASisterSaysBeforeItKnowsIt(t *testing.T) {
	for _, way := range []string{"all there", "first one off", "second and third apart"} {
		t.Run(way, func(t *testing.T) {
			off := way == "first one off"
			w := newTown(t, 21)
			a, b, c := w.person("ada"), w.person("bob"), w.person("cy")
			w.meet(a, b)
			w.meet(a, c)
			a2 := w.link(a, "ada2")
			w.calm()
			a3 := w.link(a, "ada3")
			w.off[a] = off
			w.apart(a2, a3, way == "second and third apart")
			w.off[a3] = true
			w.say(a2, b, "by the second")
			w.say(b, a2, "to the second")
			w.verify(a2, b)
			w.answer(a2, c, convo.Block)
			w.rounds(6)
			delete(w.off, a3)
			w.rounds(30)
			w.once(a3, b, true, "by the second")
			w.once(a3, b, false, "to the second")
			if !w.of(a3, b).Verified {
				t.Error("the third device does not know that bob was verified")
			}
			if got := w.of(a3, c).State; got != contact.Blocked {
				t.Errorf("the third device has somebody as %v who was blocked on the second", got)
			}
			if !off {
				for _, p := range []*person{a, a2} {
					w.once(p, b, true, "by the second")
					w.once(p, b, false, "to the second")
				}
			}
		})
	}
}

// Somebody whom a sister met meanwhile is known to the third device, with what was
// said; a text that comes before them waits, and holds nothing up.
func TestThirdDeviceMeetsWhomASisterMet(t *testing.T) {
	w := newTown(t, 22)
	a, b, c := w.person("ada"), w.person("bob"), w.person("cy")
	w.meet(a, b)
	a2 := w.link(a, "ada2")
	w.calm()
	a3 := w.link(a, "ada3")
	w.apart(a, a2, true)
	w.apart(a2, a3, true)
	a2.now, c.now = w.now, w.now
	invited(a2, c, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: "ada"}, "")
	w.rounds(8)
	w.apart(a, a2, false)
	w.apart(a2, a3, false)
	w.rounds(20)
	w.say(a2, c, "hi cy")
	w.say(c, a2, "hi ada")
	w.calm()
	for _, p := range []*person{a, a2, a3} {
		w.once(p, c, true, "hi cy")
		w.once(p, c, false, "hi ada")
	}
}

// A copy that comes before the person is kept aside, once, and shown when they come.
func TestCopyWaitsForItsPerson(t *testing.T) {
	w := newTown(t, 23)
	a, b, c := w.person("ada"), w.person("bob"), w.person("cy")
	w.meet(a, b)
	w.meet(a, c)
	a2 := w.link(a, "ada2")
	w.calm()
	root := c.e.Self.Manifest.Root
	var card []byte
	a2.view(func(tx vault.Store) (err error) {
		r, err := tx.ContactOf(root)
		if err == nil {
			card, err = contact.CardOf(tx, r)
		}
		return err
	})
	w.must(a2, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(root)
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(contact.Forget(tx, r.ID), tx.DeleteContact(r.ID))
	})
	w.off[c] = true
	w.say(a, c, "before they are known")
	w.rounds(6)
	if n := a.waiting(0) - 1; n != 0 { // cy is off
		t.Errorf("%d rows wait for a device that has them", n)
	}
	w.must(a2, func(tx vault.Store) (*convo.Change, error) { return a2.e.TakeCard(tx, w.now, card) })
	w.once(a2, c, true, "before they are known")
	a2.view(func(tx vault.Store) error {
		if _, alone, err := tx.SharedRows(); err != nil || alone != 0 {
			t.Errorf("%d things are still aside, %v", alone, err)
		}
		return nil
	})
}

// A row that was sealed again after a device joined names a list that has the device;
// its author did not write to it. It gets the text from its sister, or, where that one
// does not come back, from the author.
func TestTextThatWaitedReachesADeviceThatJoinedMeanwhile(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprint("sister gone ", gone), func(t *testing.T) {
			w := newTown(t, 24)
			a, b := w.person("ada"), w.person("bob")
			w.meet(a, b)
			a2 := w.link(a, "ada2")
			w.calm()
			w.apart(a, b, true)
			for i := range 3 {
				w.say(b, a, fmt.Sprint("text ", i))
			}
			w.rounds(5) // a2 has them all
			w.apart(a, a2, true)
			w.off[a2] = true
			a3 := w.link(a, "ada3")
			w.off[a] = gone
			w.apart(a3, b, !gone)
			w.rounds(2)
			// The list with the new device reaches bob, and his rows are sealed again.
			w.must(b, func(tx vault.Store) (*convo.Change, error) {
				r, err := tx.ContactOf(a.e.Self.Manifest.Root)
				if err != nil {
					return nil, err
				}
				return b.e.ListFrom(tx, w.now, r, a.e.Self.Manifest)
			})
			w.now = w.now.Add((convo.ResealDays + 1) * 24 * time.Hour)
			w.must(b, func(tx vault.Store) (*convo.Change, error) { return b.e.Maintain(tx, w.now) })
			w.apart(a, b, false)
			w.rounds(20)
			w.once(a3, b, false, "text 0", "text 1", "text 2")
		})
	}
}

// A device that counts as far as numbers go, and is revoked then, has spoilt nothing:
// what is set after is newer, on all devices.
func TestNoDeviceCountsSoFarThatNobodyCanAnswer(t *testing.T) {
	w := newTown(t, 25)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	a2 := w.link(a, "ada2")
	a3 := w.link(a, "ada3")
	w.calm()
	seq := uint64(a.e.Self.Manifest.Sequence)
	named := append([]byte("n"), b.e.Self.Manifest.Root[:]...)
	tell := func(k, v []byte, n uint64) {
		w.must(a2, func(tx vault.Store) (*convo.Change, error) {
			s := &content.Sync{Entries: []content.Entry{{Key: k, Value: v, Count: n, Device: a2.e.Self.Name()}}}
			r, err := tx.DeviceOf(a.e.Self.Manifest.Root, a.e.Self.Name())
			if err != nil {
				return nil, err
			}
			return a2.e.TellAs(tx, w.now, r.ID, &content.Content{Sent: 1, Sync: s, Known: uint32(seq)})
		})
		w.rounds(3)
	}
	tell(named, []byte("Mallory"), seq<<32|math.MaxUint32)
	if got := w.of(a, b).Name; got != "Mallory" {
		t.Fatalf("got the name %q, want what the other device set", got)
	}
	// Within its list it can be tied with; what waits under a list of its own making
	// is not taken.
	tell(append([]byte("v"), named[1:]...), []byte{1}, math.MaxUint64)
	if w.of(a, b).Verified {
		t.Error("an entry under a list that the root did not sign was taken")
	}
	w.all = slices.DeleteFunc(w.all, func(p *person) bool { return p == a2 }) // stolen
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		return a.e.Agree(tx, w.now, append([]byte("d"), named[1:]...), []byte("a draft"))
	})
	w.rounds(4)
	a3.view(func(tx vault.Store) error { // before the list is another
		if got, err := tx.Shared(append([]byte("d"), named[1:]...)); err != nil || got == nil || string(got.Value) != "a draft" {
			t.Errorf("got %+v, %v, want the draft, though the count cannot grow", got, err)
		}
		return nil
	})
	w.revoke(a, a2)
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(b.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return a.e.Rename(tx, w.now, r, "Bob")
	})
	w.answer(a, b, convo.Block)
	w.rounds(10)
	for _, p := range []*person{a, a3} {
		if r := w.of(p, b); r.Name != "Bob" || r.State != contact.Blocked {
			t.Errorf("%s has %q as %v, want Bob, blocked", p.name, r.Name, r.State)
		}
	}
	a4 := w.link(a, "ada4")
	w.rounds(20)
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		return a.e.Agree(tx, w.now, append([]byte("d"), named[1:]...), []byte("another"))
	})
	w.rounds(20)
	for _, p := range []*person{a3, a4} {
		p.view(func(tx vault.Store) error {
			if got, err := tx.Shared(append([]byte("d"), named[1:]...)); err != nil || got == nil || string(got.Value) != "another" {
				t.Errorf("%s has %+v, %v, want the draft that was set last", p.name, got, err)
			}
			return nil
		})
	}
}

// What is for one device alone, or of a kind that is known and has another form, is not
// taken from a sister; the map has an end.
func TestEntriesThatAreNoneAreNotKept(t *testing.T) {
	w := newTown(t, 26)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	root := b.e.Self.Manifest.Root
	name := convo.TextName(key.SignPublic{1}, [8]byte{2})
	for _, entry := range []content.Entry{
		{Key: append([]byte("R"), name[:]...), Value: []byte{1}},
		{Key: append([]byte("E"), name[:]...), Value: []byte{200}},
		{Key: append([]byte("K"), name[:]...), Value: []byte{1, 2, 3, 4, 5}},
		{Key: []byte("v"), Value: []byte{1}},
		{Key: append([]byte("v"), root[:]...), Value: []byte{1, 1}},
		{Key: append([]byte("n"), root[:]...), Value: make([]byte, 65)},
		{Key: append([]byte("t"), root[:]...), Value: []byte{1}},
		{Key: append([]byte("c"), root[:]...), Value: []byte{1}},
	} {
		entry.Count = 1
		w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.TakeEntry(tx, w.now, &entry) })
		a.view(func(tx vault.Store) error {
			if got, err := tx.Shared(entry.Key); got != nil || err != nil {
				t.Errorf("entry %q: %x is kept, %v", entry.Key[0], got, err)
			}
			return nil
		})
	}
	w.must(a, func(tx vault.Store) (*convo.Change, error) {
		return a.e.TakeEntry(tx, w.now, &content.Entry{Key: []byte("\xf0 of a newer version"), Value: []byte{1}, Count: 1})
	})
	a.view(func(tx vault.Store) error {
		if got, err := tx.Shared([]byte("\xf0 of a newer version")); got == nil || err != nil {
			t.Errorf("an entry of a newer version was not kept: %v", err)
		}
		return nil
	})
}

// routes are the ids of a device's own routes that lead from one person.
func (w *town) routes(p, o *person) map[int64]bool {
	ids := map[int64]bool{}
	p.view(func(tx vault.Store) error {
		r, err := tx.DeviceOf(o.e.Self.Manifest.Root, o.e.Self.Name())
		if err != nil {
			return err
		}
		all, err := tx.RoutesOf(r.ID)
		for _, route := range all {
			if route.Mine {
				ids[route.ID] = true
			}
		}
		return err
	})
	return ids
}

// A revoked device knows the routes of its sisters, by cards. They end with it: on the
// devices of contacts, and between its sisters.
func TestRoutesOfARevokedDevicesSistersAreReplaced(t *testing.T) {
	w := newTown(t, 27)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	a2, a3 := w.link(a, "ada2"), w.link(a, "ada3")
	w.calm()
	pairs := [][2]*person{{b, a}, {b, a2}, {a, a2}, {a2, a}}
	var before []map[int64]bool
	for _, p := range pairs {
		before = append(before, w.routes(p[0], p[1]))
	}
	w.off[a3] = true
	w.revoke(a, a3)
	w.rounds(30)
	for i, p := range pairs {
		now := w.routes(p[0], p[1])
		if len(now) == 0 || len(before[i]) == 0 {
			t.Errorf("%s serves %d routes for %s, before %d, want some", p[0].name, len(now), p[1].name, len(before[i]))
		}
		for id := range before[i] {
			if now[id] {
				t.Errorf("%s still serves %s at a route that the revoked device knows", p[0].name, p[1].name)
			}
		}
	}
	w.say(a2, b, "goes on")
	w.say(b, a, "goes on too")
	w.rounds(10)
	w.once(b, a, false, "goes on")
	w.once(a2, b, false, "goes on too")
}

// What one device of theirs has is not kept for ever for another that never comes.
func TestTextsForADeviceThatNeverComesEnd(t *testing.T) {
	w := newTown(t, 28)
	a, b := w.person("ada"), w.person("bob")
	w.meet(a, b)
	ghost := newDevice(t)
	m, err := a.e.Self.Admit(w.now, ghost.Public())
	if err != nil {
		t.Fatal(err)
	}
	w.must(a, func(tx vault.Store) (*convo.Change, error) { return a.e.Adopt(tx, w.now, m) })
	w.rounds(5)
	ev := w.say(b, a, "for one of two")
	w.rounds(5)
	late := w.say(b, a, "not there yet")
	count := func() (n int) {
		b.view(func(tx vault.Store) error {
			rows, err := tx.RowsOf(0)
			for _, r := range rows {
				if r.Event != 0 {
					n++
				}
			}
			return err
		})
		return n
	}
	if n := count(); n != 3 { // one text waits for the ghost, one for both
		t.Errorf("%d copies of texts wait, want three", n)
	}
	w.now = w.now.Add(61 * 24 * time.Hour)
	w.must(b, func(tx vault.Store) (*convo.Change, error) { return b.e.Maintain(tx, w.now) })
	if n := count(); n != 2 {
		t.Errorf("%d copies of texts wait after two months, want those of the text that no device has", n)
	}
	b.view(func(tx vault.Store) error {
		for seq, want := range map[int64]int{ev.Seq: 1, late.Seq: 0} {
			if e, err := tx.Event(seq); err != nil || e.Reached() != want || len(e.Copies) != 2 {
				t.Errorf("%q: reached %d of %d, %v, want %d of 2", e.Text, e.Reached(), len(e.Copies), err, want)
			}
		}
		return nil
	})
}

// Somebody who was declined and comes again by an invite keeps the list of devices
// that was known: one that was revoked does not come back, and not as verified.
func TestRevokedDeviceOfSomebodyDeclined(t *testing.T) {
	w := newTown(t, 29)
	a, b := w.person("ada"), w.person("bob")
	b2 := w.link(b, "bob2")
	w.rounds(3)
	w.off[b2] = true
	w.revoke(b, b2)
	old := b2.e.Self
	a.now, b.now = w.now, w.now
	invited(a, b, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: "ada", Ask: true}, "hello")
	w.rounds(3)
	w.verify(a, b)
	w.answer(a, b, convo.Decline)
	phone := w.person("phone")
	phone.e.Self = old
	phone.now = w.now
	invited(a, phone, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: "ada"}, "me again")
	w.rounds(5)
	if r := w.of(a, b); r.State != contact.Declined || r.Sign == old.Name() {
		t.Errorf("got %v, of the revoked device %v, want them declined as before", r.State, r.Sign == old.Name())
	}
	w.must(b, func(tx vault.Store) (*convo.Change, error) {
		r, err := tx.ContactOf(a.e.Self.Manifest.Root)
		if err != nil {
			return nil, err
		}
		return b.e.Fail(tx, w.now, r)
	})
	a.now, b.now = w.now, w.now
	invited(a, b, contact.InviteOptions{Uses: 1, Life: time.Hour, Name: "ada"}, "it is me")
	w.rounds(10)
	if r := w.of(a, b); r.State != contact.Accepted || !r.Verified || r.Stop {
		t.Errorf("got %v, verified %v, stopped %v, want bob, verified", r.State, r.Verified, r.Stop)
	}
	err := a.v.View(context.Background(), func(tx *vault.Tx) error {
		_, err := (vault.Store{Tx: tx}).DeviceOf(old.Manifest.Root, old.Name())
		return err
	})
	if !errors.Is(err, contact.ErrUnknown) {
		t.Errorf("ada has a record of the revoked device: %v", err)
	}
}
