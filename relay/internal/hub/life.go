package hub

import (
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// visitBefore sets the timer of life to a time unless it comes earlier anyway.
// Callers hold mu.
func (c *conn) visitBefore(at int64) {
	if c.state == open && (c.lifeAt == 0 || at < c.lifeAt) {
		c.lifeAt = at
		c.wheel.arm(&c.life, at)
	}
}

// check is what the timer of life does: it looks for signs of life, asks for
// one where there is none, and cuts off who gave none.
//
// spec: relay-api.md#timing
func (c *conn) check(now int64) {
	c.mu.Lock()
	switch {
	case c.state == closed:
		c.mu.Unlock()
		return
	case c.state != open: // its moment to say goodbye is over
		c.shut(true)
		c.mu.Unlock()
		return
	case c.busy.Load(): // we keep it waiting, not it us
		c.lifeAt = now + nap
	default:
		c.judge(now)
	}
	if c.state == open {
		c.wheel.arm(&c.life, c.lifeAt)
	}
	c.mu.Unlock()
	c.flush()
	c.role.idle(now)
}

// judge decides at a visit and sets the time of the next. Callers hold mu.
func (c *conn) judge(now int64) {
	seen, partial := c.seen.Load(), c.partial.Load()
	if c.pinged != 0 && seen >= c.pinged {
		c.pinged = 0
	}
	if c.pushed != 0 && seen >= c.pushed { // it lives; but what went after that?
		if c.pushed = c.last; seen >= c.last {
			c.pushed = 0
		}
	}
	begun := c.started.Load() || partial != 0
	next := seen + int64(c.hub.cfg.Ping)
	if c.pushed != 0 {
		next = min(next, c.pushed+int64(wire.EchoWithin))
	}
	if c.pinged == 0 && now >= next {
		c.pinged = now
		if b := c.frame(ws.Ping, wire.SecondSize); b != nil {
			copy(b, c.hub.second.Load()[:])
		}
	}
	if c.pinged != 0 {
		next = c.pinged + int64(wire.PongWithin)
	}
	if !begun {
		next = min(next, c.born+int64(firstWithin))
	}
	if partial != 0 {
		next = min(next, partial+int64(frameWithin))
	}
	if now >= next {
		c.shut(true)
		return
	}
	c.lifeAt = next
}
