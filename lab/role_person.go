package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// personOrder is what somebody's process is told.
type personOrder struct {
	Dir        string        `json:"dir"`
	Passphrase string        `json:"passphrase"`
	Name       string        `json:"name"` // of a profile that is to be made if there is none
	Relay      string        `json:"relay"`
	From       string        `json:"from"` // network address; empty: any
	AckMean    time.Duration `json:"ack_mean"`
	Spread     time.Duration `json:"spread,omitempty"`
	After      int64         `json:"after"` // events up to this number were told before
	Brief      bool          `json:"brief,omitempty"`
	Join       string        `json:"join,omitempty"` // the code of a link: the profile becomes a device of whoever made it
	Fall       Fall          `json:"fall"`
}

// Fall is a moment at which a process kills itself.
type Fall struct {
	Boundary string `json:"boundary"` // one of client.Boundaries; empty: never
	Nth      int    `json:"nth"`      // the crossing of it, from 1
}

// ask is one question to a person's process, told is what it says: the answer to
// the question of that number, or, without a number, news.
type (
	ask struct {
		ID    int           `json:"id"`
		Do    string        `json:"do"`
		Who   string        `json:"who,omitempty"`
		Text  string        `json:"text,omitempty"`
		Link  string        `json:"link,omitempty"`
		Texts []string      `json:"texts,omitempty"`
		Every time.Duration `json:"every,omitempty"`
		Fall  *Fall         `json:"fall,omitempty"`
	}
	told struct {
		ID       int              `json:"id,omitempty"`
		Err      string           `json:"err,omitempty"`
		Ready    bool             `json:"ready,omitempty"`
		Words    []string         `json:"words,omitempty"`  // recovery words of a profile just made
		Digits   string           `json:"digits,omitempty"` // to be compared, of a device that joins
		Text     string           `json:"text,omitempty"`
		Event    *client.Event    `json:"event,omitempty"`
		Events   []client.Event   `json:"events,omitempty"`
		Status   *client.Status   `json:"status,omitempty"`
		Contacts []client.Contact `json:"contacts,omitempty"`
		Groups   []client.Group   `json:"groups,omitempty"`
	}
)

// actor is a person's process from the inside.
type actor struct {
	c     *client.Client
	out   *speaker
	traps *trap
}

// playPerson is a profile that runs, as `tacet chat` runs one.
func playPerson(in *bufio.Reader, out *speaker) error {
	var o personOrder
	if err := hear(in, &o); err != nil {
		return err
	}
	traps := &trap{fall: o.Fall}
	opt := client.Options{
		Dir: o.Dir, Passphrase: []byte(o.Passphrase), Network: wayFrom(o.From), WeakVault: true, AckMean: o.AckMean, Boundary: traps.at, Brief: o.Brief, Spread: o.Spread,
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := client.Open(ctx, opt)
	if o.Join != "" && (errors.Is(err, client.ErrMissing) || errors.Is(err, client.ErrUnlinked)) {
		j := client.JoinOptions{Code: o.Join, Name: o.Name, RelayOnly: true, Progress: func(p client.JoinProgress) {
			if p.Stage == client.JoinDigits {
				out.say(told{Digits: p.Digits})
			}
		}}
		if err := client.Join(ctx, opt, j); err != nil {
			return err
		}
		c, err = client.Open(ctx, opt)
	}
	if errors.Is(err, client.ErrMissing) {
		var words []string
		if words, err = client.Create(ctx, opt, client.NewProfile{Name: o.Name, Relay: o.Relay}); err != nil {
			return err
		}
		if err := out.say(told{Words: words}); err != nil {
			return err
		}
		c, err = client.Open(ctx, opt)
	}
	if err != nil {
		return err
	}
	a := &actor{c: c, out: out, traps: traps}
	var wg sync.WaitGroup
	var errs [2]error
	wg.Go(func() { defer stop(); errs[0] = c.Run(ctx) })
	wg.Go(func() {
		defer stop()
		errs[1] = c.Follow(ctx, o.After, func(e client.Event) error { return out.say(told{Event: &e}) })
	})
	err = out.say(told{Ready: true})
	if err == nil {
		err = a.answer(ctx, in)
	}
	stop()
	wg.Wait()
	if errors.Is(errs[1], context.Canceled) {
		errs[1] = nil
	}
	return errors.Join(err, errs[0], errs[1], c.Close())
}

// trap is what lies at the boundaries of a process.
type trap struct {
	mu   sync.Mutex // guards the rest
	fall Fall
}

// set lays a trap.
func (t *trap) set(f Fall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fall = f
}

// at is called at every boundary.
func (t *trap) at(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name != t.fall.Boundary {
		return
	}
	if t.fall.Nth--; t.fall.Nth != 0 {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("lab: a process cannot kill itself: %v", err))
	}
	select {} // until the signal is here
}

