package commits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// Options are what runs are made.
type Options struct {
	Seeds    int
	From     uint64
	Schedule string // one, or several with commas between; "all": one after the other, by seed
	MLS      string // real, or abstract
	Trace    io.Writer
	Detail   bool   // of the trace: every transaction
	Workers  int    // 0: as many as there are processors
	Plant    string // a fault of Plants that is put in on purpose; empty: none
}

// Outcome is how one run ended.
type Outcome struct {
	Seed     uint64
	Schedule string
	Findings []Finding
	Epochs   int // the longest line
	Remade   int
	Crashes  int
	Cells    int
	Texts    int
}

// Total is how many runs ended.
type Total struct {
	Seeds, Bad                     int
	Diverged, Lost, Twice, Outside int // runs with such a finding
	Other                          map[string]int
	Epochs, Remade, Crashes, Cells int
	Texts                          int
}

// Last is the last line of a report.
func (t *Total) Last() string {
	return fmt.Sprintf("commits: %d seeds, %d diverged, %d lost, %d shown twice, %d read by outsiders", t.Seeds, t.Diverged, t.Lost, t.Twice, t.Outside)
}

func (t *Total) count(o *Outcome) {
	t.Seeds++
	t.Epochs += o.Epochs
	t.Remade += o.Remade
	t.Crashes += o.Crashes
	t.Cells += o.Cells
	t.Texts += o.Texts
	if len(o.Findings) > 0 {
		t.Bad++
	}
	seen := map[string]bool{}
	for _, f := range o.Findings {
		if seen[f.Fault] {
			continue
		}
		seen[f.Fault] = true
		switch fault(f.Fault) {
		case diverged, forked:
			t.Diverged++
		case lost:
			t.Lost++
		case twice:
			t.Twice++
		case outsider, back:
			t.Outside++
		default:
			t.Other[f.Fault]++
		}
	}
}

// names are the schedules of the options.
func (o *Options) names() ([]string, error) {
	l := Schedules
	if o.Schedule != "" && o.Schedule != "all" {
		l = strings.Split(o.Schedule, ",")
	}
	for _, n := range l {
		if _, err := ParseSchedule(n); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Run makes runs and gives each outcome to each, in no order.
func Run(ctx context.Context, o Options, each func(*Outcome)) (*Total, error) {
	names, err := o.names()
	if err != nil {
		return nil, err
	}
	if o.MLS != "" && o.MLS != "real" && o.MLS != "abstract" {
		return nil, errors.New("mls is real or abstract")
	}
	workers := o.Workers
	if workers == 0 {
		workers = runtime.NumCPU()
	}
	if o.Trace != nil {
		workers = 1
	}
	if _, err := parsePlant(o.Plant); err != nil {
		return nil, err
	}
	total := &Total{Other: map[string]int{}}
	seeds := make(chan uint64)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for s := range seeds {
				if ctx.Err() != nil {
					continue
				}
				out := one(ctx, s, names[int(s%uint64(len(names)))], o)
				mu.Lock()
				total.count(out)
				if each != nil {
					each(out)
				}
				mu.Unlock()
			}
		})
	}
	for i := range uint64(o.Seeds) {
		select {
		case seeds <- o.From + i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(seeds)
	wg.Wait()
	return total, ctx.Err()
}

// one makes one run.
func one(ctx context.Context, seed uint64, schedule string, o Options) (out *Outcome) {
	c, err := ParseSchedule(schedule)
	if err != nil {
		panic(err)
	}
	w := &world{ctx: ctx, c: c, seed: seed, trace: o.Trace, words: o.Detail, plant: plant(o.Plant), crypto: group.Crypto(chain{}), cut: map[[2]int]bool{}, rcut: map[[2]int]bool{}, book: newBook(),
		chance: newDraw(seed, "chance "+schedule), work: newDraw(seed, "work "+schedule)}
	if o.MLS != "abstract" {
		w.crypto = realMLS
	}
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			w.fail(panicked, "%v\n%s", p, stack[:min(len(stack), 3000)])
		}
		out = w.outcome()
	}()
	w.populate()
	if !w.found() {
		return nil
	}
	w.c.end += w.now
	w.realms[0].conduct = w.c.conduct
	w.sow()
	if c.script != nil {
		c.script(w)
	} else {
		w.befall()
	}
	w.run()
	if ctx.Err() == nil { // else it was cut off
		w.judge()
	}
	return nil
}

func (w *world) outcome() *Outcome {
	o := &Outcome{Seed: w.seed, Schedule: w.c.Name, Findings: w.book.findings, Remade: len(w.book.made), Crashes: w.book.crashes, Cells: w.book.cells, Texts: len(w.book.order)}
	for p := range w.book.lines {
		o.Epochs = max(o.Epochs, int(p.epoch))
	}
	return o
}
