package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// passphrase of profiles that are made for a run and deleted after it.
const passphrase = "load"

// personOrder is what a person is told: first where the profile is, then what to do.
type personOrder struct {
	Dir   string `json:"dir,omitempty"`
	Relay string `json:"relay,omitempty"` // of a profile that is not there yet
	Name  string `json:"name,omitempty"`

	Do      string `json:"do,omitempty"`
	Text    string `json:"text,omitempty"` // of a message, or a link
	Who     string `json:"who,omitempty"`
	Group   string `json:"group,omitempty"`
	Size    int    `json:"size,omitempty"`
	Seq     int64  `json:"seq,omitempty"`
	Profile string `json:"profile,omitempty"`
}

// personWord is what it answers: what was asked for, and what the process has used.
type personWord struct {
	Err string `json:"error,omitempty"`

	Link    string `json:"link,omitempty"`
	Message string `json:"message,omitempty"` // id, hex
	Seq     int64  `json:"seq,omitempty"`
	Begun   int64  `json:"begun,omitempty"` // when the call began and ended: see now
	Ended   int64  `json:"ended,omitempty"`
	Reached int    `json:"reached,omitempty"`
	State   string `json:"state,omitempty"` // of the first contact, or of the group
	Members int    `json:"members,omitempty"`
	Changes int    `json:"changes,omitempty"` // that are wanted and not done
	Epoch   uint64 `json:"epoch,omitempty"`
	Hybrid  bool   `json:"hybrid,omitempty"`
	Shared  bool   `json:"shared,omitempty"`

	CPU  float64 `json:"cpu"`  // ms that the process has used
	Sent int64   `json:"sent"` // bytes that left by its sockets
	Got  int64   `json:"got"`
}

// meter is a way to relays that counts.
type meter struct{ sent, got atomic.Int64 }

type metered struct {
	net.Conn
	m *meter
}

func (c metered) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.m.got.Add(int64(n))
	return n, err
}

func (c metered) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.m.sent.Add(int64(n))
	return n, err
}

func (m *meter) dial(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
	c, err := relay.Direct()(ctx, network, addr, isolate)
	if err != nil {
		return nil, err
	}
	return metered{c, m}, nil
}

func (m *meter) Open(name string, pin [32]byte) (transport.Transport, error) {
	return relay.New(relay.Options{Name: name, Pin: &pin, Dial: m.dial})
}

func (m *meter) Identify(ctx context.Context, name string) ([32]byte, error) {
	return relay.Identify(ctx, relay.Options{Name: name, Dial: m.dial})
}

func (m *meter) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	return relay.FetchUnpinned(ctx, relay.Options{Name: name, Dial: m.dial}, id)
}

func (m *meter) Proxy() string { return "" }

// person is one profile of the SDK in a process of its own, so that what the process
// uses is what the profile uses.
type person struct {
	c   *client.Client
	m   *meter
	ctx context.Context
}

// playPerson answers until its input ends.
func playPerson(in *bufio.Reader) (err error) {
	var o personOrder
	if err := hear(in, &o); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p := &person{m: &meter{}, ctx: ctx}
	opt := client.Options{Dir: o.Dir, Passphrase: []byte(passphrase), Network: p.m, WeakVault: true, Spread: -1}
	if o.Relay != "" {
		if _, err := client.Create(ctx, opt, client.NewProfile{Name: o.Name, Relay: o.Relay}); err != nil {
			return err
		}
	}
	if p.c, err = client.Open(ctx, opt); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.c.Close()) }()
	done := make(chan error, 1)
	go func() { done <- p.c.Run(ctx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	if err := say(personWord{}); err != nil {
		return err
	}
	for {
		var o personOrder
		switch err := hear(in, &o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		w := &personWord{}
		if err := p.do(&o, w); err != nil {
			w = &personWord{Err: err.Error()}
		}
		w.CPU, w.Sent, w.Got = float64(ownTime().Microseconds())/1000, p.m.sent.Load(), p.m.got.Load()
		if err := say(w); err != nil {
			return err
		}
	}
}

func (p *person) do(o *personOrder, w *personWord) error {
	switch o.Do {
	case "usage":
		return nil
	case "invite":
		i, err := p.c.NewInvite(p.ctx, client.InviteOptions{})
		if err == nil && !i.Online {
			err = errors.New("invite is not at the relay")
		}
		w.Link = i.Link
		return err
	case "accept":
		_, err := p.c.Accept(p.ctx, client.AcceptOptions{Link: o.Text, Text: "hello", Name: o.Who})
		return err
	case "contact":
		all, err := p.c.Contacts(p.ctx)
		if err == nil && len(all) > 0 {
			w.State = all[0].State
		}
		return err
	case "create":
		_, err := p.c.CreateGroup(p.ctx, client.GroupOptions{Name: o.Group, Size: o.Size})
		return err
	case "send":
		w.Begun = now()
		e, err := p.c.Send(p.ctx, client.Outgoing{To: "group:" + o.Group, Text: o.Text})
		w.Ended, w.Message, w.Seq = now(), e.ID, e.Seq
		return err
	case "reached":
		all, err := p.c.Read(p.ctx, client.Query{After: o.Seq - 1})
		if err == nil && len(all) > 0 {
			w.Reached = all[0].Reached
		}
		return err
	case "add", "remove":
		w.Begun = now()
		_, err := p.c.ChangeGroup(p.ctx, client.GroupChange{Group: o.Group, Action: client.GroupAction(o.Do), Who: o.Who})
		w.Ended = now()
		return err
	case "group":
		g, err := p.c.GroupInfo(p.ctx, o.Group)
		w.State, w.Epoch, w.Changes, w.Hybrid, w.Shared = string(g.State), g.Epoch, len(g.Changes), g.Hybrid, g.Shared
		for _, m := range g.Members {
			w.Members += m.Devices
		}
		if errors.Is(err, client.ErrGroup) {
			err = nil
		}
		return err
	case "profile":
		f, err := os.Create(o.Profile)
		if err != nil {
			return err
		}
		return pprof.StartCPUProfile(f)
	case "profiled":
		pprof.StopCPUProfile()
		return nil
	}
	return fmt.Errorf("there is no %q", o.Do)
}

// being is a person as who started it sees it.
type being struct {
	*process
	dir string
}

func startPerson(dir, name, relay string) (*being, error) {
	var w personWord
	p, err := launchRole(rolePerson, personOrder{Dir: dir, Name: name, Relay: relay}, &w)
	if err != nil {
		return nil, err
	}
	return &being{p, dir}, nil
}

func (b *being) ask(o personOrder) (*personWord, error) {
	var w personWord
	if err := b.process.ask(o, &w); err != nil {
		return nil, err
	}
	if w.Err != "" {
		return nil, fmt.Errorf("%s: %s", o.Do, w.Err)
	}
	return &w, nil
}

// until asks again until ok, or until ctx ends.
func (b *being) until(ctx context.Context, o personOrder, ok func(*personWord) bool) (*personWord, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		w, err := b.ask(o)
		if err != nil || ok(w) {
			return w, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return w, fmt.Errorf("waiting for %q: %w", o.Do, ctx.Err())
		}
	}
}
