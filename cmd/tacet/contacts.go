package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/rpc"
	"github.com/tacet-chat/tacet/ui/text"
)

func contactsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "contacts",
		Short: "The people you talk with",
		Args:  cobra.NoArgs,
		Example: `  tacet contacts
  tacet contacts rename Bob 'Bob from work'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.listContacts(cmd.Context(), p) })
		},
	}
	var yes bool
	block := &cobra.Command{
		Use: "block NAME", Short: "Block for good: what leads them to you is destroyed", Example: "  tacet contacts block Mallory",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.block(cmd.Context(), p, args[0], yes) })
		},
	}
	block.Flags().BoolVarP(&yes, "yes", "y", false, "block without asking")
	rename := &cobra.Command{
		Use: "rename NAME NEW", Short: "Give a contact another name; nobody else sees it", Example: "  tacet contacts rename 'Bob 2' 'Bob from work'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.rename(cmd.Context(), p, args[0], args[1]) })
		},
	}
	trust := &cobra.Command{
		Use: "trust NAME", Short: "Lift a stop, after you looked at its reason", Example: "  tacet contacts show Bob && tacet contacts trust Bob",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.trust(cmd.Context(), p, args[0]) })
		},
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "All that is known about a contact", Example: "  tacet contacts show Bob --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.showContact(cmd.Context(), p, args[0]) })
		},
	}
	for _, sub := range []*cobra.Command{rename, block, trust, show} {
		sub.Args = cobra.ExactArgs(1)
		sub.ValidArgsFunction = a.names
		c.AddCommand(sub)
	}
	rename.Args = cobra.ExactArgs(2)
	return c
}

func (a *app) listContacts(ctx context.Context, p *profile) error {
	all, err := p.Contacts(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(list(all))
	}
	if len(all) == 0 {
		a.say("Nobody yet. `tacet invite new` makes a link, `tacet accept LINK` takes one up.")
		return nil
	}
	var rows [][]string
	for _, c := range all {
		waiting, unread, stopped := "", "", ""
		if c.Waiting > 0 {
			waiting = fmt.Sprintf("%d waiting here", c.Waiting)
		}
		if c.Unread > 0 {
			unread = fmt.Sprintf("%d unread", c.Unread)
		}
		if c.Stopped {
			stopped = "sending is stopped"
		}
		rows = append(rows, []string{text.Name(c.Name), text.Relation(c), unread, waiting, stopped})
	}
	return a.print(text.Table(rows))
}

func (a *app) showContact(ctx context.Context, p *profile, who string) error {
	c, err := p.named(ctx, who)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(c)
	}
	rows := [][]string{
		{"name", text.Name(c.Name)}, {"own word", text.Line(c.Claimed)}, {"relation", text.Relation(c)}, {"since", text.Clock(c.Since, time.Now())},
		{"relay", text.Line(c.Relay)}, {"waiting here", fmt.Sprint(c.Waiting)}, {"unread", fmt.Sprint(c.Unread)}, {"number", fmt.Sprintf("#%d", c.ID)},
	}
	if c.Warning != "" {
		rows = append(rows, []string{"warning", text.Line(c.Warning)})
	}
	if err := a.print(text.Table(rows)); err != nil {
		return err
	}
	if c.Stopped {
		a.say("Sending is stopped until you decide. Compare the safety number over another way:\n`tacet verify %s`; then `tacet contacts trust %s`, or block.", text.Arg(c.Name), text.Arg(c.Name))
	}
	return nil
}

// changed prints a contact after a change.
func (a *app) changed(c client.Contact, talk string, args ...any) error {
	if a.json {
		return a.printJSON(c)
	}
	a.say(talk, args...)
	return nil
}

func (a *app) rename(ctx context.Context, p *profile, who, name string) error {
	c, err := p.Rename(ctx, who, name)
	if err != nil {
		return err
	}
	return a.changed(c, "%s is %s now.", text.Name(who), text.Name(c.Name))
}

func (a *app) block(ctx context.Context, p *profile, who string, yes bool) error {
	c, err := p.named(ctx, who)
	if err != nil {
		return err
	}
	if !yes {
		ok, err := a.confirm(ctx, fmt.Sprintf("Block %s for good? Messages that wait for them are dropped.", text.Name(c.Name)))
		if errors.Is(err, errNoTerminal) {
			return &text.Failure{What: "nobody is there to say yes", Means: "Nobody is blocked.", Hint: "say --yes", Err: err}
		}
		if err != nil {
			return err
		}
		if !ok {
			a.say("Not blocked.")
			return &status{code: exitFailure}
		}
	}
	if c, err = p.Answer(ctx, fmt.Sprintf("#%d", c.ID), client.AnswerBlock); err != nil {
		return err
	}
	return a.changed(c, "%s is blocked. They are not told; nothing of theirs reaches you any more.", text.Name(c.Name))
}

func (a *app) trust(ctx context.Context, p *profile, who string) error {
	c, err := p.named(ctx, who)
	if err != nil {
		return err
	}
	if !c.Stopped {
		return a.changed(c, "Nothing is stopped with %s.", text.Name(c.Name))
	}
	if c, err = p.Answer(ctx, fmt.Sprintf("#%d", c.ID), client.AnswerTrust); err != nil {
		return err
	}
	return a.changed(c, "Messages to %s go again.", text.Name(c.Name))
}

func verifyCommand(a *app) *cobra.Command {
	var confirm, undo bool
	c := &cobra.Command{
		Use:   "verify NAME",
		Short: "Compare the safety number with a contact",
		Long: `Compare the safety number with a contact, over another way than this one: face
