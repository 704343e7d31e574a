package hub

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// Drain empties the hub so that its clients find another node one by one:
// newcomers are refused, and each connection is told to go (going away) at a
// moment of its own, spread evenly over a time. A put connection goes once its
// answers have left, and is not listened to meanwhile. Drain returns when all
// are gone or ctx ends; whoever is left then is for Run to end.
//
// spec: bus.md#leaving
func (h *Hub) Drain(ctx context.Context, spread time.Duration) {
	h.mu.Lock()
	h.draining = true
	var list []departure
	for c := range h.conns {
		list = append(list, departure{c, time.Duration(rand.Int64N(int64(spread) + 1))})
	}
	h.mu.Unlock()
	slices.SortFunc(list, func(a, b departure) int { return int(a.after - b.after) })

	start := time.Now()
	clock := time.NewTicker(time.Duration(tick))
	defer clock.Stop()
	for {
		for len(list) > 0 && list[0].after <= time.Since(start) {
			list[0].role.leave()
			list = list[1:]
		}
		h.mu.Lock()
		left := len(h.conns)
		h.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
			return
		}
	}
}

// departure is a connection and when it is told to go.
type departure struct {
	*conn
	after time.Duration
}

func (w *watcher) leave() { w.end(ws.GoingAway) }

func (q *putter) leave() {
	q.rmu.Lock()
	q.leaving = true
	rest := q.open == 0
	q.rmu.Unlock()
	if rest {
		q.end(ws.GoingAway)
	}
}
