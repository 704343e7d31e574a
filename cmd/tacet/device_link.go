package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"rsc.io/qr"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// whatLinkingGives is said on both devices before anything goes over.
const whatLinkingGives = "The new device gets everything: all contacts, all that was ever said here, and the right to speak as you. Link a device of your own only. Nobody who helps you ever needs this code or its digits."

func deviceLink(a *app) *cobra.Command {
	var o client.LinkOptions
	var pic picture
	var cancel bool
	c := &cobra.Command{
		Use:   "link",
		Short: "Link another device of yours: shows a code for it",
		Long: `Link another device of yours. It shows a code, good for ten minutes and for one use;
"tacet device join CODE" on the new device takes it up and shows six digits, which
you type here. Then everything goes over: directly, if both are on one network,
else sealed by way of your relay. It goes on where it was if either side ends in
between.

` + whatLinkingGives,
		Args:    cobra.NoArgs,
		Example: "  tacet device link\n  tacet device link --cancel",
	}
	c.Flags().BoolVar(&o.RelayOnly, "relay-only", false, "do not listen on the local network")
	c.Flags().BoolVar(&cancel, "cancel", false, "give up the link that is under way")
	pic.register(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		return a.with(ctx, moving, func(p *profile) error {
			if cancel {
				if err := p.CancelLink(ctx); err != nil {
					return err
				}
				a.say("The link is given up. Nothing of it is left here.")
				return nil
			}
			before, err := p.LinkState(ctx)
			if err != nil {
				return err
			}
			l, err := p.StartLink(ctx, o)
			if err == nil && before.Stage == client.LinkAdmit {
				a.say("%s is on the list and has not said yet that it works; that goes on by itself.", text.Name(before.Device))
			}
			if errors.Is(err, client.ErrLinking) {
				l, err = p.LinkState(ctx)
			}
			if err != nil {
				return err
			}
			return a.followLink(ctx, p, l, &pic)
		})
	}
	return c
}

// followLink tells how a link goes, and asks for the digits.
func (a *app) followLink(ctx context.Context, p *profile, l client.Link, pic *picture) (err error) {
	shown, said := false, client.LinkStage("")
	for {
		if !shown && l.Stage == client.LinkOffered && l.Online {
			if err := a.showCode(l, pic); err != nil {
				return err
			}
			shown = true
		}
		if l.Stage != said {
			a.progress.Stop()
			switch said = l.Stage; said {
			case client.LinkCompare:
				if l, err = a.askDigits(ctx, p, l); err != nil {
					return a.interrupted(ctx, p, l, err)
				}
				continue
			case client.LinkAdmit:
				a.say("All is there. %s is one of your devices now.", text.Name(l.Device))
			case client.LinkDone:
				if a.json {
					return a.printJSON(l)
				}
				return a.print("linked\n")
			case client.LinkEnded:
				return &text.Failure{What: "the link is over: " + l.Reason, Means: "Nothing of it is left; no device was linked by it.", Hint: "`tacet device link` begins anew"}
			case client.LinkNone:
				return client.ErrNoLink
			}
		}
		a.progress.Start(linkLine(l))
		next, err := p.AwaitLink(ctx, l.Version)
		if err != nil {
			return a.interrupted(ctx, p, l, err)
		}
		l = next
	}
}

// linkLine says in one line what is being waited for.
func linkLine(l client.Link) string {
	line := ""
	switch l.Stage {
	case client.LinkOffered:
		line = "waiting for the new device"
		if !l.Online {
			line = "putting the offer on the relay"
		}
	case client.LinkSending:
		line = fmt.Sprintf("sending, %d of %d lines are under way", l.Rows, l.Total)
		if l.Way == "network" {
			line += ", directly"
		}
	case client.LinkAdmit:
		line = "waiting until the new device says that it works"
	}
	if l.Trouble != "" {
		line += "; " + l.Trouble
	}
	return line
}

func (a *app) showCode(l client.Link, pic *picture) error {
	if a.json {
		return a.printJSON(l)
	}
	if err := a.print(l.Code + "\n"); err != nil {
		return err
	}
	code, err := qr.Encode(l.Code, qr.L)
	if err != nil {
		return err
	}
	if a.style.On || pic.qr || isTerminal(a.out) {
		if err := a.print("\n" + text.QR(code.Size, code.Black, a.style) + "\n"); err != nil {
			return err
		}
	}
	if pic.file != "" {
		if err := writeNew(pic.file, code.PNG()); err != nil {
			return &text.Failure{What: "writing the picture: " + reason(err), Hint: "name a file that is not there yet", Err: err}
		}
		a.say("The code is in %s.", text.Line(pic.file))
	}
	a.say("On the new device: `tacet device join CODE`. The code is good for ten minutes.")
	a.tell(whatLinkingGives)
	return nil
}

