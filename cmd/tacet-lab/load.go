package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/lab/load"
)

func loadCommand(ran *bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure a relay, and other brokers beside it",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(liveCommand(ran))
	return cmd
}

func liveCommand(ran *bool) *cobra.Command {
	var o load.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Put cells through the live path, and say what a delivery takes and costs",
		Long: `Put cells through the live path, and say what a delivery takes and costs.

The relay is a process of its own, this one is all of its clients, and real
sockets on loopback are between them. With --vs the same work is given to other
brokers, in rounds in which each has its turn; figures to look at are ratios.
nats-server and centrifugo are built from source the first time, into the cache
directory of this user; mosquitto is taken from PATH.

Scenarios: ` + strings.Join(load.Scenarios(), ", ") + `.

The last line is
  load: p50/nats R, percpu/nats R, fanout/nats R, idle KiB plain K tls K
p50 is from when a cell was due to when it was read, at the worst of the rates;
percpu is deliveries by second of the server's CPU time, one to one and
saturated; fanout is the same from one to many. A dash stands for what was not
measured. The exit status is 1 if our relay lost a cell or delivered one twice.`,
		Example: `  tacet-lab load live --vs nats
  tacet-lab load live --vs nats,natsws,mosquitto,centrifugo --rounds 5 --json
  tacet-lab load live --scenario saturated --vs nats --only tacet+tls,nats+tls --cpuprofile /tmp/profiles`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			o.Progress = os.Stderr
			r, err := load.Live(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = r.JSON(os.Stdout)
			} else {
				err = r.Table(os.Stdout)
			}
			if err != nil {
				return err
			}
			return r.Wrong()
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Vs, "vs", nil, "brokers to compare with: "+strings.Join(load.Peers(), ", "))
	f.StringSliceVar(&o.Only, "only", nil, "variants to run: "+strings.Join(load.Variants(), ", "))
	f.StringSliceVar(&o.Scenarios, "scenario", nil, "what to measure (all)")
	f.IntVar(&o.Rounds, "rounds", 0, "turns of each server (3)")
	f.IntSliceVar(&o.Rates, "rate", nil, "cells a second of the paced scenario (500,10000)")
	f.DurationVar(&o.Length, "length", 0, "measured time of each turn (3s)")
	f.IntVar(&o.Pairs, "pairs", 0, "senders, one to one (64)")
	f.IntVar(&o.InFlight, "in-flight", 0, "cells of each sender on their way when saturated (64)")
	f.IntVar(&o.Burst, "burst", 0, "most cells in one write of a client when saturated (1)")
	f.IntVar(&o.Fan, "fan", 0, "receivers of the fan-out (50)")
	f.IntVar(&o.Idle, "idle", 0, "connections held idle (5000)")
	f.StringVar(&o.Profiles, "cpuprofile", "", "directory for CPU profiles of the relay, one for each turn")
	f.BoolVar(&o.Short, "short", false, "everything as small as it can be, to see that it works")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of tables")
	return cmd
}
