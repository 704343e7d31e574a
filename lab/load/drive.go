package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// shape is how cells are put.
type shape struct {
	Pairs    int `json:"pairs"` // senders
	Fan      int `json:"fan"`   // receivers of each
	Rate     int `json:"rate"`  // cells a second of all senders together; 0: as many as go
	InFlight int `json:"in_flight,omitempty"`
	Burst    int `json:"burst,omitempty"` // most cells in one write of a client
}

// run is what one server did in one round.
type run struct {
	Sent      int64 `json:"sent"`      // puts in the whole run
	Delivered int64 `json:"delivered"` // deliveries
	Lost      int64 `json:"lost"`
	Ended     int64 `json:"ended,omitempty"` // connections that the server ended
	Cut       int64 `json:"cut,omitempty"`   // deliveries that were missing on these
	Doubled   int64 `json:"doubled,omitempty"`
	Answers   int64 `json:"answers,omitempty"` // receipts that senders had
	Told      int64 `json:"told,omitempty"`    // deliveries that receipts told of
	Unsure    int64 `json:"unsure,omitempty"`  // answers that were not complete

	PerSecond float64 `json:"per_second"` // deliveries in the measured time
	PerCPU    float64 `json:"per_cpu"`    // the same by second of the server's CPU time
	Cores     float64 `json:"cores"`      // that the server kept busy
	Client    float64 `json:"client_cores"`

	P50   float64 `json:"p50_ms"` // from when a cell was due to when the receiver read it
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
	Late  float64 `json:"late_p99_ms"` // how late the load itself was, part of the above
	Stood float64 `json:"stood_ms"`    // the longest time for which the load itself, or all of the machine, stood still
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Times around the measured one. Answers to the first puts come after 1.5 s:
// from then on the relay does all of its work at once.
const (
	warm     = wire.AnswerAfter + 100*time.Millisecond
	patience = time.Minute // for what is still on its way at the end
)

// crowd is senders and receivers of one run.
type crowd struct {
	s      *server
	v      *variant
	sh     shape
	in     span
	mouths []*mouth
	ears   []*ear          // of each sender, one sender after the other
	got    []*atomic.Int64 // by sender
	ended  []int64         // by sender: connections that the server ended and we opened anew
}

func (c *crowd) total() (n int64) {
	for _, g := range c.got {
		n += g.Load()
	}
	return n
}

func (c *crowd) sent() (n int64) {
	for _, m := range c.mouths {
		n += m.sent.Load()
	}
	return n
}

// of are the receivers of one sender.
func (c *crowd) of(sender int) []*ear { return c.ears[sender*c.sh.Fan : (sender+1)*c.sh.Fan] }

// settled reports whether all has come that is to come: nothing more comes over
// a connection that the server has ended.
func (c *crowd) settled() bool {
	for i, m := range c.mouths {
		if c.v.answer && m.owed(answersEach(c.v, c.sh)) > 0 {
			return false
		}
		if i >= len(c.got) || c.got[i].Load() >= m.sent.Load()*int64(c.sh.Fan) || c.ended[i] > 0 {
			continue // a sender without receivers here, or one that has lost some
		}
		if !slices.ContainsFunc(c.of(i), func(e *ear) bool { return ended(e.over) }) {
			return false
		}
	}
	return true
}

// mend opens receivers anew whose connection the server has ended.
func (c *crowd) mend() error {
	for i, e := range c.ears {
		if !ended(e.over) {
			continue
		}
		sender := i / c.sh.Fan
		c.ended[sender]++
		e.mu.Lock()
		next := &ear{sum: e.sum, h: e.h, last: e.last, doubled: e.doubled}
		e.mu.Unlock()
		var err error
		if next.line, err = c.s.join([]*mailbox{c.mouths[sender].to}, c.v.echo); err != nil {
			return fmt.Errorf("watching again: %w", err)
		}
		c.ears[i] = next
		c.hear(next, c.mouths[sender])
	}
	return nil
}

func (c *crowd) hear(e *ear, m *mouth) {
	e.hear(&c.in, busyRead, func() {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	})
}

// take adds what receivers heard since it was taken before.
func (c *crowd) take(h *histogram) {
	for _, e := range c.ears {
		e.take(h)
	}
}

func (c *crowd) end() {
	for _, m := range c.mouths {
		m.end()
	}
	for _, e := range c.ears {
		e.end()
	}
}

// gather connects everybody.
func gather(s *server, v *variant, sh shape) (_ *crowd, err error) {
	c := &crowd{s: s, v: v, sh: sh, ended: make([]int64, sh.Pairs)}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	for i := range sh.Pairs {
		c.mouths, c.got = append(c.mouths, newMouth(s, v, newMailbox(), i, &c.in, nil)), append(c.got, new(atomic.Int64))
	}
	for i := range sh.Pairs * sh.Fan {
		m, e := c.mouths[i/sh.Fan], &ear{sum: c.got[i/sh.Fan]}
		if e.line, err = s.join([]*mailbox{m.to}, v.echo); err != nil {
			return nil, err
		}
		c.ears = append(c.ears, e)
		c.hear(e, m)
	}
	return c, nil
}

// speak puts cells until stop is closed.
func (c *crowd) speak(sh shape, stop <-chan struct{}) error {
	if sh.Rate > 0 {
		return c.pace(sh, stop)
	}
	var all sync.WaitGroup
	errs := make([]error, len(c.mouths))
	for i, m := range c.mouths {
		all.Go(func() { errs[i] = c.push(m, c.got[i], sh, stop) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// pace puts cells at their time, in turns, whatever became of those before: one
// that waits makes those behind it late, and they count as late.
func (c *crowd) pace(sh shape, stop <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	exactly()
	begin := now()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		due := begin + int64(i)*int64(time.Second)/int64(sh.Rate)
		wait(due)
		if err := c.mouths[i%len(c.mouths)].put(1, due); err != nil {
			return err
		}
	}
}

// push keeps as many cells of one sender on their way as the shape says.
func (c *crowd) push(m *mouth, got *atomic.Int64, sh shape, stop <-chan struct{}) error {
	for {
		room := int64(sh.InFlight) - (m.sent.Load() - got.Load()/int64(sh.Fan))
		if room > 0 {
			if err := m.put(int(min(room, int64(sh.Burst))), 0); err != nil {
				return err
			}
			select {
			case <-stop:
				return nil
			default:
				continue
			}
		}
		select {
		case <-m.wake:
		case <-stop:
			return nil
		}
	}
}

// drive starts a server, gives it the work for a time, and says what it cost.
func (b *bench) drive(ctx context.Context, v *variant, name string, sh shape) (r run, err error) {
	s, err := v.start(ctx, b)
	if err != nil {
		return r, err
	}
	defer s.kill()
	c, err := gather(s, v, sh)
	if err != nil {
		return r, fmt.Errorf("%s: %w", v.name, err)
	}
	defer c.end()
	c.in.from.Store(now() + int64(b.warm))
	c.in.to.Store(1 << 62) // until it has been measured
	stood := newStill()
	defer stood.end()
	stop, spoke := make(chan struct{}), make(chan error, 1)
	go func() { spoke <- c.speak(sh, stop) }()
	err = b.weigh(ctx, s, v, c, name, &r)
	close(stop)
	if err := errors.Join(err, <-spoke); err != nil {
		return r, fmt.Errorf("%s: %w", v.name, err)
	}
	until(ctx, c.settled)
	c.end()
	c.count(&r)
	r.Stood = max(ms(stood.end()), r.Max)
	return r, ctx.Err()
}

// answersEach is how many receipts a put has: ours is one with a number in it,
// those of NATS are one from each receiver.
func answersEach(v *variant, sh shape) int64 {
	if v.of == "" {
		return 1
	}
	return int64(sh.Fan)
}

// weigh waits for the measured time and takes the server's CPU time around it.
func (b *bench) weigh(ctx context.Context, s *server, v *variant, c *crowd, name string, r *run) error {
	pause(ctx, c.in.from.Load())
	if b.Profiles != "" && v.of == "" {
		file := filepath.Join(b.Profiles, name+"."+v.name+".pprof")
		if _, err := s.state(relayOrder{Profile: file}); err != nil {
			return err
		}
		defer s.state(relayOrder{Stop: true})
	}
	cpu0, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	own0, _ := cpuTime(os.Getpid())
	got0, t0 := c.total(), now()
	pause(ctx, t0+int64(b.Length))
	until(ctx, func() bool { return c.total() > got0 }) // a machine that stands still would make it nothing
	got1, t1 := c.total(), now()
	c.in.to.Store(t1)
	cpu1, err := cpuTime(s.pid())
	if err != nil {
		return err
	}
	own1, _ := cpuTime(os.Getpid())
	took := float64(t1-t0) / float64(time.Second)
	r.PerSecond = float64(got1-got0) / took
	r.Cores, r.Client = (cpu1-cpu0).Seconds()/took, (own1-own0).Seconds()/took
	r.PerCPU = float64(got1-got0) / max(cpu1-cpu0, tick).Seconds()
	return ctx.Err()
}

// count sums up after everybody has ended. What is missing on a connection that
// the server ended is not lost: the sender was told so, and would put it again.
func (c *crowd) count(r *run) {
	var h, late histogram
	c.take(&h)
	for i, m := range c.mouths {
		r.Sent += m.sent.Load()
		r.Answers += m.answers.Load()
		r.Told += m.told.Load()
		r.Unsure += m.unsure.Load()
		r.Ended += m.cuts.Load()
		late.merge(&m.late)
		if i >= len(c.got) {
			continue
		}
		cut, doubled := c.ended[i]+m.cuts.Load(), int64(0)
		for _, e := range c.of(i) {
			doubled += e.doubled
			if e.cut {
				cut++
			}
		}
		seen := c.got[i].Load() - doubled
		r.Delivered += seen
		r.Doubled += doubled
		r.Ended += cut - m.cuts.Load()
		if missing := m.sent.Load()*int64(c.sh.Fan) - seen; cut > 0 {
			r.Cut += missing
		} else {
			r.Lost += missing
		}
	}
	r.P50, r.P99, r.P999, r.Max = ms(h.quantile(.5)), ms(h.quantile(.99)), ms(h.quantile(.999)), ms(h.most)
	r.Late = ms(late.quantile(.99))
}

// pause waits until a time, or until ctx ends.
func pause(ctx context.Context, at int64) {
	t := time.NewTimer(time.Duration(at - now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// until waits for a condition, no longer than patience has.
func until(ctx context.Context, ok func() bool) bool {
	end := now() + int64(patience)
	for !ok() {
		if ctx.Err() != nil || now() > end {
			return false
		}
		pause(ctx, now()+int64(5*time.Millisecond))
	}
	return true
}
