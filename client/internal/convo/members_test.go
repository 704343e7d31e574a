package convo_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// heardOf is what groups were told on one device.
type heardOf struct{ all []string }

func (h *heardOf) Take(_ convo.Tx, _ time.Time, from *contact.Record, payload []byte, _ *convo.Change) error {
	h.all = append(h.all, from.Name+": "+string(payload))
	return nil
}

func (h *heardOf) Revoked(convo.Tx, time.Time, key.SignPublic, *manifest.Manifest, *convo.Change) error {
	return nil
}

// strangers are two people who share a group and have never met.
func strangers(w *town) (ben, cat *person, toBen, toCat *heardOf) {
	ben, cat = w.person("Ben"), w.person("Cat")
	toBen, toCat = &heardOf{}, &heardOf{}
	ben.e.Groups, cat.e.Groups = toBen, toCat
	return ben, cat, toBen, toCat
}

// bundle makes an introduction of p for a device o, by the manifest that the group shows.
func (w *town) bundle(p, o *person) (raw []byte) {
	w.t.Helper()
	w.must(p, func(tx vault.Store) (ch *convo.Change, err error) {
		m := o.e.Self.Manifest
		raw, ch, err = p.e.Bundle(tx, w.now, m, o.e.Self.Place(m))
		return ch, err
	})
	return raw
}

// takeUp has p take up an introduction that came from o's leaf.
func (w *town) takeUp(p, o *person, raw []byte) {
	w.t.Helper()
	w.must(p, func(tx vault.Store) (*convo.Change, error) {
		return p.e.Meet(tx, w.now, o.e.Self.Manifest.Root, o.e.Self.Name(), raw)
	})
}

// tell has p say something for groups to a device of o.
func (w *town) tell(p, o *person, text string) {
	w.t.Helper()
	w.must(p, func(tx vault.Store) (*convo.Change, error) {
		m := o.e.Self.Manifest
		r, err := p.e.Expect(tx, w.now, m, o.e.Self.Place(m))
		if err != nil {
			return nil, err
		}
		return p.e.Tell(tx, w.now, r.ID, []byte(text))
	})
}

func (w *town) met(p, o *person) (ok bool) {
	w.t.Helper()
	p.view(func(tx vault.Store) (err error) {
		ok, err = convo.HasSession(tx, o.e.Self.Manifest.Root, o.e.Self.Name())
		return err
	})
	return ok
}

func wantHeard(t *testing.T, h *heardOf, want ...string) {
	t.Helper()
	if len(h.all) != len(want) {
		t.Fatalf("heard %q, want %q", h.all, want)
	}
	for i := range want {
		if h.all[i] != want[i] {
			t.Errorf("heard %q, want %q", h.all, want)
		}
	}
}

// TestMembersMeetByAnIntroduction has two who never met begin a session by what one
// gave the other through a group. What was to be said before that arrives, once; they
// are no contacts, and what one writes is not shown to the other.
func TestMembersMeetByAnIntroduction(t *testing.T) {
	w := newTown(t, 1)
	ben, cat, toBen, toCat := strangers(w)
	w.tell(ben, cat, "before")
	w.tell(cat, ben, "before, too")
	raw := w.bundle(ben, cat)
	w.takeUp(cat, ben, raw)
	if !w.met(cat, ben) || w.met(ben, cat) {
		t.Fatal("the session begins with the hello of who took the introduction up")
	}
	w.lose = 3
	for range 10 {
		w.round()
	}
	w.calm()
	if !w.met(ben, cat) {
		t.Fatal("there is no session")
	}
	w.takeUp(cat, ben, raw) // it comes again
	w.tell(ben, cat, "after")
	w.tell(cat, ben, "after, too")
	w.calm()
	benIs, catIs := contact.MemberName(ben.e.Self.Manifest.Root), contact.MemberName(cat.e.Self.Manifest.Root)
	wantHeard(t, toBen, catIs+": before, too", catIs+": after, too")
	wantHeard(t, toCat, benIs+": before", benIs+": after")
	for _, x := range [][2]*person{{ben, cat}, {cat, ben}} {
		p, o := x[0], x[1]
		r := w.of(p, o)
		if r.State != contact.Member {
			t.Errorf("%s has %s as %v, want a member", p.name, o.name, r.State)
		}
		if err := convo.MaySend(r); !errors.Is(err, convo.ErrBlocked) {
			t.Errorf("writing to a member: got %v, want ErrBlocked", err)
		}
		p.view(func(tx vault.Store) error {
			return tx.Events(r.ID, 0, func(e *convo.Event) error {
				t.Errorf("%s was shown %q", p.name, e.Text)
				return nil
			})
		})
	}
	if got := w.of(cat, ben).Claimed + w.of(ben, cat).Claimed; got != "BenCat" {
		t.Errorf("got %q of what both call themselves, want Ben and Cat", got)
	}
}

