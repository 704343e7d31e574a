package lab

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// TestChaosOfGroups kills people at the boundaries of a group while three of them talk
// and change it, and counts: everything that was said is with everybody once, and all
// agree on the group.
func TestChaosOfGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 kill at every boundary of a group: short")
	}
	const patience = 2 * time.Minute
	d := raise(t, StageOptions{AckMean: 50 * time.Millisecond, Spread: -1}, 0, 0)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	carol := d.person("Carol Reyes", "carol", "127.0.0.4", StageOptions{AckMean: 50 * time.Millisecond, Spread: -1})
	check(carol.Start(d.ctx, Fall{}))
	t.Cleanup(func() { carol.Stop() })
	link, err := d.Ada.Invite(d.ctx)
	check(err)
	check(carol.Accept(d.ctx, link, "ada", "hello from Carol"))
	_, err = d.Ada.Receive(d.ctx, patience, "hello from Carol")
	check(err)
	_, err = carol.Await(d.ctx, patience, func(e client.Event) bool {
		return e.State == client.Told && e.Text == "accepted your request"
	})
	check(err)
	people := []*Person{d.Ada, d.Bob, carol}
	_, err = d.Ada.ask(d.ctx, ask{Do: "gather", Who: "walkers", Texts: []string{"bob", carol.Name}})
	check(err)

	// agree waits until all see the same group.
	agree := func(name string) {
		t.Helper()
		var last [3][]client.Group
		for end := time.Now().Add(patience); ; d.pause(100 * time.Millisecond) {
			good := true
			for i, p := range people {
				a, err := p.ask(d.ctx, ask{Do: "groups"})
				last[i] = a.Groups
				good = good && err == nil && len(a.Groups) == 1 && a.Groups[0].Name == name && a.Groups[0].State == "active" &&
					len(a.Groups[0].Members) == len(people) && a.Groups[0].Epoch == last[0][0].Epoch && len(a.Groups[0].Changes) == 0
			}
			if good {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("they do not agree on %q: %+v", name, last)
			}
		}
	}
	agree("walkers")

	var texts []string
	name := "walkers"
	boundaries := []string{client.BoundaryGroupCommitted, client.BoundarySlotAsked, client.BoundarySlotAnswered, client.BoundarySlotCommitted,
		client.BoundaryCellArrived, client.BoundaryCellCommitted, client.BoundaryGroupPut}
	for i, b := range boundaries {
		// Ada makes the changes; of what comes and of acks another one is the victim.
		victim, speaker := d.Ada, d.Bob
		if b == client.BoundaryCellArrived || b == client.BoundaryCellCommitted || b == client.BoundaryGroupPut {
			victim, speaker = carol, d.Ada
		}
		nth := 1 + d.dice.IntN(whole(1, 4))
		if b == client.BoundarySlotAsked || b == client.BoundarySlotAnswered || b == client.BoundarySlotCommitted {
			nth = 1 // one change is one slot that is filled, and no more need be asked
		}
		check(victim.Fall(d.ctx, Fall{Boundary: b, Nth: nth}))
		next := fmt.Sprintf("walkers %d", i)
		_, err := d.Ada.ask(d.ctx, ask{Do: "name", Who: name, Text: next})
		if err != nil && !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
		text := fmt.Sprintf("said, %d", i)
		for {
			// By the number: it is called what it was called, or otherwise by now.
			_, err := speaker.Send(d.ctx, "#g1", text)
			if err == nil {
				break
			}
			t.Fatal(err)
		}
		texts = append(texts, text)
		d.over(victim, b)
		d.kills++
		check(victim.Start(d.ctx, Fall{}))
		if got, err := d.Ada.ask(d.ctx, ask{Do: "groups"}); err != nil {
			t.Fatal(err)
		} else if g := got.Groups[0]; g.Name == name && len(g.Changes) == 0 { // it was killed before it committed the wish
			_, err := d.Ada.ask(d.ctx, ask{Do: "name", Who: name, Text: next})
			check(err)
		}
		agree(next)
		name = next
		for _, p := range people {
			if p == speaker {
				continue
			}
			if _, err := p.Receive(d.ctx, patience, text); err != nil {
				t.Fatalf("%s, killed at %q: %v", p.Name, b, err)
			}
		}
	}
	for _, p := range people {
		all, err := p.Read(d.ctx)
		check(err)
		n := map[string]int{}
		for _, e := range all {
			if e.GroupID != 0 && (e.State == client.Received || e.Out) {
				n[e.Text]++
			}
		}
		for _, text := range texts {
			if n[text] != 1 {
				t.Errorf("%s has %q %d times, want once", p.Name, text, n[text])
			}
		}
	}
	t.Logf("%d kills, %d messages, %.1f s", d.kills, len(texts), time.Since(d.began).Seconds())
}
