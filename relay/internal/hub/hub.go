// Package hub is the live path on one node: cells go from put connections to
// whoever watches their address now, and every put is answered a constant time
// later with how many devices echoed it, here and, by the bus, at other nodes. Nothing is stored but the last minute
// (package window).
//
// An address is a public key and the right to it is a signature, so the hub
// keeps no row per address, person or device: only which connection watches
// which address, while it does. It writes nothing down, not even a log line.
// Parked cells and the rest of the API are not in it, and of tokens only that a
// put context and a watch connection are to be paid.
//
// How it works: one goroutine per connection reads. What it read together it
// handles together: cells are copied into the queues of their watchers, then
// every touched watcher is written to once, by the same goroutine, without
// blocking; what the system does not take at once is left to a goroutine that
// lives as long as the backlog. Timers (answers, pings) stand on a few wheels.
//
// Spec: docs/spec/relay-api.md, put and watch; docs/spec/relay-api.md#timing.
package hub

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/window"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// Limiter says what a peer may begin. Where it may, release is called once, when
// the thing has ended. Its methods are called from any goroutine.
type Limiter interface {
	Allow(remote netip.Addr, what gate.What) (release func(), ok bool)
}

// Config says how a hub behaves.
type Config struct {
	Realm       [32]byte      // realm key, part of what ownership proofs sign
	Time        key.Sign      // signs the second
	Live        time.Duration // live period, whole seconds; 0 is 1,800 s
	Ping        time.Duration // silence before a ping, at least 5 s; 0 is 60 s
	WindowBytes int           // bound of the window in bytes; 0 keeps nothing
	Addresses   int           // bound of the addresses that are watched, from everywhere; each is about 130 bytes; 0 is 1,048,576
	QueueBytes  int           // bound of all that waits for slow readers, in bytes; 0 is 64 MiB
	Binding     bool          // proofs are bound to the TLS connection, so a watch needs one of Listen's
	Origins     []string      // origins of pages that may connect; programs send none
	Limit       Limiter       // nil allows everything
	Keeper      *gate.Keeper  // what tokens are wanted for; nil: nothing
	Bus         bus.Bus       // the way to other nodes; nil: there are none
}

// Hub carries cells. Connections are served from New on; timers, proofs and the
// signed time need Run.
type Hub struct {
	cfg      Config
	base     time.Time // where now counts from, a second before the hub was made
	window   *window.Window
	table    *table
	contexts contexts
	second   atomic.Pointer[[wire.SecondSize]byte]
	proofs   chan *batch // the first of a connection
	large    chan *batch // the rest of large sets: after the others
	puts     pool        // buffers for reading puts, and for queues
	words    pool        // buffers for reading what watchers say
	ciphers  pool        // buffers for what TLS has encrypted
	backlog  backlog
	watched  *gate.Room   // for watched addresses, in places
	parts    *gate.Room   // for large frames that have not come whole
	records  atomic.Int64 // puts that wait for their answer, in blocks
	turns    turns
	wheels   []*wheel
	turn     atomic.Uint32 // of the wheels

	stopping chan struct{} // closed when Run ends
	mu       sync.Mutex    // guards the fields below
	conns    map[*conn]struct{}
	active   int           // goroutines that belong to connections, and requests
	draining bool          // newcomers are refused
	stopped  bool          // stopping is closed
	empty    chan struct{} // closed when stopped and active is 0
}

// New returns a hub. Its first signed second is made at once.
func New(cfg Config) *Hub {
	if cfg.Live == 0 {
		cfg.Live = 30 * time.Minute
	}
	if cfg.Ping == 0 {
		cfg.Ping = wire.PingDefault
	}
	if cfg.Bus == nil {
		cfg.Bus = bus.Alone{}
	}
	cores := runtime.GOMAXPROCS(0)
	h := &Hub{
		cfg: cfg, base: time.Now().Add(-time.Second), table: newTable(),
		proofs: make(chan *batch), large: make(chan *batch), parts: gate.NewRoom(maxParts), wheels: make([]*wheel, min(cores, 8)),
		stopping: make(chan struct{}), empty: make(chan struct{}), conns: map[*conn]struct{}{},
	}
	h.window = window.New(cfg.WindowBytes, h.now())
	if cfg.QueueBytes == 0 {
		cfg.QueueBytes = queuesLimit
	}
	if cfg.Addresses == 0 {
		cfg.Addresses = 1 << 20
	}
	h.watched = gate.NewRoom(int64(cfg.Addresses))
	h.backlog.init(cfg.QueueBytes)
	h.turns = make(turns, cores)
	h.puts.size, h.words.size, h.ciphers.size = putBuffer, wordBuffer, cipherBuffer
	for i := range h.wheels {
		h.wheels[i] = newWheel()
	}
	h.sign(time.Now())
	return h
}

// now returns nanoseconds of a clock that never goes back and is never 0.
func (h *Hub) now() int64 { return int64(time.Since(h.base)) }

// period returns the running live period.
func (h *Hub) period() uint64 {
	return uint64(time.Now().Unix()) / uint64(max(1, h.cfg.Live/time.Second))
}

// Run runs what needs time until ctx ends. Then it says goodbye on every
// connection (going away), refuses new ones, waits until all are gone, which
// takes about a second where a peer does not answer, and wipes the window. It
// is called once.
func (h *Hub) Run(ctx context.Context) error {
	quit := make(chan struct{})
	var own sync.WaitGroup
	for _, w := range h.wheels {
		own.Go(func() { w.run(h.now, quit) })
	}
	// Proofs get half of the machine at the most, so that a flood of them leaves
	// the other half to the cells.
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		own.Go(func() { h.verify(quit) })
	}
	own.Go(func() { h.seconds(quit) })
	own.Go(func() { h.backlog.cutter(quit) })

	<-ctx.Done()
	h.stop()
	<-h.empty
	close(quit)
	own.Wait()
	h.window.Clear()
	return nil
}

// stop ends every connection and lets no more in.
func (h *Hub) stop() {
	h.mu.Lock()
	h.stopped = true
	close(h.stopping)
	list := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		list = append(list, c)
	}
	if h.active == 0 {
		close(h.empty)
	}
	h.mu.Unlock()
	for _, c := range list {
		c.end(ws.GoingAway)
	}
}

// enter counts something that Run waits for. It says no once the hub is empty
// for good; newcomers are also refused while it empties.
func (h *Hub) enter(newcomer bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining && newcomer || h.stopped && (newcomer || h.active == 0) {
		return false
	}
	h.active++
	return true
}

func (h *Hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.active--; h.active == 0 && h.stopped {
		close(h.empty)
	}
}

// spawn runs f on a goroutine that Run waits for, unless all is over.
func (h *Hub) spawn(f func()) bool {
	if !h.enter(false) {
		return false
	}
	go func() {
		defer h.leave()
		f()
	}()
	return true
}
