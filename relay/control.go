package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A running relay answers its operator on a socket in the data directory, which
// is closed to everybody else: one question on a connection, one line of JSON
// each way. Whoever can open the directory has the realm key already, so the
// socket asks for no more than that.

const (
	askTimeout   = 2 * time.Second // to put or read a question
	maxQuestion  = 64 << 10        // bytes
	maxAnswer    = 256 << 10
	maxAsking    = 16 // askers at a time; the next one waits
	noSuchAnswer = "this relay does not know that question"
)

// question is what is asked.
type question struct {
	Ask  string          `json:"ask"`
	With json.RawMessage `json:"with,omitempty"`
}

// answer is what comes back.
type answer struct {
	Error string          `json:"error,omitempty"`
	Hint  string          `json:"hint,omitempty"`
	Says  json.RawMessage `json:"says,omitempty"`
}

// asked answers one sort of question. What it returns is put into JSON. after,
// if not nil, is called once the asker has hung up or the relay stops: what was
// kept for him can go.
type asked func(ctx context.Context, with json.RawMessage) (says any, after func(), err error)

// questions are what an operator may ask a running relay.
func (r *Relay) questions() map[string]asked {
	return map[string]asked{
		"status":    func(context.Context, json.RawMessage) (any, func(), error) { return r.status(), nil, nil },
		askAudit:    r.answerAudit,
		askDisclose: r.answerDisclose,
		"backup":    r.answerBackup,
		askInvite:   r.answerInvite,
	}
}

// serveControl answers questions until ctx ends.
func (r *Relay) serveControl(ctx context.Context, ln net.Listener) error {
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	known := r.questions()
	places := make(chan struct{}, maxAsking)
	var open sync.WaitGroup
	defer open.Wait()
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serving the operator: %w", err)
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			c.Close()
			return nil
		}
		open.Go(func() {
			defer func() { <-places }()
			answerOne(ctx, c, known)
		})
	}
}

// answerOne reads a question and answers it. An asker who does not listen is
// left: his is not worth the relay's stopping.
func answerOne(ctx context.Context, c net.Conn, known map[string]asked) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetReadDeadline(time.Unix(1, 0)) })()
	c.SetReadDeadline(time.Now().Add(askTimeout))
	in := bufio.NewReader(io.LimitReader(c, maxQuestion))
	line, err := in.ReadSlice('\n')
	var q question
	if err != nil || json.Unmarshal(line, &q) != nil {
		return
	}
	out, after := reply(ctx, q, known)
	if after != nil {
		defer after()
	}
	b, err := json.Marshal(out)
	if err != nil {
		return
	}
	c.SetWriteDeadline(time.Now().Add(askTimeout))
	if _, err := c.Write(append(b, '\n')); err != nil || after == nil {
		return
	}
	if c.SetReadDeadline(time.Time{}); ctx.Err() == nil {
		io.Copy(io.Discard, in) // until he hangs up
	}
}

// reply answers a question.
func reply(ctx context.Context, q question, known map[string]asked) (out answer, after func()) {
	do, ok := known[q.Ask]
	if !ok {
		return answer{Error: noSuchAnswer, Hint: "restart the relay, so that it is the same version as this program"}, nil
	}
	says, after, err := do(ctx, q.With)
	if err == nil {
		out.Says, err = json.Marshal(says)
	}
	if err != nil {
		out.Error = err.Error()
		if p := (*Problem)(nil); errors.As(err, &p) {
			out.Hint = p.Hint
		}
	}
	return out, after
}

// ask asks the relay that runs on a data directory. It fails with ErrNotRunning
// if there is none. with and says may be nil. The caller closes what it gets
// when it has done with the answer.
func ask(ctx context.Context, data, what string, with, says any) (io.Closer, error) {
	if data == "" {
		return nil, &Problem{errors.New("a relay without a data directory cannot be asked"), "start it with a data directory"}
	}
	c, err := (&net.Dialer{Timeout: askTimeout}).DialContext(ctx, "unix", filepath.Join(data, socketUse))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, &Problem{ErrNotRunning, "start it with `tacet-relay serve`, or name its directory with --data"}
	case errors.Is(err, fs.ErrPermission):
		return nil, &Problem{fmt.Errorf("asking the relay: %w", err), "ask as root, or as the user that the relay runs as"}
	case err != nil:
		return nil, fmt.Errorf("asking the relay: %w", err)
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := exchange(c, what, with, says); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// exchange puts a question and reads the answer. How long that takes is the
// question's business.
func exchange(c net.Conn, what string, with, says any) error {
	q := question{Ask: what}
	var a answer
	var err error
	if with != nil {
		if q.With, err = json.Marshal(with); err != nil {
			return err
		}
	}
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if _, err = c.Write(append(b, '\n')); err == nil {
		err = json.NewDecoder(io.LimitReader(c, maxAnswer)).Decode(&a)
	}
	switch {
	case err != nil:
		return &Problem{fmt.Errorf("asking the relay: %w", err), "it is just starting or stopping: ask again"}
	case a.Error != "":
		return &Problem{errors.New(a.Error), a.Hint}
	case says != nil:
		return json.Unmarshal(a.Says, says)
	}
	return nil
}
