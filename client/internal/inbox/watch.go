package inbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Times of a connection.
const (
	backoffMax = 30 * time.Second // between two tries
	lasting    = 30 * time.Second // after which a connection counts as one that worked
	readyAfter = time.Minute      // until all of a set is watched, or it is given up
)

var (
	errChanged = errors.New("set of addresses changed")
	errSlow    = errors.New("addresses were not watched in time")
)

// watch is one lane in one period: one connection, opened again when it breaks.
type watch struct {
	n       *Inbox
	key     watchKey
	isolate string
	opens   time.Time
	closes  time.Time
	cancel  context.CancelFunc // nil before it is open; owned by Run
	ready   bool               // guarded by the Inbox's mutex
	more    chan struct{}      // capacity 1: there are addresses to add

	mu     sync.Mutex                    // guards all below
	routes map[transport.Address]Address // the real ones
	decoys []transport.Owned             // this watch's own, for as long as it lives
	added  []transport.Owned             // real, and not given to the running connection yet
	full   bool                          // the next set is to have fewer decoys
	restop context.CancelCauseFunc       // ends the connection, to open another; nil before the first
}

// route returns the route of an address that is still listened to.
func (w *watch) route(a transport.Address) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.routes[a]
	return r.Route, ok
}

// update replaces the real addresses. New ones go over the running connection;
// if one is gone, another connection is opened, without it.
func (w *watch) update(list []Address) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.routes
	w.routes = make(map[transport.Address]Address, len(list))
	kept := 0
	for _, a := range list {
		w.routes[a.Owned.Address] = a
		if _, ok := old[a.Owned.Address]; ok {
			kept++
		} else if w.restop != nil {
			w.added = append(w.added, a.Owned)
		}
	}
	switch {
	case w.restop == nil:
	case kept < len(old):
		w.restop(errChanged)
	case len(w.added) > 0:
		select {
		case w.more <- struct{}{}:
		default:
		}
	}
}

// open starts watching, until cancel is called or ctx ends.
func (w *watch) open(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.n.tasks.Go(func() {
		defer w.setReady(false)
		w.run(ctx)
	})
}

// run keeps one connection up.
//
// spec: delivery.md#watching
func (w *watch) run(ctx context.Context) {
	for tries := 0; ; tries++ {
		kick := w.n.kick()
		begin, err := w.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errChanged) {
			tries = -1
			continue // still ready: this is no gap that anybody should hear of
		}
		w.lost(fmt.Errorf("watching: %w", err))
		if !begin.IsZero() && time.Since(begin) >= lasting {
			tries = 0
		}
		kicked, ok := w.rest(ctx, kick, w.n.pause(tries, err))
		if !ok {
			return
		}
		if kicked {
			tries = -1
		}
	}
}

// rest waits until the connection may be opened again: after a pause or a kick in
// the watch's own period, and else by itself. When a network goes, the connections
// of two periods may break together; if they came back together as well, a relay
// could tell, and tell again, that they are one device's. So what is over does not
// come back, and what is to come does at a random moment before its boundary.
// It reports whether it was kicked, and not ok when ctx ended.
//
// spec: delivery.md#watching
func (w *watch) rest(ctx context.Context, kick <-chan struct{}, pause time.Duration) (kicked, ok bool) {
	now, begin, end := w.n.clock.now(), w.n.boundary(w.key.period), w.n.boundary(w.key.period+1)
	if now.Before(begin) {
		at, err := w.n.rand.between(now, begin)
		if err != nil {
			at = begin
		}
		kick, pause = nil, max(pause, at.Sub(now))
	}
	for !now.Before(end) { // unless the clock is put back
		select {
		case <-ctx.Done():
			return false, false
		case <-time.After(lookMax):
		}
		now = w.n.clock.now()
	}
	select {
	case <-ctx.Done():
		return false, false
	case <-kick:
		return true, true
	case <-time.After(pause):
		return false, true
	}
}

