package inbox

import (
	"context"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// A watch opens at a moment that lies between farthest and nearest before its
// period, and closes at one that lies as far behind it.
//
// spec: delivery.md#watching
const (
	farthest = 90 * time.Second
	nearest  = 30 * time.Second
)

// lane is what one connection after the other is for: a part of the contacts'
// routes, or one contact route.
type lane struct {
	alone bool
	route int64 // of a lane that is alone
	part  int   // of one that is not
}

// watchKey names a watch: a lane in one period.
type watchKey struct {
	lane   lane
	period uint64
}

// lanes sorts addresses into lanes. There is always a first lane for contacts,
// be it of decoys alone: a device without contacts looks like others.
func lanes(list []Address) map[lane][]Address {
	m := map[lane][]Address{{}: nil}
	shared := 0
	for _, a := range list {
		l := lane{alone: true, route: a.Route}
		if !a.Alone {
			l = lane{part: shared / transport.MaxWatched}
			shared++
		}
		m[l] = append(m[l], a)
	}
	return m
}

// plan opens and closes watches so that they are as they should be now, and says
// when it wants to look again.
func (n *Inbox) plan(ctx context.Context, now time.Time) (next time.Time) {
	t := n.period(now)
	ahead := n.boundary(t + 1).Add(-farthest)
	for k, w := range n.watches {
		early := k.period > t && now.Before(ahead.Add(-nearest)) // the clock was put back
		if !now.Before(w.closes) || k.period > t+1 || early {
			n.close(k)
		}
	}
	for p := range n.stale {
		if p > t+1 || p+1 < t {
			delete(n.stale, p)
		}
	}
	n.require(t)
	next = ahead
	if !now.Before(ahead) {
		n.require(t + 1)
		next = n.boundary(t + 1)
	}
	n.takeRefresh()
	if len(n.stale) > 0 && !time.Now().Before(n.loadAfter) {
		n.load(ctx, t, now)
	}
	if len(n.stale) > 0 {
		next = first(next, now.Add(time.Until(n.loadAfter)))
	}
	for _, w := range n.watches {
		if w.cancel == nil && !now.Before(w.opens) {
			w.open(ctx)
		}
		if w.cancel == nil {
			next = first(next, w.opens)
		}
		next = first(next, w.closes)
	}
	n.desk.forget(t, time.Now())
	return next
}

// require makes sure that a period's addresses are asked for once.
func (n *Inbox) require(period uint64) {
	for k := range n.watches {
		if k.period == period {
			return
		}
	}
	n.stale[period] = true
}

// takeRefresh has all addresses asked for again after Refresh.
func (n *Inbox) takeRefresh() {
	n.mu.Lock()
	refresh := n.refresh
	n.refresh = false
	n.mu.Unlock()
	if !refresh {
		return
	}
	n.loadAfter = time.Time{}
	for k := range n.watches {
		n.stale[k.period] = true
	}
}

// load asks for the addresses of stale periods. What it does not get it asks for
// again later, and what is watched stays as it is.
func (n *Inbox) load(ctx context.Context, t uint64, now time.Time) {
	var failed error
	for p := range n.stale {
		list, err := n.cfg.Keys.Addresses(ctx, p)
		if err == nil {
			err = n.settle(p, t, now, lanes(list))
		}
		if err != nil {
			failed = err
			continue
		}
		delete(n.stale, p)
	}
	if failed == nil {
		n.loads = 0
		return
	}
	if ctx.Err() == nil {
		n.fail(fmt.Errorf("deriving addresses: %w", failed))
	}
	n.loadAfter = time.Now().Add(max(n.pause(n.loads, nil), time.Second))
	n.loads++
}

// settle makes a period's watches fit its lanes.
func (n *Inbox) settle(p, t uint64, now time.Time, want map[lane][]Address) error {
	for k := range n.watches {
		if _, ok := want[k.lane]; k.period == p && !ok {
			n.close(k)
		}
	}
	for l, list := range want {
		k := watchKey{l, p}
		if w := n.watches[k]; w != nil {
			w.update(list)
			continue
		}
		if p < t {
			continue // never back: it would chain two periods at one moment
		}
		w, err := n.newWatch(k, t, now)
		if err != nil {
			return err
		}
		w.update(list)
		n.watches[k] = w
	}
	return nil
}

// newWatch plans a watch of this period or the next.
func (n *Inbox) newWatch(k watchKey, t uint64, now time.Time) (*watch, error) {
	begin, end := n.boundary(k.period), n.boundary(k.period+1)
	opens := now
	if k.period > t {
		from, to := begin.Add(-farthest), begin.Add(-nearest)
		if now.After(from) {
			from = now
		}
		if !from.Before(to) {
			to = begin // too late for the rule: somewhere in what is left
		}
		var err error
		if opens, err = n.rand.between(from, to); err != nil {
			return nil, err
		}
	}
	closes, err := n.rand.between(end.Add(nearest), end.Add(farthest))
	if err != nil {
		return nil, err
	}
	name, err := n.rand.name()
	if err != nil {
		return nil, err
	}
	return &watch{n: n, key: k, isolate: name, opens: opens, closes: closes, more: make(chan struct{}, 1)}, nil
}

// close ends a watch. Nothing that still arrives is listened to.
func (n *Inbox) close(k watchKey) {
	w := n.watches[k]
	delete(n.watches, k)
	if w.cancel != nil {
		w.cancel() // first, or it would be opened again for its empty set
	}
	w.update(nil)
}

// first returns the earlier of two times.
func first(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
