package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/lab/load"
)

func loadCommand(ran *bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure a relay, and other brokers beside it; and group security, and other libraries",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(liveCommand(ran), soakCommand(ran), holdCommand(ran), parkCommand(ran), mlsCommand(ran), groupCommand(ran))
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
measured. The exit status is 1 if our relay lost a cell, delivered one twice, told of one
as delivered to a frozen receiver, or ended a connection.`,
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
	f.IntVar(&o.Churn, "churn", 0, "devices that come and go, each once in 10 s (2000)")
	f.StringVar(&o.Profiles, "cpuprofile", "", "directory for CPU profiles of the relay, one for each turn")
	f.BoolVar(&o.Short, "short", false, "everything as small as it can be, to see that it works")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of tables")
	return cmd
}

func soakCommand(ran *bool) *cobra.Command {
	var o load.SoakOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Put everything on a relay at once for minutes, and see whether it stays what it was",
		Long: `Put everything on a relay at once for minutes, and see whether it stays what it was.

Pairs and a fan-out at an even pace, devices that come and go with new addresses,
receivers that freeze and come back, and idle connections, all with TLS. Every
10 s a line says how the relay is. The exit status is 1 if a cell was lost or
seen twice, a put was not answered or a frozen receiver told of, memory grew (by
more than 5 % of its mean over the last two thirds, once the relay's window is
full), or goroutines were left after everybody had gone.`,
		Example: `  tacet-lab load soak --for 10m`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			o.Progress = os.Stderr
			r, err := load.Soak(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				if err := r.JSON(os.Stdout); err != nil {
					return err
				}
			} else {
				fmt.Println(r.Line())
			}
			return r.Wrong()
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.For, "for", 0, "how long (10m)")
	f.BoolVar(&o.Plain, "plain", false, "without TLS")
	f.BoolVar(&o.Short, "short", false, "with few of everything")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of a line")
	return cmd
}

func holdCommand(ran *bool) *cobra.Command {
	var o load.HoldOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hold",
		Short: "Hold idle connections while others come and go beside them",
		Long: `Hold idle connections while others come and go beside them.

Each watches 16 addresses. Those that stay say nothing; those that come prove
their addresses and go at once, half of them without a word. The exit status is 1
if one of the first ended, one of the others was refused, or the others left
goroutines or memory behind.`,
		Example: `  tacet-lab load hold --idle 10000 --rate 500 --for 1m`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			o.Progress = os.Stderr
			h, err := load.Hold(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				if err := h.JSON(os.Stdout); err != nil {
					return err
				}
			} else {
				fmt.Println(h.Line())
			}
			return h.Wrong()
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Idle, "idle", 0, "connections that stay (10000)")
	f.IntVar(&o.Rate, "rate", 0, "connections a second that come and go (500)")
	f.DurationVar(&o.For, "for", 0, "how long (1m)")
	f.BoolVar(&o.Plain, "plain", false, "without TLS")
	f.BoolVar(&o.Short, "short", false, "with few of everything")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of a line")
	return cmd
}

func parkCommand(ran *bool) *cobra.Command {
	var o load.ParkOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "park",
		Short: "Put cells to wait, take and delete them, and say how many a second",
		Long: `Put cells to wait, take and delete them, and say how many a second.

The store of parked cells alone, in this process; a whole relay, in one of its
own, over sockets; and with --vs the same in a durable table of PostgreSQL and in
durable queues of RabbitMQ with persistent messages and confirms, which are
started privately. Each has its turn in each round; ratios are within a round. A
peer that is not installed is left out. The store and the relay answer when a
cell would survive their own end; PostgreSQL and RabbitMQ when it would survive
that of the machine.

The last line is
  park: store N/s, relay N/s, store by postgres R, store by rabbitmq R
for the largest batch: medians, and the store's rate by the peer's.`,
		Example: `  tacet-lab load park --vs postgres,rabbitmq`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			o.Progress = os.Stderr
			r, err := load.Park(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return r.JSON(os.Stdout)
			}
			return r.Table(os.Stdout)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Vs, "vs", nil, "what to compare with: "+strings.Join(load.ParkPeers(), ", "))
	f.IntVar(&o.Rounds, "rounds", 0, "turns of each (5)")
	f.DurationVar(&o.Length, "length", 0, "measured time of each turn (3s)")
	f.IntVar(&o.Workers, "workers", 0, "at a time (32)")
	f.IntSliceVar(&o.Batches, "batch", nil, "cells that a worker puts, takes and acks together (1,16)")
	f.StringVar(&o.Profiles, "cpuprofile", "", "directory for CPU profiles of the relay, one for each turn")
	f.BoolVar(&o.Short, "short", false, "everything as small as it can be, to see that it works")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of a table")
	return cmd
}