// askDigits asks for the digits until they are right or the link is over.
func (a *app) askDigits(ctx context.Context, p *profile, l client.Link) (client.Link, error) {
	a.tell(fmt.Sprintf("A device that calls itself %s has used the code. Look at the new device: it shows six digits. If it shows none, somebody else used the code: stop here with ctrl-C.", text.Name(l.Device)))
	for {
		ask, stop := context.WithCancelCause(ctx)
		go func() { // it may end while nobody types
			for seen := l.Version; ask.Err() == nil; {
				now, err := p.AwaitLink(ask, seen)
				if err != nil {
					return
				}
				if now.Stage != client.LinkCompare {
					stop(errOver)
				}
				seen = now.Version
			}
		}()
		typed, err := a.line(ask, "The six digits that it shows: ")
		over := errors.Is(context.Cause(ask), errOver)
		stop(nil)
		switch {
		case over:
			return p.LinkState(ctx)
		case err != nil:
			return l, err
		}
		now, err := p.ConfirmLink(ctx, typed)
		if err == nil {
			return now, nil
		}
		if errors.Is(err, client.ErrNoLink) { // it ended while they were typed: the state says how
			return p.LinkState(ctx)
		}
		if !errors.Is(err, client.ErrDigits) {
			return l, err
		}
		if l, err = p.LinkState(ctx); err != nil || l.Stage != client.LinkCompare {
			return l, err
		}
		a.tell("These are not its digits. If you mistyped, type them again; if the new device shows others, somebody stands between: stop with ctrl-C.")
	}
}

var errOver = errors.New("over")

// interrupted deals with a link that its person stops. What waits for a person is
// given up; what is under way goes on.
func (a *app) interrupted(ctx context.Context, p *profile, l client.Link, err error) error {
	if ctx.Err() == nil && !errors.Is(err, errNoTerminal) {
		return err
	}
	if l.Stage == client.LinkSending || l.Stage == client.LinkAdmit {
		a.tell("It goes on while a process of yours runs. `tacet device link` shows how far it is, `tacet device link --cancel` gives it up.")
		return &status{code: exitFailure}
	}
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if cancelErr := p.CancelLink(late); cancelErr != nil {
		return errors.Join(err, cancelErr)
	}
	if errors.Is(err, errNoTerminal) {
		return &text.Failure{What: "nobody is there to type the digits", Means: "No device was linked.", Hint: "run it at a terminal, or pipe the digits in", Err: err}
	}
	a.say("The link is given up. No device was linked.")
	return &status{code: exitFailure}
}

func deviceJoin(a *app) *cobra.Command {
	var j client.JoinOptions
	var f founding
	var yes, abandon bool
	c := &cobra.Command{
		Use:   "join [CODE]",
		Short: "Make this device another one of yours, with the code that the first one shows",
		Long: `Make this device another one of yours. CODE is what "tacet device link" shows on the
device that you have. Six digits are shown here: type them there.

A join that was cut off goes on without a code; --abandon gives it up. Nothing is
kept of one that does not come to its end.`,
		Args:    cobra.MaximumNArgs(1),
		Example: "  tacet device join --name telephone 'tacet://relay.example/d#…'\n  tacet device join             # go on with one that was cut off\n  tacet device join --abandon",
	}
	c.Flags().StringVar(&j.Name, "name", "", "what you call this device: `NAME`; nobody else sees it")
	c.Flags().StringVar(&j.Realm, "realm", "", "an invite to the relay's realm, `LINK`, for a relay whose members may not invite")
	c.Flags().BoolVar(&j.RelayOnly, "relay-only", false, "do not use the local network")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "join without asking")
	c.Flags().BoolVar(&abandon, "abandon", false, "give up a join that was cut off")
	c.Flags().BoolVar(&f.none, "no-passphrase", false, "have no passphrase: whoever can read the folder can open the profile")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			j.Code = args[0]
		}
		return a.join(cmd.Context(), j, &f, yes, abandon)
	}
	return c
}

