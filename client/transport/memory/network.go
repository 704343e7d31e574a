// Package memory is a transport inside one process: several endpoints on one
// network, with the promises of the live path kept exactly. Counts come from
// Seen alone, answers take 1,500 ms by a timer, ownership proofs are verified
// with plain Ed25519. In a testing/synctest bubble all of its time is virtual.
//
// It can lose, repeat, delay and reorder cells, break connections and part
// endpoints from the network, as chosen by a seeded generator. It keeps nothing
// but a small window for replay, and hides nothing: whoever holds the Network
// holds every cell that passes.
package memory

import (
	"crypto/ed25519"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Timing, as on the relay's live path.
const (
	AnswerAfter = 1500 * time.Millisecond // a put is answered exactly this long after Put
	SeenWithin  = 1400 * time.Millisecond // Seen counts until then
	WindowSpan  = time.Minute             // the most that is kept for replay
	TimeEvery   = time.Minute             // a watch is told the time at its start and then so often
)

// Errors of this network. They are temporary.
var (
	errParted = errors.New("network is not reachable")
	errBroken = errors.New("connection broke")
)

// Options are the choices of a network. The zero value is ready to use.
type Options struct {
	Live         time.Duration // length of a live period; 0 is 1,800 s
	Window       int           // cells kept for replay; 0 is 256, below 0 none
	HidesAddress bool          // what Caps says of it
	Seed         uint64        // of the generator that Faults draw from
	Tap          func(Event)   // is told what a live relay would see; must not block
}

// Event is what whoever runs a network sees of one request.
type Event struct {
	Time     time.Time
	Endpoint string            // the network address, as it were
	Isolate  string            // and the connection
	Watch    bool              // an address is watched; otherwise one was put to
	Address  transport.Address // which
}

// Faults are what goes wrong. The zero value is a network that works.
type Faults struct {
	Lose   float64       // probability that a copy never arrives
	Repeat float64       // probability that a copy arrives twice
	Break  float64       // probability that a put's connection breaks just before the answer
	Delay  time.Duration // every copy is under way for this long
	Spread time.Duration // and for up to this much more: copies overtake each other
}

// Network joins endpoints. All methods may be called from any goroutine.
type Network struct {
	options Options

	mu      sync.Mutex // guards everything below, and never calls out
	random  *rand.Rand
	faults  Faults
	skew    time.Duration
	watched map[transport.Address][]*watch
	flights map[*flight]bool // puts not yet answered
	running map[*watch]bool
	window  []kept
	since   time.Time // the window is complete from here on
}

// kept is one cell in the window.
type kept struct {
	at   time.Time
	copy delivery
}

// delivery is one cell on its way to watches.
type delivery struct {
	address transport.Address
	cell    transport.Cell
	flight  *flight
}

// New makes a network.
func New(o Options) *Network {
	if o.Live == 0 {
		o.Live = 1800 * time.Second
	}
	if o.Window == 0 {
		o.Window = 256
	}
	return &Network{
		options: o,
		random:  rand.New(rand.NewPCG(o.Seed, 0)),
		watched: map[transport.Address][]*watch{},
		flights: map[*flight]bool{},
		running: map[*watch]bool{},
		since:   time.Now(),
	}
}

// SetFaults replaces what goes wrong from now on.
func (n *Network) SetFaults(f Faults) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = f
}

// SetSkew sets how far the network's signed time is ahead of the clock.
func (n *Network) SetSkew(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew = d
}

// now returns the network's time and its running live period.
func (n *Network) now() (unix int64, period uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	unix = time.Now().Add(n.skew).Unix()
	return unix, uint64(unix) / uint64(n.options.Live/time.Second)
}

// chance draws with probability p. The caller holds the lock.
func (n *Network) chance(p float64) bool { return p > 0 && n.random.Float64() < p }

// send puts a copy on its way to w, or loses it. The caller holds the lock.
func (n *Network) send(w *watch, d delivery) {
	if n.chance(n.faults.Lose) {
		return
	}
	copies := 1
	if n.chance(n.faults.Repeat) {
		copies = 2
	}
	for range copies {
		delay := n.faults.Delay
		if n.faults.Spread > 0 {
			delay += time.Duration(n.random.Int64N(int64(n.faults.Spread)))
		}
		if delay <= 0 {
			w.queue(d)
			continue
		}
		time.AfterFunc(delay, func() { w.queue(d) })
	}
}

// keep adds a cell to the window and drops what is too old or too much. The
// caller holds the lock.
func (n *Network) keep(d delivery, now time.Time) {
	if n.options.Window < 0 {
		return
	}
	n.window = append(n.window, kept{now, d})
	for len(n.window) > n.options.Window || now.Sub(n.window[0].at) > WindowSpan {
		n.since = n.window[0].at
		n.window[0] = kept{} // let the cell go
		n.window = n.window[1:]
	}
}

// replay sends what the window still holds for the addresses and says how far
// back that reaches. The caller holds the lock.
func (n *Network) replay(w *watch, addresses map[transport.Address]bool, now time.Time) time.Duration {
	if n.options.Window < 0 || len(addresses) == 0 {
		return 0
	}
	for _, k := range n.window {
		if addresses[k.copy.address] && now.Sub(k.at) <= WindowSpan {
			n.send(w, k.copy)
		}
	}
	return min(now.Sub(n.since), WindowSpan)
}

// verify is the network's half of an ownership proof.
func verify(a transport.Address, message, signature []byte) bool {
	return ed25519.Verify(a[:], message, signature)
}

// tap tells who taps.
func (n *Network) tap(e Event) {
	if n.options.Tap != nil {
		n.options.Tap(e)
	}
}