// answer answers questions until there are none, one after the other; only
// "talk" goes on beside them.
func (a *actor) answer(ctx context.Context, in *bufio.Reader) error {
	var talks sync.WaitGroup
	defer talks.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for {
		var q ask
		switch err := hear(in, &q); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if q.Do == "talk" {
			talks.Go(func() { a.reply(q, a.talk(ctx, q)) })
			continue
		}
		if err := a.reply(q, a.do(ctx, q)); err != nil {
			return err
		}
	}
}

func (a *actor) reply(q ask, t told) error {
	t.ID = q.ID
	return a.out.say(t)
}

func (a *actor) do(ctx context.Context, q ask) (t told) {
	var err error
	switch q.Do {
	case "invite":
		var inv client.Invite
		inv, err = a.c.NewInvite(ctx, client.InviteOptions{})
		t.Text = inv.Link
	case "invites":
		var all []client.Invite
		all, err = a.c.Invites(ctx)
		for _, inv := range all {
			t.Text = inv.Link
		}
	case "revoke":
		var all []client.Invite
		if all, err = a.c.Invites(ctx); err == nil {
			err = a.c.RevokeInvite(ctx, all[len(all)-1].ID)
		}
	case "accept":
		_, err = a.c.Accept(ctx, client.AcceptOptions{Link: q.Link, Text: q.Text, Name: q.Who})
	case "fall":
		a.traps.set(*q.Fall)
	case "rename":
		_, err = a.c.Rename(ctx, q.Who, q.Text)
	case "safety":
		t.Text, err = a.c.SafetyNumber(ctx, q.Who)
	case "send":
		var e client.Event
		e, err = a.c.Send(ctx, client.Outgoing{To: q.Who, Text: q.Text})
		t.Event = &e
	case "status":
		var s client.Status
		s, err = a.c.Status(ctx)
		t.Status = &s
	case "contacts":
		t.Contacts, err = a.c.Contacts(ctx)
	case "gather":
		_, err = a.c.CreateGroup(ctx, client.GroupOptions{Name: q.Who, People: q.Texts})
	case "promote":
		_, err = a.c.ChangeGroup(ctx, client.GroupChange{Group: q.Who, Action: client.GroupPromote, Who: q.Text})
	case "timer":
		_, err = a.c.ChangeGroup(ctx, client.GroupChange{Group: q.Who, Action: client.GroupTimer, Timer: q.Every})
	case "link":
		if _, err = a.c.StartLink(ctx, client.LinkOptions{RelayOnly: true}); err == nil {
			t.Text, err = linkCode(ctx, a.c)
		}
	case "confirm":
		_, err = a.c.ConfirmLink(ctx, q.Text)
	case "cut off":
		_, err = a.c.RevokeDevice(ctx, q.Who)
	case "name":
		_, err = a.c.ChangeGroup(ctx, client.GroupChange{Group: q.Who, Action: client.GroupRename, Name: q.Text})
	case "groups":
		t.Groups, err = a.c.Groups(ctx)
	case "read":
		t.Events, err = a.c.Read(ctx, client.Query{})
	default:
		err = fmt.Errorf("there is nothing called %q to do", q.Do)
	}
	if err != nil {
		t.Err = err.Error()
	}
	return t
}

// linkCode waits until a link can be joined, and returns its code.
func linkCode(ctx context.Context, c *client.Client) (string, error) {
	l, err := c.LinkState(ctx)
	for err == nil && !l.Online {
		l, err = c.AwaitLink(ctx, l.Version)
	}
	return l.Code, err
}

// talk sends texts in order, leaving out those that are in the vault already:
// whoever asked may have been told nothing because this process was killed.
func (a *actor) talk(ctx context.Context, q ask) (t told) {
	events, err := a.c.Read(ctx, client.Query{})
	if err != nil {
		return told{Err: err.Error()}
	}
	there := map[string]bool{}
	for _, e := range events {
		there[e.Text] = there[e.Text] || e.Out
	}
	for _, s := range q.Texts {
		if there[s] {
			continue
		}
		if _, err := a.c.Send(ctx, client.Outgoing{To: q.Who, Text: s}); err != nil {
			return told{Err: err.Error()}
		}
		if q.Every > 0 {
			select {
			case <-ctx.Done():
				return told{Err: ctx.Err().Error()}
			case <-time.After(q.Every):
			}
		}
	}
	return told{}
}
