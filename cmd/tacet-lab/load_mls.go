package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/lab/load"
)

func mlsCommand(ran *bool) *cobra.Command {
	var o load.MLSOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "mls",
		Short: "Create, change and use groups (RFC 9420), and say what each step takes",
		Long: `Create, change and use groups (RFC 9420), and say what each step takes.

Ours and the peers are processes of their own and do the same work in groups of
the same shape, in turns: all do one step again and again for half a second, then
all the next, and each round begins with another. The first round does not count.

  create   a group, and all its members in one commit without a path, with the Welcome
  add      one more member, the same way; the group stays as it was
  commit   with a path, and nothing else: new keys from a leaf to the root
  process  that commit, by a member in the other half of the tree
  encrypt  an application message of 1,000 bytes
  decrypt  it

Bytes go in and come out, so parsing is part of all. Trees have a key in every
parent, as after each member has committed once; with --fresh they have none, as
after a creation. elapsed is the median within a turn, CPU the mean of the process
in a turn, collection of garbage included. Ratios are taken within a round.

ts-mls (npm, MIT) runs in Node; ` + "`scripts/test setup`" + ` fetches it. core-crypto (npm,
GPL-3.0) runs in Chromium, with its database in memory; it is fetched by nobody but
you, into a directory that --core-crypto names.

The last line is
  mls: N members, commit T, PEER by ours R, process T, PEER by ours R
for the largest group.`,
		Example: `  tacet-lab load mls --vs ts-mls
  tacet-lab load mls --vs ts-mls,core-crypto --core-crypto ~/bench --members 1000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			o.Progress = os.Stderr
			r, err := load.MLS(cmd.Context(), o)
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
	f.StringSliceVar(&o.Vs, "vs", nil, "what to compare with: "+strings.Join(load.MLSPeers(), ", "))
	f.IntVar(&o.Suite, "suite", 0, "cipher suite (1)")
	f.IntSliceVar(&o.Sizes, "members", nil, "sizes of groups (2,16,128,1000)")
	f.IntVar(&o.Rounds, "rounds", 0, "turns of each that count (5)")
	f.DurationVar(&o.Length, "length", 0, "measured time of each turn (500ms)")
	f.BoolVar(&o.Fresh, "fresh", false, "trees in which nobody has committed")
	f.StringVar(&o.CoreCrypto, "core-crypto", "", "directory whose node_modules has @wireapp/core-crypto")
	f.StringVar(&o.Profiles, "cpuprofile", "", "directory for CPU profiles of ours, one for each step and size")
	f.BoolVar(&o.Short, "short", false, "everything as small as it can be, to see that it works")
	f.BoolVar(&asJSON, "json", false, "print one JSON document instead of a table")
	return cmd
}
