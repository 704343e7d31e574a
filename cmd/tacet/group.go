package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// settleWithin is how long a command about a group waits for the change to be done.
const settleWithin = 5 * time.Second

func groupCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "group",
		Short: "Groups: conversations of many that no server knows",
		Long: `Groups: conversations of many that no server knows. Who is in one is known to its
members alone; the relay sees blobs and cells like all others.

A change (somebody is added, removed, a name) is safe on this device when a
command says so, and done once the group's relay has taken it: that needs a
process that runs. Messages go on in the meantime.

A group is named by its name, or #g and its number. If a person has the same
name, write group:NAME or person:NAME.`,
		Args: cobra.NoArgs,
		Example: `  tacet group new Walkers Bob Carol
  tacet send Walkers 'nine at the bridge'
  tacet group add Walkers Dave`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.listGroups(cmd.Context(), p) })
		},
	}
	add := func(use, short, example string, args cobra.PositionalArgs, f func(ctx context.Context, p *profile, args []string) error, m mode) *cobra.Command {
		sub := &cobra.Command{Use: use, Short: short, Example: example, Args: args,
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.with(cmd.Context(), m, func(p *profile) error { return f(cmd.Context(), p, args) })
			}}
		c.AddCommand(sub)
		return sub
	}
	var size int
	add("new NAME [PERSON…]", "Make a group and add people to it", "  tacet group new Walkers Bob Carol", cobra.MinimumNArgs(1),
		func(ctx context.Context, p *profile, args []string) error {
			return a.newGroup(ctx, p, args[0], args[1:], size)
		}, hasty).
		Flags().IntVar(&size, "size", 0, "how many devices it will have: above 16 it is not protected against quantum computers")
	add("list", "Your groups", "  tacet group list", cobra.NoArgs,
		func(ctx context.Context, p *profile, _ []string) error { return a.listGroups(ctx, p) }, staying)
	add("show GROUP", "Who is in a group, and what it waits for", "  tacet group show Walkers --json", cobra.ExactArgs(1),
		func(ctx context.Context, p *profile, args []string) error { return a.showGroup(ctx, p, args[0]) }, staying)
	for _, v := range []struct {
		use, short, example string
		action              client.GroupAction
	}{
		{"add GROUP PERSON…", "Add people; only an admin can", "  tacet group add Walkers Dave", client.GroupAdd},
		{"remove GROUP PERSON…", "Remove people: nothing that is said from then on reaches them", "  tacet group remove Walkers Mallory", client.GroupRemove},
		{"promote GROUP PERSON…", "Make people admins", "  tacet group promote Walkers Bob", client.GroupPromote},
		{"demote GROUP PERSON…", "Take people from the admins", "  tacet group demote Walkers Bob", client.GroupDemote},
	} {
		add(v.use, v.short, v.example, cobra.MinimumNArgs(2), func(ctx context.Context, p *profile, args []string) error {
			var all []client.GroupChange
			for _, who := range args[1:] {
				all = append(all, client.GroupChange{Group: args[0], Action: v.action, Who: who})
			}
			return a.changeGroup(ctx, p, all...)
		}, hasty)
	}
	add("rename GROUP NAME", "Give a group another name, for all of its members", "  tacet group rename Walkers 'Slow walkers'", cobra.ExactArgs(2),
		func(ctx context.Context, p *profile, args []string) error {
			return a.changeGroup(ctx, p, client.GroupChange{Group: args[0], Action: client.GroupRename, Name: args[1]})
		}, hasty)
	add("timer GROUP TIME", "Let what is said from now on disappear so long after it was read; off ends that. Who reads it can still copy it", "  tacet group timer Walkers 7d", cobra.ExactArgs(2),
		func(ctx context.Context, p *profile, args []string) error {
			d, err := text.ParseDuration(args[1])
			if args[1] == "off" {
				d, err = 0, nil
			}
			if err != nil || d < 0 || d > 365*24*time.Hour {
				return usage("a timer is a time up to 365d, or off", "")
			}
			return a.changeGroup(ctx, p, client.GroupChange{Group: args[0], Action: client.GroupTimer, Timer: d})
		}, hasty)
	var remove bool
	var save string
	pic := add("picture GROUP [FILE]", "Give a group a small picture, take it away, or save it; only an admin can change it",
		"  tacet group picture Walkers hills.jpg\n  tacet group picture Walkers --save walkers.jpg", cobra.RangeArgs(1, 2),
		func(ctx context.Context, p *profile, args []string) error {
			if (len(args) == 2) == (remove || save != "") || remove && save != "" {
				return usage("say one: a file, --remove or --save FILE", "")
			}
			return a.groupPicture(ctx, p, args, save)
		}, hasty)
	pic.Flags().BoolVar(&remove, "remove", false, "take the picture away")
	pic.Flags().StringVar(&save, "save", "", "write the picture to `FILE`, a JPEG of up to 256 by 256 pixels")
	var yes bool
	add("leave GROUP", "Leave: nothing that is said from then on reaches you", "  tacet group leave Walkers", cobra.ExactArgs(1),
		func(ctx context.Context, p *profile, args []string) error { return a.leaveGroup(ctx, p, args[0], yes) }, hasty).
		Flags().BoolVarP(&yes, "yes", "y", false, "leave without asking")
	add("decide GROUP yes|no [QUESTION]", "Answer what a group asks you", "  tacet group decide Walkers yes", cobra.RangeArgs(2, 3),
		func(ctx context.Context, p *profile, args []string) error { return a.decideGroup(ctx, p, args) }, hasty)
	return c
}

