package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// cycle is how long a device keeps a connection and its addresses: then it opens
// another with the set of its next period, and closes the one before. A real
// period is half an hour.
const cycle = 10 * time.Second

// atOnce bounds devices that connect at one moment.
const atOnce = 128

// coming is what devices that come and go cost a server.
type coming struct {
	Devices   int     `json:"devices"`
	Addresses int     `json:"addresses_each"`
	Rate      int     `json:"rate"`       // cells a second to all of them
	Connects  int64   `json:"connects"`   // in the measured time
	PerSecond float64 `json:"per_second"` // connects

	Connect50  float64 `json:"connect_p50_ms"` // from the beginning until all addresses are watched
	Connect99  float64 `json:"connect_p99_ms"`
	ConnectCPU float64 `json:"connect_cpu_ms"` // CPU time of the server by connect, deliveries included
	P50        float64 `json:"p50_ms"`         // put to deliver
	P99        float64 `json:"p99_ms"`
	Sent       int64   `json:"sent"`
	Lost       int64   `json:"lost"`
	Doubled    int64   `json:"doubled"`
	Missed     int64   `json:"missed"`   // cells that were seen and answered as not delivered, or not answered
	Failed     int64   `json:"failed"`   // connects
	Cuts       int64   `json:"cuts"`     // connections that the server ended
	Cut        int64   `json:"cut"`      // cells that were missing on these
	Stood      float64 `json:"stood_ms"` // as in run
	MiB        float64 `json:"mib"`      // resident memory with everybody connected
	ThenMiB    float64 `json:"then_mib"` // and at the end
}

// device watches a set of addresses over one connection at a time, and gets
// cells at the first of them.
type device struct {
	mu   sync.Mutex // guards what follows: who puts takes it for one put
	box  *mailbox
	sent int64 // to box
	ear  *ear
	got  *atomic.Int64 // by ear
	gone bool          // for good
}

// carousel is devices that come and go.
type carousel struct {
	s       *server
	v       *variant
	cycle   time.Duration
	in      span
	devices []*device
	mouths  []*mouth

	connects, failed, lost, doubled, sent atomic.Int64
	cuts, cut                             atomic.Int64 // connections that the server ended, and cells missing on them

	mu      sync.Mutex // guards the histograms
	connect histogram
	deliver histogram
	err     error // of the last connect that failed

	leaving sync.WaitGroup // connections that are replaced
}

// newCarousel connects n devices, and some senders.
func newCarousel(ctx context.Context, s *server, v *variant, n, senders int, cycle time.Duration) (*carousel, error) {
	c := &carousel{s: s, v: v, cycle: cycle}
	c.in.to.Store(1 << 62)
	for range n {
		c.devices = append(c.devices, &device{})
	}
	var open sync.WaitGroup
	slots := make(chan struct{}, 32)
	for _, d := range c.devices {
		slots <- struct{}{}
		open.Go(func() {
			c.turn(ctx, d)
			<-slots
		})
	}
	open.Wait()
	for i := range senders {
		c.mouths = append(c.mouths, newMouth(s, v, newMailbox(), i, &c.in, nil))
	}
	if c.failed.Load() > 0 {
		c.end(ctx)
		return nil, fmt.Errorf("connecting devices: %w", c.err)
	}
	return c, nil
}

// turn gives a device a new connection with new addresses, and then lets the old
// one go once all is there that was put to it.
func (c *carousel) turn(ctx context.Context, d *device) {
	boxes := make([]*mailbox, addressesEach)
	for i := range boxes {
		boxes[i] = newMailbox()
	}
	e := &ear{sum: new(atomic.Int64)}
	began := now()
	var err error
	watch := func() (*line, error) { return c.s.watch(c.s, boxes, c.v.echo) }
	d.mu.Lock()
	first := d.ear == nil
	d.mu.Unlock()
	if first { // there must be somebody to put to
		watch = func() (*line, error) { return c.s.join(boxes, c.v.echo) }
	}
	if e.line, err = watch(); err != nil {
		c.failed.Add(1)
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		return
	}
	took := time.Duration(now() - began)
	e.hear(&c.in, idleRead, func() {})
	c.mu.Lock()
	c.connect.add(took)
	c.mu.Unlock()
	c.connects.Add(1)

	d.mu.Lock()
	old, got, sent := d.ear, d.got, d.sent
	d.box, d.ear, d.got, d.sent = boxes[0], e, e.sum, 0
	d.mu.Unlock()
	if old != nil {
		c.leaving.Go(func() { c.leave(ctx, old, got, sent) })
	}
}

// leave ends a connection that nobody puts to any more.
func (c *carousel) leave(ctx context.Context, e *ear, got *atomic.Int64, sent int64) {
	until(ctx, func() bool { return got.Load() >= sent || ended(e.over) })
	e.end()
	missing := sent - got.Load() + e.doubled
	if e.cut {
		c.cuts.Add(1)
		c.cut.Add(missing)
	} else {
		c.lost.Add(missing)
	}
	c.doubled.Add(e.doubled)
	c.mu.Lock()
	defer c.mu.Unlock()
	e.take(&c.deliver)
}

