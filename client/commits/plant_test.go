package commits

import (
	"context"
	"fmt"
	"os"
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
		from     uint64 // the seed that saw it when it was last looked for: looking begins there
		long     bool   // only with TACET_LONG
	}{
		{forgetsSeen, "shown-before-it-moves", []fault{twice}, 5, false},
		{twoChildren, "small+crash", []fault{forked}, 30, true},
		{falseReceipt, "mutual-removal", []fault{forked, diverged}, 6, false},
		{seesTooLittle, "add-races-messages", []fault{outsider}, 7, false},
		{acksFirst, "small+crash", []fault{lost}, 6, true},
		{dropsRows, "part", []fault{lost}, 5, false},
		{revokesNobody, "small+pairs", []fault{undone}, 3, false},
		{losesCommit, "small+crash", []fault{lost, twice, diverged, forked}, 22, true},
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
			if c.long && os.Getenv("TACET_LONG") == "" {
				t.Skip("SKIPPED 1 planted fault: with TACET_LONG=1")
			}
			for i := range uint64(40) {
				o.From = (c.from+i-1)%40 + 1
				o.Plant = string(c.plant)
				bad := run()
				if !slices.ContainsFunc(bad.Findings, func(f Finding) bool { return slices.Contains(c.seen, fault(f.Fault)) }) {
					continue
				}
				if os.Getenv("TACET_LONG") != "" { // else TestAgain alone says that runs repeat
					if again := run(); fmt.Sprint(again.Findings) != fmt.Sprint(bad.Findings) {
						t.Errorf("seed %d ends otherwise the second time: %v | %v", o.From, bad.Findings, again.Findings)
					}
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
