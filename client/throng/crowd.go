package throng

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client/commits"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Options are what a crowd is.
type Options struct {
	Relay   string       // host:port of a relay
	Members int          // beside the profile that is measured
	Whole   int          // how many of them run an engine, at most 32; 0: 31
	Dial    relay.Dialer // nil: relay.Direct
}

// Crowd is the members. Its methods may be called from any goroutine.
type Crowd struct {
	o    Options
	home roster.Home
	live uint16
	all  []*member // whole ones first
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	id   group.ID
	boss group.Device // whose profile is measured

	mu      sync.Mutex
	changed chan struct{} // closed, and another one made, when anything below changed
	places  map[uint64]*place
	texts   map[wire.MessageID]*Text
	steps   map[uint64]*Step
	sum     Sum
	holding bool
	held    []func()
	err     error // the first of any member

	founder atomic.Pointer[founder] // while the group is made
}

// Text is how a text came in.
type Text struct {
	Have   int       // members that have a cell of it, its seal opened
	Last   time.Time // when the last of them had it
	Opened int       // whole members whose engine showed it
	Showed time.Time // when the last of them did
	Cells  int       // cells of it that came in
}

// Step is how members entered an epoch.
type Step struct {
	Whole int // that entered it
	Read  int // ears that read the slot before it
	Last  time.Time
}

// Sum counts what all members did together.
type Sum struct {
	Cells   int // that came in
	Puts    int // cells that they put
	Failed  int // puts that failed
	Reads   int // of slots
	Dropped int // words in pair sessions, which members do not have
}

// New makes the members, who are in no group yet. Close ends it.
func New(ctx context.Context, o Options) (_ *Crowd, err error) {
	if o.Whole == 0 {
		o.Whole = 31
	}
	if o.Members < 1 || o.Whole > 32 {
		return nil, errors.New("crowd of no size that there is")
	}
	c := &Crowd{o: o, changed: make(chan struct{}), places: map[uint64]*place{}, texts: map[wire.MessageID]*Text{}, steps: map[uint64]*Step{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	pin, err := relay.Identify(ctx, relay.Options{Name: o.Relay, Dial: o.Dial})
	if err != nil {
		return nil, fmt.Errorf("asking the relay for its key: %w", err)
	}
	c.home = roster.Home{Name: o.Relay, Pin: pin}
	for i := range o.Members {
		m, err := c.member(i < o.Whole)
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, m)
	}
	d, err := c.all[0].relay.Descriptor(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the relay for its descriptor: %w", err)
	}
	c.home.Receipt, c.live = d.Receipts, uint16(d.Period)
	for _, m := range c.all {
		m.engine.Self.Home, m.engine.Live = c.home, c.live
	}
	return c, nil
}

// member makes one, with a person of its own.
func (c *Crowd) member(whole bool) (*member, error) {
	root, err1 := key.Generate[key.SignRole](rand.Reader)
	sign, err2 := key.Generate[key.SignRole](rand.Reader)
	dh, err3 := key.Generate[key.DHRole](rand.Reader)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	defer root.Wipe()
	m := &member{c: c, device: key.SignPublicOf(sign), store: commits.NewMemory(), whole: whole, watches: map[uint64]*watch{}}
	m.man = &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(time.Now()),
		Devices: []manifest.Device{{Sign: m.device, DH: key.DHPublicOf(dh), XWing: sha256.Sum256(m.device[:])}}}
	if err := manifest.Sign(root, m.man); err != nil {
		return nil, err
	}
	m.engine = &group.Engine{Self: group.Self{Sign: sign, Device: m.device, Manifest: m.man}, Rand: rand.Reader, Crypto: group.MLS{},
		AckMean: -1, Fatal: func(error) bool { return true }}
	var err error
	m.relay, err = relay.New(relay.Options{Name: c.o.Relay, Pin: &c.home.Pin, Dial: c.o.Dial})
	return m, err
}

// Close ends all connections and returns what went wrong with the first member that
// anything did.
func (c *Crowd) Close() error {
	c.stop()
	c.work.Wait()
	for _, m := range c.all {
		m.relay.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// change runs f with the lock, and tells who waits.
func (c *Crowd) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// fail notes what must not be.
func (c *Crowd) fail(err error) {
	if err == nil || c.ctx.Err() != nil {
		return
	}
	c.change(func() {
		if c.err == nil {
			c.err = err
		}
	})
}

// Await returns when ok, which is called with the lock on what counts here; with the
// error of a member if there was one, or with that of ctx.
func (c *Crowd) await(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, err, next := ok(), c.err, c.changed
		c.mu.Unlock()
		if err != nil || done {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Heard returns how a text came in once every member has it and every whole one has
// shown it, or what there is of that when ctx ends.
func (c *Crowd) Heard(ctx context.Context, id wire.MessageID) (Text, error) {
	whole := min(c.o.Whole, len(c.all))
	err := c.await(ctx, func() bool {
		t := c.texts[id]
		return t != nil && t.Have == len(c.all) && t.Opened == whole
	})
	return c.Text(id), err
}

// Text is how a text came in so far.
func (c *Crowd) Text(id wire.MessageID) Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.texts[id]; t != nil {
		return *t
	}
	return Text{}
}

// Entered returns how members entered an epoch once all have, or what there is of that
// when ctx ends.
func (c *Crowd) Entered(ctx context.Context, epoch uint64) (Step, error) {
	var s Step
	err := c.await(ctx, func() bool {
		if at := c.steps[epoch]; at != nil {
			s = *at
		}
		return s.Whole+s.Read == len(c.all)
	})
	return s, err
}

// Sum is what all did so far.
func (c *Crowd) Sum() Sum {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

// Hold keeps back what members owe, until Release: acks come after minutes in life, and
// a measurement of what comes before them does not wait so long.
func (c *Crowd) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = true
}

// Release lets what was kept back go, each at a random time within a while, and returns
// how many cells that are.
func (c *Crowd) Release(within time.Duration) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held
	c.held, c.holding = nil, false
	for _, f := range held {
		c.after(mrand.N(within+1), f)
	}
	return len(held)
}

// after does something later, unless the crowd is closed before.
func (c *Crowd) after(d time.Duration, f func()) {
	c.work.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			f()
		case <-c.ctx.Done():
		}
	})
}

// later does something now, or when what is owed is released.
func (c *Crowd) later(f func()) {
	c.mu.Lock()
	if c.holding {
		c.held = append(c.held, f)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.work.Go(f)
}

// came notes a cell of a text.
func (c *Crowd) came(m *member, id wire.MessageID, at time.Time) (fresh bool) {
	c.change(func() {
		t := c.texts[id]
		if t == nil {
			t = &Text{}
			c.texts[id] = t
		}
		t.Cells++
		if fresh = !m.got[id]; fresh {
			if m.got == nil {
				m.got = map[wire.MessageID]bool{}
			}
			m.got[id] = true
			t.Have++
			t.Last = at
		}
	})
	return fresh
}

// showed notes that an engine showed a text.
func (c *Crowd) showed(id wire.MessageID) {
	c.change(func() {
		t := c.texts[id]
		if t == nil {
			t = &Text{}
			c.texts[id] = t
		}
		t.Opened++
		t.Showed = time.Now()
	})
}

// step notes that a member is in an epoch now, or has read what leads to it.
func (c *Crowd) step(epoch uint64, whole bool) {
	c.change(func() {
		s := c.steps[epoch]
		if s == nil {
			s = &Step{}
			c.steps[epoch] = s
		}
		if whole {
			s.Whole++
		} else {
			s.Read++
		}
		s.Last = time.Now()
	})
}
