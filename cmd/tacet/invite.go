package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

func inviteCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "invite",
		Short: "Make links for people you want to talk with",
		Long: `Make links for people you want to talk with. A link is a secret: whoever has it
can become a contact of yours. It works once unless you say otherwise, for seven
days, and you can take it back.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listInvites(cmd.Context()) },
	}
	c.AddCommand(inviteNew(a), inviteShow(a), inviteList(a), inviteRevoke(a))
	return c
}

// picture says how a link is shown beside its text.
type picture struct {
	qr   bool
	file string
}

func (p *picture) register(c *cobra.Command) {
	c.Flags().BoolVar(&p.qr, "qr", false, "draw the code also where no terminal is")
	c.Flags().StringVar(&p.file, "png", "", "write the code as a picture to `FILE`")
}

func inviteNew(a *app) *cobra.Command {
	var o client.InviteOptions
	var life duration
	var pic picture
	var follow bool
	c := &cobra.Command{
		Use:   "new",
		Short: "Make a link, and a code to scan",
		Long: `Make a link, and a code to scan. Who uses it reaches you while a process of yours
runs: --follow stays, shows who comes and what they write, and moves messages, as
"tacet read --follow" does.

Where the relay is for members and lets them invite, a link for one person also
makes who has no relay yet a member: it is all that a newcomer needs. --outside
leaves that out.`,
		Args: cobra.NoArgs,
		Example: `  tacet invite new --follow
  tacet invite new --for Bob --expires 2h
  tacet invite new --uses 20 --png team.png`,
	}
	c.Flags().IntVar(&o.Uses, "uses", 1, "for `N` people; above one, you are asked about each")
	c.Flags().BoolVar(&o.Ask, "ask", false, "ask me before who uses it becomes a contact, also when it is for one")
	c.Flags().BoolVar(&o.Outside, "outside", false, "do not make who uses it a member of your relay's realm")
	c.Flags().StringVar(&o.Label, "for", "", "a note for yourself: for `WHOM` it is")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "stay, and show who comes and what they write")
	c.Flags().Var(&life, "expires", "how long it works: 2h, 7d; at most 30d (default 7 days)")
	pic.register(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Uses < 1 {
			return usage("--uses is at least 1", "")
		}
		o.Life = life.Duration
		o.Ask = o.Ask || o.Uses > 1
		ctx := cmd.Context()
		p, err := a.open(ctx, moving)
		if err != nil {
			return err
		}
		defer p.close()
		a.progress.Start("putting the invite on the relay")
		i, err := p.NewInvite(ctx, o)
		if errors.Is(err, client.ErrState) {
			return usage("an invite of that sort cannot be made", "--expires is a minute to 30 days, --uses at most 1000")
		}
		if err != nil {
			return err
		}
		if err := a.showInvite(i, &pic, follow); err != nil || !follow {
			return err
		}
		if !i.Online {
			stop := a.tellWhenOnline(ctx, p, i.ID)
			defer stop()
		}
		return a.read(ctx, p, &reading{query: client.Query{Unread: true}, follow: true})
	}
	return c
}

// onlineEvery is how often an invite is looked at that is not at the relay yet.
const onlineEvery = time.Second

// tellWhenOnline says, beside everything else, when the link begins to work.
func (a *app) tellWhenOnline(ctx context.Context, p *profile, id int64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(onlineEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if i, err := findInvite(ctx, p, []string{fmt.Sprint(id)}); err == nil && (i.Online || i.State != "open") {
				if i.Online {
					a.note("the link works now: hand it over so that nobody else sees it")
				}
				return
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

func inviteShow(a *app) *cobra.Command {
	var pic picture
	c := &cobra.Command{
		Use:     "show [NUMBER]",
		Short:   "Show an invite again; the newest open one unless you name another",
		Args:    cobra.MaximumNArgs(1),
		Example: "  tacet invite show 3 --png link.png",
	}
	pic.register(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := a.open(cmd.Context(), staying)
		if err != nil {
			return err
		}
		defer p.close()
		i, err := findInvite(cmd.Context(), p, args)
		if err != nil {
			return err
		}
		return a.showInvite(i, &pic, false)
	}
	return c
}

// findInvite returns the invite of that number, or the newest open one.
func findInvite(ctx context.Context, p *profile, args []string) (client.Invite, error) {
	all, err := p.Invites(ctx)
	if err != nil {
		return client.Invite{}, err
	}
	for k := len(all) - 1; k >= 0; k-- {
		if len(args) == 0 && all[k].State == "open" || len(args) > 0 && fmt.Sprint(all[k].ID) == strings.TrimPrefix(args[0], "#") {
			return all[k], nil
		}
	}
	return client.Invite{}, client.ErrNoInvite
}

// showInvite prints the link first, then its code, then what to know about it.
// stays says that this process goes on.
func (a *app) showInvite(i client.Invite, pic *picture, stays bool) error {
	if a.json {
		return errors.Join(a.printJSON(i), a.picture(i, pic.file))
	}
	if i.Link == "" {
		return &text.Failure{What: fmt.Sprintf("invite %d does not work any more: it is %s", i.ID, text.InviteState(i)), Hint: "`tacet invite new` makes another"}
	}
	if err := a.print(i.Link + "\n"); err != nil {
		return err
	}
	if a.style.On || pic.qr || isTerminal(a.out) {
		code, err := qr.Encode(i.Link, qr.L)
		if err != nil {
			return err
		}
		if err := a.print("\n" + text.QR(code.Size, code.Black, a.style) + "\n"); err != nil {
			return err
		}
	}
	if err := a.picture(i, pic.file); err != nil {
		return err
	}
	a.say("Invite %d, %s, until %s. Hand it over so that nobody else sees it.", i.ID, text.InviteFor(i), text.Day(i.Expires, time.Now()))
	switch {
	case i.Note != "":
		a.tell("It makes nobody a member: " + text.Line(i.Note) + ". Who uses it needs a relay already.")
	case i.Member:
		a.say("It also makes who has no relay yet a member of yours.")
	}
	switch {
	case stays && !i.Online:
		a.tell("The relay could not be reached yet, so the link does not work yet. It is said here when it does.")
		return nil
	case stays:
		return nil
	case !i.Online:
		a.tell("The relay could not be reached, so the link does not work yet. It will once a process of yours has reached it: leave `tacet chat` open.")
		return nil
	}
	a.say("Who uses it reaches you while a process of yours runs: leave `tacet chat` open.")
	return nil
}

// picture writes the code to a file that nobody else may read.
func (a *app) picture(i client.Invite, file string) error {
	if file == "" || i.Link == "" {
		return nil
	}
	code, err := qr.Encode(i.Link, qr.L)
	if err != nil {
		return err
	}
	if err := writeNew(file, code.PNG()); err != nil {
		f := &text.Failure{What: "writing the picture: " + reason(err), Means: "The invite is made all the same.", Hint: fmt.Sprintf("`tacet invite show %d --png FILE` writes it", i.ID), Err: err}
		if errors.Is(err, fs.ErrExist) {
			f.Hint = fmt.Sprintf("`tacet invite show %d --png FILE` writes it to another file", i.ID)
		}
		return f
	}
	a.say("The code is in %s.", text.Line(file))
	return nil
}

func inviteList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List your invites",
		Args:    cobra.NoArgs,
		Example: "  tacet invite list --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listInvites(cmd.Context()) },
	}
}

func (a *app) listInvites(ctx context.Context) error {
	p, err := a.open(ctx, staying)
	if err != nil {
		return err
	}
	defer p.close()
	all, err := p.Invites(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(list(all))
	}
	if len(all) == 0 {
		a.say("No invites. `tacet invite new` makes one.")
		return nil
	}
	now := time.Now()
	var rows [][]string
	for _, i := range all {
		until := ""
		if i.State == "open" {
			until = "until " + text.Day(i.Expires, now)
		}
		label := ""
		if i.Label != "" {
			label = text.Name(i.Label)
		}
		rows = append(rows, []string{"#" + fmt.Sprint(i.ID), text.InviteState(i), text.InviteFor(i), until, label})
	}
	return a.print(text.Table(rows))
}

func inviteRevoke(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "revoke NUMBER",
		Short:   "Take an invite back: its keys are destroyed at once",
		Args:    cobra.ExactArgs(1),
		Example: "  tacet invite revoke 3",
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		id, err := strconv.ParseInt(strings.TrimPrefix(args[0], "#"), 10, 64)
		if err != nil {
			return usage("an invite is named by its number", "`tacet invite list` shows the numbers")
		}
		p, err := a.open(ctx, moving)
		if err != nil {
			return err
		}
		defer p.close()
		a.progress.Start("taking the invite back")
		if err := p.RevokeInvite(ctx, id); err != nil {
			return err
		}
		if a.json {
			i, err := findInvite(ctx, p, args)
			if err != nil {
				return err
			}
			return a.printJSON(i)
		}
		a.say("Invite %d is revoked. Whoever comes with its link is not let in.", id)
		return nil
	}
	return c
}
