package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/lab/load"
)

func groupCommand(ran *bool) *cobra.Command {
	var o load.GroupOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Send in groups of some sizes, add and remove, and say what it takes and costs",
		Long: `Send in groups of some sizes, add and remove, and say what it takes and costs.

The relay is a process of its own, without TLS as on this machine. So is the
sender: one profile of the SDK with its vault, an admin of the group; what its
process uses is the sender's CPU. The joiner is another one. This process is all
other members: each has its own connection with 16 addresses, its own leaf and
route, and answers by cells of its own. Up to 31 of them are whole: an engine of
groups with real MLS, its store in memory. The others are ears: they open the seal on
every cell, ack, and read the slot when they are told of a commit; they have the
secrets of an epoch from a whole member, open no text and check no commit. What a
thousand devices would compute on a thousand processors is not computed here.

  a text   the sender's CPU until all members have its cell, and until the sender
           rests; when the last member has the cell, and when the last whole one has
           opened it. Copies for each leave within 2 s, on purpose; above 32 leaves
           there is one for all.
  acks     are kept back until then, and come in within --acks in place of the minutes
           of life: the sender's CPU for each
  add      until the joiner is in, and all members know; its key package is asked for
  remove   the same joiner

The group is made by the sender's own engine on its vault, in large commits; that is
not measured. Its sessions with the members exist and are not used.

The last line is
  group: N leaves send T ms CPU, all have it after T ms; ...
with medians. The exit status is 1 if a step did not end.`,
		Example: `  tacet-lab load group
  tacet-lab load group --leaves 8,50 --rounds 5 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			o.Progress = os.Stderr
			r, err := load.Group(cmd.Context(), o)
			if r == nil || len(r.Results) == 0 {
				return err
			}
			if asJSON {
				return errors.Join(err, r.JSON(os.Stdout))
			}
			return errors.Join(err, r.Table(os.Stdout))
		},
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.Sizes, "leaves", nil, "sizes of groups (8,50,250,1000)")
	f.IntVar(&o.Rounds, "rounds", 0, "texts (3)")
	f.IntVar(&o.Whole, "whole", 0, "members that run an engine (31)")
	f.DurationVar(&o.Acks, "acks", 0, "over which the acks of a text come in (5s)")
	f.DurationVar(&o.Patience, "patience", 0, "after which a step counts as one that does not end (3m)")
	f.StringVar(&o.Profiles, "cpuprofile", "", "directory for CPU profiles of the sender, one for each step")
	f.BoolVar(&o.Short, "short", false, "everything as small as it can be, to see that it works")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of tables")
	return cmd
}
