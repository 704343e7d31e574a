package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client/commits"
)

// errCommits is returned when a run ended as none may; the report has said how.
var errCommits = errors.New("a group did not end as it must")

func commitsCommand(ran *bool) *cobra.Command {
	o := commits.Options{Seeds: 100, From: 1}
	var trace, detail, explore, list bool
	x := commits.Exploration{Devices: 3, Changes: 3}
	cmd := &cobra.Command{
		Use:   "commits",
		Short: "Run groups through all that can happen to them, and look for what never must",
		Long: `Run groups through all that can happen to them, and look for what never must.

The client's own engine of groups runs over a world with virtual time: a network
that delays, loses, doubles and parts; relays that lie, forget and vanish;
devices that crash between any two steps or sleep for weeks; members and former
members who cheat. Each run is drawn from its seed.

The last line is
  commits: N seeds, 0 diverged, 0 lost, 0 shown twice, 0 read by outsiders
and the exit status is 1 if a run ended in any way that none may, with a line
that runs its seed again, step by step. With --mls real the random numbers
inside the cryptography are real: a run is drawn again except for what depends
on the bytes of ciphertexts.

--explore goes through all orders of events of few devices and changes, crashes
included, with abstract MLS.`,
		Example: `  tacet-lab commits --seeds 1000 --from 1 --mls abstract
  tacet-lab commits --seeds 20 --schedule forget+rogue+crash
  tacet-lab commits --seeds 1 --from 3104 --schedule lone-joiner --trace
  tacet-lab commits --explore --devices 3 --changes 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				*ran = true
				fmt.Println(strings.Join(append(slices.Clone(commits.Schedules), commits.Scripts()...), "\n"))
				return nil
			}
			if o.Seeds < 1 || o.Seeds > 1_000_000 {
				return errors.New("seeds are from 1 to 1000000")
			}
			if explore {
				*ran = true
				return runExplore(cmd, x)
			}
			if trace || detail {
				o.Trace, o.Detail = os.Stdout, detail
			}
			return runCommits(cmd, o, ran)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Seeds, "seeds", o.Seeds, "how many runs")
	f.Uint64Var(&o.From, "from", o.From, "seed of the first; the others are those after it")
	f.StringVar(&o.Schedule, "schedule", "all", "what befalls the group: words joined by +, several with commas, or all (see --list)")
	f.StringVar(&o.MLS, "mls", "real", "real, or abstract: hash chains in place of cryptography")
	f.StringVar(&o.Plant, "plant", "", "put a fault in on purpose, which has to be seen: "+strings.Join(commits.Plants, ", "))
	f.IntVar(&o.Workers, "workers", 0, "runs at a time; 0: as many as there are processors")
	f.BoolVar(&trace, "trace", false, "tell every step")
	f.BoolVar(&detail, "detail", false, "tell every transaction, too")
	f.BoolVar(&list, "list", false, "list the schedules")
	f.BoolVar(&explore, "explore", false, "go through all orders of events in place of drawing them")
	f.IntVar(&x.Devices, "devices", x.Devices, "devices, with --explore")
	f.IntVar(&x.Changes, "changes", x.Changes, "changes at once, with --explore")
	f.IntVar(&x.Crashes, "crashes", 1, "crashes in a run, with --explore")
	f.IntVar(&x.Ticks, "ticks", 2, "calls by the clock of each device before the ending, with --explore")
	f.IntVar(&x.States, "states", 20_000_000, "give up after so many states, with --explore")
	return cmd
}

func runCommits(cmd *cobra.Command, o commits.Options, ran *bool) error {
	debug.SetGCPercent(400) // little lives, much is thrown away
	began, said := time.Now(), time.Now()
	done := 0
	t, err := commits.Run(cmd.Context(), o, func(r *commits.Outcome) {
		done++
		for _, f := range r.Findings {
			fmt.Printf("seed %d, %s, %s: %s\n", r.Seed, r.Schedule, f.Fault, f.What)
		}
		if len(r.Findings) > 0 {
			plant := ""
			if o.Plant != "" {
				plant = " --plant " + o.Plant
			}
			fmt.Printf("  again, step by step: tacet-lab commits --seeds 1 --from %d --schedule %s --mls %s%s --trace\n", r.Seed, r.Schedule, o.MLS, plant)
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d\n", done, o.Seeds)
		}
	})
	if t == nil {
		return err
	}
	*ran = true
	fmt.Printf("%d runs in %v: %d texts in %d cells, %d crashes, %d groups made again, %d epochs\n", t.Seeds, time.Since(began).Round(time.Second), t.Texts, t.Cells, t.Crashes, t.Remade, t.Epochs)
	for _, k := range slices.Sorted(maps.Keys(t.Other)) {
		fmt.Printf("%d %s\n", t.Other[k], k)
	}
	fmt.Println(t.Last())
	if err == nil && t.Bad > 0 {
		err = errCommits
	}
	return err
}

func runExplore(cmd *cobra.Command, x commits.Exploration) error {
	r, err := commits.Explore(cmd.Context(), x)
	if r != nil {
		fmt.Println(r)
	}
	if err == nil && !r.Good() {
		err = errCommits
	}
	return err
}
