package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

// stopWithin is how long a process may take to end after it was asked to.
const stopWithin = time.Minute

// Problem is an error that somebody can do something about.
type Problem struct {
	Err  error
	Hint string
}

func (p *Problem) Error() string { return p.Err.Error() }
func (p *Problem) Unwrap() error { return p.Err }

// process is a program that we started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	in   io.WriteCloser
	out  *bufio.Reader // for roles, lines of JSON

	mu sync.Mutex // one question at a time
}

// launch starts a program. A role is told and asked over its standard input and output.
func launch(cmd *exec.Cmd, role bool) (_ *process, err error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	apart(cmd)
	if role {
		if p.in, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		p.out = bufio.NewReader(out)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if !role {
		go func() { defer close(p.done); cmd.Wait() }()
	}
	return p, nil
}

// launchRole starts this program again in a role, with its first order.
func launchRole(role string, order, answer any) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, roleCommand, role)
	said := &tail{}
	cmd.Stderr = said
	p, err := launch(cmd, true)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", role, err)
	}
	if err := p.ask(order, answer); err != nil {
		p.kill()
		return nil, fmt.Errorf("starting %s: %w; it said: %s", role, err, said)
	}
	return p, nil
}

// ask tells a role something and waits for its answer.
func (p *process) ask(order, answer any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := json.Marshal(order)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("asking a process that has ended: %w", err)
	}
	return hear(p.out, answer)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process at once.
func (p *process) kill() {
	p.cmd.Process.Kill()
	if p.out != nil {
		p.cmd.Wait()
		return
	}
	<-p.done
}

// stop asks a role to end, and says what went wrong in its life.
func (p *process) stop() error {
	late := time.AfterFunc(stopWithin, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	p.in.Close()
	io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

// server is a broker or a relay that runs.
type server struct {
	*process
	dialect
	addr string // host:port
	tls  bool
}

// state asks our relay how it is. It fails for other servers.
func (s *server) state(o relayOrder) (w relayWord, err error) {
	if s.out == nil {
		return w, errors.ErrUnsupported
	}
	if err := s.ask(o, &w); err != nil {
		return w, err
	}
	if w.Err != "" {
		return w, errors.New(w.Err)
	}
	return w, nil
}

// startRelay starts our relay.
func startRelay(o relayOrder, role string) (*server, error) {
	var w relayWord
	p, err := launchRole(role, o, &w)
	if err != nil {
		return nil, err
	}
	s := &server{process: p, addr: w.Addr, tls: o.TLS}
	t, err := newTacet(s)
	if err != nil {
		p.kill()
		return nil, err
	}
	s.dialect = t
	return s, nil
}

// startPeer starts another's program, and returns when it listens.
func startPeer(ctx context.Context, cmd *exec.Cmd, addr string, d dialect, secure bool) (*server, error) {
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	p, err := launch(cmd, false)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	s := &server{process: p, dialect: d, addr: addr, tls: secure}
	late := time.NewTimer(dialTimeout)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			c.Close()
			return s, nil
		}
		select {
		case <-again.C:
		case <-p.done:
			return nil, fmt.Errorf("starting %s: it ended at once, and said: %s", cmd.Path, said)
		case <-late.C:
			p.kill()
			return nil, fmt.Errorf("starting %s: it does not listen on %s; it said: %s", cmd.Path, addr, said)
		case <-ctx.Done():
			p.kill()
			return nil, ctx.Err()
		}
	}
}

// freePort asks the system for a port. Another program may take it before ours
// does, which then says so and ends.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// tail keeps the last of what a program said.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 2000; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
