package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/lab/servers"
)

// ParkOptions are what a run of Park is.
type ParkOptions struct {
	Vs       []string      // peers to compare with, of ParkPeers
	Rounds   int           // each subject once in each; 0: 5
	Length   time.Duration // of one turn; 0: 3 s
	Workers  int           // at a time; 0: 32
	Batches  []int         // cells that one worker has on their way, 1 to 16; none: 1 and 16
	Profiles string        // directory for CPU profiles of our relay; empty: none
	Short    bool          // everything as small as it can be: does it work?

	Progress io.Writer // nil writes none
	role     string    // that is our relay, for tests
}

// Names of subjects.
const (
	subjectStore    = "store"
	subjectRelay    = "relay"
	subjectPostgres = "postgres"
	subjectRabbit   = "rabbitmq"
)

// ParkPeers are what can be given to ParkOptions.Vs.
func ParkPeers() []string { return []string{subjectPostgres, subjectRabbit} }

// cycler puts, takes and acks a batch of cells, all the way.
type cycler func(cells [][]byte) error

// subject is something that cells wait in.
type subject struct {
	name string
	// turn works with so many workers until ctx ends, and returns how many cells
	// went all the way.
	turn func(ctx context.Context, workers, batch int) (int64, error)
	end  func()
}

// ParkReport is what came out.
type ParkReport struct {
	CPUs    int          `json:"cpus"`
	System  string       `json:"system"`
	Rounds  int          `json:"rounds"`
	Seconds float64      `json:"seconds"` // of one turn
	Workers int          `json:"workers"`
	Skipped []string     `json:"skipped,omitempty"` // peers that are not installed
	Results []ParkResult `json:"results"`
}

// ParkResult is one subject with one size of batch: cells a second that were put,
// taken and acked, and the store's by this one's in the same round.
type ParkResult struct {
	Name   string    `json:"name"`
	Batch  int       `json:"batch"`
	Runs   []float64 `json:"runs"`
	Cells  spread    `json:"cells"`
	Behind spread    `json:"store_by_this"`
}