// rotate lets every device come anew once in a cycle, evenly, until stop is closed.
func (c *carousel) rotate(ctx context.Context, stop <-chan struct{}) {
	var open sync.WaitGroup
	defer open.Wait()
	slots := make(chan struct{}, atOnce)
	begin := now()
	for i := 0; ; i++ {
		pause(ctx, begin+int64(i)*int64(c.cycle)/int64(len(c.devices)))
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		open.Go(func() {
			c.turn(ctx, c.devices[i%len(c.devices)])
			<-slots
		})
	}
}

// pace puts cells to devices in turns, at their time.
func (c *carousel) pace(rate int, stop <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	exactly()
	begin := now()
	for i := 0; ; i++ {
		if ended(stop) {
			return nil
		}
		due := begin + int64(i)*int64(time.Second)/int64(rate)
		wait(due)
		at := i % len(c.devices)
		d, m := c.devices[at], c.mouths[at%len(c.mouths)] // always the same, so that numbers grow
		d.mu.Lock()
		m.to = d.box
		d.sent++
		c.sent.Add(1)
		err := m.put(1, due)
		d.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// end ends all connections, after all is there that was put.
func (c *carousel) end(ctx context.Context) {
	for _, d := range c.devices {
		if d.ear != nil && !d.gone {
			d.gone = true
			c.leaving.Go(func() { c.leave(ctx, d.ear, d.got, d.sent) })
		}
	}
	c.leaving.Wait()
	if c.v.answer {
		until(ctx, func() bool { return c.sum(func(m *mouth) int64 { return m.owed(1) }) <= 0 })
	}
	for _, m := range c.mouths {
		m.end()
	}
}

// take adds what devices heard since it was taken before.
func (c *carousel) take(h *histogram) {
	for _, d := range c.devices {
		d.mu.Lock()
		d.ear.take(h)
		d.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.merge(&c.deliver)
	c.deliver = histogram{}
}

func (c *carousel) sum(of func(*mouth) int64) (n int64) {
	for _, m := range c.mouths {
		n += of(m)
	}
	return n
}

// missed is how many cells were seen and not told of.
func (c *carousel) missed() int64 {
	if !c.v.answer {
		return 0
	}
	return c.sent.Load() - c.lost.Load() - c.cut.Load() - c.sum(func(m *mouth) int64 { return m.told.Load() })
}

// churn has devices come and go while cells are put to them.
func (b *bench) churn(ctx context.Context, v *variant, n int) (r coming, err error) {
	s, err := v.start(ctx, b)
	if err != nil {
		return r, err
	}
	defer s.kill()
	c, err := newCarousel(ctx, s, v, n, min(b.Pairs, 16), b.cycle)
	if err != nil {
		return r, err
	}
	stood := newStill()
	defer stood.end()
	r.Devices, r.Addresses, r.Rate = n, addressesEach, b.Rates[0]
	stop, spoke, turned := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() { spoke <- c.pace(r.Rate, stop) }()
	go func() { defer close(turned); c.rotate(ctx, stop) }()
	pause(ctx, now()+int64(b.warm))

	c.mu.Lock()
	c.connect = histogram{}
	c.mu.Unlock()
	connects0, t0 := c.connects.Load(), now()
	mem0, err0 := resident(s.pid())
	cpu0, err1 := cpuTime(s.pid())
	pause(ctx, now()+2*int64(b.cycle))
	until(ctx, func() bool { return c.connects.Load() > connects0 }) // a machine that stands still would make it nothing
	connects1, t1 := c.connects.Load(), now()
	cpu1, err2 := cpuTime(s.pid())
	mem1, err3 := resident(s.pid())
	close(stop)
	err = errors.Join(<-spoke, err0, err1, err2, err3)
	<-turned
	c.end(ctx)
	if err == nil {
		err = ctx.Err()
	}
	r.Connects = connects1 - connects0
	r.PerSecond = float64(r.Connects) / (float64(t1-t0) / float64(time.Second))
	r.ConnectCPU = ms(cpu1-cpu0) / float64(max(r.Connects, 1))
	r.Connect50, r.Connect99 = ms(c.connect.quantile(.5)), ms(c.connect.quantile(.99))
	r.P50, r.P99 = ms(c.deliver.quantile(.5)), ms(c.deliver.quantile(.99))
	r.Sent, r.Lost, r.Doubled, r.Failed = c.sent.Load(), c.lost.Load(), c.doubled.Load(), c.failed.Load()
	r.Missed, r.Cuts, r.Cut = c.missed(), c.cuts.Load()+c.sum(func(m *mouth) int64 { return m.cuts.Load() }), c.cut.Load()
	r.Stood = max(ms(stood.end()), ms(c.deliver.most))
	r.MiB, r.ThenMiB = float64(mem0)/(1<<20), float64(mem1)/(1<<20)
	return r, err
}