func (a *app) join(ctx context.Context, j client.JoinOptions, f *founding, yes, abandon bool) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if j.Name == "" {
		j.Name, _ = os.Hostname()
	}
	j.Progress = a.joinProgress()
	if client.Exists(dir) {
		return a.joinOn(ctx, dir, j, abandon)
	}
	if abandon {
		return client.ErrNoLink
	}
	if j.Code == "" {
		return usage("a code is missing", "`tacet device link` on the device that you have shows one")
	}
	if err := client.CheckCode(j.Code); err != nil {
		return err
	}
	n, err := a.network(dir)
	if err != nil {
		return err
	}
	a.progress.Start("asking the relay what the code leads to")
	v, err := client.PreviewLink(ctx, n, j.Code)
	a.progress.Stop()
	if err != nil {
		return notReached(err)
	}
	rows := append([][]string{{"  person", text.Name(v.Name) + " (their own word)"}, {"  devices", fmt.Sprint(v.Devices)}, {"  relay", text.Line(v.Relay)}}, text.Rows("  relay key", text.RelayKey(v.RelayKey), keyColumns)...)
	a.say("This makes this device one of\n\n%s", text.Table(rows))
	if !yes {
		if err := a.must(ctx, "Is that you, and do you want that?", "Nothing was made.", "Nothing was made."); err != nil {
			return err
		}
	}
	return a.found(ctx, f, func(ctx context.Context, o client.Options, _ client.NewProfile) error {
		return a.joined(ctx, o, client.Join(ctx, o, j))
	})
}

// joinOn goes on with a join that was cut off, or gives it up.
func (a *app) joinOn(ctx context.Context, dir string, j client.JoinOptions, abandon bool) error {
	secret, err := a.passphrase(ctx, dir)
	if err != nil {
		return err
	}
	n, err := a.network(dir)
	if err != nil {
		return err
	}
	o := client.Options{Dir: dir, Passphrase: secret, Network: n}
	if abandon {
		if err := client.AbandonJoin(ctx, o); err != nil {
			return err
		}
		a.say("The join is given up. Nothing of it is left here.")
		return nil
	}
	return a.joined(ctx, o, client.Join(ctx, o, j))
}

// joined says what a join came to.
func (a *app) joined(ctx context.Context, o client.Options, err error) error {
	a.progress.Stop()
	switch {
	case err == nil:
		if a.json {
			return a.printJSON(map[string]string{"stage": string(client.JoinLinked)})
		}
		a.tell("This device is one of yours now. It gets to know your contacts' devices as they come by; `tacet chat` or `tacet read --follow` keeps it connected.")
		return a.print("linked\n")
	case ctx.Err() != nil && client.Exists(o.Dir):
		a.tell("Not done yet. `tacet device join` goes on with it, `tacet device join --abandon` gives it up.")
		return &status{code: exitFailure}
	case client.Exists(o.Dir):
		f := *text.Explain(err)
		f.Means = "It is not done yet, and nothing is lost."
		f.Hint += "; then `tacet device join` goes on, or `tacet device join --abandon` gives it up"
		return &f
	}
	return err
}

// joinProgress tells how a join goes.
func (a *app) joinProgress() func(client.JoinProgress) {
	var said client.JoinStage
	return func(p client.JoinProgress) {
		if p.Stage == client.JoinDigits && said != p.Stage {
			a.progress.Stop()
			if a.json {
				a.printJSON(map[string]string{"stage": string(p.Stage), "digits": p.Digits})
			} else {
				a.print(p.Digits[:3] + " " + p.Digits[3:] + "\n")
				a.say("Type these six digits on the other device, and nowhere else.")
			}
		}
		said = p.Stage
		a.progress.Start(joinLine(p))
	}
}

func joinLine(p client.JoinProgress) string {
	line := ""
	switch p.Stage {
	case client.JoinEntering:
		line = "becoming a member of the realm"
		if p.Talk != "" {
			line = p.Talk
		}
	case client.JoinWaiting:
		line = "waiting for the other device"
	case client.JoinDigits:
		line = "waiting for the digits to be typed there"
	case client.JoinReceiving:
		line = fmt.Sprintf("receiving, %d of about %d lines", p.Rows, p.Total)
	case client.JoinComplete:
		line = "all is here; waiting until the other device puts this one on the list"
	case client.JoinLinked:
		return "done"
	}
	if p.Way == "network" {
		line += ", directly"
	}
	if p.Trouble != "" {
		line += "; " + p.Trouble
	}
	return line
}
