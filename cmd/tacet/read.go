package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// reading is what read is told.
type reading struct {
	query  client.Query
	follow bool
	keep   bool // leave unread what is shown
}

func readCommand(a *app) *cobra.Command {
	var r reading
	c := &cobra.Command{
		Use:   "read [NAME]",
		Short: "Read messages, and follow what comes",
		Long: `Read messages, of everybody, of one contact or of one group. With --follow it stays, shows what
comes and how messages of yours move on, and moves them.

With --json it prints one object a line. A message that moves on is printed
again, with the same seq and its new state.`,
		Args: cobra.MaximumNArgs(1),
		Example: `  tacet read
  tacet read Bob --limit 10
  tacet read --follow --json | jq -r 'select(.state == "received") | .text'`,
		ValidArgsFunction: a.names,
	}
	f := c.Flags()
	f.BoolVarP(&r.follow, "follow", "f", false, "stay, and show what comes")
	f.BoolVarP(&r.query.Unread, "unread", "u", false, "only what was not read yet")
	f.IntVarP(&r.query.Limit, "limit", "n", 50, "the newest `N`; 0 for all")
	f.Int64Var(&r.query.After, "after", 0, "only what came after number `N` (seq)")
	f.BoolVar(&r.keep, "keep-unread", false, "do not note that it was read")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if r.query.Limit < 0 || r.query.After < 0 {
			return usage("--limit and --after are not below 0", "")
		}
		if len(args) == 1 {
			r.query.Contact = args[0]
		}
		if (r.query.Unread || r.query.After > 0) && !f.Changed("limit") {
			r.query.Limit = 0
		}
		m := staying
		if r.follow {
			m = moving
		}
		return a.with(cmd.Context(), m, func(p *profile) error { return a.read(cmd.Context(), p, &r) })
	}
	return c
}

func (a *app) read(ctx context.Context, p *profile, r *reading) error {
	var only int64 // the conversation, if one was named
	if r.query.Contact != "" {
		c, err := p.partner(ctx, r.query.Contact)
		if err != nil {
			return err
		}
		only, r.query.Contact = c.talk, c.ref // a name may change meanwhile
	}
	t, err := p.begin(ctx)
	if err != nil {
		return err
	}
	events, err := p.Read(ctx, r.query)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := a.show(e, t); err != nil {
			return err
		}
	}
	m := marker{p: p, off: r.keep, only: only, shown: t}
	left, err := m.begin(ctx)
	if err != nil {
		return err
	}
	if !r.follow {
		a.afterReading(len(events), left, only)
		return nil
	}
	if err := t.seed(ctx, p); err != nil {
		return err
	}
	a.say("Following; ctrl-C ends it.")
	err = p.follow(ctx, t, func(e client.Event, before bool) error {
		if e.State == client.Disappeared { // what is on a screen stays there
			if !a.json {
				return nil
			}
			return a.printJSON(e)
		}
		if only != 0 && e.Conversation() != only {
			m.skip(e)
			return nil
		}
		if err := a.showNext(e, before); err != nil {
			return err
		}
		return m.mark(ctx, e)
	})
	if ctx.Err() != nil {
		return nil // the ordinary way out
	}
	return err
}

// show prints an event that was there.
func (a *app) show(e client.Event, t *told) error {
	t.known(e)
	return a.showNext(e, false)
}

// showNext prints an event, or its change if it was printed before.
func (a *app) showNext(e client.Event, before bool) error {
	switch {
	case a.json:
		return a.printJSON(e)
	case before:
		return a.print(text.Change(e, time.Now(), a.style) + "\n")
	}
	return a.print(text.Event(e, time.Now(), a.style) + "\n")
}

func (a *app) afterReading(shown, left int, only int64) {
	switch {
	case a.json:
	case shown == 0 && left == 0:
		a.say("Nothing to read.")
	case left > 0 && only == 0:
		a.say("%s not shown and not read yet: `tacet read --unread`.", capital(text.Count(left, "older message")))
	}
}

// marker notes what a person has read. There is one mark for each conversation,
// and it must not pass what nobody has seen.
type marker struct {
	p     *profile
	off   bool // this command marks nothing
	only  int64
	shown *told
	held  map[int64]bool // conversations with something older that was not shown
}

// begin marks what was shown and returns how much is left unread.
func (m *marker) begin(ctx context.Context) (left int, err error) {
	m.held = map[int64]bool{}
	unread, err := m.p.Read(ctx, client.Query{Unread: true})
	if err != nil {
		return 0, err
	}
	marks := map[int64]int64{}
	for _, e := range unread {
		if _, ok := m.shown.state[e.Seq]; !ok {
			left++
			m.held[e.Conversation()] = true
		} else if !m.held[e.Conversation()] {
			marks[e.Conversation()] = e.Seq
		}
	}
	if m.off {
		return 0, nil
	}
	for _, seq := range marks {
		if err := m.p.MarkRead(ctx, seq); err != nil {
			return left, err
		}
	}
	return left, nil
}

// mark marks one more event that was shown.
func (m *marker) mark(ctx context.Context, e client.Event) error {
	if m.off || e.Out || m.held[e.Conversation()] {
		return nil
	}
	return m.p.MarkRead(ctx, e.Seq)
}

// skip notes that an event was not shown.
func (m *marker) skip(e client.Event) {
	if !e.Out {
		m.held[e.Conversation()] = true
	}
}
