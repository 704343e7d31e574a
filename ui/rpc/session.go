package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// session is one connection of a caller.
type session struct {
	conn    net.Conn
	table   map[string]method
	service client.Service
	calls   sync.WaitGroup

	mu sync.Mutex // held while writing
}

// serve answers calls until the caller goes or ctx, the owner's, ends.
func (s *session) serve(ctx context.Context) {
	defer s.conn.Close()
	waiting, stopWaiting := context.WithCancel(ctx) // of calls that wait for something to happen
	defer stopWaiting()
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx)) // of all others
	defer stopWorking()
	unhook := context.AfterFunc(ctx, func() {
		s.conn.SetReadDeadline(time.Unix(1, 0)) // no more calls
		s.conn.SetWriteDeadline(time.Now().Add(grace + time.Second))
		time.AfterFunc(grace, stopWorking)
	})
	defer unhook()
	s.read(working, waiting)
	if ctx.Err() == nil { // the caller went: nobody wants what is under way
		stopWaiting()
		stopWorking()
	}
	s.calls.Wait()
	if ctx.Err() != nil {
		s.write(notification{Version: "2.0", Method: methodClosing})
	}
}

// read takes requests until it can or may not any more.
func (s *session) read(working, waiting context.Context) {
	room := make(chan struct{}, maxCalls)
	in := lines(s.conn, maxLine)
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			s.reply(response{Error: &failure{codeParse, "not JSON"}})
			return
		}
		if !r.valid() {
			s.reply(response{Error: &failure{codeRequest, "not a JSON-RPC 2.0 request with an id"}})
			return
		}
		ctx := working
		if r.Method == "Follow" || r.Method == "Await" || r.Method == "AwaitLink" {
			ctx = waiting
		}
		select {
		case room <- struct{}{}:
		case <-waiting.Done(): // not done, and not answered
			return
		}
		s.calls.Go(func() {
			s.reply(s.call(ctx, &r))
			<-room
		})
	}
}

func (s *session) call(ctx context.Context, r *request) response {
	out := response{ID: r.ID}
	do := s.table[r.Method]
	if r.Method == "Follow" {
		do = on(s.events)
	}
	if do == nil {
		out.Error = &failure{codeMethod, "no such method"}
		return out
	}
	result, err := do(ctx, r.Params)
	switch {
	case err == nil:
	case errors.Is(err, errParams):
		out.Error = &failure{codeParams, err.Error()}
		return out
	case ctx.Err() != nil:
		out.Error = failureOf(client.ErrClosed)
		return out
	default:
		out.Error = failureOf(err)
		return out
	}
	if out.Result, err = json.Marshal(result); err != nil {
		out.Error = failureOf(err)
	}
	return out
}

// events sends events as notifications until the connection ends.
func (s *session) events(ctx context.Context, p followParams) (none, error) {
	return none{}, s.service.Follow(ctx, p.After, func(e client.Event) error {
		return s.write(notification{Version: "2.0", Method: methodEvent, Params: &e})
	})
}

func (s *session) reply(r response) {
	r.Version = "2.0"
	s.write(r) // a caller that went away needs no answer
}

func (s *session) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.conn.Write(append(line, '\n'))
	return err
}
