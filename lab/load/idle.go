package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// addressesEach is what one device watches: its own routes and decoys.
const addressesEach = 16

// still is how long connections are left alone before they are weighed, and
// again while their CPU time is.
const still = 6 * time.Second

// rest is what connections that say nothing cost one server.
type rest struct {
	Connections int `json:"connections"`
	Addresses   int `json:"addresses_each"`

	KiB       float64 `json:"kib_each"`            // resident memory, after a garbage collection where we can ask for one
	Before    float64 `json:"kib_each_before"`     // the same before it
	Later     float64 `json:"kib_each_later"`      // and some seconds later
	Forced    bool    `json:"collection_forced"`   // ours alone can be told to
	Base      float64 `json:"base_mib"`            // without a connection
	ConnectMS float64 `json:"connect_cpu_ms_each"` // CPU time of the server
	Cores     float64 `json:"cores"`               // kept busy by all of them
	Ended     int64   `json:"ended,omitempty"`     // connections that did not last
	Stood     float64 `json:"stood_ms"`            // as in run
	Routines  int     `json:"goroutines,omitempty"`
}

// quiet is connections that watch and say nothing.
type quiet struct {
	mu    sync.Mutex // guards lines while they are made
	lines []*line
	ended atomic.Int64
	early int64 // how many had ended when we ended all
	all   sync.WaitGroup
}

// hold opens n connections, at most 32 at a time.
func (q *quiet) hold(ctx context.Context, s *server, n int, echo bool) error {
	var open sync.WaitGroup
	var first error
	slots := make(chan struct{}, 32)
	for range n {
		slots <- struct{}{}
		open.Go(func() {
			defer func() { <-slots }()
			boxes := make([]*mailbox, addressesEach)
			for i := range boxes {
				boxes[i] = newMailbox()
			}
			var l *line
			err := ctx.Err()
			if err == nil {
				l, err = s.join(boxes, echo)
			}
			q.mu.Lock()
			defer q.mu.Unlock()
			if err != nil {
				first = err
				return
			}
			q.lines = append(q.lines, l)
			q.all.Go(func() {
				l.listen(idleRead, &events{cell: func([]byte) {}})
				q.ended.Add(1)
			})
		})
	}
	open.Wait()
	return first
}

func (q *quiet) end() {
	if q.lines != nil {
		q.early = q.ended.Load()
	}
	for _, l := range q.lines {
		l.Close()
	}
	q.lines = nil
	q.all.Wait()
}

// idle weighs a server with n connections that watch 16 addresses each.
func (b *bench) idle(ctx context.Context, v *variant, n int) (r rest, err error) {
	s, err := v.start(ctx, b)
	if err != nil {
		return r, err
	}
	defer s.kill()
	r.Connections, r.Addresses = n, addressesEach
	settle := func() (mem int64, cpu time.Duration, err error) {
		if v.of == "" {
			w, err := s.state(relayOrder{Free: true})
			if err != nil {
				return 0, 0, err
			}
			r.Forced, r.Routines = true, w.Goroutines
		}
		if mem, err = resident(s.pid()); err == nil {
			cpu, err = cpuTime(s.pid())
		}
		return mem, cpu, err
	}
	stood := newStill()
	defer stood.end()
	base, cpu0, err := settle()
	if err != nil {
		return r, err
	}
	q := &quiet{}
	defer q.end()
	if err := q.hold(ctx, s, n, v.echo); err != nil {
		return r, fmt.Errorf("%s: holding %d connections: %w", v.name, n, err)
	}
	cpu1, err := cpuTime(s.pid())
	if err != nil {
		return r, err
	}
	pause(ctx, now()+int64(b.still))
	before, err := resident(s.pid())
	if err != nil {
		return r, err
	}
	after, cpu2, err := settle()
	if err != nil {
		return r, err
	}
	pause(ctx, now()+int64(b.still))
	cpu3, err := cpuTime(s.pid())
	if err != nil {
		return r, err
	}
	later, err := resident(s.pid())
	each := func(b int64) float64 { return float64(b-base) / 1024 / float64(n) }
	r.Base, r.KiB, r.Before, r.Later = float64(base)/(1<<20), each(after), each(before), each(later)
	r.ConnectMS, r.Cores = ms(cpu1-cpu0)/float64(n), (cpu3-cpu2).Seconds()/b.still.Seconds()
	r.Ended, r.Stood = q.ended.Load(), ms(stood.end())
	return r, err
}

// mostIdle is how many connections the system lets one process have, with room
// for its own files.
func mostIdle(want int) int {
	if limit, ok := fileLimit(); ok && uint64(want)+200 > limit {
		return max(int(limit)-200, 1)
	}
	return want
}
