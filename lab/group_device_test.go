package lab

import (
	"context"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// link makes another device of somebody's, and runs it.
func (c *circle) link(who, name, at string) {
	c.t.Helper()
	old := c.people[who]
	if _, err := old.StartLink(c.t.Context(), client.LinkOptions{RelayOnly: true}); err != nil {
		c.t.Fatal(err)
	}
	stage := func(s client.LinkStage) (l client.Link) {
		c.until("the link to be at "+string(s), func() bool {
			var err error
			l, err = old.LinkState(c.t.Context())
			return err == nil && l.Stage == s && (s != client.LinkOffered || l.Online)
		})
		return l
	}
	o := client.Options{Dir: c.t.TempDir() + "/p", Passphrase: []byte("x"), Network: wayFrom(at), WeakVault: true, AckMean: 50 * time.Millisecond, Spread: -1, Brief: true}
	digits, done := make(chan string, 1), make(chan error, 1)
	code := stage(client.LinkOffered).Code
	go func() {
		done <- client.Join(context.Background(), o, client.JoinOptions{Code: code, Name: name, RelayOnly: true, Progress: func(p client.JoinProgress) {
			if p.Digits != "" {
				select {
				case digits <- p.Digits:
				default:
				}
			}
		}})
	}()
	stage(client.LinkCompare)
	if _, err := old.ConfirmLink(c.t.Context(), <-digits); err != nil {
		c.t.Fatal(err)
	}
	if err := <-done; err != nil {
		c.t.Fatal(err)
	}
	p, err := client.Open(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.people[name] = p
	c.run(name)
	c.t.Cleanup(func() {
		c.leave(name)
		if err := p.Close(); err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
	})
}

// TestGroupsComeAlongToANewDevice links a device to somebody who is in a group. It has
// what was said there, is let in, and goes on with the first device off; revoked, it is
// out of the group and reads nothing more.
func TestGroupsComeAlongToANewDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 group on a new device: short")
	}
	t.Parallel()
	c := newCircle(t, "Bob")
	c.gather("walkers", "Bob")
	c.say("Bob", "walkers", "before the link", 1)
	c.say("Ada", "walkers", "hers", 1)

	// Bob is no admin, and his first device is off at once: Ada lets the new one in.
	c.link("Bob", "pad", from["Carol"])
	c.leave("Bob")
	entered := func(who string, devices int) {
		t.Helper()
		c.until(who+" to be in the group with all devices", func() bool {
			g, err := c.people[who].GroupInfo(t.Context(), "walkers")
			n := 0
			for _, m := range g.Members {
				n += m.Devices
			}
			return err == nil && g.State == "active" && n == devices && len(g.Changes) == 0
		})
	}
	entered("pad", 3)
	entered("Ada", 3)
	all, err := c.people["pad"].Read(t.Context(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, e := range all {
		if e.Group == "walkers" {
			n[e.From+": "+e.Text]++
		}
	}
	if n["you: before the link"] != 1 || n["Ada: hers"] != 1 {
		t.Errorf("the new device shows %v, want what was said before, once", n)
	}
	if _, err := c.people["Ada"].Send(t.Context(), client.Outgoing{To: "walkers", Text: "to the pad"}); err != nil {
		t.Fatal(err)
	}
	c.until("the pad to read it", func() bool { return c.got("pad", "to the pad") == 1 })
	if _, err := c.people["pad"].Send(t.Context(), client.Outgoing{To: "walkers", Text: "from the pad"}); err != nil {
		t.Fatal(err)
	}
	c.until("Ada to read it", func() bool { return c.got("Ada", "from the pad") == 1 })
	c.run("Bob")
	c.until("Bob's first device to have it", func() bool { return c.got("Bob", "to the pad") == 1 })
	entered("Bob", 3)

	if _, err := c.people["Bob"].RevokeDevice(t.Context(), "pad"); err != nil {
		t.Fatal(err)
	}
	entered("Bob", 2)
	entered("Ada", 2)
	c.say("Ada", "walkers", "not for the pad", 1)
	c.say("Bob", "walkers", "nor this", 1)
	c.leave("pad")
	if got := c.got("pad", "not for the pad") + c.got("pad", "nor this"); got != 0 {
		t.Error("the revoked device reads on")
	}
}