func (o *ParkOptions) fill() error {
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.Length == 0 {
		o.Length = 3 * time.Second
	}
	if o.Workers == 0 {
		o.Workers = 32
	}
	if len(o.Batches) == 0 {
		o.Batches = []int{1, 16}
	}
	if o.Short {
		o.Rounds, o.Length, o.Workers = 1, 300*time.Millisecond, 4
	}
	if o.role == "" {
		o.role = roleRelay
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	for _, n := range o.Batches {
		if n < 1 || n > 16 {
			return &Problem{errors.New("a batch is not from 1 to 16"), "a request parks 16 cells at the most"}
		}
	}
	for _, v := range o.Vs {
		if !slices.Contains(ParkPeers(), v) {
			return &Problem{fmt.Errorf("there is no peer %q", v), "there are: " + strings.Join(ParkPeers(), ", ")}
		}
	}
	if o.Rounds < 1 || o.Workers < 1 || o.Length < 100*time.Millisecond {
		return &Problem{errors.New("a number is too small"), "rounds and workers start at 1, length at 100ms"}
	}
	return nil
}

// Park measures how many cells a second can be put to wait, taken and deleted:
// by our store alone, by a whole relay, and by others in turn.
func Park(ctx context.Context, o ParkOptions) (*ParkReport, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tacet-load")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	rep := &ParkReport{CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Rounds: o.Rounds, Seconds: o.Length.Seconds(), Workers: o.Workers}
	ours, err := parkRelay(filepath.Join(dir, "relay"), o.role, o.Profiles)
	if err != nil {
		return nil, err
	}
	all := []*subject{parkStore(dir), ours}
	defer func() {
		for _, s := range all {
			s.end()
		}
	}()
	for _, v := range o.Vs {
		start := parkPostgres
		if v == subjectRabbit {
			start = parkRabbit
		}
		s, err := start(ctx, o.Workers)
		if errors.Is(err, servers.ErrAbsent) {
			rep.Skipped = append(rep.Skipped, v)
			fmt.Fprintf(o.Progress, "%s is left out: %v\n", v, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		all = append(all, s)
	}
	for _, batch := range o.Batches {
		if err := o.rounds(ctx, rep, all, batch); err != nil {
			return nil, err
		}
	}
	return rep, nil
}

// rounds gives each subject its turn in each round, each time beginning with another.
func (o *ParkOptions) rounds(ctx context.Context, rep *ParkReport, all []*subject, batch int) error {
	results := make([]ParkResult, len(all))
	for i, s := range all {
		results[i] = ParkResult{Name: s.name, Batch: batch}
	}
	for round := range o.Rounds {
		for i := range all {
			at := (i + round) % len(all)
			turn, cancel := context.WithTimeout(ctx, o.Length)
			begun := time.Now()
			n, err := all[at].turn(turn, o.Workers, batch)
			took := time.Since(begun).Seconds()
			cancel()
			if err != nil {
				return fmt.Errorf("%s, batches of %d, round %d: %w", all[at].name, batch, round+1, err)
			}
			results[at].Runs = append(results[at].Runs, float64(n)/took)
			fmt.Fprintf(o.Progress, "batches of %d, round %d of %d, %s: %.0f cells/s\n", batch, round+1, o.Rounds, all[at].name, float64(n)/took)
		}
	}
	for i := range results {
		r := &results[i]
		r.Cells = over(r.Runs)
		var by []float64
		for k := range r.Runs {
			if r.Runs[k] > 0 {
				by = append(by, results[0].Runs[k]/r.Runs[k])
			}
		}
		r.Behind = over(by)
	}
	rep.Results = append(rep.Results, results...)
	return ctx.Err()
}

// drive has workers cycle until ctx ends. A cycle that has begun is ended.
func drive(ctx context.Context, workers, batch int, open func() (cycler, func(), error)) (int64, error) {
	var done atomic.Int64
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			cycle, end, err := open()
			if err != nil {
				errs[w] = err
				return
			}
			defer end()
			cells := newCells(batch)
			for ctx.Err() == nil {
				cells.next()
				if errs[w] = cycle(cells.all); errs[w] != nil {
					return
				}
				done.Add(int64(batch))
			}
		})
	}
	wg.Wait()
	return done.Load(), errors.Join(errs...)
}

// Line is the last line of a report: medians, and ratios of the store's rate to
// another's in the same round, for the largest batch.
func (r *ParkReport) Line() string {
	var b strings.Builder
	b.WriteString("park:")
	largest := 0
	for _, x := range r.Results {
		largest = max(largest, x.Batch)
	}
	for _, x := range r.Results {
		switch {
		case x.Batch != largest:
		case x.Name == subjectStore, x.Name == subjectRelay:
			fmt.Fprintf(&b, " %s %.0f/s,", x.Name, x.Cells.Median)
		default:
			fmt.Fprintf(&b, " store by %s %.2f,", x.Name, x.Behind.Median)
		}
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, " no %s,", s)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// Table writes the report for people.
func (r *ParkReport) Table(w io.Writer) error {
	fmt.Fprintf(w, "Cells a second that were put, taken and acked; %d CPUs, %s, %d rounds of %.1f s, %d workers\n\n", r.CPUs, r.System, r.Rounds, r.Seconds, r.Workers)
	fmt.Fprintf(w, "%-10s %5s %28s %28s\n", "", "batch", "cells/s (low to high)", "store by this (low to high)")
	for _, x := range r.Results {
		fmt.Fprintf(w, "%-10s %5d %10.0f (%.0f to %.0f) %14.2f (%.2f to %.2f)\n", x.Name, x.Batch, x.Cells.Median, x.Cells.Low, x.Cells.High, x.Behind.Median, x.Behind.Low, x.Behind.High)
	}
	_, err := fmt.Fprintln(w, "\n"+r.Line())
	return err
}

// JSON writes the report as one document.
func (r *ParkReport) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
