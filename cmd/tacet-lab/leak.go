package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/lab/leak"
)

// errLeak is returned when a check failed; the report has said why.
var errLeak = errors.New("more leaks than the baseline allows, or an attack has lost its power")

func leakCommand(ran *bool) *cobra.Command {
	var o leak.Options
	var check, asJSON bool
	var baseline, record string
	cmd := &cobra.Command{
		Use:   "leak",
		Short: "Measure what a relay learns of a population of real clients",
		Long: `Measure what a relay learns of a population of real clients.

People with real clients talk over a real relay for a day of virtual time. A
recorder keeps exactly what the relay could log, and three attacks work on it:
linking a device's addresses across periods, pairing who writes with who reads,
and asking whether somebody is there. Each also has to break clients that do
something wrong, or its figures mean nothing.

The last line is
  leak: N attacks, N with power, within baseline
and with --check the exit status is 1 if it says anything else. Who talks when
is drawn from the seed; the randomness inside the clients is real, so two runs
differ: intervals of 99.8 % are compared, with 0.03 to spare.`,
		Example: `  tacet-lab leak
  tacet-lab leak --check --people 12 --hours 6
  tacet-lab leak --plant "keeps its decoys" --check --people 12 --hours 6`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, ok := leak.Plants[o.Plant]; !ok && o.Plant != "" {
				return fmt.Errorf("there is no client that %q; there is one that %s", o.Plant, strings.Join(plants(), ", or "))
			}
			if o.People < 4 || o.People > 200 || o.Hours < 2 || o.Hours > 240 {
				return errors.New("people are from 4 to 200, hours from 2 to 240")
			}
			var known []byte
			if baseline != "" {
				var err error
				if known, err = os.ReadFile(baseline); err != nil {
					return err
				}
			}
			*ran = true
			o.Progress = os.Stderr
			rows, err := leak.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			r, err := leak.NewReport(o.Setting, rows, known)
			if err != nil {
				return err
			}
			if err := show(r, asJSON); err != nil {
				return err
			}
			if record != "" {
				if err := write(record, r.Baseline()); err != nil {
					return err
				}
			}
			if check && !r.Good() {
				return errLeak
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.People, "people", 24, "how many people")
	f.IntVar(&o.Hours, "hours", 24, "how many hours of virtual time")
	f.Uint64Var(&o.Seed, "seed", 1, "draws who knows whom and who does what when")
	f.BoolVar(&check, "check", false, "exit with status 1 unless all attacks have power and all is within the baseline")
	f.BoolVar(&asJSON, "json", false, "the report as JSON; its last line goes to stderr")
	f.StringVar(&baseline, "baseline", "", "baselines in a `FILE` in place of those that are built in")
	f.StringVar(&record, "record", "", "write what was measured to a `FILE`, as a baseline")
	f.StringVar(&o.Plant, "plant", "", "measure a client that does something wrong: `WHAT` is "+strings.Join(plants(), ", "))
	return cmd
}

func plants() []string { return slices.Sorted(maps.Keys(leak.Plants)) }

// show prints the report.
func show(r *leak.Report, asJSON bool) error {
	if !asJSON {
		return r.Write(os.Stdout)
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := fmt.Fprintln(os.Stderr, r.Last())
	return err
}

// write writes one baseline as a list of one.
func write(path string, b leak.Baseline) error {
	text, err := json.MarshalIndent([]leak.Baseline{b}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
