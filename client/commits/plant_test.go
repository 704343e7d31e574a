package commits

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// TestPlants puts each fault in and looks for runs that see it; without it the same
// seeds are good, and with it the same seed ends the same again.
func TestPlants(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: runs with planted faults take seconds")
	}
	for _, c := range []struct {
		plant    plant
		schedule string
		seen     []fault
	}{
		{forgetsSeen, "shown-before-it-moves", []fault{twice}},
		{twoChildren, "small+crash", []fault{forked}},
		{falseReceipt, "mutual-removal", []fault{forked, diverged}},
		{seesTooLittle, "add-races-messages", []fault{outsider}},
		{acksFirst, "small+crash", []fault{lost}},
		{dropsRows, "small+crash", []fault{lost}},
		{revokesNobody, "small+pairs", []fault{undone}},
		{losesCommit, "small+crash", []fault{lost, twice, diverged, forked}},
	} {
		t.Run(string(c.plant), func(t *testing.T) {
			o := Options{Seeds: 1, Schedule: c.schedule, MLS: "abstract"}
			run := func() *Outcome {
				var out *Outcome
				if _, err := Run(context.Background(), o, func(r *Outcome) { out = r }); err != nil {
					t.Fatal(err)
				}
				return out
			}
			for o.From = 1; o.From <= 40; o.From++ {
				o.Plant = string(c.plant)
				bad := run()
				if !slices.ContainsFunc(bad.Findings, func(f Finding) bool { return slices.Contains(c.seen, fault(f.Fault)) }) {
					continue
				}
				if again := run(); fmt.Sprint(again.Findings) != fmt.Sprint(bad.Findings) {
					t.Errorf("seed %d ends otherwise the second time: %v | %v", o.From, bad.Findings, again.Findings)
				}
				o.Plant = ""
				if good := run(); len(good.Findings) > 0 {
					t.Errorf("seed %d without the fault: %v", o.From, good.Findings)
				}
				t.Logf("seed %d: %s: %s", o.From, bad.Findings[0].Fault, bad.Findings[0].What)
				return
			}
			t.Errorf("not seen in 40 runs of %s", c.schedule)
		})
	}
}
