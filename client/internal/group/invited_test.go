package group_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// accepts lets a device know only these as contacts.
func (d *device) accepts(who ...*device) {
	d.eng.Accepted = func(_ group.Tx, root key.SignPublic) (bool, error) {
		return slices.ContainsFunc(who, func(o *device) bool { return o.person() == root }), nil
	}
}

func (d *device) invitations() (all []*group.Invited) {
	d.w.t.Helper()
	d.must(func(tx group.Tx) (_ *group.Change, err error) {
		all, err = d.eng.Invitations(tx)
		return nil, err
	})
	return all
}

// answers is a person's answer to the one invitation that waits.
func (d *device) answers(yes bool) {
	d.w.t.Helper()
	all := d.invitations()
	if len(all) != 1 {
		d.w.t.Fatalf("%s: got %d invitations, want one", d.name, len(all))
	}
	d.must(func(tx group.Tx) (*group.Change, error) {
		return d.eng.Decide(tx, d.w.now, all[0].Group, all[0].Question(), yes)
	})
}

// quiet counts what a device did that others can see.
func (d *device) quiet() func() {
	calls, words := d.w.realm.reads+d.w.realm.puts, len(d.words)
	sent := 0
	drop := d.w.drop
	d.w.drop = func(from, to *device) bool {
		if from == d {
			sent++
		}
		return drop != nil && drop(from, to)
	}
	return func() {
		d.w.t.Helper()
		d.w.drop = drop
		var routes []group.OwnRoute
		d.disk.Update(func(tx group.Tx) (err error) {
			routes, err = d.eng.Routes(tx)
			return err
		})
		if sent+len(d.words)-words+len(d.slots)+len(routes) != 0 {
			d.w.t.Errorf("%s: got %d cells and words, %d more that wait, %d calls and %d addresses, want none; the realm was asked %d times by all",
				d.name, sent, len(d.words)-words, len(d.slots), len(routes), d.w.realm.reads+d.w.realm.puts-calls)
		}
	}
}

// TestAStrangersGroupIsAskedAbout: somebody who is no contact adds ben. Nothing leaves his
// device before he says yes, though everybody passes the Welcome on; then he reads what
// was said meanwhile.
func TestAStrangersGroupIsAskedAbout(t *testing.T) {
	w := newWorld(t, 71)
	p := w.people("ann", "ben", "cat")
	ann, ben, cat := p[0], p[1], p[2]
	ben.accepts(cat) // who is in the group, and passes the Welcome on
	id := ann.create("walks")
	ann.add(id, cat)
	w.settle(10 * time.Minute)
	quiet := ben.quiet()
	ann.add(id, ben)
	w.settle(3 * time.Hour)
	ann.send(id, "while you were asked")
	w.settle(8 * time.Hour)
	quiet()
	if r := ben.record(id); r.State != 0 {
		t.Fatalf("got state %d before a yes, want no record", r.State)
	}
	all := ben.invitations()
	if len(all) != 1 || all[0].By != ann.person() || all[0].Name != "walks" || all[0].Persons != 3 || all[0].Relay != "relay.example" {
		t.Fatalf("got %+v, want one invitation by ann into walks with 3 people", all)
	}
	if e := ben.saw(group.EventQuestion); len(e) != 1 || e[0].ByRoot != ann.person() || e[0].Asks != group.AskJoin || !strings.Contains(e[0].Text, `"walks" with 3 people`) {
		t.Errorf("got events %+v, want one question", e)
	}
	if n := len(ben.saw(group.EventJoined)); n != 0 {
		t.Errorf("got %d events that he joined before a yes", n)
	}
	ben.answers(true)
	w.settle(8 * time.Hour)
	w.together(id, ann, ben, cat)
	if n := ben.got("while you were asked"); n != 1 {
		t.Errorf("what was said meanwhile was shown %d times, want once", n)
	}
	if n := len(ben.invitations()); n != 0 {
		t.Errorf("got %d invitations after a yes, want none", n)
	}
}

