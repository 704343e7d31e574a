package throng

import (
	"context"
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/wire"
)

var random = rand.Reader

// padTo is how many addresses a watch begins with: those that are missing are decoys, as
// of a client.
const padTo = 16

// watch is one member's connection of one period.
type watch struct {
	more  chan []transport.Owned
	doors map[wire.Address]*door
}

// Watch connects all members, and returns when the relay has accepted the addresses of
// each.
func (c *Crowd) Watch(ctx context.Context) error {
	ready := make(chan struct{}, len(c.all))
	turns := make(chan struct{}, 32)
	for _, m := range c.all {
		turns <- struct{}{}
		c.work.Go(func() {
			m.run(func() { <-turns; ready <- struct{}{} })
		})
	}
	for range c.all {
		select {
		case <-ready:
		case <-ctx.Done():
			return fmt.Errorf("connecting the members: %w", ctx.Err())
		case <-c.broken():
			return c.await(ctx, func() bool { return true })
		}
	}
	return nil
}

// broken is closed when a member fails.
func (c *Crowd) broken() <-chan struct{} {
	done := make(chan struct{})
	c.work.Go(func() {
		defer close(done)
		c.await(c.ctx, func() bool { return c.err != nil })
	})
	return done
}

// run watches one period after the other. ready is called once.
func (m *member) run(ready func()) {
	length := int64(m.c.live)
	for t := addr.PeriodAt(time.Now().Unix(), m.c.live); m.c.ctx.Err() == nil; t++ {
		over := time.Unix(int64(t+1)*length, 0)
		ctx, stop := context.WithDeadline(m.c.ctx, over.Add(time.Minute))
		first := ready
		m.c.work.Go(func() {
			defer stop()
			m.keep(ctx, t, first)
		})
		wait := time.NewTimer(time.Until(over) - mrand.N(30*time.Second) - 30*time.Second)
		select {
		case <-wait.C:
		case <-m.c.ctx.Done():
		}
		wait.Stop()
		ready = nil
	}
}

// keep watches a period until ctx ends, and connects again where the connection breaks.
func (m *member) keep(ctx context.Context, t uint64, ready func()) {
	for tries := 0; ctx.Err() == nil; tries++ {
		w := &watch{more: make(chan []transport.Owned, 64), doors: map[wire.Address]*door{}}
		set, err := m.open(w, t)
		if err != nil {
			m.c.fail(err)
			return
		}
		err = m.relay.Watch(ctx, transport.Watch{Period: t, Set: set, More: w.more, Deliver: m.deliver(w), Ready: func(time.Duration) {
			if ready != nil {
				ready()
				ready = nil
			}
		}})
		if ctx.Err() != nil {
			return
		}
		if tries > 20 {
			m.c.fail(fmt.Errorf("watching: %w", err))
			return
		}
		time.Sleep(time.Duration(tries+1) * 100 * time.Millisecond)
	}
}

// open makes a set of all addresses of a member and makes w the watch of its period.
func (m *member) open(w *watch, t uint64) ([]transport.Owned, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var set []transport.Owned
	for i := range m.routes {
		d, err := m.c.doorOf(&m.routes[i], t)
		if err != nil {
			return nil, err
		}
		w.doors[d.addr] = d
		set = append(set, d.owned)
	}
	m.watches[t] = w
	for len(set) < padTo {
		a, sign, err := addr.Decoy(random)
		if err != nil {
			return nil, err
		}
		set = append(set, transport.Owned{Address: transport.Address(a), Sign: sign})
	}
	return set, nil
}

// moved watches the addresses of an epoch, too.
func (m *member) moved(routes []group.OwnRoute) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := addr.PeriodAt(time.Now().Unix(), m.c.live)
	for _, r := range routes {
		known := false
		for _, k := range m.routes {
			known = known || k.Epoch == r.Epoch && k.Leaf == r.Leaf
		}
		if known {
			continue
		}
		m.routes = append(m.routes, r)
		for t, w := range m.watches {
			if t+1 < now {
				delete(m.watches, t)
				continue
			}
			d, err := m.c.doorOf(&r, t)
			if err != nil {
				return err
			}
			w.doors[d.addr] = d
			select {
			case w.more <- []transport.Owned{d.owned}:
			default:
				return fmt.Errorf("watch takes no more addresses")
			}
		}
	}
	return nil
}

func (m *member) door(w *watch, a transport.Address) *door {
	m.mu.Lock()
	defer m.mu.Unlock()
	return w.doors[wire.Address(a)]
}
