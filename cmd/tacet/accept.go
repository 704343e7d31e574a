package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// maxLinkText bounds what is read as an invite link from standard input, in bytes.
const maxLinkText = 8 << 10

func acceptCommand(a *app) *cobra.Command {
	var o client.AcceptOptions
	var yes bool
	var as string
	within := duration{8 * time.Second}
	c := &cobra.Command{
		Use:   "accept LINK",
		Short: "Take up an invite",
		Long: `Take up an invite. It shows who invites you and through which relay, and asks.
Without a relay of your own, the invite's becomes yours; if that is for members,
an invite that a member made makes you one.

It takes an invite to a realm, too, as its operator makes them: then you are a
member of that relay, and there is nobody yet to talk with.

Without a profile it makes one first, as "tacet init" does: --as says by which
name, which may be empty; at a terminal you are asked.

The link may be broken over lines, or have lost or gained a little on its way.
"-" reads it from standard input.`,
		Args: cobra.MinimumNArgs(1),
		Example: `  tacet accept 'tacet://relay.example/i#…'
  tacet accept 'tacet://relay.example/r#…'   # an invite to a realm
  wl-paste | tacet accept -
  tacet accept --as Bob 'tacet://relay.example/i#…'   # the first command of all`,
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "accept without asking")
	c.Flags().StringVar(&o.Name, "name", "", "your `NAME` for them; what they call themselves if you give none")
	c.Flags().StringVar(&as, "as", "", "the `NAME` that they see, for a profile that is made now; may be empty")
	c.Flags().StringVar(&o.Text, "text", "", "a first message: `TEXT`")
	c.Flags().Var(&within, "timeout", "how long to wait for their device")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Link = strings.Join(args, " "); o.Link == "-" {
			raw, err := io.ReadAll(io.LimitReader(a.lines, maxLinkText))
			if err != nil {
				return err
			}
			o.Link = string(raw)
			a.useTerminal()
		}
		if client.IsCode(o.Link) {
			return &text.Failure{What: "this is a code for linking a device of yours, and no invite", Means: "Nothing was made or changed.", Hint: "`tacet device join CODE` on the new device takes it"}
		}
		if err := a.newcomer(cmd.Context(), o.Link, as, cmd.Flags().Changed("as")); err != nil {
			return err
		}
		return a.accept(cmd.Context(), o, yes, within.Duration)
	}
	return c
}

// newcomer makes a profile for who has a link and nothing else. Nobody gets one by
// a mistake in --profile: a name was given, or a person said yes.
func (a *app) newcomer(ctx context.Context, link, as string, named bool) error {
	dir, err := a.dir()
	switch {
	case err != nil:
		return err
	case client.Exists(dir):
		if named {
			a.tell("There is a profile here already, so --as means nothing.")
		}
		return nil
	case !named && !a.interactive():
		return client.ErrMissing
	}
	if err := client.CheckLink(link); err != nil { // nobody should become somebody for nothing
		return err
	}
	if !named {
		yes, err := a.confirm(ctx, "There is no profile here yet. Make one?")
		if err == nil && !yes {
			err = client.ErrMissing
		}
		if err != nil {
			return err
		}
		if as, err = a.line(ctx, "The name that they see (may be empty): "); err != nil {
			return err
		}
	}
	return a.found(ctx, &founding{name: as}, func(ctx context.Context, o client.Options, p client.NewProfile) error {
		words, err := client.Create(ctx, o, p)
		if err != nil {
			return err
		}
		a.secret = o.Passphrase // it was just given
		return a.showWords(ctx, o.Dir, &p, words)
	})
}

func (a *app) accept(ctx context.Context, o client.AcceptOptions, yes bool, within time.Duration) error {
	p, err := a.open(ctx, hasty)
	if err != nil {
		return err
	}
	defer p.close()
	a.progress.Start("asking the relay what the link leads to")
	v, err := p.Preview(ctx, o.Link)
	a.progress.Stop()
	if err != nil {
		return err
	}
	if v.Realm {
		a.showRealm(&v)
	} else {
		a.showPreview(&v)
	}
	if !yes {
		ok, err := a.confirm(ctx, "Accept?")
		if errors.Is(err, errNoTerminal) {
			return &text.Failure{What: "nobody is there to say yes", Means: "The invite is unused.", Hint: "say --yes", Err: err}
		}
		if err != nil || !ok {
			if err == nil {
				a.say("Not accepted. The invite is unused.")
				err = &status{code: exitFailure}
			}
			return err
		}
	}
	o.Link = v.Link
	last, err := p.Read(ctx, client.Query{Limit: 1})
	if err != nil {
		return err
	}
	var after int64
	if len(last) > 0 {
		after = last[0].Seq
	}
	a.progress.Start("accepting")
	o.Progress = a.progress.Start
	who, err := p.Accept(ctx, o)
	if err != nil {
		return err
	}
	if v.Realm {
		a.progress.Stop()
		return a.showMember(&who)
	}
	if v.Member {
		a.note("you are a member of the realm of " + text.Line(v.Relay) + " now")
	}
	who, err = a.awaitAnswer(ctx, p, who, after, within, v.Asks)
	if err != nil {
		return err
	}
	return a.showAnswer(p, &who)
}

