package mlspeer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// patience is how long one answer may take before the peer counts as dead.
const patience = 2 * time.Minute

// Peer is one process. It is safe for concurrent use; requests take turns.
type Peer struct {
	dir string
	cmd *exec.Cmd
	log *tail

	mu  sync.Mutex // guards all below
	in  io.WriteCloser
	out *bufio.Reader
	ids int // requests, clients and groups so far
}

// Refused is what ts-mls refused to do; any other error of a call means that the
// peer is gone.
type Refused struct {
	Reason string // verb, name of the error and its message
	Stack  string // where, in JavaScript
}

func (r *Refused) Error() string { return "ts-mls refuses: " + r.Reason }

// Start starts a peer. The error is [ErrAbsent] where what it needs is not installed.
func Start() (*Peer, error) {
	node, err := Node()
	if err != nil {
		return nil, err
	}
	packages, err := Packages()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mlspeer")
	if err != nil {
		return nil, err
	}
	p := &Peer{dir: dir, log: &tail{}, cmd: exec.Command(node, filepath.Join(dir, "peer.mjs"))}
	if err := p.launch(packages); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("starting the peer: %w", err)
	}
	return p, nil
}

func (p *Peer) launch(packages string) error {
	if err := lay(p.dir, packages); err != nil {
		return err
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.cmd.Stderr, p.in, p.out = p.log, in, bufio.NewReaderSize(out, 1<<20)
	alone(p.cmd)
	return p.cmd.Start()
}

// Close ends the peer and whatever it has started.
func (p *Peer) Close() {
	p.in.Close() // it ends with its stdin
	kill(p.cmd)
	p.cmd.Wait()
	os.RemoveAll(p.dir)
}

// About is the library and the Node that it runs in, for reports.
func (p *Peer) About() (string, error) {
	var v struct{ Node, Library string }
	err := p.call("hello", nil, &v)
	return v.Library + " on Node " + v.Node, err
}

// call asks one thing. result may be nil.
func (p *Peer) call(verb string, args map[string]any, result any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	line := map[string]any{"id": p.ids, "verb": verb}
	maps.Copy(line, args)
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	late := time.AfterFunc(patience, func() { kill(p.cmd) })
	defer late.Stop()
	if _, err := p.in.Write(append(b, '\n')); err != nil {
		return p.gone(verb, err)
	}
	b, err = p.out.ReadBytes('\n')
	if err != nil {
		return p.gone(verb, err)
	}
	var answer struct {
		ID           int
		Result       json.RawMessage
		Error, Stack string
	}
	switch err := json.Unmarshal(b, &answer); {
	case err != nil:
		return p.gone(verb, err)
	case answer.ID != p.ids:
		return p.gone(verb, errors.New("an answer to another request"))
	case answer.Error != "":
		return &Refused{answer.Error, answer.Stack}
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

func (p *Peer) gone(verb string, err error) error {
	return fmt.Errorf("asking the peer to %s: %w: %s", verb, err, p.log)
}

// name makes a name that no other client or group has.
func (p *Peer) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids++
	return fmt.Sprint(p.ids)
}

// tail keeps the end of what the program writes to stderr.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
