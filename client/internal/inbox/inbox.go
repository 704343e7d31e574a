// Package inbox watches a device's addresses and hands what arrives to whoever
// opens it. It keeps the periods apart, one connection for each, with sets that
// are padded with decoys; it opens the next period's connections before the
// boundary and closes the last one's after it, connects again when one breaks,
// remembers which cells it has seen, and says "seen" of a cell only where that
// gives away nothing.
//
// It belongs to the moving half of the client: it sees the network and never
// plaintext. It derives no addresses, opens no cell and keeps nothing on disk:
// what it forgets at the end of the process is known again by the ratchet.
//
// Spec: docs/spec/delivery.md.
package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Errors of Run.
var (
	// ErrLive: the live period is not one that a realm may have.
	ErrLive = errors.New("live period is not 10, 30 or 60 minutes")

	errRunning = errors.New("inbox is running already")
)

// Address is one address that the device owns in one period.
type Address struct {
	Owned transport.Owned
	Route int64
	// Alone: a contact route. It is watched on an isolated connection of its
	// own, and nothing that arrives there is ever echoed.
	Alone bool
}

// Keys derives addresses.
type Keys interface {
	// Addresses returns the addresses of all routes in a live period.
	Addresses(ctx context.Context, period uint64) ([]Address, error)
}

// Outcome says what became of a cell.
type Outcome byte

// Outcomes. Of a cell that came over a watch any other value is like Rejected.
const (
	Shown    Outcome = 1 // opened, its sender is accepted, and there is something to show
	Nothing  Outcome = 2 // opened and accepted, but it shows nothing: a duplicate, a drop
	Rejected Outcome = 3 // did not open, or its sender is not accepted
	Busy     Outcome = 4 // cannot be taken now, and nothing was changed: as if it had not come
)

// Opener opens cells.
type Opener interface {
	// Open returns when what the cell changed is committed. An error is trouble
	// with the store: the cell is neither echoed nor remembered, and will come
	// again. It is called from several goroutines.
	Open(ctx context.Context, route int64, a transport.Address, c *transport.Cell) (Outcome, error)
}

// Config is what an Inbox works with. State and Time may be nil; both are called
// from the goroutine of Run, with no lock held.
type Config struct {
	Transport transport.Transport
	Keys      Keys
	Opener    Opener
	Live      time.Duration // length of a live period
	Rand      io.Reader
	// State is called when the present period's addresses are all being
	// watched, when they no longer are, and with whatever went wrong with a
	// connection, the store (at most once a minute) or the signed time.
	State func(connected bool, err error)
	// Time is called when the distance of the signed time from the local clock,
	// as far as it is believed, has changed.
	Time func(offset time.Duration)
}

// Inbox watches. Its methods may be called from any goroutine.
type Inbox struct {
	cfg   Config
	rand  *source
	clock *clock
	desk  *desk
	wake  chan struct{} // capacity 1
	tasks sync.WaitGroup

	// Owned by the goroutine of Run.
	watches   map[watchKey]*watch
	stale     map[uint64]bool // periods whose addresses must be asked for
	loads     int             // askings in a row that failed
	loadAfter time.Time       // by the local clock
	connected bool
	offset    time.Duration // the last that Time was told

	mu      sync.Mutex // guards all below, and the ready of watches
	running bool
	refresh bool
	kicked  chan struct{} // closed by Kick, and replaced
	failed  []error       // not told yet, at most maxFailed
}

// maxFailed bounds the errors that wait to be told.
const maxFailed = 16

// lookMax is the longest time between looks at the clock on the wall: timers do
// not follow it while a computer sleeps.
const lookMax = 30 * time.Second

// New makes an Inbox. It watches nothing before Run.
func New(cfg Config) *Inbox {
	n := &Inbox{
		cfg: cfg, rand: &source{r: cfg.Rand}, clock: &clock{live: cfg.Live},
		wake: make(chan struct{}, 1), kicked: make(chan struct{}),
	}
	n.desk = newDesk(n)
	return n
}

// Run watches until ctx ends, which is no error. It returns when all its
// goroutines have. It runs once at a time.
func (n *Inbox) Run(ctx context.Context) error {
	switch n.cfg.Live {
	case 600 * time.Second, 1800 * time.Second, 3600 * time.Second:
	default:
		return ErrLive
	}
	if err := n.begin(); err != nil {
		return err
	}
	defer n.end()
	defer n.tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := n.clock.now()
		next := n.plan(ctx, now)
		n.tell(now)
		timer.Reset(min(max(next.Sub(now), 0), lookMax))
		select {
		case <-ctx.Done():
			return nil
		case <-n.wake:
		case <-timer.C:
		}
	}
}

func (n *Inbox) begin() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running {
		return errRunning
	}
	n.running = true
	n.watches, n.stale = map[watchKey]*watch{}, map[uint64]bool{}
	n.loads, n.loadAfter, n.connected, n.failed = 0, time.Time{}, false, nil
	return nil
}

func (n *Inbox) end() {
	if n.connected && n.cfg.State != nil {
		n.cfg.State(false, nil)
	}
	n.mu.Lock()
	n.running = false
	n.mu.Unlock()
}

// Refresh says that the set of routes has changed. New ones are watched on the
// connections that run; ones that are gone are not listened to from now on, and
// are off the relay once the connection they were on was opened again.
func (n *Inbox) Refresh() {
	n.mu.Lock()
	n.refresh = true
	n.mu.Unlock()
	n.look()
}

// Kick tries at once what waits to connect again.
func (n *Inbox) Kick() {
	n.mu.Lock()
	close(n.kicked)
	n.kicked = make(chan struct{})
	n.mu.Unlock()
}

// kick returns a channel that is closed by the next Kick.
func (n *Inbox) kick() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kicked
}

// look makes Run look again.
func (n *Inbox) look() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// fail keeps an error for State.
func (n *Inbox) fail(err error) {
	n.mu.Lock()
	n.keep(err)
	n.mu.Unlock()
	n.look()
}

// keep is fail for who holds the lock.
func (n *Inbox) keep(err error) {
	if len(n.failed) < maxFailed {
		n.failed = append(n.failed, err)
	}
}

// tell says what has changed.
func (n *Inbox) tell(now time.Time) {
	t := n.period(now)
	n.mu.Lock()
	failed := n.failed
	n.failed = nil
	connected, shared := true, 0
	for k, w := range n.watches {
		if k.period == t && !k.lane.alone {
			shared++
			connected = connected && w.ready
		}
	}
	n.mu.Unlock()
	connected = connected && shared > 0
	changed := connected != n.connected
	n.connected = connected
	if off := n.clock.correction(); off != n.offset {
		n.offset = off
		if n.cfg.Time != nil {
			n.cfg.Time(off)
		}
	}
	if n.cfg.State == nil {
		return
	}
	for _, err := range failed {
		n.cfg.State(connected, err)
		changed = false
	}
	if changed {
		n.cfg.State(connected, nil)
	}
}

// signed takes in a signed time.
func (n *Inbox) signed(unix int64) {
	switch changed, err := n.clock.learn(unix); {
	case err != nil:
		n.fail(fmt.Errorf("reading the relay's clock: %w", err))
	case changed:
		n.look()
	}
}
