package load

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tacet-chat/tacet/lab/mlspeer"
)

// mlsOrder is what a subject is asked; tsmls.mjs and corecrypto.js read the same.
type mlsOrder struct {
	Do       string   `json:"do"`
	Suite    int      `json:"suite,omitempty"`
	Name     string   `json:"name,omitempty"`
	Members  int      `json:"members,omitempty"`
	Info     []byte   `json:"info,omitempty"`    // GroupInfo, as all that follows an MLSMessage
	Commit   []byte   `json:"commit,omitempty"`  //
	Welcome  []byte   `json:"welcome,omitempty"` //
	Packages [][]byte `json:"packages,omitempty"`

	What    string  `json:"what,omitempty"` // of a turn
	From    string  `json:"from,omitempty"`
	To      string  `json:"to,omitempty"`
	Content []byte  `json:"content,omitempty"`
	Ms      float64 `json:"ms,omitempty"`    // how long a turn goes on,
	Least   int     `json:"least,omitempty"` // but at least so many times
	Most    int     `json:"most,omitempty"`
	Profile string  `json:"profile,omitempty"` // ours: file for a CPU profile
}

// mlsWord is what it answers.
type mlsWord struct {
	Err           string   `json:"error,omitempty"`
	About         string   `json:"about,omitempty"`
	Info          []byte   `json:"info,omitempty"`
	Commit        []byte   `json:"commit,omitempty"`
	Welcome       []byte   `json:"welcome,omitempty"`
	Package       []byte   `json:"package,omitempty"`
	Packages      [][]byte `json:"packages,omitempty"`
	Authenticator []byte   `json:"authenticator,omitempty"`

	Each    []float64 `json:"each,omitempty"`    // ns of each time
	CPU     float64   `json:"cpu,omitempty"`     // µs of the process for all of them; 0: it cannot tell
	Bytes   int       `json:"bytes,omitempty"`   // that one of them made
	Content []byte    `json:"content,omitempty"` // of the last message that was opened
}

// mlsSubject is a process that is measured.
type mlsSubject struct {
	name string
	tell func(mlsOrder, *mlsWord) error
	cpu  func() float64 // µs used so far, where it cannot tell by itself; or nil
	end  func()

	profiles string // directory, for ours alone
}

func (s *mlsSubject) ask(o mlsOrder) (*mlsWord, error) {
	var w mlsWord
	if err := s.tell(o, &w); err != nil {
		return nil, err
	}
	if w.Err != "" {
		return nil, fmt.Errorf("%s %s: %s", o.Do, o.What, w.Err)
	}
	return &w, nil
}

// mlsTurn is one turn: µs of one time.
type mlsTurn struct {
	Times  int     `json:"times"`
	Median float64 `json:"median_us"`
	Mean   float64 `json:"mean_us"`
	CPU    float64 `json:"cpu_us"`
	Bytes  int     `json:"bytes,omitempty"`
}

// turn has the subject do one operation for as long as the order says.
func (s *mlsSubject) turn(o mlsOrder, op operation) (t mlsTurn, err error) {
	if s.profiles != "" {
		o.Profile = filepath.Join(s.profiles, fmt.Sprintf("mls-%s-%d.pprof", op.name, len(o.Packages)+1))
	}
	if op.ask != "create" && op.ask != "add" {
		o.Packages = nil
	}
	var before float64
	if s.cpu != nil {
		before = s.cpu()
	}
	w, err := s.ask(o)
	if err != nil {
		return t, err
	}
	if s.cpu != nil {
		w.CPU = s.cpu() - before
	}
	if len(w.Each) == 0 {
		return t, errors.New("nothing was done")
	}
	if op.name == "decrypt" && !bytes.Equal(w.Content, o.Content) {
		return t, errors.New("another message came out than went in")
	}
	each := over(w.Each)
	for _, ns := range w.Each {
		t.Mean += ns / 1000 / float64(len(w.Each))
	}
	t.Times, t.Median, t.CPU, t.Bytes = len(w.Each), each.Median/1000, w.CPU/float64(len(w.Each)), w.Bytes
	return t, nil
}

// mlsStartOurs starts ours as a process of its own, as the others are.
func mlsStartOurs(ctx context.Context, o *MLSOptions) (*mlsSubject, error) {
	var w mlsWord
	p, err := launchRole(roleMLS, mlsOrder{Do: "ready"}, &w)
	if err != nil {
		return nil, err
	}
	return mlsProcess(ctx, p, o.Profiles), nil
}

//go:embed tsmls.mjs
var tsmls []byte

func mlsStartTS(ctx context.Context, _ *MLSOptions) (*mlsSubject, error) {
	hint := "`scripts/test setup` puts it into the cache of this user; it needs npm, and Node 20.19 or newer"
	node, err := mlspeer.Node()
	if err != nil {
		return nil, &Problem{err, hint}
	}
	packages, err := mlspeer.Packages()
	if err != nil {
		return nil, &Problem{err, hint}
	}
	dir, err := os.MkdirTemp("", "tacet-load")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "tsmls.mjs")
	if err := os.WriteFile(program, tsmls, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.Command(node, "--expose-gc", program, packages)
	cmd.Stderr = &tail{}
	p, err := launch(cmd, true)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := mlsProcess(ctx, p, "")
	end := s.end
	s.end = func() { end(); os.RemoveAll(dir) }
	return s, nil
}

// mlsProcess is a subject that is asked over its standard input and output.
func mlsProcess(ctx context.Context, p *process, profiles string) *mlsSubject {
	stop := context.AfterFunc(ctx, func() { p.cmd.Process.Kill() })
	return &mlsSubject{
		profiles: profiles,
		tell: func(o mlsOrder, w *mlsWord) error {
			err := p.ask(o, w)
			if said, ok := p.cmd.Stderr.(*tail); ok && err != nil {
				err = fmt.Errorf("%w; it said: %s", err, said)
			}
			return err
		},
		end: func() { stop(); p.kill() },
	}
}