// TestANoIsSilent: nobody learns of it, nothing is kept but that it was said, and who adds
// does not ask again by passing the Welcome on; after 14 days nothing is kept at all.
func TestANoIsSilent(t *testing.T) {
	w := newWorld(t, 72)
	p := w.people("ann", "ben")
	ann, ben := p[0], p[1]
	ben.accepts()
	id := ann.create("walks")
	quiet := ben.quiet()
	ann.add(id, ben)
	w.settle(time.Hour)
	ben.answers(false)
	w.settle(3 * 24 * time.Hour)
	quiet()
	if n, r := len(ben.saw(group.EventQuestion)), ben.record(id); n != 1 || r.State != 0 {
		t.Errorf("got %d questions and state %d, want one and no record", n, r.State)
	}
	if n := len(ben.invitations()); n != 0 {
		t.Errorf("got %d invitations after a no, want none", n)
	}
	w.now = w.now.Add(30 * 24 * time.Hour)
	ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Tick(tx, w.now) })
	ben.must(func(tx group.Tx) (*group.Change, error) {
		if n, err := tx.Notes("invited/"); err != nil || len(n) != 0 {
			t.Errorf("got notes %v, %v a month later, want none", n, err)
		}
		return nil, nil
	})
}

// TestAnInvitationEnds: nobody answered for 14 days.
func TestAnInvitationEnds(t *testing.T) {
	w := newWorld(t, 73)
	p := w.people("ann", "ben")
	ann, ben := p[0], p[1]
	ben.accepts()
	id := ann.create("walks")
	ann.add(id, ben)
	w.settle(time.Hour)
	q := ben.invitations()[0].Question()
	w.now = w.now.Add(15 * 24 * time.Hour)
	ben.must(func(tx group.Tx) (*group.Change, error) { return ben.eng.Tick(tx, w.now) })
	if n := len(ben.invitations()); n != 0 {
		t.Errorf("got %d invitations after 15 days, want none", n)
	}
	ben.refuses("a yes too late", group.ErrUnknown, func(tx group.Tx) (*group.Change, error) {
		return ben.eng.Decide(tx, w.now, id, q, true)
	})
}

// TestContactsAddUnasked: a contact's group is entered at once; one that was left is not,
// whoever adds.
func TestContactsAddUnasked(t *testing.T) {
	w := newWorld(t, 74)
	p := w.people("ann", "ben", "cat")
	ann, ben, cat := p[0], p[1], p[2]
	ben.accepts(ann, cat)
	id := ann.create("walks")
	ann.add(id, ben, cat)
	w.settle(time.Hour)
	w.together(id, ann, ben, cat)
	if err := ben.want(id, roster.Wish{Kind: roster.Leave, Root: ben.person()}); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	if r := ben.record(id); r.State != group.Out || !r.Quit {
		t.Fatalf("got state %d, quit %v, want that he left", r.State, r.Quit)
	}
	quiet := ben.quiet()
	ann.add(id, ben)
	w.settle(time.Hour)
	quiet()
	if all := ben.invitations(); len(all) != 1 || !all[0].Back {
		t.Fatalf("got %+v, want that he is asked whether to go back", all)
	}
	ben.answers(true)
	w.settle(8 * time.Hour)
	w.together(id, ann, ben, cat)

	// Removed by an admin and added again: nobody left, nobody is asked.
	if err := ann.remove(id, ben); err != nil {
		t.Fatal(err)
	}
	w.settle(time.Hour)
	w.give(ben, ann)
	ann.add(id, ben)
	w.settle(8 * time.Hour)
	w.together(id, ann, ben, cat)
}

// TestInvitationsAreBounded: a stranger makes groups without end; three are asked about,
// also after a no, and a contact's comes in all the same.
func TestInvitationsAreBounded(t *testing.T) {
	w := newWorld(t, 75)
	p := w.people("ann", "ben", "mal")
	ann, ben, mal := p[0], p[1], p[2]
	ben.accepts(ann)
	for i := range 6 {
		w.give(ben, mal)
		id := mal.create("spam")
		mal.add(id, ben)
		w.settle(10 * time.Minute)
		if all := ben.invitations(); i == 0 {
			ben.answers(false)
		} else if len(all) > 2 {
			t.Errorf("got %d invitations after a no, want two at the most", len(all))
		}
	}
	if n := len(ben.saw(group.EventQuestion)); n != 3 {
		t.Errorf("got %d questions, want 3", n)
	}
	id := ann.create("walks")
	ann.add(id, ben)
	w.settle(time.Hour)
	w.together(id, ann, ben)
}