// pause returns how long to wait before the next try.
func (n *Inbox) pause(tries int, err error) time.Duration {
	if errors.Is(err, transport.ErrRefused) || errors.Is(err, transport.ErrIdentity) || errors.Is(err, transport.ErrTime) {
		// Nothing that haste would mend.
		d, _ := n.rand.upTo(backoffMax / 2)
		return backoffMax/2 + d
	}
	d, err := n.rand.upTo(backoff(tries))
	if err != nil {
		return backoffMax
	}
	return d
}

// backoff returns the longest pause after so many tries: 1 s, doubled up to 30 s.
func backoff(tries int) time.Duration {
	return min(time.Second<<min(tries, 5), backoffMax)
}

// connect watches over one connection until it ends. begin is when all addresses
// were being watched, zero if they never were.
func (w *watch) connect(ctx context.Context) (begin time.Time, err error) {
	opening := context.WithoutCancel(ctx) // the end of a connection breaks off no commit
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	set, err := w.set(stop)
	if err != nil {
		return begin, err
	}
	slow := time.AfterFunc(readyAfter, func() { stop(errSlow) })
	defer slow.Stop()
	more := make(chan []transport.Owned)
	var feed sync.WaitGroup
	defer feed.Wait()
	feed.Go(func() { w.feed(ctx, more, stop) })
	var mu sync.Mutex // guards begin until Watch has returned
	err = w.n.cfg.Transport.Watch(ctx, transport.Watch{
		Period: w.key.period, Set: set, Isolate: w.isolate, More: more,
		Ready: func(time.Duration) {
			slow.Stop()
			mu.Lock()
			begin = time.Now()
			mu.Unlock()
			w.setReady(true)
		},
		Time:    w.n.signed,
		Deliver: func(d transport.Delivery) { w.n.desk.deliver(opening, w, d) },
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	stop(nil)
	mu.Lock()
	defer mu.Unlock()
	return begin, err
}

func (w *watch) setReady(ready bool) {
	w.n.mu.Lock()
	changed := w.ready != ready
	w.ready = ready
	w.n.mu.Unlock()
	if changed {
		w.n.look()
	}
}

// lost says that the connection is gone together with the reason, so that nobody
// hears of the one without the other.
func (w *watch) lost(err error) {
	w.n.mu.Lock()
	w.ready = false
	w.n.keep(err)
	w.n.mu.Unlock()
	w.n.look()
}

// set makes the set of a connection. The decoys of the last one stay: if they
// did not, what two sets have in common would be the addresses that are real.
//
// spec: delivery.md#sets
func (w *watch) set(stop context.CancelCauseFunc) ([]transport.Owned, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added, w.restop = nil, stop
	own := make([]transport.Owned, 0, len(w.routes))
	for _, a := range w.routes {
		own = append(own, a.Owned)
	}
	size := min(padded(len(own)+len(w.decoys)), transport.MaxWatched)
	if w.full {
		w.full, size = false, padded(len(own))
	}
	if room := size - len(own); len(w.decoys) > room {
		if err := w.n.rand.shuffle(w.decoys); err != nil {
			return nil, err
		}
		w.decoys = w.decoys[:room]
	}
	fresh, err := w.n.rand.decoys(size - len(own) - len(w.decoys))
	if err != nil {
		return nil, err
	}
	w.decoys = append(w.decoys, fresh...)
	return w.n.rand.mixed(own, w.decoys)
}

// feed gives new addresses to the running connection. One that the connection
// did not take before it broke is in the set of the next.
func (w *watch) feed(ctx context.Context, more chan<- []transport.Owned, stop context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.more:
		}
		set, err := w.batch()
		if err != nil {
			stop(err)
			return
		}
		if len(set) == 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case more <- set:
		}
	}
}

// batch makes a set of the addresses that are new, padded by itself. It fails
// with errChanged when the connection has no room for it.
func (w *watch) batch() ([]transport.Owned, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	own := w.added
	w.added = nil
	if len(own) == 0 {
		return nil, nil
	}
	size := padded(len(own))
	if len(w.routes)+len(w.decoys)+size-len(own) > transport.MaxWatched {
		w.full = true
		return nil, errChanged
	}
	fresh, err := w.n.rand.decoys(size - len(own))
	if err != nil {
		return nil, err
	}
	w.decoys = append(w.decoys, fresh...)
	return w.n.rand.mixed(own, fresh)
}
