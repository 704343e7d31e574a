// Package park keeps cells for devices that are away: put for an address and a
// time, taken by whoever proves to own the address, deleted on their word or when
// the time is over.
//
// It has the calls and the rules; what keeps the rows is a Store. It cannot
// open a cell, knows neither who put it nor who takes it, and writes down no
// time of arrival and no order. A row is a copy: the sender's outbox holds the
// message, so that a lost store loses none.
//
// Cells in plain (that is, as sealed by their sender) lie in buffers of this
// package for as long as a call takes, and are overwritten after.
//
// Spec: docs/spec/park.md.
package park

import (
	"context"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Limiter says what a peer may begin. Where it may, release is called once, when
// the thing has ended.
type Limiter interface {
	Allow(remote netip.Addr, what gate.What) (release func(), ok bool)
}

// Prover checks ownership proofs and has the signed second, as the hub does.
type Prover interface {
	// Prove reports whether every k × (address 32 ‖ signature 64) of sets
	// verifies over the proof with that address, and tail behind it. It says no,
	// too, when the relay stops.
	Prove(p wire.Proof, tail, sets []byte) bool
	Second() [wire.SecondSize]byte
}

// Config has what the feature needs of its surroundings.
type Config struct {
	Store   Store
	Realm   [32]byte      // realm key, part of what ownership proofs sign
	Hours   uint16        // the longest life
	Rows    int64         // bound of the store
	Live    time.Duration // live period, for what a context may park in one
	Binding bool          // proofs are bound to the TLS connection
	Alone   bool          // only peers on loopback can come: they may hold it all
	Limit   Limiter
	Proofs  Prover
	Now     func() time.Time

	// AdmitPut says whether a request may park so many rows in a context, and
	// AdmitTake whether one may open a take connection: 0, or the status to refuse
	// with. Nil: whoever asks may, within the bounds of every relay.
	AdmitPut  func(r *http.Request, context [wire.ContextSize]byte, rows int) (status int)
	AdmitTake func(r *http.Request) (status int)

	// Failed is told when the store failed, with the reason. It must not block.
	Failed func(error)
}

// Bounds of memory and of what is under way.
const (
	maxCalls = 64       // calls of the store at one moment
	maxHeld  = 16 << 20 // bytes of bodies and pages that are on their way
)

// Parking is the feature.
type Parking struct {
	cfg      Config
	clock    clock
	calls    chan struct{}
	room     *gate.Room
	contexts *tally       // rows of put contexts, by live period
	networks *tally       // rows of networks, by ten minutes
	rows     atomic.Int64 // that wait, about
	gone     atomic.Bool  // rows were deleted since memory was given back

	mu       sync.Mutex // guards the fields below
	sessions map[*session]struct{}
	stopped  bool
	open     sync.WaitGroup // sessions
}

// New returns the feature over a store. Sweep is to be called before it serves.
func New(cfg Config) *Parking {
	return &Parking{
		cfg: cfg, clock: clock{now: cfg.Now}, calls: make(chan struct{}, maxCalls), room: gate.NewRoom(maxHeld),
		contexts: newTally(1 << 16), networks: newTally(1 << 13), sessions: map[*session]struct{}{},
	}
}

// Run waits for ctx, then ends every take connection and waits until all are
// gone. It is called once.
func (p *Parking) Run(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.stopped = true
	for s := range p.sessions {
		s.nc.Close()
	}
	p.mu.Unlock()
	p.open.Wait()
	return nil
}

// Sweep deletes what is over, and returns how many rows are left. Where rows have
// gone since the last time it also has the system take back memory: what they
// were in is free, but not empty.
func (p *Parking) Sweep(ctx context.Context) (left int, err error) {
	now := p.clock.time()
	left, err = p.cfg.Store.Sweep(ctx, now, Last(now, p.cfg.Hours))
	if err != nil {
		return 0, err
	}
	if p.rows.Swap(int64(left)) > int64(left) || p.gone.Swap(false) {
		debug.FreeOSMemory()
	}
	return left, nil
}

// clock follows another forwards only: what was promised for a time ends when
// that time has gone by, whatever the wall says.
//
// spec: park.md#life
type clock struct {
	now func() time.Time

	mu   sync.Mutex
	last time.Time // what it said, without a monotonic reading
	at   time.Time // when, with one
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, at := c.now().Round(0), time.Now()
	if !c.at.IsZero() {
		if steady := c.last.Add(at.Sub(c.at)); steady.After(wall) {
			wall = steady
		}
	}
	c.last, c.at = wall, at
	return wall
}
