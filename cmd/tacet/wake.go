package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

func wakeCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "wake",
		Short: "Have this device woken when something waits",
		Long: `Have this device woken when something waits. Your contacts get single-use tickets,
sealed to a wake gateway; the gateway pushes a message that says nothing to the
endpoint that your push client gave you, and your push client runs
` + "`tacet wake receive`" + `, which fetches. No relay keeps a list of who is woken.

Choose a gateway that somebody else runs than your relay: together they could
tell which addresses are this device's.`,
		Example: `  tacet wake set https://push.example/abc --gateway gateway.example
  tacet wake test
  tacet wake off`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(*cobra.Command, []string) error { return errors.New("a command is missing") }
	c.AddCommand(wakeSetCommand(a), wakeOffCommand(a), wakeTestCommand(a), wakeReceiveCommand(a))
	return c
}

func wakeSetCommand(a *app) *cobra.Command {
	var o client.WakeOptions
	within := duration{time.Minute}
	c := &cobra.Command{
		Use: "set URL", Short: "Name the endpoint that your push client gave you",
		Long: `Name the endpoint that your push client gave you. The gateway pushes a challenge
there; your push client hands it to ` + "`tacet wake receive`" + `, and from then on your
contacts are given tickets. An endpoint before this one stays in use until then.`,
		Example: "  tacet wake set https://push.example/abc --gateway gateway.example",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&o.Gateway, "gateway", "", "the `RELAY` that pushes (default: your own, which --accept-same-operator must allow)")
	c.Flags().BoolVar(&o.SameOperator, "accept-same-operator", false, "take a gateway under the key of your own relay: its operator can tell which addresses are this device's")
	c.Flags().BoolVar(&o.Unified, "unifiedpush", false, "the endpoint is one of UnifiedPush: have it asked whether it is")
	c.Flags().Var(&within, "timeout", "how long to wait for the challenge")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o.URL = args[0]
		return a.with(cmd.Context(), staying, func(p *profile) error {
			a.progress.Start("asking the gateway to push a challenge")
			if _, err := p.SetWake(cmd.Context(), o); err != nil {
				return err
			}
			a.progress.Start("waiting for the challenge: `tacet wake receive` takes it")
			st, err := a.awaitWake(cmd.Context(), p, within.Duration, func(st *client.WakeStatus) bool { return st.Proven && !st.Waiting })
			if err != nil {
				return err
			}
			return a.showWake(st, st != nil && st.Proven && !st.Waiting, "The challenge has not come yet. Nothing is lost: it is taken whenever `tacet wake receive` gets it, for an hour.")
		})
	}
	return c
}

func wakeOffCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "off", Short: "Have this device not woken any more", Args: cobra.NoArgs, Example: "  tacet wake off",
		Long: `Have this device not woken any more. Contacts are told to forget their tickets, and
what is pushed opens nothing. Take the endpoint back in your push client, too.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), moving, func(p *profile) error {
				if err := p.WakeOff(cmd.Context()); err != nil {
					return err
				}
				a.tell("This device is not woken any more. Take the endpoint back in your push client, too.")
				return nil
			})
		},
	}
}

func wakeTestCommand(a *app) *cobra.Command {
	within := duration{time.Minute}
	c := &cobra.Command{
		Use: "test", Short: "Have this device woken once, to see that it works", Args: cobra.NoArgs, Example: "  tacet wake test",
		Long: `Have this device woken once by a ticket of its own, all the way: your relay, the
gateway, the push service, your push client, ` + "`tacet wake receive`" + `. It exits with 3
if nothing comes in time.`,
	}
	c.Flags().Var(&within, "timeout", "how long to wait")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.with(cmd.Context(), staying, func(p *profile) error {
			before, err := p.Status(cmd.Context())
			if err != nil {
				return err
			}
			a.progress.Start("sending a ticket to this device")
			if err := p.TestWake(cmd.Context()); err != nil {
				return err
			}
			a.progress.Start("waiting for the push: `tacet wake receive` takes it")
			came := func(st *client.WakeStatus) bool { return before.Wake == nil || st.Tests > before.Wake.Tests }
			st, err := a.awaitWake(cmd.Context(), p, within.Duration, came)
			if err != nil {
				return err
			}
			if st == nil || !came(st) {
				return &status{exitWaiting, &text.Failure{What: "the push has not come", Means: "The ticket left; somewhere behind your relay it ended.",
					Hint: "look whether your push client runs and calls `tacet wake receive`; a gateway pushes to one endpoint at most twice a minute"}}
			}
			return a.showWake(st, true, "")
		})
	}
	return c
}

func wakeReceiveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "receive", Short: "Take what was pushed, from standard input; for push clients", Args: cobra.NoArgs,
		Long: `Take what was pushed, as it came, from standard input, and do what it asks for: answer
