package lab

import (
	"testing"

	"github.com/tacet-chat/tacet/client"
)

// TestMembersWhoNeverMet has Ada add two people who do not know each other. They talk,
// and are introduced to each other by the group: with Ada away one of them takes the
// other out and adds them again, which needs a key package and a Welcome between the two.
func TestMembersWhoNeverMet(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 group of people who never met: short")
	}
	t.Parallel()
	c := newCircle(t, "Bob", "Carol")
	c.gather("walkers", "Bob", "Carol")
	c.say("Ada", "walkers", "to both", 2)
	c.say("Bob", "walkers", "from Bob", 2)
	c.say("Carol", "walkers", "from Carol", 2)
	for _, x := range [][2]string{{"Bob", "Carol"}, {"Carol", "Bob"}} {
		c.until(x[0]+" to have a session with "+x[1], func() bool {
			g, err := c.people[x[0]].GroupInfo(t.Context(), "walkers")
			return err == nil && member(g, x[1]).Met
		})
		all, err := c.people[x[0]].Contacts(t.Context())
		if err != nil || len(all) != 1 {
			t.Errorf("%s has %d contacts, %v; want Ada alone", x[0], len(all), err)
		}
	}
	c.change("Ada", client.GroupChange{Group: "walkers", Action: client.GroupPromote, Who: "Bob"})
	c.until("Bob to be an admin", func() bool {
		g, err := c.people["Bob"].GroupInfo(t.Context(), "walkers")
		return err == nil && g.Admin && len(g.Changes) == 0
	})
	c.quiet()
	c.leave("Ada")

	g, err := c.people["Bob"].GroupInfo(t.Context(), "walkers")
	if err != nil {
		t.Fatal(err)
	}
	carol := member(g, "Carol").Name
	c.change("Bob", client.GroupChange{Group: "walkers", Action: client.GroupRemove, Who: carol})
	c.until("Carol to be out", func() bool {
		g, err := c.people["Carol"].GroupInfo(t.Context(), "walkers")
		return err == nil && g.State == "left"
	})
	c.change("Bob", client.GroupChange{Group: "walkers", Action: client.GroupAdd, Who: carol})
	// He is no contact of hers: she is asked, and no device of hers says anything before.
	c.until("Carol to be asked", func() bool {
		g, err := c.people["Carol"].GroupInfo(t.Context(), "walkers")
		return err == nil && g.State == "invited" && len(g.Questions) == 1
	})
	if _, err := c.people["Carol"].Send(t.Context(), client.Outgoing{To: "walkers", Text: "too early"}); err == nil {
		t.Error("Carol wrote to a group before she said yes")
	}
	if _, err := c.people["Carol"].DecideGroup(t.Context(), "walkers", "", true); err != nil {
		t.Fatal(err)
	}
	c.until("Carol to be in again", func() bool {
		g, err := c.people["Carol"].GroupInfo(t.Context(), "walkers")
		return err == nil && g.State == "active" && len(g.Members) == 3
	})
	if _, err := c.people["Bob"].Send(t.Context(), client.Outgoing{To: "walkers", Text: "welcome back"}); err != nil {
		t.Fatal(err)
	}
	c.until("Carol to read it", func() bool { return c.got("Carol", "welcome back") == 1 })
	if _, err := c.people["Carol"].Send(t.Context(), client.Outgoing{To: "walkers", Text: "good to be back"}); err != nil {
		t.Fatal(err)
	}
	c.until("Bob to read it", func() bool { return c.got("Bob", "good to be back") == 1 })
	c.run("Ada")
	for _, text := range []string{"welcome back", "good to be back"} {
		c.until("Ada to read "+text, func() bool { return c.got("Ada", text) == 1 })
	}
}

// member finds somebody in a group by what they call themselves.
func member(g client.Group, claimed string) (m client.GroupMember) {
	for _, m := range g.Members {
		if m.Claimed == claimed {
			return m
		}
	}
	return m
}

func (c *circle) change(who string, g client.GroupChange) {
	c.t.Helper()
	if _, err := c.people[who].ChangeGroup(c.t.Context(), g); err != nil {
		c.t.Fatal(err)
	}
}

// TestSomebodyAwayIsAdded has Ada add somebody who is away, by what their device gave
// hers before: he is a member at once, and reads what she said when he comes back.
func TestSomebodyAwayIsAdded(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 group of somebody who is away: short")
	}
	t.Parallel()
	c := newCircle(t)
	c.stock = -1
	c.enter("Bob")
	acquaint(t, c.people["Ada"], c.people["Bob"], "hello Ada")
	c.until("Ada to have what she needs to add Bob", func() bool {
		all, err := c.people["Ada"].Contacts(t.Context())
		return err == nil && len(all) == 1 && all[0].Addable
	})
	c.quiet()
	c.leave("Bob")
	if _, err := c.people["Ada"].CreateGroup(t.Context(), client.GroupOptions{Name: "walkers", People: []string{"Bob"}}); err != nil {
		t.Fatal(err)
	}
	c.members("walkers", "Ada", "Ada") // two are in it
	if _, err := c.people["Ada"].Send(t.Context(), client.Outgoing{To: "walkers", Text: "are you there?"}); err != nil {
		t.Fatal(err)
	}
	c.run("Bob")
	c.until("Bob to read it", func() bool { return c.got("Bob", "are you there?") == 1 })
}