func (a *app) newGroup(ctx context.Context, p *profile, name string, people []string, size int) error {
	g, err := p.CreateGroup(ctx, client.GroupOptions{Name: name, People: people, Size: size})
	if err != nil {
		return err
	}
	g = a.settleGroup(ctx, p, g)
	if a.json {
		return a.printJSON(g)
	}
	a.tell("Groups are young: they protect against relays and strangers, not yet against every trick of a member or former member.")
	if len(people) == 0 {
		a.say("The group %s is there; you are its admin. `tacet group add %s PERSON` adds people.", text.Name(g.Name), text.Arg(g.Name))
		return nil
	}
	return a.groupChanged(p, g, fmt.Sprintf("The group %s is there; you are its admin.", text.Name(g.Name)))
}

func (a *app) listGroups(ctx context.Context, p *profile) error {
	all, err := p.Groups(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(list(all))
	}
	if len(all) == 0 {
		a.say("No groups yet. `tacet group new NAME PERSON…` makes one.")
		return nil
	}
	var rows [][]string
	for _, g := range all {
		unread, waiting := "", ""
		if g.Unread > 0 {
			unread = fmt.Sprintf("%d unread", g.Unread)
		}
		if g.Waiting > 0 {
			waiting = fmt.Sprintf("%d waiting here", g.Waiting)
		}
		rows = append(rows, []string{text.Name(g.Name), text.GroupState(g), unread, waiting})
	}
	return a.print(text.Table(rows))
}

func (a *app) showGroup(ctx context.Context, p *profile, which string) error {
	g, err := p.GroupInfo(ctx, which)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(g)
	}
	rows := [][]string{{"name", text.Name(g.Name)}, {"state", text.GroupState(g)}, {"since", text.Clock(g.Since, time.Now())}}
	if len(g.Members) > 0 {
		rows = append(rows, []string{"changes are decided at", text.Line(g.Relay)}, []string{"quantum computers", text.Hybrid(g.Hybrid)}, []string{"messages", text.Fanout(g)})
		if g.Picture {
			rows = append(rows, []string{"picture", "yes; `tacet group picture " + text.Arg(g.Name) + " --save FILE`"})
		}
		if g.Timer > 0 {
			rows = append(rows, []string{"new messages disappear", text.Duration(g.Timer) + " after they are read"})
		}
	}
	rows = append(rows, []string{"waiting here", fmt.Sprint(g.Waiting)}, []string{"unread", fmt.Sprint(g.Unread)}, []string{"number", fmt.Sprintf("#g%d", g.ID)})
	if err := a.print(text.Table(rows)); err != nil {
		return err
	}
	var members [][]string
	for _, m := range g.Members {
		role := ""
		if m.Rank > 0 {
			role = "admin"
		}
		devices := ""
		if m.Devices > 1 {
			devices = text.Count(m.Devices, "device")
		}
		members = append(members, []string{text.Name(m.Name), role, devices})
	}
	if len(members) > 0 {
		if err := a.print("\n" + text.Table(members)); err != nil {
			return err
		}
	}
	for _, c := range g.Changes {
		a.say("Not done yet: %s.", text.Line(c))
	}
	for _, q := range g.Questions {
		a.tell(fmt.Sprintf("The group asks: %s. `tacet group decide %s yes|no %s`", text.Line(q.Text), text.Arg(g.Name), q.ID))
	}
	return nil
}

