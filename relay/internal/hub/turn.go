package hub

import (
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// A connection that brings, or makes the relay copy, more than lightRate bytes
// in a second, after lightBurst, is heavy: it reads only while it has one of as
// many turns as there are cores, in the order in which it asked. So any number
// of them compete with a connection that brings little as a few goroutines do,
// and the machine is still used to the full. It waits without a buffer, and
// what it sends waits in the system, which tells its peer to slow down.
//
// spec: relay-api.md#limits
const (
	lightRate  = 256 << 10
	lightBurst = 512 << 10
	perFrame   = 64 // bytes that handling a frame costs beside its own
	perCopy    = wire.DeliverSize
)

type turns chan struct{}

// turn is what the reader of a connection has done of late.
type turn struct {
	done int64 // bytes, less what was forgiven
	at   int64 // when that was
	has  bool
}

// charge notes n bytes of work.
func (t *turn) charge(n int, now int64) {
	forgiven := min(now-t.at, int64(8*time.Second)) * lightRate / int64(time.Second)
	t.done, t.at = max(0, t.done-forgiven)+int64(n), now
	t.done = min(t.done, 2*lightBurst) // who stops is light again in four seconds
}

func (t *turn) heavy() bool { return t.done > lightBurst }

// try takes a turn if one is free and c is to have one. It reports whether c
// may go on.
func (c *conn) try() bool {
	if c.turn.has || !c.turn.heavy() {
		return true
	}
	select {
	case c.hub.turns <- struct{}{}:
		c.turn.has = true
	default:
	}
	return c.turn.has
}

// await is try that waits.
func (c *conn) await() {
	if !c.turn.has && c.turn.heavy() {
		c.hub.turns <- struct{}{}
		c.turn.has = true
	}
}

// queueUp is await for the reader before it reads: while it waits it is us who
// do not listen, so no clock runs against the peer.
func (c *conn) queueUp() {
	begun := c.hub.now()
	c.busy.Store(true)
	c.await()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.hub.now()
	if c.pinged != 0 {
		c.pinged = now
	}
	if at := c.partial.Load(); at != 0 {
		c.partial.Store(at + now - begun)
	}
	c.busy.Store(false)
}

// yield gives the turn back. Whoever is about to wait for anything calls it.
func (c *conn) yield() {
	if c.turn.has {
		<-c.hub.turns
		c.turn.has = false
	}
}
