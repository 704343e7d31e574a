package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// SoakOptions are what a soak is.
type SoakOptions struct {
	For   time.Duration // 0: 10 minutes
	Plain bool          // without TLS
	Short bool          // with few of everything

	Progress io.Writer // a line every 10 s; nil writes none
	role     string    // that is our relay, for tests
	every    time.Duration
	settle   time.Duration // for goroutines to end
}

// mix is how much of everything there is.
type mix struct {
	Pairs   int `json:"pairs"` // one to one
	Rate    int `json:"rate"`  // cells a second of all pairs
	Fan     int `json:"fan"`   // receivers of one sender
	FanRate int `json:"fan_rate"`
	Devices int `json:"devices"` // that come and go, each once in 10 s
	DevRate int `json:"devices_rate"`
	Frozen  int `json:"frozen"` // receivers that are frozen for 8 s, and come back
	IceRate int `json:"frozen_rate"`
	Idle    int `json:"idle"` // connections with 16 addresses each
}

// Times of a soak.
const (
	soakEvery = 10 * time.Second
	frostLong = 8 * time.Second
	frostRest = 12 * time.Second
	// Until the relay's window is full of the last minute, memory grows by design.
	soakWarm = wire.WindowSpan + 15*time.Second
)

// Soaked is what a soak gave.
type Soaked struct {
	Seconds  float64  `json:"seconds"`
	TLS      bool     `json:"tls"`
	Mix      mix      `json:"mix"`
	Samples  []Sample `json:"samples"`
	Put      int64    `json:"put"`
	Seen     int64    `json:"seen"`     // deliveries to those who were not frozen
	Lost     int64    `json:"lost"`     // of these, never seen
	Doubled  int64    `json:"doubled"`  // seen again, or out of order
	Missing  int64    `json:"missing"`  // puts that were not answered
	NotTold  int64    `json:"not_told"` // cells that were seen and answered as not delivered
	Lies     int64    `json:"lies"`     // cells put to frozen receivers and answered as delivered
	Frosts   int      `json:"frosts"`
	Connects int64    `json:"connects"` // of devices that come and go
	Failed   int64    `json:"failed"`   // connects that failed
	Ended    int64    `json:"ended"`    // connections that the relay ended, but for frozen ones
	Cut      int64    `json:"cut"`      // deliveries that were missing on these
	Stood    float64  `json:"stood_ms"` // the longest time for which the load itself, or all of the machine, stood still
	P50      float64  `json:"p50_ms"`   // of all that was seen by pairs
	P99      float64  `json:"p99_ms"`
	P999     float64  `json:"p999_ms"`
	Base     int      `json:"goroutines_before"`
	Left     int      `json:"goroutines_after"`
	Memory   growth   `json:"memory"`
}

// Sample is the state of the relay at one moment, and latencies since the one before.
type Sample struct {
	Seconds    float64 `json:"seconds"`
	RSS        float64 `json:"rss_mib"`
	Heap       float64 `json:"heap_mib"` // with garbage
	Goroutines int     `json:"goroutines"`
	Put        int64   `json:"put"` // so far
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Fan99      float64 `json:"fan_p99_ms"`
	Churn99    float64 `json:"churn_p99_ms"`
}

// soak is one that goes on.
type soak struct {
	SoakOptions
	s     *server
	v     *variant
	began int64

	pairs, fan *crowd
	carousel   *carousel
	frost      *frost
	ice        *crowd // those who put to the frost
	idle       quiet
	whole      histogram // of pairs

	mu  sync.Mutex // guards out.Lies and out.Frosts, and the first error
	err error
	out *Soaked
}