a challenge, or fetch what waits and print it. A process that has the profile
already does the work if there is one. What is not for this profile changes nothing,
and what no gateway can have pushed is an error.`,
		Example: "  tacet wake receive --passphrase-file FILE < BODY",
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := io.ReadAll(io.LimitReader(a.lines, client.PushSize+1))
			if err != nil {
				return err
			}
			if len(body) != client.PushSize {
				return usage(fmt.Sprintf("standard input is no push of a gateway: those have %d bytes", client.PushSize), "have your push client hand on the body as it came, neither decrypted nor encoded")
			}
			return a.with(cmd.Context(), staying, func(p *profile) error { return a.received(cmd.Context(), p, body) })
		},
	}
}

func (a *app) received(ctx context.Context, p *profile, body []byte) error {
	a.progress.Start("looking")
	got, err := p.ReceivePush(ctx, body)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(got)
	}
	switch got.Kind {
	case client.PushedChallenge:
		a.tell("The endpoint is proven. Contacts are given tickets when this device next runs.")
	case client.PushedTest:
		a.tell("The test has come: this device can be woken.")
	case client.PushedUnknown:
		a.tell("Nothing of this profile: it was not looked after.")
	default:
		switch {
		case got.Running:
			a.tell("Woken. The process that has this profile fetches what waits.")
		case !got.Connected:
			a.tell("Woken, but the relay was not reached. What waits stays with its senders.")
		case len(got.Events) == 0:
			a.tell("Woken. Nothing new was there.")
		}
		now := time.Now()
		for _, e := range got.Events {
			if err := a.print(text.Event(e, now, a.style) + "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

const wakePoll = 200 * time.Millisecond

// awaitWake looks until things are as they should be, or for as long as is
// waited. It returns how they are, nil without an endpoint.
func (a *app) awaitWake(ctx context.Context, p *profile, within time.Duration, good func(*client.WakeStatus) bool) (*client.WakeStatus, error) {
	defer a.progress.Stop()
	until, stop := context.WithTimeout(ctx, within)
	defer stop()
	for {
		st, err := p.Status(ctx)
		if err != nil || st.Wake != nil && good(st.Wake) {
			return st.Wake, err
		}
		select {
		case <-until.Done():
			return st.Wake, ctx.Err()
		case <-time.After(wakePoll):
		}
	}
}

func (a *app) showWake(st *client.WakeStatus, done bool, otherwise string) error {
	if !done {
		a.tell(otherwise)
	}
	switch {
	case st == nil:
		return &status{code: exitWaiting}
	case a.json:
		if err := a.printJSON(st); err != nil {
			return err
		}
	default:
		if err := a.print(text.Table(wakeRows(st, time.Now()))); err != nil {
			return err
		}
	}
	if !done {
		return &status{code: exitWaiting}
	}
	return nil
}

// wakeRows are what status says of waking.
func wakeRows(st *client.WakeStatus, now time.Time) [][]string {
	what := []string{text.Line(st.Push) + " through " + text.Line(st.Gateway)}
	switch {
	case !st.Proven:
		what = append(what, "waits for the challenge: `tacet wake receive` takes it")
	case st.Waiting:
		what = append(what, "another endpoint waits for its challenge")
	}
	if st.Proven {
		what = append(what, text.Count(st.Given, "ticket")+" with contacts")
	}
	if !st.LastPush.IsZero() {
		what = append(what, "last push "+text.Clock(st.LastPush, now))
	}
	rows := text.Rows("wake", strings.Join(what, ", "), statusColumns)
	if st.Same {
		rows = append(rows, text.Rows("", fmt.Sprintf("%s is your own relay: its operator can tell which addresses are this device's", text.Line(st.Gateway)), statusColumns)...)
	}
	return rows
}
