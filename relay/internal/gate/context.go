package gate

import (
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of put contexts.
const (
	ContextCells  = 128     // cells of one context
	ContextParked = 64      // of them that are parked
	maxContexts   = 1 << 18 // that are remembered: 16 MiB

	// contextGrace is how long after its live period a connection may put: its
	// client's clock is another one.
	contextGrace = time.Minute
)

// Context is a put context: what one token pays. A nil one is never used up.
//
// spec: gate.md#put-context
type Context struct {
	cells, parked atomic.Int32
	ends          int64 // unix second
}

// Cell counts one more cell. It is false over the bound.
func (c *Context) Cell() bool { return c == nil || c.cells.Add(1) <= ContextCells }

// Park counts n more cells that are to be parked, all of them or none. It is
// false over a bound.
func (c *Context) Park(n int) bool {
	if c == nil {
		return true
	}
	if c.parked.Add(int32(n)) > ContextParked {
		c.parked.Add(int32(-n))
		return false
	}
	if c.cells.Add(int32(n)) > ContextCells {
		c.cells.Add(int32(-n))
		c.parked.Add(int32(-n))
		return false
	}
	return true
}

// Ends returns when the context is over for good.
func (c *Context) Ends() time.Time { return time.Unix(c.ends, 0).Add(contextGrace) }

// Context resumes the put context of that id, or opens it with the token that the
// request bears. It returns status 0, or that of an answer (Refuse). Without a
// keeper there is no context, and nothing counts.
//
// spec: gate.md#put-context
func (k *Keeper) Context(r *http.Request, id [wire.ContextSize]byte) (c *Context, status int) {
	if k == nil {
		return nil, 0
	}
	c, now := k.contexts.find(id, k.period)
	if c != nil {
		return c, 0
	}
	// A token that is honoured again opens no second context: not in another period,
	// and not at another node.
	place := binary.BigEndian.AppendUint64(k.node[:len(k.node):len(k.node)], now)
	if status := k.admit(r, token.PutContext, id[:], place, token.Member, token.Guest); status != 0 {
		return nil, status
	}
	if c = k.contexts.open(id, now, k.period); c == nil {
		return nil, http.StatusUnauthorized
	}
	return c, 0
}

// period is a live period.
type period struct {
	number uint64
	ends   int64 // unix second
}

func (k *Keeper) period() period {
	live := max(1, int64(k.cfg.Live/time.Second))
	n := k.cfg.Now().Unix() / live
	return period{uint64(n), (n + 1) * live}
}

// contexts remembers the contexts of the running live period, under a keyed hash
// whose key goes with the period. It is bounded. Where it is full, some other
// context is forgotten for a new one: whoever paid for that pays again, and
// whoever wants others to do so pays a token for each of them.
type contexts struct {
	max int

	mu     sync.Mutex // guards the below
	period uint64
	key    [32]byte
	all    map[uint64]*Context
}

// find returns the context of an id, nil if there is none, and the number of the
// period that runs.
func (c *contexts) find(id [wire.ContextSize]byte, now func() period) (x *Context, running uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := now()
	return c.all[c.at(id, p)], p.number
}

// open returns the context of an id, a new one if there is none. It returns nil
// if the period is over for which it was paid.
func (c *contexts) open(id [wire.ContextSize]byte, paid uint64, now func() period) *Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := now()
	at := c.at(id, p)
	if p.number != paid {
		return nil
	}
	if x := c.all[at]; x != nil {
		return x
	}
	for other := range c.all { // any
		if len(c.all) < c.max {
			break
		}
		delete(c.all, other)
	}
	x := &Context{ends: p.ends}
	c.all[at] = x
	return x
}

// at returns the place of an id in the period that runs. Callers hold mu, and have
// asked for the period while they did: so no late one puts the clock back.
func (c *contexts) at(id [wire.ContextSize]byte, p period) uint64 {
	if c.all == nil || c.period != p.number {
		c.all, c.period = map[uint64]*Context{}, p.number
		rand.Read(c.key[:])
	}
	sum := key.Hash(labelContext, c.key[:], id[:])
	return binary.BigEndian.Uint64(sum[:])
}
