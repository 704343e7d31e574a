package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/rpc"
	"github.com/tacet-chat/tacet/ui/text"
)

const (
	// lockPatience is how long a process that has the profile may take until it
	// answers or ends: it opens its vault meanwhile, or does what it was doing, on a
	// machine that may be busy.
	lockPatience = 30 * time.Second
	lockPoll     = 50 * time.Millisecond
	// answerWithin is how long an owner may take for its first answer.
	answerWithin = 10 * time.Second
)

// mode says what a command wants of the profile if this process comes to own it.
type mode int

const (
	staying mode = iota // look or change; nothing has to move
	moving              // move messages while the command runs
	hasty               // the same, and it ends soon
)

// profile is a way to the profile: in this process, which then owns it and
// answers for it, or over the socket of the process that does. When that one
// ends, the next call takes the profile. It is a client.Service.
type profile struct {
	a    *app
	mode mode
	dir  string

	mu     sync.Mutex // guards the rest; held while the way is looked for
	own    *own
	remote *rpc.Remote
	closed bool

	dropped bool // an owner ended while we worked through it
}

var _ client.Service = (*profile)(nil)

// own is a profile that this process owns.
type own struct {
	*client.Client
	stop   context.CancelFunc
	done   sync.WaitGroup
	failed context.Context // ends, with its cause, when Run fails
	fail   context.CancelCauseFunc
}

// open finds the way to the profile.
func (a *app) open(ctx context.Context, m mode) (*profile, error) {
	dir, err := a.dir()
	if err != nil {
		return nil, err
	}
	if !client.Exists(dir) {
		return nil, client.ErrMissing
	}
	if err := a.keepProxied(dir); err != nil {
		return nil, err
	}
	p := &profile{a: a, mode: m, dir: dir}
	if _, _, err := p.service(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// close gives the profile up, or hangs up.
func (p *profile) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.a.progress.Stop()
	if p.remote != nil {
		return p.remote.Close()
	}
	if p.own == nil {
		return nil
	}
	return p.own.close()
}

func (o *own) close() error {
	o.stop()
	o.done.Wait()
	o.fail(nil)
	return o.Client.Close()
}

// mine reports whether this process owns the profile.
func (p *profile) mine() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.own != nil
}

// service returns the service behind the profile, after it was found again if
// it has to be.
func (p *profile) service(ctx context.Context) (s client.Service, remote *rpc.Remote, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, nil, client.ErrClosed
	case p.own != nil:
		return p.own, nil, nil
	case p.remote != nil:
		return p.remote, p.remote, nil
	}
	if err := p.find(ctx); err != nil {
		return nil, nil, err
	}
	if p.own != nil {
		return p.own, nil, nil
	}
	return p.remote, p.remote, nil
}

// drop forgets an owner that ended.
func (p *profile) drop(r *rpc.Remote) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.remote == r {
		r.Close()
		p.remote, p.dropped = nil, true
	}
}

// find asks who owns the profile and, if nobody does, takes it. Callers hold mu.
func (p *profile) find(ctx context.Context) error {
	defer p.a.progress.Stop()
	for start, tries := time.Now(), 1; ; {
		if done, err := p.dial(ctx); done || err != nil {
			return err
		}
		err := p.take(ctx)
		switch {
		case err == nil:
			return nil
		case p.a.wrongPassphrase(err, tries, p.dir):
			tries++
			start = time.Now()
			p.a.say("That is not the passphrase. Once more:")
			continue
		case !errors.Is(err, client.ErrLocked):
			return err
		case time.Since(start) > lockPatience:
			return locked()
		}
		p.a.progress.Start("waiting for the process that has this profile")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

func locked() error {
	return &status{exitLocked, &text.Failure{What: "another process has this profile and does not answer", Means: "Nothing was sent or changed.",
		Hint: "look for it with `ps`; end it, or let it go on if it is stopped", Err: client.ErrLocked}}
}

// dial reaches the owner if there is one that answers.
func (p *profile) dial(ctx context.Context) (bool, error) {
	r, err := rpc.Dial(ctx, p.dir)
	if err != nil {
		return false, ctx.Err()
	}
	first, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	p.a.progress.Start("asking the process that has this profile")
	st, err := r.Status(first)
	if err == nil && p.a.proxy != "" && st.Proxy != p.a.proxy {
		r.Close()
		return false, otherWay(st.Proxy)
	}
	if err != nil {
		r.Close()
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return false, locked()
		}
		return false, ctx.Err()
	}
	p.remote = r
	return true, nil
}

// stockWithin is within which time contacts get what they need to add this device to
// groups while it is away.
const stockWithin = 10 * time.Minute

// take opens the profile in this process, and answers for it from then on.
func (p *profile) take(ctx context.Context) error {
	network, err := p.a.network(p.dir)
	if err != nil {
		return err
	}
	park, err := p.a.parking()
	if err != nil {
		return err
	}
	if p.dropped {
		p.dropped = false
		p.a.note("the process that had this profile has ended; this one goes on with it")
	}
	secret, err := p.a.passphrase(ctx, p.dir)
	if err != nil {
		return err
	}
	p.a.progress.Start("opening the profile")
	c, err := client.Open(ctx, client.Options{Dir: p.dir, Passphrase: secret, Network: network, Park: park, Brief: p.mode == hasty, Stock: stockWithin, AckMean: acks()})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	o := &own{Client: c, stop: stop}
	o.failed, o.fail = context.WithCancelCause(running)
	o.done.Go(func() {
		if err := rpc.Serve(running, p.dir, c); err != nil && running.Err() == nil {
			p.a.note("other commands cannot reach this process: " + text.Line(err.Error()))
		}
	})
	if p.mode != staying {
		o.done.Go(func() {
			if err := c.Run(running); err != nil {
				o.fail(err)
			}
		})
	}
	p.own = o
	return nil
}

// ackMean is the mean delay of acks, if it is not the usual one: tests build so.
var ackMean string

func acks() time.Duration {
	d, _ := time.ParseDuration(ackMean)
	return d
}
