package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// Follow is client.Service's, on a connection of its own.
func (r *Remote) Follow(ctx context.Context, after int64, f func(client.Event) error) error {
	conn, err := dial(ctx, r.dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	line, err := encode(1, "Follow", followParams{after})
	if err != nil {
		return err
	}
	end := ErrLost
	if _, err := conn.Write(line); err == nil {
		if end, err = events(conn, f); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return end
}

// events reads events until the connection ends, and says how it ended; or
// until f fails.
func events(conn interface{ Read([]byte) (int, error) }, f func(client.Event) error) (end, err error) {
	in := lines(conn, maxAnswer)
	for in.Scan() {
		var m incoming
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("reading events: %w", err)
		}
		switch {
		case m.Method == methodClosing:
			return client.ErrClosed, nil
		case m.Error != nil:
			return m.Error.err(), nil
		case m.Method == methodEvent && m.Params != nil:
			if err := f(*m.Params); err != nil {
				return nil, err
			}
		}
	}
	return ErrLost, nil
}

// Await is client.Service's. The deadline of ctx goes with the call, so that
// the message is told as it is when it passes.
func (r *Remote) Await(ctx context.Context, seq int64, s client.State) (client.Event, error) {
	p := awaitParams{Seq: seq, State: s}
	if t, ok := ctx.Deadline(); ok {
		p.Within = max(time.Until(t), time.Nanosecond)
		// The owner keeps the time; leave it a moment to answer.
		late, stop := context.WithDeadline(context.WithoutCancel(ctx), t.Add(time.Second))
		defer stop()
		caller := ctx
		defer context.AfterFunc(caller, func() {
			if caller.Err() != context.DeadlineExceeded {
				stop()
			}
		})()
		ctx = late
	}
	var a awaitResult
	if err := r.call(ctx, "Await", p, &a); err != nil {
		return client.Event{}, err
	}
	if a.Deadline {
		return a.Event, context.DeadlineExceeded
	}
	return a.Event, nil
}
