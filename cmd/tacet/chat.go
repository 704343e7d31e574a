package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

func chatCommand(a *app) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "chat [NAME]",
		Short: "Talk: type lines, see what comes",
		Long: `Talk: type lines, see what comes. A line goes to whom you talk to; "@NAME text"
turns to somebody else; "/help" lists the rest.

--plain is for screen readers, logs and scripts: it moves no cursor, draws no
colour and ends with its input. Each event is one line, which begins with a time
and one of the words from, to, notice or state. The further lines of a message
begin with blanks and a bar.`,
		Args: cobra.MaximumNArgs(1),
		Example: `  tacet chat Bob
  tacet chat --plain`,
		ValidArgsFunction: a.names,
	}
	c.Flags().BoolVar(&plain, "plain", false, "one line an event, nothing else")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if a.json {
			return usage("chat has no JSON", "`tacet read --follow --json` and `tacet send --json` do")
		}
		return a.with(cmd.Context(), moving, func(p *profile) error {
			r := &room{a: a, p: p, queued: map[int64]time.Time{}, waiting: map[int64]client.Event{}}
			err := r.talk(cmd.Context(), args, plain || !a.interactive() || !isTerminal(a.out))
			if cmd.Context().Err() != nil {
				return nil // the ordinary way out
			}
			return err
		})
	}
	return c
}

const (
	// firstLines of a conversation are shown when it is opened.
	firstLines = 10
	// chatTick is how often a chat looks at the relay and at what is stuck.
	chatTick = time.Second
	// slow is how long a message may be queued before that is said.
	slow = 2 * time.Second
	// drainChat is how long a chat whose input ended waits for its messages.
	drainChat = 5 * time.Second
)

// room is a chat that is going on. Everything happens in the goroutine of talk.
type room struct {
	a  *app
	p  *profile
	c  console
	to partner // whom lines go to; zero: nobody yet

	mark    marker
	queued  map[int64]time.Time    // typed here and not yet told to be anywhere
	waiting map[int64]client.Event // typed here and not on their device
	weather string                 // what was last said of the relay
}

// seen is an event that came.
type seen struct {
	client.Event
	before bool // it was shown in another state
}

