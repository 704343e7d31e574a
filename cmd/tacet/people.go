package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// find1 returns the first contact that matches.
func (p *profile) find1(ctx context.Context, match func(client.Contact) bool) (client.Contact, error) {
	all, err := p.Contacts(ctx)
	if err != nil {
		return client.Contact{}, err
	}
	for _, c := range all {
		if match(c) {
			return c, nil
		}
	}
	return client.Contact{}, client.ErrContact
}

func (p *profile) contact(ctx context.Context, id int64) (client.Contact, error) {
	return p.find1(ctx, func(c client.Contact) bool { return c.ID == id })
}

func (p *profile) named(ctx context.Context, who string) (client.Contact, error) {
	return p.find1(ctx, func(c client.Contact) bool {
		return strings.EqualFold(c.Name, strings.TrimSpace(who)) || who == fmt.Sprintf("#%d", c.ID)
	})
}

// with opens the profile, runs f and gives the profile up.
func (a *app) with(ctx context.Context, m mode, f func(p *profile) error) error {
	p, err := a.open(ctx, m)
	if err != nil {
		return err
	}
	return errors.Join(f(p), p.close())
}

// names completes names of contacts, if a process that has the profile can be
// asked: nobody types a passphrase to complete a word.
func (a *app) names(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.ownersNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

func requestsCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "requests",
		Short: "Who asks to talk with you",
		Long: `Who asks to talk with you: people who used an invite of yours that asks first.
Declining is silent: they are not told. Blocking destroys the keys that lead to
you for good.`,
		Args: cobra.NoArgs,
		Example: `  tacet requests
  tacet requests accept Bob`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.listRequests(cmd.Context(), p) })
		},
	}
	for _, v := range []struct {
		use, short string
		answer     client.Answer
	}{
		{"accept NAME", "Accept: you can talk from now on", client.AnswerAccept},
		{"decline NAME", "Decline; they are not told", client.AnswerDecline},
		{"block NAME", "Block; they are not told", client.AnswerBlock},
	} {
		c.AddCommand(&cobra.Command{
			Use: v.use, Short: v.short, Args: cobra.ExactArgs(1), ValidArgsFunction: a.names, Example: "  tacet requests " + strings.ToLower(strings.Replace(v.use, "NAME", "bob", 1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.with(cmd.Context(), hasty, func(p *profile) error { return a.answer(cmd.Context(), p, args[0], v.answer) })
			},
		})
	}
	return c
}

func (a *app) listRequests(ctx context.Context, p *profile) error {
	all, err := p.Contacts(ctx)
	if err != nil {
		return err
	}
	var asking []client.Contact
	for _, c := range all {
		if c.State == "request" {
			asking = append(asking, c)
		}
	}
	if a.json {
		return a.printJSON(list(asking))
	}
	if len(asking) == 0 {
		a.say("Nobody asks to talk with you.")
		return nil
	}
	now := time.Now()
	for _, c := range asking {
		if err := a.print(fmt.Sprintf("%s %s asks to talk with you\n", a.style.Dim(text.Clock(c.Since, now)), a.style.Bold(text.Name(c.Name)))); err != nil {
			return err
		}
		said, err := p.Read(ctx, client.Query{Contact: fmt.Sprintf("#%d", c.ID)})
		if err != nil {
			return err
		}
		for _, e := range said {
			if e.State == client.Received {
				if err := a.print(text.Event(e, now, a.style) + "\n"); err != nil {
					return err
				}
			}
		}
	}
	a.say("\n`tacet requests accept NAME`, or decline, or block.")
	return nil
}

// answer answers a request and gives the answer a few seconds to leave.
func (a *app) answer(ctx context.Context, p *profile, who string, answer client.Answer) error {
	c, err := p.named(ctx, who)
	if err != nil {
		return err
	}
	if c.State != "request" {
		return &text.Failure{What: fmt.Sprintf("%s does not ask for anything", text.Name(c.Name)), Hint: "`tacet requests` lists who does", Err: client.ErrState}
	}
	if c, err = p.Answer(ctx, fmt.Sprintf("#%d", c.ID), answer); err != nil {
		return err
	}
	name := text.Name(c.Name)
	var talk string
	switch answer {
	case client.AnswerAccept:
		if c = a.drain(ctx, p, c); c.Waiting > 0 {
			talk = "They are told when their device is there. " + nextMove(!p.mine())
		} else {
			talk = fmt.Sprintf("They know. To be sure who it is, compare the safety number: `tacet verify %s`.", text.Arg(c.Name))
		}
	case client.AnswerDecline:
		talk = "They are not told."
	default:
		talk = "They are not told. What led them to you is destroyed."
	}
	if a.json {
		return a.printJSON(c)
	}
	a.tell(talk)
	return a.print(name + ": " + text.Relation(c) + "\n")
}

const (
	drainWithin = 6 * time.Second
	drainPoll   = 200 * time.Millisecond
)

// drain waits a few seconds until nothing waits for a contact's device.
func (a *app) drain(ctx context.Context, p *profile, c client.Contact) client.Contact {
	a.progress.Start("telling their device")
	defer a.progress.Stop()
	ctx, stop := context.WithTimeout(ctx, drainWithin)
	defer stop()
	for c.Waiting > 0 {
		select {
		case <-ctx.Done():
			return c
		case <-time.After(drainPoll):
		}
		now, err := p.contact(ctx, c.ID)
		if err != nil {
			return c
		}
		c = now
	}
	return c
}
