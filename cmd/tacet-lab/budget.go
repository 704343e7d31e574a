package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/lab/budget"
)

func budgetCommand(ran *bool) *cobra.Command {
	o := budget.Options{Rules: budget.Present(), Runs: 20}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "What a day costs one device and its relay, by preset: a model",
		Long: `What a day costs one device and its relay, for each preset and sort of person.

It is a model, drawn from a fixed seed: trust its factors, not its digits. The
tests of package lab/budget hold it against real clients and a real relay where
there are programs to hold it against. What the figures mean: docs/budget.md.`,
		Example: `  tacet-lab budget
  tacet-lab budget --ping 240 --period 3600
  tacet-lab budget --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if o.Ping < 1 || o.Period < 60 || o.Period > 86400 || o.Realm < 1 || o.Realm > 1_000_000 {
				return errors.New("ping is from 1 s, period from 60 to 86400 s, realm from 1 to 1000000 devices")
			}
			*ran = true
			if asJSON {
				return budget.WriteJSON(os.Stdout, o.All())
			}
			return o.Write(os.Stdout, o.All())
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Realm, "realm", 1000, "devices in the realm")
	f.Float64Var(&o.Ping, "ping", o.Ping, "seconds of silence before a watching device is pinged")
	f.Float64Var(&o.Period, "period", o.Period, "seconds of a live period")
	f.BoolVar(&asJSON, "json", false, "all figures as JSON")
	return cmd
}