to face, or on the telephone if you know the voice. If all 60 digits are the same
on both sides, nobody stands between you. The result is kept.`,
		Args: cobra.ExactArgs(1),
		Example: `  tacet verify Bob
  tacet verify Bob --confirm`,
		ValidArgsFunction: a.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.verify(cmd.Context(), p, args[0], confirm, undo) })
		},
	}
	c.Flags().BoolVar(&confirm, "confirm", false, "note that all digits are the same on both sides")
	c.Flags().BoolVar(&undo, "undo", false, "take that back")
	c.MarkFlagsMutuallyExclusive("confirm", "undo")
	return c
}

func (a *app) verify(ctx context.Context, p *profile, who string, confirm, undo bool) error {
	number, err := p.SafetyNumber(ctx, who)
	if err != nil {
		return err
	}
	var c client.Contact
	if confirm || undo {
		c, err = p.SetVerified(ctx, who, confirm)
	} else {
		c, err = p.named(ctx, who)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			SafetyNumber string         `json:"safety_number"`
			Contact      client.Contact `json:"contact"`
		}{number, c})
	}
	name := text.Name(c.Name)
	if err := a.print(text.SafetyNumber(number) + "\n"); err != nil {
		return err
	}
	a.say("")
	switch {
	case confirm:
		a.say("%s is verified. If their key ever changes, sending stops and you are asked.", name)
	case undo:
		a.say("%s is not verified any more.", name)
	case c.Verified:
		a.say("%s is verified: you noted that these digits are the same on both sides.", name)
	default:
		a.say("%s is not verified yet. Read the digits to each other, face to face or on the telephone.\nIf all are the same: `tacet verify %s --confirm`. If one differs, do not go on:\nsomebody may stand between you.", name, text.Arg(c.Name))
	}
	return nil
}

// ownersNames asks the owner of the profile for names, if there is one.
func (a *app) ownersNames(ctx context.Context) (names []string) {
	dir, err := a.dir()
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	r, err := rpc.Dial(ctx, dir)
	if err != nil {
		return nil
	}
	defer r.Close()
	all, err := r.Contacts(ctx)
	if err != nil {
		return nil
	}
	for _, c := range all {
		names = append(names, text.Line(c.Name))
	}
	return names
}
