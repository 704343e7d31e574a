package lab

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// TestChaosOfTokens kills somebody where a token is taken, at a relay that sells
// tokens for puzzles: they go on talking.
func TestChaosOfTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 kill at every boundary of the purse: short")
	}
	const patience = 2 * time.Minute
	d := raise(t, StageOptions{AckMean: 50 * time.Millisecond, Config: `roles = ["live", "blob", "token"]`}, 0, 0)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for i := range 2 { // the watch, and the put context
		text := fmt.Sprintf("paid, %d", i)
		texts = append(texts, text)
		d.Ada.Kill()
		check(d.Ada.Start(d.ctx, Fall{Boundary: client.BoundaryTokenTaken, Nth: 1 + i}))
		d.Ada.Send(d.ctx, "bob", text) // the kill may come first
		d.over(d.Ada, client.BoundaryTokenTaken)
		d.kills++
		check(d.Ada.Start(d.ctx, Fall{}))
		arrived := func(x client.Event) bool { return x.Text == text && x.State == client.OnDevice }
		if all, err := d.Ada.Read(d.ctx); err != nil {
			t.Fatal(err)
		} else if !slices.ContainsFunc(all, func(x client.Event) bool { return x.Text == text }) {
			_, err := d.Ada.Send(d.ctx, "bob", text) // she was killed before it was hers
			check(err)
		}
		if _, err := d.Ada.Await(d.ctx, patience, arrived); err != nil {
			t.Fatalf("after kill %d: %v; %v", i, err, d.Ada.Events())
		}
	}
	d.talks[0].texts = texts
	for _, k := range d.talks {
		k.said = true
	}
	d.reckon()
}