// Soak runs everything at once for a time, and says whether the relay stayed
// what it was. An error is trouble with the run; what the relay did wrong is
// said by Wrong.
func Soak(ctx context.Context, o SoakOptions) (*Soaked, error) {
	if o.For == 0 {
		o.For = 10 * time.Minute
	}
	if o.For < time.Second {
		return nil, &Problem{errors.New("a soak is at least a second long"), "10m is a good one; memory is judged from 3m on"}
	}
	if _, err := cpuTime(os.Getpid()); err != nil {
		return nil, &Problem{err, "run it on Linux"}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.role == "" {
		o.role = roleRelay
	}
	if o.every == 0 {
		o.every = soakEvery
	}
	if o.settle == 0 {
		o.settle = patience
	}
	m := mix{Pairs: 32, Rate: 1000, Fan: 50, FanRate: 20, Devices: 500, DevRate: 200, Frozen: 20, IceRate: 100, Idle: mostIdle(2000+1000) - 1000}
	if o.Short {
		m = mix{Pairs: 4, Rate: 200, Fan: 5, FanRate: 20, Devices: 10, DevRate: 50, Frozen: 2, IceRate: 20, Idle: 20}
	}
	k := &soak{SoakOptions: o, out: &Soaked{TLS: !o.Plain, Mix: m}}
	for _, v := range variants() {
		if v.of == "" && v.tls == !o.Plain {
			k.v = v
		}
	}
	var err error
	if k.s, err = startRelay(relayOrder{TLS: !o.Plain}, o.role); err != nil {
		return nil, err
	}
	defer k.s.kill()
	if err := k.run(ctx, m); err != nil {
		return nil, err
	}
	if err := k.s.stop(); err != nil {
		return nil, fmt.Errorf("stopping the relay: %w", err)
	}
	return k.out, nil
}

func (k *soak) run(ctx context.Context, m mix) (err error) {
	w, err := k.s.state(relayOrder{Free: true})
	if err != nil {
		return err
	}
	k.out.Base = w.Goroutines
	defer k.end(ctx)
	if err := k.gather(ctx, m); err != nil {
		return err
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	part := func(do func() error) {
		all.Go(func() {
			if err := do(); err != nil {
				k.mu.Lock()
				k.err = errors.Join(k.err, err)
				k.mu.Unlock()
			}
		})
	}
	k.began = now()
	stood := newStill()
	defer stood.end()
	part(func() error { return k.pairs.pace(shape{Rate: m.Rate}, stop) })
	part(func() error { return k.fan.pace(shape{Rate: m.FanRate}, stop) })
	part(func() error { return k.carousel.pace(m.DevRate, stop) })
	part(func() error { k.carousel.rotate(ctx, stop); return nil })
	part(func() error { return k.ice.pace(shape{Rate: m.IceRate}, stop) })
	part(func() error { return k.frosts(ctx, stop) })
	err = k.watch(ctx)
	close(stop)
	all.Wait()
	if err := errors.Join(err, k.err, ctx.Err()); err != nil {
		return err
	}
	k.count(ctx, stood)
	return k.left(ctx)
}

// gather connects everybody.
func (k *soak) gather(ctx context.Context, m mix) (err error) {
	fmt.Fprintf(k.Progress, "soak: connecting %d pairs, 1→%d, %d devices that come and go, %d that freeze, %d idle\n", m.Pairs, m.Fan, m.Devices, m.Frozen, m.Idle)
	if err := k.idle.hold(ctx, k.s, m.Idle, true); err != nil {
		return err
	}
	if k.carousel, err = newCarousel(ctx, k.s, k.v, m.Devices, 16, cycle); err != nil {
		return err
	}
	if k.frost, err = newFrost(k.s, k.v, m.Frozen, &k.carousel.in); err != nil {
		return err
	}
	k.ice = &crowd{v: k.v, sh: shape{Fan: 1}, mouths: k.frost.mouths}
	if k.fan, err = gather(k.s, k.v, shape{Pairs: 1, Fan: m.Fan}); err != nil {
		return err
	}
	if k.pairs, err = gather(k.s, k.v, shape{Pairs: m.Pairs, Fan: 1}); err != nil {
		return err
	}
	k.fan.in.to.Store(1 << 62)
	k.pairs.in.to.Store(1 << 62)
	return nil
}

// frosts freezes and thaws until stop is closed.
func (k *soak) frosts(ctx context.Context, stop <-chan struct{}) error {
	long, rest := frostLong, frostRest
	if k.Short {
		long, rest = frostLong/16, frostRest/16
	}
	for {
		pause(ctx, now()+int64(rest/2)) // time to see which connections the relay has ended
		var w earsWord
		if err := k.frost.helper.ask(earsOrder{Again: true}, &w); err != nil {
			return err
		}
		if w.Err != "" {
			return fmt.Errorf("receivers that were frozen: %s", w.Err)
		}
		pause(ctx, now()+int64(rest/2))
		k.mu.Lock()
		enough := k.out.Frosts > 0
		k.mu.Unlock()
		if ended(stop) && enough || ctx.Err() != nil {
			return nil
		}
		_, lies, err := k.frost.hold(ctx, long)
		if err != nil {
			return err
		}
		k.mu.Lock()
		k.out.Frosts++
		k.out.Lies += lies
		k.mu.Unlock()
	}
}

// watch writes a line every ten seconds until the time is over.
func (k *soak) watch(ctx context.Context) error {
	end := k.began + int64(k.For)
	for at := k.began; at < end && ctx.Err() == nil; {
		at = min(at+int64(k.every), end)
		pause(ctx, at)
		w, err := k.s.state(relayOrder{})
		if err != nil {
			return fmt.Errorf("the relay ended: %w", err)
		}
		rss, err := resident(k.s.pid())
		if err != nil {
			return err
		}
		if err := errors.Join(k.pairs.mend(), k.fan.mend()); err != nil {
			return err
		}
		var h, fan, churn histogram
		k.pairs.take(&h)
		k.fan.take(&fan)
		k.carousel.take(&churn)
		k.whole.merge(&h)
		s := Sample{
			Seconds: float64(now()-k.began) / float64(time.Second), RSS: float64(rss) / (1 << 20), Heap: float64(w.Heap) / (1 << 20), Goroutines: w.Goroutines,
			Put: k.put(), P50: ms(h.quantile(.5)), P99: ms(h.quantile(.99)), Fan99: ms(fan.quantile(.99)), Churn99: ms(churn.quantile(.99)),
		}
		k.out.Samples = append(k.out.Samples, s)
		fmt.Fprintf(k.Progress, "soak: %.0f s, RSS %.1f MiB, heap %.1f, %d goroutines, %d put, p50 %.2f ms, p99 %.1f, fan-out p99 %.1f, churn p99 %.1f, %d connects\n",
			s.Seconds, s.RSS, s.Heap, s.Goroutines, s.Put, s.P50, s.P99, s.Fan99, s.Churn99, k.carousel.connects.Load())
	}
	return ctx.Err()
}

func (k *soak) put() int64 {
	return k.pairs.sent() + k.fan.sent() + k.carousel.sent.Load() + total(k.frost.sent())
}

// count waits for what is on its way, and sums up.
func (k *soak) count(ctx context.Context, stood *standing) {
	o := k.out
	o.Seconds = float64(now()-k.began) / float64(time.Second)
	until(ctx, func() bool { return k.pairs.settled() && k.fan.settled() && k.ice.settled() })
	o.Put = k.put()
	for _, c := range []*crowd{k.pairs, k.fan, k.ice} {
		for _, m := range c.mouths {
			o.Missing += max(m.owed(1), 0)
		}
	}
	for _, m := range k.carousel.mouths {
		o.Missing += max(m.owed(1), 0)
	}
	k.end(ctx)
	var sum run
	for _, c := range []*crowd{k.pairs, k.fan, k.ice} {
		var one run
		c.count(&one)
		sum.Delivered, sum.Lost, sum.Cut = sum.Delivered+one.Delivered, sum.Lost+one.Lost, sum.Cut+one.Cut
		sum.Doubled, sum.Ended = sum.Doubled+one.Doubled, sum.Ended+one.Ended
		if c != k.ice {
			sum.Told += one.Told
		}
	}
	c := k.carousel
	o.Lost, o.Doubled, o.Cut = sum.Lost+c.lost.Load(), sum.Doubled+c.doubled.Load(), sum.Cut+c.cut.Load()
	o.Seen = sum.Delivered + c.sent.Load() - c.lost.Load() - c.cut.Load()
	o.NotTold = sum.Delivered - sum.Told + c.missed()
	o.Connects, o.Failed = c.connects.Load(), c.failed.Load()
	o.Ended = sum.Ended + c.cuts.Load() + c.sum(func(m *mouth) int64 { return m.cuts.Load() }) + k.idle.early
	o.P50, o.P99, o.P999 = ms(k.whole.quantile(.5)), ms(k.whole.quantile(.99)), ms(k.whole.quantile(.999))
	o.Stood = max(ms(stood.end()), ms(k.whole.most))
	o.Memory = judge(o.Samples, max(k.For/3, soakWarm))
}

// end ends all connections. It may be called again.
func (k *soak) end(ctx context.Context) {
	for _, c := range []*crowd{k.pairs, k.fan} {
		if c != nil {
			c.end()
		}
	}
	if k.frost != nil {
		k.frost.end()
	}
	if k.carousel != nil {
		k.carousel.end(ctx)
	}
	k.idle.end()
}

// left waits until the relay has no goroutine of a client, and says how many there are.
func (k *soak) left(ctx context.Context) error {
	for end := now() + int64(k.settle); ; pause(ctx, now()+int64(100*time.Millisecond)) {
		w, err := k.s.state(relayOrder{})
		if err != nil {
			return err
		}
		k.out.Left = w.Goroutines
		if w.Goroutines <= k.out.Base || now() > end || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Wrong says what the relay must never do and did.
func (o *Soaked) Wrong() error {
	var why []string
	tell := func(n int64, what string) {
		if n != 0 {
			why = append(why, fmt.Sprintf("%d %s", n, what))
		}
	}
	tell(o.Lost, "cells lost")
	tell(o.Doubled, "delivered twice or out of order")
	tell(o.Missing, "puts not answered")
	tell(o.Lies, "told of as delivered to somebody frozen")
	if o.Stood < ms(tooStill) { // a relay waits no longer than seconds for a handshake, or for the answer to a ping
		tell(o.Failed, "connections refused")
		tell(o.Ended, "connections ended")
	}
	if o.Left > o.Base {
		why = append(why, fmt.Sprintf("%d goroutines after everybody left, %d before anybody came", o.Left, o.Base))
	}
	if o.Memory.Judged && o.Memory.MiB > o.Memory.Bound {
		why = append(why, fmt.Sprintf("memory grew by %.1f MiB in %.0f s", o.Memory.MiB, o.Memory.Seconds))
	}
	if len(why) > 0 {
		return &Problem{errors.New("the relay did not stay what it was: " + strings.Join(why, "; ")), "--json has every sample"}
	}
	return nil
}

// Line is the last line.
func (o *Soaked) Line() string {
	memory := "too short to judge memory"
	if o.Memory.Judged {
		memory = fmt.Sprintf("memory %+.1f MiB in %.0f s (at most %.1f)", o.Memory.MiB, o.Memory.Seconds, o.Memory.Bound)
	}
	ended := ""
	if o.Ended+o.Failed > 0 {
		ended = fmt.Sprintf(" (and %d with %d connections that ended; %d were refused; the machine stood still for up to %.1f s)", o.Cut, o.Ended, o.Failed, o.Stood/1000)
	}
	return fmt.Sprintf("soak: %.0f s, %d put, %d seen, %d lost%s, %d doubled, %d lies in %d frosts, %d connects, p50 %.2f ms, p99 %.1f, p99.9 %.1f, %s, goroutines %d before and %d after",
		o.Seconds, o.Put, o.Seen, o.Lost, ended, o.Doubled, o.Lies, o.Frosts, o.Connects, o.P50, o.P99, o.P999, memory, o.Base, o.Left)
}

// JSON writes all of it as one document.
func (o *Soaked) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(o)
}
