package load

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

// stiff is what receivers that stop in the middle of everything do to a server
// and to the others.
type stiff struct {
	Live   int `json:"live"`   // receivers that go on
	Frozen int `json:"frozen"` // those that stop
	Rate   int `json:"rate"`   // cells a second to all of them

	ToFrozen int64   `json:"to_frozen"` // cells put to frozen receivers while they were
	Lies     int64   `json:"lies"`      // of these, answered as delivered
	ToLive   int64   `json:"to_live"`   // cells put to the others
	Lost     int64   `json:"lost"`      // of these, never seen
	Missed   int64   `json:"missed"`    // of these, seen and answered as not delivered
	Doubled  int64   `json:"doubled"`   // of all
	Ended    int     `json:"ended"`     // frozen connections that the server ended
	Cuts     int64   `json:"cuts"`      // others that it ended
	Cut      int64   `json:"cut"`       // cells that were missing on these
	Stood    float64 `json:"stood_ms"`  // as in run
	P50      float64 `json:"p50_ms"`    // of the others, before
	P99      float64 `json:"p99_ms"`
	Then50   float64 `json:"then_p50_ms"` // and while some are frozen
	Then99   float64 `json:"then_p99_ms"`
	MiB      float64 `json:"mib"`      // resident memory of the server before
	ThenMiB  float64 `json:"then_mib"` // and at the end of the frost
}

// ledger is what a sender was told of each of its cells.
type ledger struct {
	mu   sync.Mutex // guards told
	told []int32    // delivered by number of the cell less 1; -1: no answer yet
}

func (l *ledger) heard(id uint64, delivered uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uint64(len(l.told)) < id {
		l.told = append(l.told, -1)
	}
	if id > 0 {
		l.told[id-1] = int32(delivered)
	}
}

// between counts cells after the first number up to the last, and of them those
// answered with none, with some, and not at all.
func (l *ledger) between(after, last int64) (none, some, open int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := after; i < last; i++ {
		switch {
		case i >= int64(len(l.told)) || l.told[i] < 0:
			open++
		case l.told[i] == 0:
			none++
		default:
			some++
		}
	}
	return none, some, open
}

// frost is receivers in a process that can be frozen, and those who put to them.
type frost struct {
	v      *variant
	helper *process
	mouths []*mouth
	books  []*ledger
}

// newFrost starts n receivers in a process of their own.
func newFrost(s *server, v *variant, n int, in *span) (_ *frost, err error) {
	f := &frost{v: v}
	defer func() {
		if err != nil {
			f.end()
		}
	}()
	o := earsOrder{Variant: v.name, Addr: s.addr, Seeds: make([][ed25519.SeedSize]byte, n)}
	for i := range o.Seeds {
		rand.Read(o.Seeds[i][:])
	}
	var w earsWord
	if f.helper, err = launchRole(roleEars, o, &w); err != nil {
		return nil, err
	}
	if w.Err != "" {
		return nil, fmt.Errorf("receivers: %s", w.Err)
	}
	for i, seed := range o.Seeds {
		book := &ledger{}
		f.mouths, f.books = append(f.mouths, newMouth(s, v, mailboxOf(seed), i, in, book.heard)), append(f.books, book)
	}
	return f, nil
}

func (f *frost) end() {
	for _, m := range f.mouths {
		m.end()
	}
	if f.helper != nil {
		f.helper.kill()
	}
}

func (f *frost) sent() (all []int64) {
	for _, m := range f.mouths {
		all = append(all, m.sent.Load())
	}
	return all
}

// hold freezes the receivers for a time, during which somebody puts, and says
// how many cells were put to them in that time and how many of these were
// answered as delivered. They are thawed only once those cells are answered, so
// that none of them can honestly count.
func (f *frost) hold(ctx context.Context, length time.Duration) (put, lies int64, err error) {
	if err := freeze(f.helper.pid()); err != nil {
		return 0, 0, err
	}
	defer thaw(f.helper.pid())
	from := f.sent()
	pause(ctx, now()+int64(length))
	to := f.sent()
	if f.v.of != "" { // nobody answers for what a frozen receiver was sent
		return total(to) - total(from), 0, ctx.Err()
	}
	answered := until(ctx, func() bool {
		for i, b := range f.books {
			if _, _, open := b.between(from[i], to[i]); open > 0 && f.mouths[i].owed(1) > 0 {
				return false
			}
		}
		return true
	})
	if !answered {
		return 0, 0, fmt.Errorf("puts to frozen receivers were not answered: %w", context.Cause(ctx))
	}
	for i, b := range f.books {
		none, some, _ := b.between(from[i], to[i])
		put, lies = put+none+some, lies+some
	}
	return put, lies, nil
}

func total(all []int64) (n int64) {
	for _, v := range all {
		n += v
	}
	return n
}

// frozen has a fifth of all receivers stop while the others go on.
func (b *bench) frozen(ctx context.Context, v *variant) (r stiff, err error) {
	s, err := v.start(ctx, b)
	if err != nil {
		return r, err
	}
	defer s.kill()
	r.Frozen = max(b.Pairs/5, 1)
	r.Live = max(b.Pairs-r.Frozen, 1)
	r.Rate = b.Rates[0]
	stood := newStill()
	defer stood.end()
	c, err := gather(s, v, shape{Pairs: r.Live, Fan: 1})
	if err != nil {
		return r, err
	}
	defer c.end()
	f, err := newFrost(s, v, r.Frozen, &c.in)
	if err != nil {
		return r, err
	}
	defer f.end()
	c.in.to.Store(1 << 62)
	live := len(c.mouths)
	all := &crowd{mouths: append(c.mouths[:live:live], f.mouths...)}
	stop, spoke := make(chan struct{}), make(chan error, 1)
	go func() { spoke <- all.pace(shape{Rate: r.Rate}, stop) }()
	pause(ctx, now()+int64(b.warm))
	var ignore, before, then histogram
	c.take(&ignore)
	pause(ctx, now()+int64(b.Length))
	until(ctx, func() bool { c.take(&before); return before.n > 0 })
	mem0, _ := resident(s.pid())
	r.ToFrozen, r.Lies, err = f.hold(ctx, max(b.Length, 2*b.still))
	mem1, _ := resident(s.pid())
	c.take(&then)
	close(stop)
	if spoken := <-spoke; err == nil {
		err = spoken
	}
	if err != nil {
		return r, err
	}
	until(ctx, c.settled)
	var w earsWord
	if err := f.helper.ask(earsOrder{}, &w); err != nil {
		return r, fmt.Errorf("asking receivers: %w", err)
	}
	r.Ended, r.ToLive = w.Ended, c.sent()
	c.end()
	var sum run
	c.count(&sum)
	r.Lost, r.Cut, r.Doubled, r.Cuts, r.Stood = sum.Lost, sum.Cut, sum.Doubled+w.Doubled, sum.Ended, max(ms(stood.end()), ms(then.most), ms(before.most))
	if v.answer {
		r.Missed = sum.Delivered - sum.Told
	}
	r.P50, r.P99, r.Then50, r.Then99 = ms(before.quantile(.5)), ms(before.quantile(.99)), ms(then.quantile(.5)), ms(then.quantile(.99))
	r.MiB, r.ThenMiB = float64(mem0)/(1<<20), float64(mem1)/(1<<20)
	return r, ctx.Err()
}
