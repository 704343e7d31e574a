package leak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// ChildCommand is the first argument of a process that does one job. Virtual time
// (testing/synctest) exists inside a test only, so the process plays one: package
// testing is linked into tacet-lab for that, and into nothing that people run.
const ChildCommand = "leak-job"

// errand is what a child is told, as a file.
type errand struct {
	Job    Job
	Result string // where the rows go
}

// outcome is what it leaves behind.
type outcome struct {
	Rows  []Row
	Error string
}

// Child does the job in a file and ends the process.
func Child(path string) {
	var e errand
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Args = os.Args[:1] // package testing reads its own flags
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "leak", F: func(t *testing.T) {
		rows, err := Measure(t, e.Job, func(s string) { fmt.Fprintf(os.Stderr, "%s: %s\n", e.Job.Name, s) })
		o := outcome{Rows: rows}
		if err != nil {
			o.Error = err.Error()
		}
		text, err := json.Marshal(o)
		if err == nil {
			err = os.WriteFile(e.Result, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}}}, nil, nil)
}

// Options say what Run measures.
type Options struct {
	Setting
	Plant    string    // a naive client in the product's place
	Progress io.Writer // one line now and then
}

// Run measures everything, in as many processes at once as there are processors.
func Run(ctx context.Context, o Options) ([]Row, error) {
	dir, err := os.MkdirTemp("", "tacet-leak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	jobs := Jobs(o.Setting, o.Plant)
	done := make([][]Row, len(jobs))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, j := range jobs {
		all.Go(func() {
			select {
			case free <- struct{}{}:
				defer func() { <-free }()
			case <-ctx.Done():
				return
			}
			rows, err := process(ctx, dir, i, j, o.Progress)
			if err != nil {
				stop(err)
			}
			done[i] = rows
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var rows []Row
	for _, r := range done {
		rows = append(rows, r...)
	}
	return rows, nil
}

// process does one job in a process of its own.
func process(ctx context.Context, dir string, i int, j Job, progress io.Writer) ([]Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := errand{Job: j, Result: filepath.Join(dir, fmt.Sprint(i, ".result"))}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprint(i, ".job"))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, self, ChildCommand, path)
	cmd.Stdout, cmd.Stderr = &said, progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", j.Name, err, said.Bytes())
	}
	var o outcome
	if text, err = os.ReadFile(e.Result); err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, err
	}
	if o.Error != "" {
		return nil, fmt.Errorf("%s", o.Error)
	}
	return o.Rows, nil
}
