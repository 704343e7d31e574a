package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"github.com/tacet-chat/tacet/relay"
)

func inviteCommand() *cobra.Command {
	var s settings
	var o relay.InviteOptions
	var asJSON, draw bool
	cmd := &cobra.Command{
		Use:   "invite",
		Short: "Make a link that makes a device a member of this realm",
		Long: `Make a link that makes a device a member of this realm. It is a secret: whoever
has it can join, once for each use. The relay keeps its hash alone, so it cannot be
shown again. Who joins is not written down, by name or otherwise.

The device joins with "tacet accept LINK".`,
		Example: `  tacet-relay invite
  tacet-relay invite --uses 20 --days 30 --relay relay.example
  tacet-relay invite list
  tacet-relay invite revoke 1f2e3d4c`,
		Args: cobra.NoArgs,
	}
	s.register(cmd)
	f := cmd.Flags()
	f.IntVar(&o.Uses, "uses", 1, "for `N` devices")
	f.IntVar(&o.Days, "days", 7, "for `N` days")
	f.StringVar(&o.Name, "relay", "", "`NAME` by which devices reach the relay, with :PORT where it is not 443; else its domain, or where it listens")
	f.BoolVar(&draw, "qr", false, "draw the code also where no terminal is")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		i, err := relay.Invite(cmd.Context(), cfg, o)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if asJSON {
			return printJSON(out, i)
		}
		if _, err := fmt.Fprintln(out, i.Link); err != nil {
			return err
		}
		if draw || onScreen(out) {
			code, err := qr.Encode(i.Link, qr.L)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "\n%s\n", drawQR(code)); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "For %s, until the end of %s (UTC). Whoever has the link can use it: tacet accept LINK\nTo take it back: tacet-relay invite revoke %s\n", devices(i.Uses), i.Last, i.ID)
		return err
	}
	cmd.AddCommand(inviteList(), inviteRevoke())
	return cmd
}

func devices(n int) string {
	if n == 1 {
		return "one device"
	}
	return fmt.Sprintf("%d devices", n)
}

func inviteList() *cobra.Command {
	var s settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the invites that can be used: uses left and last day, never a link",
		Example: "  tacet-relay invite list --json",
		Args:    cobra.NoArgs,
	}
	s.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		list, err := relay.Invites(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), list)
		}
		for _, i := range list {
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  for %s, until %s\n", i.ID, devices(i.Uses), i.Last); err != nil {
				return err
			}
		}
		if len(list) == 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "There are no invites.")
		}
		return nil
	}
	return cmd
}

func inviteRevoke() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Take an invite back; who joined with it stays a member",
		Example: "  tacet-relay invite revoke 1f2e3d4c",
		Args:    cobra.ExactArgs(1),
	}
	s.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		return relay.RevokeInvite(cmd.Context(), cfg, args[0])
	}
	return cmd
}