func (a *app) showPreview(v *client.Preview) {
	name := text.Name(v.Name)
	if v.Name == "" {
		name = "Somebody who gives no name"
	}
	rule := "for one person, "
	if !v.OneUse {
		rule = "for several people, "
	}
	answer := "comes from their device by itself"
	if v.Asks {
		answer = "they will be asked first"
	}
	rows := append([][]string{{"  relay", text.Line(v.Relay)}}, text.Rows("  relay key", text.RelayKey(v.RelayKey), keyColumns)...)
	label := "  safety number"
	for n := range strings.Lines(text.SafetyNumber(v.SafetyNumber)) {
		rows = append(rows, []string{label, strings.TrimSpace(n)})
		label = ""
	}
	if v.Member {
		rows = append(rows, []string{"  member", "you become a member of this relay's realm"})
	}
	rows = append(rows, []string{"  link", rule + "until " + text.Day(v.Expires, time.Now())}, []string{"  answer", answer})
	a.say("%s invites you. (The name is their own word.)\n\n%s", a.talk.Bold(name), text.Table(rows))
}

// showRealm shows an invite to a realm.
func (a *app) showRealm(v *client.Preview) {
	rows := append([][]string{{"  relay", text.Line(v.Relay)}}, text.Rows("  relay key", text.RelayKey(v.RelayKey), keyColumns)...)
	a.say("This is an invite to a realm: who takes it is a member of its relay. It has the\nkey that the invite names.\n\n%s", text.Table(rows))
}

func (a *app) showMember(who *client.Contact) error {
	if a.json {
		return a.printJSON(who)
	}
	a.say("You are a member. To talk with somebody: `tacet invite new` makes a link for them.")
	return a.print(text.Line(who.Relay) + ": member\n")
}

// awaitAnswer waits a while until the request is answered, or at least on the
// device of who is asked first.
func (a *app) awaitAnswer(ctx context.Context, p *profile, who client.Contact, after int64, within time.Duration, asks bool) (client.Contact, error) {
	answered := errors.New("answered")
	a.progress.Start("waiting for their device")
	defer a.progress.Stop()
	wait, stop := context.WithTimeout(ctx, within)
	defer stop()
	err := p.Follow(wait, after, func(e client.Event) error {
		if e.ContactID != who.ID {
			return nil
		}
		now, err := p.contact(wait, who.ID)
		if err != nil {
			return err
		}
		if who = now; who.State != "pending" || asks && who.Waiting == 0 {
			return answered
		}
		return nil
	})
	if errors.Is(err, answered) || timeUp(wait, err) { // the request is committed, whatever comes now
		err = nil
	}
	return who, err
}

func (a *app) showAnswer(p *profile, who *client.Contact) error {
	if a.json {
		return a.printJSON(who)
	}
	name := text.Name(who.Name)
	switch {
	case who.State == "failed":
		return &text.Failure{What: client.ErrUsed.Error(), Means: "Nothing reached them.", Hint: "ask for a new link", Err: client.ErrUsed}
	case who.State != "pending":
		arg := text.Arg(who.Name)
		a.say("You and %s can talk: `tacet chat %s`, or `tacet send %s TEXT`.\nTo be sure who it is, compare the safety number: `tacet verify %s`.", name, arg, arg, arg)
		return a.print(name + ": accepted\n")
	case who.Waiting == 0:
		a.tell("Their device has your request. They are asked, and their answer comes while a process of yours runs: `tacet chat` or `tacet read --follow`.")
	default:
		a.tell("Their device has not answered yet. The request waits on this device. " + nextMove(!p.mine()))
	}
	return a.print(name + ": asked, no answer yet\n")
}

// nextMove says what has to happen for things to move.
func nextMove(running bool) string {
	if running {
		return "A running process goes on with it."
	}
	return "Nothing moves while no process runs: leave `tacet chat` or `tacet read --follow` open."
}