// TestIntroductionIsOnlyForWhomItNames: what comes from another leaf than it names, is
// for another device or was changed leads to nothing.
func TestIntroductionIsOnlyForWhomItNames(t *testing.T) {
	w := newTown(t, 2)
	ben, cat, _, _ := strangers(w)
	eve := w.person("Eve")
	raw := w.bundle(ben, cat)

	// Eve is a member, too, and says that Ben's is hers, or that hers is Ben's.
	fails := func(what string, p, o *person, raw []byte, want error) {
		t.Helper()
		before := w.records(p)
		p.do(func(tx vault.Store) (*convo.Change, error) {
			if _, err := p.e.Meet(tx, w.now, o.e.Self.Manifest.Root, o.e.Self.Name(), raw); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", what, err, want)
			}
			return nil, nil
		})
		if got := w.records(p); got != before {
			t.Errorf("%s: it left %d records, want %d", what, got, before)
		}
	}
	fails("Ben's, from Eve", cat, eve, raw, contact.ErrIntroduction)
	fails("Eve's, from Ben", cat, ben, w.bundle(eve, cat), contact.ErrIntroduction)
	bad := append([]byte(nil), raw...)
	bad[300] ^= 1
	fails("changed on the way", cat, ben, bad, contact.ErrIntroduction)
	fails("our own", ben, ben, raw, contact.ErrSelf)

	// What was for Cat does not open Ben for Eve.
	w.takeUp(eve, ben, raw)
	for range 5 {
		w.round()
	}
	if w.met(ben, eve) {
		t.Error("Eve began a session by what was Cat's")
	}
	if r := w.of(ben, cat); r.State != contact.Member {
		t.Errorf("got %v of Cat, want a member", r.State)
	}
}

// TestIntroductionMakesNoContact: who is blocked is not met by way of a group, and a
// contact stays one.
func TestIntroductionMakesNoContact(t *testing.T) {
	w := newTown(t, 3)
	ben, cat, _, _ := strangers(w)
	w.meet(ben, cat)
	raw := w.bundle(ben, cat)
	w.takeUp(cat, ben, raw) // as if one of them had lost the session
	w.calm()
	if got := w.of(cat, ben).State; got != contact.Accepted {
		t.Errorf("got %v, want a contact still", got)
	}
	w.say(cat, ben, "hello")
	w.calm()
	w.once(ben, cat, false, "hello")

	w.must(cat, func(tx vault.Store) (*convo.Change, error) {
		return cat.e.Answer(tx, w.now, w.idOf(tx, ben), convo.Block)
	})
	cat.do(func(tx vault.Store) (*convo.Change, error) {
		if _, err := cat.e.Meet(tx, w.now, ben.e.Self.Manifest.Root, ben.e.Self.Name(), w.bundle(ben, cat)); !errors.Is(err, contact.ErrState) {
			t.Errorf("meeting who is blocked: got %v, want ErrState", err)
		}
		return nil, nil
	})
}

