package lab

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// TestGroupTimer: a text that is to disappear does so where it was read, stays where it
// was not, and stays with its author until everybody has it.
func TestGroupTimer(t *testing.T) {
	c := newCircle(t, "Bob", "Carol")
	c.gather("walkers", "Bob", "Carol")
	const stays, goes = "this stays", "this is not for long"
	c.say("Ada", "walkers", stays, 2)
	if _, err := c.people["Bob"].ChangeGroup(t.Context(), client.GroupChange{Group: "walkers", Action: client.GroupTimer, Timer: time.Second}); err == nil {
		t.Error("who is no admin set the timer")
	}
	if _, err := c.people["Ada"].ChangeGroup(t.Context(), client.GroupChange{Group: "walkers", Action: client.GroupTimer, Timer: time.Second}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"Ada", "Bob", "Carol"} {
		c.until(n+" to know of the timer", func() bool {
			g, err := c.people[n].GroupInfo(t.Context(), "walkers")
			return err == nil && g.Timer == time.Second
		})
	}
	c.leave("Carol")
	e := c.say("Ada", "walkers", goes, 1)
	if e.Timer != time.Second {
		t.Errorf("got a timer of %s, want a second", e.Timer)
	}
	c.until("Bob to be shown the text", func() bool { return c.got("Bob", goes) == 1 })
	// A follower is told of it.
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	told := make(chan client.Event, 1)
	go c.people["Bob"].Follow(ctx, 0, func(e client.Event) error {
		if e.State == client.Disappeared {
			told <- e
			return errors.New("enough")
		}
		return nil
	})
	events, err := c.people["Bob"].Read(t.Context(), client.Query{Contact: "walkers"})
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if err := c.people["Bob"].MarkRead(t.Context(), last.Seq); err != nil {
		t.Fatal(err)
	}
	c.until("the text to disappear at Bob", func() bool { return c.got("Bob", goes) == 0 })
	if gone := <-told; gone.Text != "" || gone.Seq == 0 {
		t.Errorf("the follower got %+v, want a number alone", gone)
	}
	if n := c.got("Bob", stays); n != 1 {
		t.Errorf("what was said before: shown %d times at Bob, want 1", n)
	}
	if all := c.event("Ada", e.Seq); all.Text != goes || all.Reached != 1 {
		t.Errorf("Carol does not have it: Ada has %+v, want the text, on one device", all)
	}
	c.run("Carol")
	c.until("Carol to be shown the text", func() bool { return c.got("Carol", goes) == 1 })
	c.until("the text to disappear at Ada", func() bool {
		all, err := c.people["Ada"].Read(t.Context(), client.Query{Contact: "walkers"})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.Text == goes {
				return false
			}
		}
		return true
	})
	if n := c.got("Carol", goes); n != 1 {
		t.Errorf("not read: shown %d times at Carol, want 1", n)
	}
}
