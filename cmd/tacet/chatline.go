package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

const chatHelp = `TEXT               send a line to whom you talk to
@NAME TEXT         turn to somebody and send; @NAME alone only turns
/who               everybody, and what waits
/read [NUMBER]     the last lines of this conversation
/accept NAME       let somebody in who asks; /decline NAME does not
/unsend NUMBER     take back what nothing has tried to send yet
/status            relay and messages
/quit              end; also ctrl-C, or the end of input
//TEXT, @@TEXT     send a line that begins with / or @`

// typed does what a line says. quit ends the chat.
func (r *room) typed(ctx context.Context, line string) (quit bool, err error) {
	switch {
	case strings.HasPrefix(line, "//"), strings.HasPrefix(line, "@@"):
		r.say(ctx, line[1:])
	case strings.HasPrefix(line, "@"):
		r.address(ctx, line[1:])
	case strings.HasPrefix(line, "/"):
		word, rest, _ := strings.Cut(line[1:], " ")
		return r.command(ctx, strings.ToLower(word), strings.TrimSpace(rest))
	default:
		r.say(ctx, line)
	}
	return false, nil
}

// address turns to the contact whose name the line begins with, and sends the
// rest.
func (r *room) address(ctx context.Context, line string) {
	all, err := r.p.partners(ctx)
	if err != nil {
		r.c.fail(err)
		return
	}
	c, rest, ok := addressee(all, line)
	if ok && c.talk == 0 {
		r.c.fail(client.ErrTwo)
		return
	}
	if !ok {
		r.c.fail(&text.Failure{What: "no such contact", Means: "Nothing was sent.", Hint: "/who lists everybody; @@ begins a line that goes to whom you talk to", Err: client.ErrContact})
		return
	}
	r.to = c
	r.c.turn(text.Name(c.name))
	if rest == "" {
		r.c.tell("lines go to " + text.Name(c.name) + " now")
		return
	}
	r.say(ctx, rest)
}

// addressee finds the person or group with the longest name that the line begins
// with. Of a name that two have it finds nobody in particular: the zero partner.
func addressee(all []partner, line string) (best partner, rest string, ok bool) {
	for _, c := range all {
		said := "person:"
		if c.talk < 0 {
			said = "group:"
		}
		for _, name := range []string{text.Line(c.name), text.Name(c.name), c.ref, said + text.Line(c.name)} {
			after, found := cutFold(line, name)
			if next, _ := utf8.DecodeRuneInString(after); !found || unicode.IsLetter(next) || unicode.IsDigit(next) {
				continue
			}
			switch n := len(line) - len(rest); {
			case !ok || len(name) > n:
				best, rest, ok = c, after, true
			case len(name) == n && best.ref != c.ref:
				best = partner{}
			}
		}
	}
	rest = strings.TrimSpace(strings.TrimLeft(rest, ":,"))
	return best, rest, ok
}

// cutFold cuts a prefix, in any case.
func cutFold(s, prefix string) (after string, ok bool) {
	runes := utf8.RuneCountInString(prefix)
	end := 0
	for range runes {
		_, n := utf8.DecodeRuneInString(s[end:])
		end += n
	}
	if prefix == "" || !strings.EqualFold(s[:end], prefix) {
		return s, false
	}
	return s[end:], true
}

func (r *room) command(ctx context.Context, word, rest string) (quit bool, err error) {
	switch word {
	case "quit", "q", "exit":
		return true, nil
	case "help", "h", "?":
		for l := range strings.Lines(chatHelp) {
			r.c.tell(strings.TrimRight(l, "\n"))
		}
	case "who":
		err = r.who(ctx)
	case "to":
		r.address(ctx, rest)
	case "read":
		err = r.reread(ctx, rest)
	case "accept", "decline":
		err = r.answer(ctx, rest, client.Answer(word))
	case "unsend":
		err = r.unsend(ctx, rest)
	case "status":
		var st client.Status
		if st, err = r.p.Status(ctx); err == nil {
			for l := range strings.Lines(statusText(r.p.dir, &st, time.Now())) {
				r.c.tell(strings.TrimRight(l, "\n"))
			}
		}
	default:
		err = &text.Failure{What: "there is no /" + text.Line(word), Means: "Nothing was sent.", Hint: "/help lists what there is; // begins a line that starts with /"}
	}
	if err != nil {
		r.c.fail(err)
	}
	return false, nil
}

func (r *room) who(ctx context.Context) error {
	people, err := r.p.Contacts(ctx)
	if err != nil {
		return err
	}
	groups, err := r.p.Groups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		r.c.tell(text.Name(g.Name) + ": " + text.GroupState(g))
	}
	if len(people)+len(groups) == 0 {
		r.c.tell("nobody yet: `tacet invite new`, or `tacet accept LINK`")
	}
	for _, c := range people {
		s := text.Name(c.Name) + ": " + text.Relation(c)
		if c.Waiting > 0 {
			s += fmt.Sprintf(", %d waiting here", c.Waiting)
		}
		if c.Stopped {
			s += ", sending is stopped"
		}
		r.c.tell(s)
	}
	return nil
}

func (r *room) reread(ctx context.Context, rest string) error {
	n := firstLines
	if rest != "" {
		var err error
		if n, err = strconv.Atoi(rest); err != nil || n < 1 {
			return &text.Failure{What: "/read takes how many lines"}
		}
	}
	q := client.Query{Limit: n}
	if r.to.talk != 0 {
		q.Contact = r.to.ref
	}
	events, err := r.p.Read(ctx, q)
	for _, e := range events {
		r.c.print(text.Event(e, time.Now(), r.c.style()))
	}
	return err
}

func (r *room) answer(ctx context.Context, who string, answer client.Answer) error {
	c, err := r.p.named(ctx, strings.TrimPrefix(who, "@"))
	if err != nil {
		return err
	}
	if c, err = r.p.Answer(ctx, fmt.Sprintf("#%d", c.ID), answer); err != nil {
		return err
	}
	r.c.tell(text.Name(c.Name) + ": " + text.Relation(c))
	if answer == client.AnswerAccept && r.to.talk == 0 {
		r.to = personOf(c)
		r.c.turn(text.Name(c.Name))
	}
	return nil
}

func (r *room) unsend(ctx context.Context, rest string) error {
	seq, err := strconv.ParseInt(strings.TrimPrefix(rest, "#"), 10, 64)
	if err != nil {
		return &text.Failure{What: "/unsend takes the number of a message"}
	}
	_, err = r.p.Unsend(ctx, seq)
	return err // the change is told by its event
}