// TestOtherDevicesMeetMembers: a device that is linked later reaches the members that
// its sister met, with that one off.
func TestOtherDevicesMeetMembers(t *testing.T) {
	w := newTown(t, 4)
	ben, cat, toBen, _ := strangers(w)
	w.takeUp(cat, ben, w.bundle(ben, cat))
	w.calm()
	pad := w.link(cat, "pad")
	w.calm()
	if !w.met(pad, ben) {
		t.Fatal("the new device did not meet the member")
	}
	w.off[cat] = true
	w.tell(pad, ben, "from the pad")
	for range 20 {
		w.round()
	}
	wantHeard(t, toBen, contact.MemberName(cat.e.Self.Manifest.Root)+": from the pad")
}

// TestLeaveSaysGoodbyeToAll: a device that is given up tells its own others, contacts
// and members; nothing more goes to it, and the device with the root revokes it.
func TestLeaveSaysGoodbyeToAll(t *testing.T) {
	w := newTown(t, 5)
	ben, cat, _, _ := strangers(w)
	w.meet(ben, cat)
	eve := w.person("Eve")
	w.takeUp(cat, eve, w.bundle(eve, cat))
	pad := w.link(cat, "pad")
	w.calm()
	rows := 0
	w.must(pad, func(tx vault.Store) (*convo.Change, error) {
		ch, err := pad.e.Leave(tx, w.now)
		if err != nil {
			return nil, err
		}
		for _, r := range ch.Added {
			if r.Event != 0 {
				t.Error("leaving is shown as a message")
			}
		}
		rows = len(ch.Added)
		return ch, nil
	})
	if rows != 3 {
		t.Errorf("%d were told, want the other device, the contact and the member", rows)
	}
	w.calm()
	for range 3 {
		w.round()
	}
	if i, ok := cat.e.Self.Manifest.Find(pad.e.Self.Name()); !ok || !cat.e.Self.Manifest.Devices[i].Revoked {
		t.Error("the device that left is not revoked")
	}
	w.calm()
	for _, p := range []*person{ben, eve} {
		if w.met(p, pad) {
			t.Errorf("%s has a session with the device that left still", p.name)
		}
		if !w.met(p, cat) {
			t.Errorf("%s lost the other device", p.name)
		}
	}
}

// TestTellHasBounds: what is empty or too long is refused, and who is blocked is told
// nothing.
func TestTellHasBounds(t *testing.T) {
	w := newTown(t, 6)
	ben, cat, _, _ := strangers(w)
	w.meet(ben, cat)
	ben.do(func(tx vault.Store) (*convo.Change, error) {
		id := w.idOf(tx, cat)
		for what, b := range map[string][]byte{"nothing": nil, "too much": make([]byte, content.MaxGroup+1)} {
			if _, err := ben.e.Tell(tx, w.now, id, b); !errors.Is(err, convo.ErrLong) {
				t.Errorf("%s: got %v, want ErrLong", what, err)
			}
		}
		return nil, nil
	})
}

// TestWordWaitsOnce has one tell another the same long word again and again while they
// are away: it waits once, and may be told again once it was taken.
func TestWordWaitsOnce(t *testing.T) {
	w := newTown(t, 2)
	ben, cat, _, toCat := strangers(w)
	w.takeUp(cat, ben, w.bundle(ben, cat))
	w.calm()
	long, id := strings.Repeat("a tree ", 1000), w.of(ben, cat).ID
	once := func() (rows int) {
		w.must(ben, func(tx vault.Store) (*convo.Change, error) {
			ch, err := ben.e.TellOnce(tx, w.now, id, []byte(long))
			if err != nil {
				return nil, err
			}
			all, err := tx.RowsOf(id)
			rows = len(all)
			return ch, err
		})
		return rows
	}
	first := once()
	if first < 2 {
		t.Fatalf("got %d rows, want a word of several", first)
	}
	for range 3 {
		if n := once(); n != first {
			t.Errorf("got %d rows, want the %d that wait already", n, first)
		}
	}
	w.calm()
	if len(toCat.all) != 1 {
		t.Errorf("heard the word %d times, want once", len(toCat.all))
	}
	if n := once(); n != first {
		t.Errorf("got %d rows once it was taken, want %d", n, first)
	}
	w.calm()
	if len(toCat.all) != 2 {
		t.Errorf("heard the word %d times, want twice", len(toCat.all))
	}
}
