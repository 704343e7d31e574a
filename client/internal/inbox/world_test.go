package inbox

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

var errLine = errors.New("line broke")

// owned returns the address of a route in a period, and a signer.
func owned(route int64, period uint64) transport.Owned {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(route))
	binary.BigEndian.PutUint64(b[8:], period)
	seed := sha256.Sum256(b[:])
	k := ed25519.NewKeyFromSeed(seed[:])
	return transport.Owned{
		Address: transport.Address(k.Public().(ed25519.PublicKey)),
		Sign:    func(m []byte) ([]byte, error) { return ed25519.Sign(k, m), nil },
	}
}

// conn is one connection that the scripted transport saw.
type conn struct {
	watch  transport.Watch
	set    []transport.Address
	more   [][]transport.Address
	opened time.Time
	ready  time.Time // zero: never
	ended  time.Time // zero: still open
	broken chan error
	told   chan int64 // signed times to tell
}

// world is a scripted transport, keys and opener in one.
type world struct {
	t  *testing.T
	mu sync.Mutex

	routes  map[int64]bool              // of the device; true: alone
	made    map[routeAt]transport.Owned // what was derived so far
	asked   map[uint64]int              // how often a period's addresses were asked for
	keysErr error

	conns    []*conn
	delay    time.Duration // until a connection is ready
	refuse   error         // of new connections
	never    bool          // no connection becomes ready
	skew     time.Duration // of the signed time, told with each connection
	silent   bool          // no signed time is told
	connects int

	outcome Outcome
	openErr error
	opens   []transport.Address
	slow    time.Duration // that opening takes

	states  []state
	offsets []time.Duration

	transport.Transport
}

type routeAt struct {
	route  int64
	period uint64
}

type state struct {
	at        time.Time
	connected bool
	err       error
}

func newWorld(t *testing.T, routes ...int64) *world {
	w := &world{t: t, routes: map[int64]bool{}, made: map[routeAt]transport.Owned{}, asked: map[uint64]int{}, delay: 200 * time.Millisecond, outcome: Shown}
	for _, r := range routes {
		w.routes[r] = false
	}
	return w
}

func (w *world) Addresses(_ context.Context, period uint64) ([]Address, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[period]++
	if w.keysErr != nil {
		return nil, w.keysErr
	}
	var list []Address
	for r, alone := range w.routes {
		k := routeAt{r, period}
		if _, ok := w.made[k]; !ok {
			w.made[k] = owned(r, period)
		}
		list = append(list, Address{Owned: w.made[k], Route: r, Alone: alone})
	}
	return list, nil
}

func (w *world) Open(ctx context.Context, route int64, a transport.Address, c *transport.Cell) (Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opens = append(w.opens, a)
	slow := w.slow
	w.mu.Unlock()
	time.Sleep(slow)
	w.mu.Lock()
	if ctx.Err() != nil {
		w.t.Error("opening a cell: context ended with the connection, want the commit to finish")
	}
	return w.outcome, w.openErr
}

// check verifies a set as a relay would, though not all of a very large one.
func (w *world) check(set []transport.Owned) (list []transport.Address) {
	for i, o := range set {
		m := []byte("a proof")
		if i < 32 {
			if sig, err := o.Sign(m); err != nil || !ed25519.Verify(o.Address[:], m, sig) {
				w.t.Errorf("signing a proof: got an invalid signature, %v", err)
			}
		}
		if !o.Replay {
			w.t.Error("got an address that asks for no replay, want all to")
		}
		list = append(list, o.Address)
	}
	return list
}

