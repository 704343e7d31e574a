package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// ErrNobody is returned by Dial when no process answers for the profile.
var ErrNobody = errors.New("no process answers for this profile")

// Remote is a profile that another process owns.
type Remote struct {
	dir  string
	conn net.Conn

	mu     sync.Mutex // guards writing and all below
	next   uint64
	wait   map[uint64]chan response
	broken error
}

var _ client.Service = (*Remote)(nil)

// Dial connects to the owner of the profile in dir.
func Dial(ctx context.Context, dir string) (*Remote, error) {
	conn, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	r := &Remote{dir: dir, conn: conn, wait: map[uint64]chan response{}}
	go r.read()
	return r, nil
}

func dial(ctx context.Context, dir string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", filepath.Join(dir, SocketName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return conn, nil
}

// Close ends the connection; the owner goes on.
func (r *Remote) Close() error { return r.conn.Close() }

func (r *Remote) read() {
	lines := bufio.NewScanner(r.conn)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var a response
		if json.Unmarshal(lines.Bytes(), &a) != nil || a.ID == nil {
			break
		}
		r.mu.Lock()
		c := r.wait[*a.ID]
		delete(r.wait, *a.ID)
		r.mu.Unlock()
		if c != nil {
			c <- a
		}
	}
	r.mu.Lock()
	r.broken = client.ErrClosed
	for id, c := range r.wait {
		close(c)
		delete(r.wait, id)
	}
	r.mu.Unlock()
	r.conn.Close()
}

// call makes one call and reads its result into out.
func (r *Remote) call(ctx context.Context, method string, params, out any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan response, 1)
	r.mu.Lock()
	if r.broken != nil {
		r.mu.Unlock()
		return r.broken
	}
	r.next++
	id := r.next
	r.wait[id] = answer
	line, err := json.Marshal(request{"2.0", &id, method, raw})
	if err == nil {
		_, err = r.conn.Write(append(line, '\n'))
	}
	r.mu.Unlock()
	if err != nil {
		return fmt.Errorf("asking the profile's owner: %w", err)
	}
	select {
	case <-ctx.Done():
		r.mu.Lock()
		delete(r.wait, id)
		r.mu.Unlock()
		return ctx.Err()
	case a, ok := <-answer:
		switch {
		case !ok:
			return client.ErrClosed
		case a.Error != nil:
			return a.Error.err()
		}
		return json.Unmarshal(a.Result, out)
	}
}

// Follow is client.Service's, on a connection of its own.
func (r *Remote) Follow(ctx context.Context, after int64, f func(client.Event) error) error {
	conn, err := dial(ctx, r.dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	id := uint64(1)
	raw, err := json.Marshal(followParams{after})
	if err != nil {
		return err
	}
	line, err := json.Marshal(request{"2.0", &id, "Follow", raw})
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("asking the profile's owner: %w", err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var m struct {
			Method string       `json:"method"`
			Params client.Event `json:"params"`
			Error  *failure     `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("reading events: %w", err)
		}
		if m.Error != nil {
			return m.Error.err()
		}
		if m.Method == "event" {
			if err := f(m.Params); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return client.ErrClosed
}

// Await is client.Service's. The deadline of ctx goes with the call, so that
// the message is told as it is when it passes.
func (r *Remote) Await(ctx context.Context, seq int64, s client.State) (client.Event, error) {
	p := awaitParams{Seq: seq, State: s}
	if t, ok := ctx.Deadline(); ok {
		p.Within = max(time.Until(t), time.Nanosecond)
		// The owner keeps the time; leave it a moment to answer.
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(context.WithoutCancel(ctx), t.Add(time.Second))
		defer stop()
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
