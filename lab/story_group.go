package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/ui/text"
)

const (
	cyFrom     = "127.0.0.4"
	tabletFrom = "127.0.0.5"
)

// group makes a group of three and has two of them change it at one moment.
func (t *story) group() error {
	t.title("A group of three")
	t.Cy = t.person("Cy Moreau", "cy", cyFrom, t.options)
	if err := t.Cy.Start(t.ctx, Fall{}); err != nil {
		return err
	}
	keys, err := t.secrets(t.ctx, t.Cy)
	if err != nil {
		return err
	}
	t.keys = append(t.keys, keys...)
	link, err := t.Ada.Invite(t.ctx)
	if err != nil {
		return err
	}
	const hello = "Hello Ada, it is Cy."
	if err := t.Cy.Accept(t.ctx, link, "ada", hello); err != nil {
		return err
	}
	if _, err := t.Ada.Receive(t.ctx, patience, hello); err != nil {
		return err
	}
	if _, err := t.Ada.ask(t.ctx, ask{Do: "rename", Who: t.Cy.Name, Text: "cy"}); err != nil {
		return err
	}
	if _, err := t.Cy.Await(t.ctx, patience, func(e client.Event) bool { return e.State == client.Told && e.Text == "accepted your request" }); err != nil {
		return err
	}
	if _, err := t.Ada.ask(t.ctx, ask{Do: "gather", Who: "tea", Texts: []string{"bob", "cy"}}); err != nil {
		return err
	}
	all := []*Person{t.Ada, t.Bob, t.Cy}
	if _, err := t.agree(all, func(g client.Group) bool { return len(g.Members) == 3 }); err != nil {
		return err
	}
	t.say("Ada knows Bob and Cy, and makes a group of the three: %q. No relay is told so. Their devices agree on it among themselves (MLS, RFC 9420).", "tea")
	since := time.Now()
	e, err := t.everybody(t.Ada, "Tea at my place, at five?")
	if err != nil {
		return err
	}
	t.sent(t.Ada, e)
	cells, addresses := t.putBy(t.Ada, since)
	t.say("In that time Ada's device put %s to %d addresses: a copy for each of the others, and what acks went. Each is sealed for itself, to an address of its own.",
		text.Count(cells, "cell"), addresses)
	t.want(addresses >= 2, "a message in a group of three went to %d addresses", addresses)
	if _, err := t.Ada.ask(t.ctx, ask{Do: "promote", Who: "#g1", Text: "bob"}); err != nil {
		return err
	}
	before, err := t.agree(all, func(g client.Group) bool {
		return slices.ContainsFunc(g.Members, func(m client.GroupMember) bool { return m.Rank == 2 })
	})
	if err != nil {
		return err
	}
	return t.race(all, before)
}

// race has both admins change the group at once. One of two commits has the slot; the
// other change is done after it.
func (t *story) race(all []*Person, before client.Group) error {
	var both sync.WaitGroup
	var errs [2]error
	both.Go(func() { _, errs[0] = t.Ada.ask(t.ctx, ask{Do: "name", Who: "#g1", Text: "tea at five"}) })
	both.Go(func() { _, errs[1] = t.Bob.ask(t.ctx, ask{Do: "timer", Who: "#g1", Every: 30 * 24 * time.Hour}) })
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	after, err := t.agree(all, func(g client.Group) bool {
		return g.Name == "tea at five" && g.Timer == 30*24*time.Hour
	})
	if err != nil {
		return err
	}
	t.say("Bob is an admin now, too. In one moment Ada gives the group another name and Bob sets its timer to 30 days. Both changes want to be number %d of this group, and its number is a slot at the relay "+
		"that takes one sealed commit and no second: whoever comes second is told what lies there, follows it, and makes the change anew. All three devices agree in the end: %q, 30 days, change %d.",
		before.Epoch+1, after.Name, after.Epoch)
	t.want(after.Epoch > before.Epoch, "two changes and no new epoch: %d, then %d", before.Epoch, after.Epoch)
	e, err := t.everybody(t.Cy, "At five. I bring the cake.")
	if err != nil {
		return err
	}
	t.sent(t.Cy, e)
	return nil
}

// agree waits until some people have one group, see it alike, as ok wants it, and
// nothing of it is left to do.
func (t *story) agree(all []*Person, ok func(client.Group) bool) (g client.Group, err error) {
	var last []client.Group
	for until := time.Now().Add(patience); time.Now().Before(until); {
		good := true
		last = nil
		for _, p := range all {
			a, err := p.ask(t.ctx, ask{Do: "groups"})
			if err != nil {
				return g, err
			}
			last = append(last, a.Groups...)
			if len(a.Groups) != 1 || a.Groups[0].State != "active" || len(a.Groups[0].Changes) > 0 || !ok(a.Groups[0]) || len(last) > 0 && a.Groups[0].Epoch != last[0].Epoch {
				good = false
				break
			}
		}
		if good {
			return last[0], nil
		}
		if err := t.wait(100 * time.Millisecond); err != nil {
			return g, err
		}
	}
	return g, fmt.Errorf("devices do not agree on their group: %+v", last)
}