func (r *room) talk(ctx context.Context, args []string, plain bool) error {
	people, err := r.p.Contacts(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if r.to, err = r.p.partner(ctx, args[0]); err != nil {
			return err
		}
	} else if one := talkable(people); len(one) == 1 {
		r.to = personOf(one[0])
	}
	if r.c, err = r.a.console(plain); err != nil {
		return err
	}
	defer r.c.close()
	t, err := r.open(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	events, ended := make(chan seen), make(chan error, 1)
	go func() {
		ended <- r.p.follow(ctx, t, func(e client.Event, before bool) error {
			if e.State == client.Disappeared {
				return nil // what is on a screen stays there
			}
			select {
			case events <- seen{e, before}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	err = r.loop(ctx, events, ended)
	stop()
	return err
}

// talkable are the people that messages can be sent to.
func talkable(people []client.Contact) []client.Contact {
	return slices.DeleteFunc(slices.Clone(people), func(c client.Contact) bool { return c.State != "accepted" && c.State != "pending" })
}

func (r *room) loop(ctx context.Context, events <-chan seen, ended <-chan error) error {
	tick := time.NewTicker(chatTick)
	defer tick.Stop()
	var over <-chan time.Time // set once the input has ended
	lines := r.c.lines()
	for {
		select {
		case <-ctx.Done():
			return r.leave()
		case err := <-ended:
			return err
		case e := <-events:
			if err := r.event(ctx, e); err != nil {
				return err
			}
		case l, ok := <-lines:
			if !ok {
				if r.c.person() {
					return r.leave()
				}
				lines, over = nil, time.After(drainChat)
			} else if quit, err := r.typed(ctx, l); quit || err != nil {
				return errors.Join(err, r.leave())
			}
		case <-over:
			return r.leave()
		case <-tick.C:
			r.look(ctx)
		}
		if lines == nil && len(r.waiting) == 0 {
			return r.leave()
		}
	}
}

// open shows how a conversation stood, and what nobody has read.
func (r *room) open(ctx context.Context) (*told, error) {
	t, err := r.p.begin(ctx)
	if err != nil {
		return nil, err
	}
	first, err := r.p.Read(ctx, client.Query{Unread: true})
	if err != nil {
		return nil, err
	}
	if r.to.talk != 0 {
		last, err := r.p.Read(ctx, client.Query{Contact: r.to.ref, Limit: firstLines})
		if err != nil {
			return nil, err
		}
		first = append(first, last...)
	}
	slices.SortFunc(first, func(a, b client.Event) int { return int(a.Seq - b.Seq) })
	first = slices.CompactFunc(first, func(a, b client.Event) bool { return a.Seq == b.Seq })
	for _, e := range first {
		t.known(e)
		r.c.print(text.Event(e, time.Now(), r.c.style()))
	}
	r.mark = marker{p: r.p, shown: t}
	if _, err := r.mark.begin(ctx); err != nil {
		return nil, err
	}
	if r.to.talk == 0 {
		r.c.tell("/help tells what can be typed, /quit ends. @NAME turns to somebody.")
	} else {
		r.c.tell("/help tells what can be typed, /quit ends. Lines go to " + text.Name(r.to.name) + ".")
		r.c.turn(text.Name(r.to.name))
	}
	r.look(ctx)
	return t, t.seed(ctx, r.p)
}

// event shows what came, or how a message moved on.
func (r *room) event(ctx context.Context, e seen) error {
	now := time.Now()
	_, mine := r.waiting[e.Seq]
	if e.Out && mine || e.before {
		if e.State == client.Queued {
			return nil // said if it stays so
		}
		delete(r.queued, e.Seq)
		if rank(e.State) < 0 || e.State == client.OnDevice {
			delete(r.waiting, e.Seq)
		} else {
			r.waiting[e.Seq] = e.Event
		}
		r.c.print(text.Change(e.Event, now, r.c.style()))
		return nil
	}
	r.c.print(text.Event(e.Event, now, r.c.style()))
	if e.State == client.Told && e.GroupID == 0 {
		if c, err := r.p.contact(ctx, e.ContactID); err == nil && c.State == "request" {
			n := text.Name(c.Name)
			r.c.tell("/accept " + n + " or /decline " + n)
		}
	}
	return r.mark.mark(ctx, e.Event)
}

// look says when the relay comes or goes, and what stays queued.
func (r *room) look(ctx context.Context) {
	st, err := r.p.Status(ctx)
	if err != nil {
		return
	}
	now := "looking for the relay"
	switch {
	case st.Relay == "":
		now = "there is no relay yet: `tacet accept LINK` brings one"
	case st.Connected:
		now = "connected to " + text.Line(st.Relay)
	case st.Trouble != "":
		now = text.Line(st.Trouble)
	case r.weather == "":
		return // just begun
	}
	if now != r.weather {
		r.weather = now
		r.c.tell(now)
	}
	for seq, since := range r.queued {
		if time.Since(since) > slow {
			delete(r.queued, seq)
			r.c.print(text.Change(r.waiting[seq], time.Now(), r.c.style()))
		}
	}
}

// leave says what is left behind.
func (r *room) leave() error {
	if n := len(r.waiting); n > 0 {
		moves := "Nothing moves while no process runs."
		if !r.p.mine() {
			moves = "A running process goes on with it."
		}
		r.c.tell(text.Count(n, "message") + " of this chat not on their device yet. " + moves)
	}
	return nil
}

// say sends a text to whom lines go.
func (r *room) say(ctx context.Context, s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	if r.to.talk == 0 {
		r.c.fail(&text.Failure{What: "the line goes to nobody", Means: "Nothing was sent.", Hint: "@NAME turns to somebody, /who lists everybody"})
		return
	}
	e, err := r.p.Send(ctx, client.Outgoing{To: r.to.ref, Text: s})
	if err != nil {
		r.c.fail(err)
		return
	}
	r.queued[e.Seq], r.waiting[e.Seq] = time.Now(), e
	if !r.c.echoes() {
		r.c.print(text.Event(e, time.Now(), r.c.style()))
	}
}
