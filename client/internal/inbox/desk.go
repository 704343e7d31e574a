package inbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Times of the receipt echo.
//
// spec: delivery.md#receipt-echo
const (
	echoEvery = time.Minute // for cells of one route that show nothing
	tellEvery = time.Minute // for trouble with the store
)

// desk takes deliveries in.
type desk struct {
	n    *Inbox
	seen *seen

	mu     sync.Mutex // guards all below
	echoed map[int64]time.Time
	told   time.Time // of the store's trouble
}

func newDesk(n *Inbox) *desk {
	return &desk{n: n, seen: newSeen(), echoed: map[int64]time.Time{}}
}

// deliver takes in one cell and echoes it if that gives away nothing. It returns
// when what the cell changed is committed, which is what slows a flood down.
func (d *desk) deliver(ctx context.Context, w *watch, c transport.Delivery) {
	route, ok := w.route(c.Address)
	if !ok {
		return // a decoy's, or a route that is gone
	}
	nonce := nonceOf(c.Cell)
	outcome := Nothing
	if !d.seen.has(route, w.key.period, nonce) {
		var err error
		outcome, err = d.n.cfg.Opener.Open(ctx, route, c.Address, c.Cell)
		if err != nil {
			d.trouble(err)
			return
		}
		if outcome != Shown && outcome != Nothing {
			return // leaves no trace: strangers would push out others' nonces
		}
		d.seen.add(route, w.key.period, nonce)
	}
	if w.key.lane.alone {
		return
	}
	if outcome == Shown || d.mayEcho(route, time.Now()) {
		c.Seen()
	}
}

// mayEcho reports whether a cell that shows nothing may be echoed.
func (d *desk) mayEcho(route int64, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, ok := d.echoed[route]; ok && now.Sub(last) < echoEvery {
		return false
	}
	d.echoed[route] = now
	return true
}

// trouble says that the store fails, now and then.
func (d *desk) trouble(err error) {
	now := time.Now()
	d.mu.Lock()
	quiet := !d.told.IsZero() && now.Sub(d.told) < tellEvery
	if !quiet {
		d.told = now
	}
	d.mu.Unlock()
	if !quiet {
		d.n.fail(fmt.Errorf("opening a cell: %w", err))
	}
}

// forget drops what is not needed any more in period t.
func (d *desk) forget(t uint64, now time.Time) {
	d.seen.forget(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	for r, last := range d.echoed {
		if now.Sub(last) >= echoEvery {
			delete(d.echoed, r)
		}
	}
}
