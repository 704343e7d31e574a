package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/tacet-chat/tacet/client"
)

// maxCalls bounds the calls that one connection may have under way.
const maxCalls = 64

// Serve answers calls on the profile's socket until ctx ends, and waits for
// those under way. The caller owns the profile, so a socket that is there
// already was left behind by a process that is gone.
func Serve(ctx context.Context, dir string, s client.Service) error {
	path := filepath.Join(dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing old socket: %w", err)
	}
	l, err := listen(path)
	if err != nil {
		return fmt.Errorf("opening socket: %w", err)
	}
	defer os.Remove(path)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	context.AfterFunc(ctx, func() { l.Close() })
	table := methods(s)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accepting on socket: %w", err)
		}
		wg.Go(func() { (&session{conn: conn, table: table, follow: s.Follow}).serve(ctx) })
	}
}

// session is one connection.
type session struct {
	conn   net.Conn
	table  map[string]method
	follow func(context.Context, int64, func(client.Event) error) error

	mu sync.Mutex // guards writing
}

func (s *session) serve(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer s.conn.Close()
	context.AfterFunc(ctx, func() { s.conn.Close() })
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	room := make(chan struct{}, maxCalls)
	lines := bufio.NewScanner(s.conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			s.reply(response{Error: &failure{codeParse, "not JSON"}})
			return
		}
		if r.Version != "2.0" || r.ID == nil {
			s.reply(response{Error: &failure{codeRequest, "not a JSON-RPC 2.0 request with an id"}})
			return
		}
		room <- struct{}{}
		wg.Go(func() {
			s.reply(s.call(ctx, &r))
			<-room
		})
	}
}

func (s *session) call(ctx context.Context, r *request) response {
	out := response{ID: r.ID}
	var result any
	var err error
	if r.Method == "Follow" {
		result, err = on(s.events)(ctx, r.Params)
	} else if m := s.table[r.Method]; m != nil {
		result, err = m(ctx, r.Params)
	} else {
		out.Error = &failure{codeMethod, "no such method"}
		return out
	}
	switch {
	case errors.Is(err, errParams):
		out.Error = &failure{codeParams, err.Error()}
		return out
	case err != nil:
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
	return none{}, s.follow(ctx, p.After, func(e client.Event) error {
		return s.write(notification{"2.0", "event", e})
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

// listen makes a socket that only this user can open: the folder is 0700, the
// socket 0600, and it never exists with wider rights.
func listen(path string) (net.Listener, error) {
	restore := narrow()
	defer restore()
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
