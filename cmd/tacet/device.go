package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

func deviceCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "device",
		Short: "Your devices: link another one, list, rename, revoke",
		Long: `Your devices. One of them holds the root, which says who you are: it links other
devices and takes them off the list. Each works by itself, also while all others
are off; contacts, read marks and what you write agree on all of them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listDevices(cmd.Context()) },
	}
	c.AddCommand(deviceLink(a), deviceJoin(a), deviceList(a), deviceRename(a), deviceRevoke(a), deviceLeave(a))
	return c
}

func deviceList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List your devices", Args: cobra.NoArgs, Example: "  tacet device list --json",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listDevices(cmd.Context()) },
	}
}

func (a *app) listDevices(ctx context.Context) error {
	p, err := a.open(ctx, staying)
	if err != nil {
		return err
	}
	defer p.close()
	all, err := p.Devices(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(list(all))
	}
	var rows [][]string
	for _, d := range all {
		what := ""
		switch {
		case d.Revoked:
			what = "revoked"
		case d.This && d.Root:
			what = "this one, holds the root"
		case d.This:
			what = "this one"
		case d.Heard.IsZero():
			what = "not heard of yet"
		default:
			what = "heard " + text.Day(d.Heard, time.Now())
		}
		rows = append(rows, []string{fmt.Sprintf("#%d", d.Number), deviceName(d), what})
	}
	return a.print(text.Table(rows))
}

// deviceName is what people call a device.
func deviceName(d client.Device) string {
	if d.Name == "" {
		return "device " + fmt.Sprint(d.Number)
	}
	return text.Name(d.Name)
}

func deviceRename(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rename DEVICE NEW", Short: "Give a device of yours another name; nobody else sees it", Args: cobra.ExactArgs(2),
		Example: "  tacet device rename '#2' telephone",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error {
				d, err := p.RenameDevice(cmd.Context(), args[0], args[1])
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(d)
				}
				a.say("Device %d is %s now.", d.Number, deviceName(d))
				return nil
			})
		},
	}
}

func deviceRevoke(a *app) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "revoke DEVICE", Short: "Take a device off the list, for good", Args: cobra.ExactArgs(1),
		Long: `Take a device off the list, for good: for one that was lost or given away. Everybody
stops writing to it and takes nothing from it as soon as they hear. What is on it
stays on it: nobody can reach into a device that somebody else has.`,
		Example: "  tacet device revoke telephone",
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "revoke without asking")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return a.with(ctx, hasty, func(p *profile) error {
			if !yes {
				err := a.must(ctx, fmt.Sprintf("Revoke %s for good? It is cut off from all conversations.", text.Line(args[0])), "Nothing is revoked.", "Not revoked.")
				if err != nil {
					return err
				}
			}
			d, err := p.RevokeDevice(ctx, args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(d)
			}
			a.tell(fmt.Sprintf("%s is revoked. Your contacts and your other devices hear of it as they come by. %s", deviceName(d), nextMove(!p.mine())))
			return nil
		})
	}
	return c
}

func deviceLeave(a *app) *cobra.Command {
	var yes bool
	within := duration{20 * time.Second}
	c := &cobra.Command{
		Use: "leave", Short: "Give up this device: say goodbye and remove the profile from it", Args: cobra.NoArgs,
		Long: `Give up this device: say goodbye to your other devices and your contacts, and remove
the profile from it. Your other devices go on. The one that holds the root takes
this one off the list when it hears of it.`,
		Example: "  tacet device leave --yes",
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "leave without asking")
	c.Flags().Var(&within, "timeout", "how long to wait until your other devices have heard")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return a.leave(cmd.Context(), yes, within.Duration) }
	return c
}

func (a *app) leave(ctx context.Context, yes bool, within time.Duration) error {
	p, err := a.open(ctx, hasty)
	if err != nil {
		return err
	}
	defer p.close()
	if !p.mine() {
		return &text.Failure{What: "another process has this profile", Means: "Nothing was given up.", Hint: "end it first, and try again"}
	}
	if !yes {
		err := a.must(ctx, "Remove this profile, with its history, from this device?", "Nothing was given up.", "Nothing was given up.")
		if err != nil {
			return err
		}
	}
	a.progress.Start("saying goodbye")
	wait, stop := context.WithTimeout(ctx, within)
	defer stop()
	left, err := p.own.Leave(wait)
	a.progress.Stop()
	if err != nil {
		return err
	}
	if err := p.close(); err != nil {
		return err
	}
	if err := client.Remove(p.dir); err != nil {
		return err
	}
	if left > 0 {
		a.tell("The profile is removed from this device. Not all your devices have heard of it: on the device that holds the root, `tacet device revoke` makes sure.")
		return nil
	}
	a.tell("The profile is removed from this device. Your other devices have heard of it.")
	return nil
}

// must asks a question that has to be answered with yes.
func (a *app) must(ctx context.Context, question, means, no string) error {
	ok, err := a.confirm(ctx, question)
	switch {
	case errors.Is(err, errNoTerminal):
		return &text.Failure{What: "nobody is there to say yes", Means: means, Hint: "say --yes", Err: err}
	case err != nil:
		return err
	case !ok:
		a.say("%s", no)
		return &status{code: exitFailure}
	}
	return nil
}
