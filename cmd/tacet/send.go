package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// maxStdin bounds a message from standard input, in bytes. The client says what
// is too long; this only keeps a wrong file out of memory.
const maxStdin = 1 << 20

// ladder are the states that a message climbs.
var ladder = []client.State{client.Queued, client.Offered, client.Parked, client.Live, client.OnDevice}

// waits are the states that --wait takes.
var waits = map[string]client.State{"queued": client.Queued, "offered": client.Offered, "parked": client.Parked, "live": client.Live, "device": client.OnDevice}

func sendCommand(a *app) *cobra.Command {
	var wait string
	within, keep := duration{5 * time.Second}, duration{}
	c := &cobra.Command{
		Use:   "send NAME [TEXT…]",
		Short: "Send a message",
		Long: `Send a message: TEXT, or standard input if there is none. It is safe on this
device before anything else happens, and stays until their device acks it.

To a group it goes to every member, each copy by itself. Then the command waits for the state that --wait names, and says where the
message is: queued here, offered, parked at their relay, live (a device has
it), on their device.
If --wait was given and the state is not reached in time, it exits with 3.`,
		Args: cobra.MinimumNArgs(1),
		Example: `  tacet send Bob 'see you at nine'
  date | tacet send Bob --wait offered --timeout 30s
  tacet send Bob 'only for now' --keep 2h`,
		ValidArgsFunction: a.names,
	}
	c.Flags().StringVar(&wait, "wait", "device", "the `STATE` to wait for: queued, offered, parked, live or device")
	c.Flags().Var(&within, "timeout", "how long to wait")
	c.Flags().Var(&keep, "keep", "how long it may wait, here and at their relay, before it expires: 2h, 7d (default: until it is acked)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		want, ok := waits[wait]
		if !ok {
			return usage("--wait is queued, offered, parked, live or device", "")
		}
		m := client.Outgoing{To: args[0], Text: strings.Join(args[1:], " "), Keep: keep.Duration}
		if len(args) == 1 {
			var err error
			if m.Text, err = a.stdin(); err != nil {
				return err
			}
		}
		return a.send(cmd.Context(), m, want, within.Duration, cmd.Flags().Changed("wait"))
	}
	return c
}

// stdin reads a message from standard input, without its last line break.
func (a *app) stdin() (string, error) {
	if isTerminal(a.in) {
		return "", usage("the text is missing", "`tacet send NAME TEXT`, or pipe the text in")
	}
	raw, err := io.ReadAll(io.LimitReader(a.lines, maxStdin+1))
	if err != nil {
		return "", err
	}
	if len(raw) > maxStdin {
		return "", client.ErrLong
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r"), nil
}

func (a *app) send(ctx context.Context, m client.Outgoing, want client.State, within time.Duration, strict bool) error {
	how := hasty
	if want == client.Queued {
		how = staying // nothing has to leave
	}
	p, err := a.open(ctx, how)
	if err != nil {
		return err
	}
	defer p.close()
	e, err := p.Send(ctx, m)
	if err != nil {
		return err
	}
	e, err = a.climb(ctx, p, e, want, within)
	if err != nil {
		return err
	}
	st, err := p.Status(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	moving := !p.mine() && st.Running
	name := text.Name(text.With(e))
	if a.json {
		err = a.printJSON(e)
	} else {
		err = a.print(fmt.Sprintf("#%d to %s: %s\n", e.Seq, name, where(e)))
	}
	if err != nil {
		return err
	}
	if st.Trouble != "" && e.State == client.Queued {
		a.say("%s.", capital(text.Line(st.Trouble)))
	}
	if o := text.Outlook(e.State, name, moving); o != "" {
		a.tell(o)
	}
	if strict && rank(e.State) < rank(want) {
		return &status{code: exitWaiting}
	}
	return nil
}

// rank orders the states that a message climbs; others are below all.
func rank(s client.State) int { return slices.Index(ladder, s) }

// climb waits until a message is where it is wanted, or time is up, and shows
// every step. The message is committed, so to be interrupted is no failure.
func (a *app) climb(ctx context.Context, p *profile, e client.Event, want client.State, within time.Duration) (client.Event, error) {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	defer a.progress.Stop()
	for rank(e.State) >= 0 && rank(e.State) < rank(want) {
		a.progress.Start(fmt.Sprintf("#%d to %s: %s", e.Seq, text.Name(text.With(e)), where(e)))
		next, err := p.Await(ctx, e.Seq, ladder[rank(e.State)+1])
		if next.Seq == e.Seq {
			e = next
		}
		if timeUp(ctx, err) || p.failed() != nil {
			return e, p.failed()
		}
		if err != nil {
			return e, err
		}
	}
	return e, nil
}

// timeUp reports whether a wait ended because ctx did. A process that keeps the
// time for us can say so before our own clock does.
func timeUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
}

func unsendCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unsend NUMBER",
		Short: "Take back a message that nothing has tried to send yet",
		Long: `Take back a message that is queued here and that no process has tried to send
yet. After that it may be on its way, and nothing can call it back from another
person's device.`,
		Args:    cobra.ExactArgs(1),
		Example: "  tacet unsend 12",
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(strings.TrimPrefix(args[0], "#"), 10, 64)
			if err != nil {
				return usage("a message is named by its number", "`tacet read` shows the numbers of what still waits")
			}
			return a.with(cmd.Context(), staying, func(p *profile) error {
				e, err := p.Unsend(cmd.Context(), seq)
				switch {
				case err != nil:
					return err
				case a.json:
					return a.printJSON(e)
				}
				return a.print(fmt.Sprintf("#%d to %s: %s\n", e.Seq, text.Name(text.With(e)), where(e)))
			})
		},
	}
}

// failed returns why messages do not move any more in this process.
func (p *profile) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil || p.own.failed.Err() == nil || errors.Is(context.Cause(p.own.failed), context.Canceled) {
		return nil
	}
	return context.Cause(p.own.failed)
}

// capital begins a sentence.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