// everybody writes a message in the group and waits until all devices have it and the
// people were shown it.
func (t *story) everybody(p *Person, s string) (client.Event, error) {
	e, err := p.Send(t.ctx, "#g1", s)
	if err != nil {
		return e, err
	}
	for _, other := range []*Person{t.Ada, t.Bob, t.Cy} {
		if other != p {
			if _, err := other.Receive(t.ctx, patience, s); err != nil {
				return e, err
			}
		}
	}
	return p.Await(t.ctx, patience, func(now client.Event) bool { return now.Seq == e.Seq && now.Of > 0 && now.Reached == now.Of })
}

// putBy counts what somebody put since a moment.
func (t *story) putBy(p *Person, since time.Time) (cells, addresses int) {
	known := map[wire.Address]bool{}
	for _, s := range t.Tap.Seen(since) {
		if s.Kind() != KindPut || !strings.HasPrefix(s.Peer, p.order.From) {
			continue
		}
		for _, c := range s.Cells() {
			cells++
			known[c.Address] = true
		}
	}
	return cells, len(known)
}

// device gives Ada a second device, lets it work alone, and cuts it off.
func (t *story) device() error {
	t.title("A second device")
	a, err := t.Ada.ask(t.ctx, ask{Do: "link"})
	if err != nil {
		return err
	}
	o := t.options
	tablet := t.person("tablet", "tablet", tabletFrom, o)
	tablet.order.Join = a.Text
	t.tablet = tablet
	started := make(chan error, 1)
	go func() { started <- tablet.Start(t.ctx, Fall{}) }()
	digits, err := tablet.Digits(t.ctx, patience)
	if err != nil {
		return err
	}
	if _, err := t.Ada.ask(t.ctx, ask{Do: "confirm", Text: digits}); err != nil {
		return err
	}
	if err := <-started; err != nil {
		return err
	}
	t.say("Ada's device shows a code, her tablet is given it and shows six digits. Ada types them on the device that she has: %s. They depend on the keys of both: whoever stood between them would have one try to guess them. "+
		"Then contacts, history and settings go over, sealed, by the relay.", digits)
	had, err := tablet.Read(t.ctx)
	if err != nil {
		return err
	}
	t.want(len(had) > 10, "the tablet has %d lines of history", len(had))
	if _, err := t.agree([]*Person{t.Ada, t.Bob, t.Cy, tablet}, func(g client.Group) bool {
		return slices.ContainsFunc(g.Members, func(m client.GroupMember) bool { return m.Devices == 2 })
	}); err != nil {
		return err
	}
	t.say("It has %s of history, and is in the group: Ada's first device took it in, and everybody's devices followed.", text.Count(len(had), "line"))
	if err := t.Ada.Stop(); err != nil {
		return err
	}
	e, err := t.write(t.Bob, "Ada, are you on the train already?")
	if err != nil {
		return err
	}
	if _, err := tablet.Receive(t.ctx, patience, e.Text); err != nil {
		return err
	}
	const answer = "Yes, and without my telephone."
	mine, err := tablet.Send(t.ctx, "bob", answer)
	if err != nil {
		return err
	}
	if _, err := t.Bob.Receive(t.ctx, patience, answer); err != nil {
		return err
	}
	if _, err := tablet.Reach(t.ctx, patience, mine.Seq, client.OnDevice); err != nil {
		return err
	}
	t.say("Ada's first device is switched off. The tablet works without it:")
	t.fact(fmt.Sprintf("%s  %s", t.style.Bold("Bob:"), e.Text))
	t.fact(fmt.Sprintf("%s  %s", t.style.Bold("Ada, tablet:"), answer))
	if err := t.Ada.Start(t.ctx, Fall{}); err != nil {
		return err
	}
	if err := t.arrives(t.Bob, e); err != nil {
		return err
	}
	if _, err := t.Ada.Await(t.ctx, patience, func(e client.Event) bool { return e.Out && e.Text == answer }); err != nil {
		return err
	}
	return t.cutOff(tablet)
}

// cutOff revokes Ada's tablet. Nothing that is said after reaches it.
func (t *story) cutOff(tablet *Person) error {
	if _, err := t.Ada.ask(t.ctx, ask{Do: "cut off", Who: "tablet"}); err != nil {
		return err
	}
	if _, err := t.agree([]*Person{t.Ada, t.Bob, t.Cy}, func(g client.Group) bool {
		return !slices.ContainsFunc(g.Members, func(m client.GroupMember) bool { return m.Devices != 1 })
	}); err != nil {
		return err
	}
	const secret = "Between us: the cake is a surprise."
	e, err := t.everybody(t.Bob, secret)
	if err != nil {
		return err
	}
	pair, err := t.write(t.Bob, "And keep the tablet's charger.")
	if err != nil {
		return err
	}
	if err := t.arrives(t.Bob, pair); err != nil {
		return err
	}
	if !tablet.Running() {
		t.want(false, "the tablet's process ended by itself")
	} else if all, err := tablet.Read(t.ctx); err != nil {
		return err
	} else {
		for _, e := range all {
			t.want(e.Text != secret && e.Text != pair.Text, "the tablet was cut off, and has %q", e.Text)
		}
	}
	t.say("The first device is back and has what was said. Then Ada cuts the tablet off: it leaves the list of her devices, every contact's device drops its sessions with it, and the group is " +
		"committed anew without it. It still runs and is online. What Bob writes now, to Ada and in the group, reaches her first device, and not the tablet:")
	t.sent(t.Bob, e)
	t.sent(t.Bob, pair)
	return tablet.Stop()
}
