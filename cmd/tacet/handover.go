package main

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/rpc"
	"github.com/tacet-chat/tacet/ui/text"
)

// gone reports whether an owner ended instead of answering.
func gone(err error) bool {
	return errors.Is(err, client.ErrClosed) || errors.Is(err, rpc.ErrLost) || errors.Is(err, rpc.ErrNobody)
}

// do makes a call, and makes it again with whoever has the profile next when an
// owner ended before it was done. An owner that was killed in the middle may
// have done it: then it is made again only if twice does no harm.
func do[R any](ctx context.Context, p *profile, twice bool, call func(client.Service) (R, error)) (R, error) {
	for {
		s, remote, err := p.service(ctx)
		if err != nil {
			var none R
			return none, err
		}
		r, err := call(s)
		if remote == nil || !gone(err) {
			return r, err
		}
		p.drop(remote)
		if errors.Is(err, rpc.ErrLost) && !twice {
			return r, &text.Failure{What: "the process that had this profile was killed in the middle of it", Means: "It may have been done or not.",
				Hint: "look before you try again: `tacet contacts`, `tacet invite list`, `tacet read`", Err: err}
		}
	}
}

// done is do for calls that return nothing but an error.
func done(ctx context.Context, p *profile, twice bool, call func(client.Service) error) error {
	_, err := do(ctx, p, twice, func(s client.Service) (struct{}, error) { return struct{}{}, call(s) })
	return err
}

// Send makes sure that a message is committed once: an owner that was killed
// may have committed it, and then it is there.
func (p *profile) Send(ctx context.Context, m client.Outgoing) (client.Event, error) {
	begun := time.Now().Truncate(time.Second)
	e, err := do(ctx, p, false, func(s client.Service) (client.Event, error) { return s.Send(ctx, m) })
	if !errors.Is(err, rpc.ErrLost) {
		return e, err
	}
	last, err := p.Read(ctx, client.Query{Contact: m.To, Limit: 20})
	if err != nil {
		return client.Event{}, err
	}
	for _, e := range last {
		if e.Out && e.Text == m.Text && !e.At.Before(begun) {
			return e, nil
		}
	}
	return p.Send(ctx, m)
}

// Follow goes on with the next owner where the last one ended. Changes that
// were missed in between are told.
func (p *profile) Follow(ctx context.Context, after int64, f func(client.Event) error) error {
	return p.follow(ctx, newTold(after), func(e client.Event, _ bool) error { return f(e) })
}

// follow is Follow for who was told something already. before says that an
// event was told in another state.
func (p *profile) follow(ctx context.Context, t *told, f func(e client.Event, before bool) error) error {
	for {
		s, remote, err := p.service(ctx)
		if err != nil {
			return err
		}
		var mine error // f's
		once := func(e client.Event) error {
			_, before := t.state[e.Seq]
			if t.known(e) {
				return nil
			}
			mine = f(e, before)
			return mine
		}
		if remote == nil {
			return p.own.follow(ctx, t.from(), s, once)
		}
		err = s.Follow(ctx, t.from(), once)
		if mine != nil || !gone(err) || ctx.Err() != nil {
			return err
		}
		p.drop(remote)
	}
}

// newTold begins to follow after an event.
func newTold(after int64) *told {
	return &told{last: after, state: map[int64]client.State{}, open: map[int64]bool{}}
}

// follow ends with Run's error if Run fails.
func (o *own) follow(ctx context.Context, after int64, s client.Service, f func(client.Event) error) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(o.failed, stop)()
	err := s.Follow(inner, after, f)
	if ctx.Err() == nil && o.failed.Err() != nil && errors.Is(err, context.Canceled) {
		return context.Cause(o.failed)
	}
	return err
}

// begin begins to follow from now on: it knows that there is nothing newer than
// it says in last.
func (p *profile) begin(ctx context.Context) (*told, error) {
	newest, err := p.Read(ctx, client.Query{Limit: 1})
	if err != nil || len(newest) == 0 {
		return newTold(0), err
	}
	return newTold(newest[0].Seq), nil
}

// seed takes for told what was there at the beginning and was not shown, as far
// back as a follower has to begin.
func (t *told) seed(ctx context.Context, p *profile) error {
	if t.from() >= t.last {
		return nil
	}
	back, err := p.Read(ctx, client.Query{After: t.from()})
	for _, e := range back {
		if _, shown := t.state[e.Seq]; !shown && e.Seq <= t.last {
			t.known(e)
		}
	}
	return err
}

// told remembers what a follower was told.
type told struct {
	last  int64                  // the newest event
	state map[int64]client.State // of each
	open  map[int64]bool         // those that may still change
}

// from is after which event a new follower begins, so that it misses nothing.
func (t *told) from() int64 {
	from := t.last
	for seq := range t.open {
		from = min(from, seq-1)
	}
	return from
}

// known notes an event and reports whether it was told before as it is now.
func (t *told) known(e client.Event) bool {
	if s, ok := t.state[e.Seq]; ok && s == e.State {
		return true
	}
	t.state[e.Seq] = e.State
	t.last = max(t.last, e.Seq)
	switch e.State {
	case client.Queued, client.Offered, client.Parked, client.Live:
		t.open[e.Seq] = true
	default:
		delete(t.open, e.Seq)
	}
	return false
}