func (w *world) Watch(ctx context.Context, tw transport.Watch) error {
	c := &conn{watch: tw, set: w.check(tw.Set), opened: time.Now(), broken: make(chan error, 1), told: make(chan int64, 1)}
	w.mu.Lock()
	w.connects++
	refuse, delay, never, skew, silent := w.refuse, w.delay, w.never, w.skew, w.silent
	if refuse == nil {
		w.conns = append(w.conns, c)
	}
	w.mu.Unlock()
	if refuse != nil {
		return refuse
	}
	defer func() {
		w.mu.Lock()
		c.ended = time.Now()
		w.mu.Unlock()
	}()
	ready := time.After(delay)
	if never {
		ready = nil
	}
	if !silent {
		tw.Time(time.Now().Add(skew).Unix())
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-c.broken:
			return err
		case unix := <-c.told:
			tw.Time(unix)
		case <-ready:
			w.mu.Lock()
			c.ready = time.Now()
			w.mu.Unlock()
			tw.Ready(time.Minute)
		case set := <-tw.More:
			list := w.check(set)
			w.mu.Lock()
			c.more = append(c.more, list)
			w.mu.Unlock()
		}
	}
}

// all returns the connections so far.
func (w *world) all() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.conns)
}

// running returns the connections that are open and ready, of one period if it
// is not zero.
func (w *world) running(period uint64) (list []*conn) {
	for _, c := range w.all() {
		w.mu.Lock()
		if c.ended.IsZero() && !c.ready.IsZero() && (period == 0 || c.watch.Period == period) {
			list = append(list, c)
		}
		w.mu.Unlock()
	}
	return list
}

// shared returns the one running connection of a period that is not for the
// given routes alone.
func (w *world) shared(period uint64) *conn {
	w.t.Helper()
	var found []*conn
	for _, c := range w.running(period) {
		if w.alone(c) == 0 {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("got %d connections for contacts, want 1", len(found))
	}
	return found[0]
}

// alone returns the contact route that a connection is for, 0 if for none.
func (w *world) alone(c *conn) int64 {
	w.mu.Lock()
	routes := maps.Clone(w.routes)
	w.mu.Unlock()
	for r, alone := range routes {
		if alone && slices.Contains(c.set, owned(r, c.watch.Period).Address) {
			return r
		}
	}
	return 0
}

// deliver delivers a cell for an address over a connection and reports whether
// it was echoed.
func (w *world) deliver(c *conn, a transport.Address, cell *transport.Cell) (echoed bool) {
	c.watch.Deliver(transport.Delivery{Address: a, Cell: cell, Seen: func() { echoed = true }})
	return echoed
}

func (w *world) opened() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.opens)
}

// tried returns how many connections were asked for.
func (w *world) tried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connects
}

// askings returns how often the addresses of each period were asked for.
func (w *world) askings() map[uint64]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.asked)
}

func (w *world) askedFor(period uint64) int { return w.askings()[period] }

// corrections returns what Time was told.
func (w *world) corrections() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.offsets)
}

// batches returns what came over More on a connection.
func (w *world) batches(c *conn) [][]transport.Address {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(c.more)
}

func (s *seen) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

func (w *world) told() []state {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.states)
}

// set changes the world.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// live is the live period of these tests.
const live = 600 * time.Second

func (w *world) inbox(random io.Reader) *Inbox {
	return New(Config{
		Transport: w, Keys: w, Opener: w, Live: live, Rand: random,
		State: func(connected bool, err error) {
			w.set(func() { w.states = append(w.states, state{time.Now(), connected, err}) })
		},
		Time: func(d time.Duration) { w.set(func() { w.offsets = append(w.offsets, d) }) },
	})
}

// start runs an inbox until the test ends.
func (w *world) start() *Inbox {
	n := w.inbox(rand.Reader)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("running: got %v, want nil", err)
		}
		if c := w.running(0); len(c) != 0 {
			w.t.Errorf("got %d connections after Run, want none", len(c))
		}
	})
	return n
}

// bubble runs a test in virtual time, which begins at the boundary of a period.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if time.Now().Unix()%int64(live/time.Second) != 0 {
			t.Fatal("virtual time does not begin at a boundary")
		}
		f(t)
	})
}

// pass lets virtual time pass and everything settle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// period returns the present live period.
func period() uint64 { return uint64(time.Now().Unix()) / uint64(live/time.Second) }

// cell returns a cell that no other is like.
func cell() *transport.Cell {
	c := &transport.Cell{}
	rand.Read(c[:])
	return c
}