func (a *app) changeGroup(ctx context.Context, p *profile, changes ...client.GroupChange) error {
	var g client.Group
	for _, c := range changes {
		var err error
		if g, err = p.ChangeGroup(ctx, c); err != nil {
			return err
		}
	}
	g = a.settleGroup(ctx, p, g)
	if a.json {
		return a.printJSON(g)
	}
	return a.groupChanged(p, g, "")
}

// groupChanged says whether what was wanted is done.
func (a *app) groupChanged(p *profile, g client.Group, first string) error {
	if first != "" {
		a.say("%s", first)
	}
	if len(g.Changes) == 0 {
		a.say("Done.")
		return nil
	}
	a.tell(fmt.Sprintf("Not done yet: %s. %s", text.Line(strings.Join(g.Changes, ", ")), nextMove(!p.mine())))
	return nil
}

// groupPicture sets the picture of a group, takes it away, or saves it to a file that is
// not there yet.
func (a *app) groupPicture(ctx context.Context, p *profile, args []string, save string) error {
	if save != "" {
		b, err := p.GroupPicture(ctx, args[0])
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return &text.Failure{What: "the group has no picture", Means: "Nothing was written."}
		}
		f, err := os.OpenFile(save, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(b)
		return errors.Join(err, f.Close())
	}
	change := client.GroupChange{Group: args[0], Action: client.GroupPicture}
	if len(args) == 2 {
		f, err := os.Open(args[1])
		if err != nil {
			return err
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, client.MaxPictureFile+1))
		if err != nil {
			return err
		}
		// Here, and not where the profile is owned: what is not drawn anew stays in this process.
		if change.Picture, err = client.SmallPicture(b); err != nil {
			return err
		}
	}
	return a.changeGroup(ctx, p, change)
}

func (a *app) leaveGroup(ctx context.Context, p *profile, which string, yes bool) error {
	g, err := p.GroupInfo(ctx, which)
	if err != nil {
		return err
	}
	if !yes {
		ok, err := a.confirm(ctx, fmt.Sprintf("Leave %s? Only an admin can let you in again.", text.Name(g.Name)))
		if errors.Is(err, errNoTerminal) {
			return &text.Failure{What: "nobody is there to say yes", Means: "You are in the group still.", Hint: "say --yes", Err: err}
		}
		if err != nil {
			return err
		}
		if !ok {
			a.say("Not left.")
			return &status{code: exitFailure}
		}
	}
	return a.changeGroup(ctx, p, client.GroupChange{Group: groupOf(g).ref, Action: client.GroupLeave})
}

func (a *app) decideGroup(ctx context.Context, p *profile, args []string) error {
	if args[1] != "yes" && args[1] != "no" {
		return usage("the answer is yes or no", "")
	}
	question := ""
	if len(args) == 3 {
		question = args[2]
	}
	g, err := p.DecideGroup(ctx, args[0], question, args[1] == "yes")
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(g)
	}
	a.say("Noted.")
	return nil
}

// settleGroup waits a few seconds until nothing that is wanted of a group is left.
func (a *app) settleGroup(ctx context.Context, p *profile, g client.Group) client.Group {
	a.progress.Start("asking the group's relay")
	defer a.progress.Stop()
	ctx, stop := context.WithTimeout(ctx, settleWithin)
	defer stop()
	for len(g.Changes) > 0 {
		select {
		case <-ctx.Done():
			return g
		case <-time.After(drainPoll):
		}
		now, err := p.GroupInfo(ctx, groupOf(g).ref)
		if err != nil {
			return g
		}
		g = now
	}
	return g
}
