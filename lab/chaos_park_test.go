package lab

import (
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// TestChaosOfParking kills the sender at every boundary of parking and the
// receiver at every one of taking, while the other is away.
func TestChaosOfParking(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 kill at every boundary of parking: short")
	}
	const patience = time.Minute
	d := raise(t, StageOptions{AckMean: 50 * time.Millisecond, Config: `roles = ["live", "blob", "park"]`, Brief: true}, 0, 0)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for i, b := range []string{client.BoundaryParkSealed, client.BoundaryParkAnswered, client.BoundaryParkNoted, client.BoundaryTakenArrived, client.BoundaryTakenCommitted} {
		taking := b == client.BoundaryTakenArrived || b == client.BoundaryTakenCommitted
		d.Bob.Kill()
		d.Ada.Kill()
		text := fmt.Sprintf("parked, %d", i)
		texts = append(texts, text)
		fall := Fall{Boundary: b, Nth: 1}
		if taking {
			fall = Fall{}
		}
		check(d.Ada.Start(d.ctx, fall))
		e, err := d.Ada.Send(d.ctx, "bob", text)
		check(err)
		if !taking {
			d.over(d.Ada, b)
			check(d.Ada.Start(d.ctx, Fall{}))
			d.kills++
		}
		if _, err := d.Ada.Await(d.ctx, patience, func(x client.Event) bool { return x.Seq == e.Seq && x.State == client.Parked }); err != nil {
			t.Fatalf("after a kill at %q the message was not parked: %v; %v", b, err, d.Ada.Events())
		}
		check(d.Ada.Stop())
		if taking {
			check(d.Bob.Start(d.ctx, Fall{Boundary: b, Nth: 1}))
			d.over(d.Bob, b)
			d.kills++
		}
		check(d.Bob.Start(d.ctx, Fall{}))
		if _, err := d.Bob.Receive(d.ctx, patience, text); err != nil {
			t.Fatalf("killed at %q: %v", b, err)
		}
		check(d.Ada.Start(d.ctx, Fall{}))
		if _, err := d.Ada.Reach(d.ctx, patience, e.Seq, client.OnDevice); err != nil {
			t.Fatalf("killed at %q: %v", b, err)
		}
	}
	d.talks[0].texts = texts
	for _, k := range d.talks {
		k.said = true
	}
	d.reckon()
}

// over waits until somebody has killed themselves.
func (d *drama) over(p *Person, boundary string) {
	d.t.Helper()
	select {
	case <-p.Over():
	case <-time.After(time.Minute):
		d.t.Fatalf("%s did not cross %q", p.Name, boundary)
	}
}
