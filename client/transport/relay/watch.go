package relay

import (
	"context"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// maxWaiting is how many cells may wait for Deliver before reading stops. The
// relay then ends the connection, and the next one asks for a replay.
const maxWaiting = 256

// watch is one running watch: receive reads, send writes, deliver calls Deliver.
type watch struct {
	transport.Watch
	*socket
	caller context.Context
	nonce  [wire.ServerNonceSize]byte
	cells  chan deliver
	echoes echoes
	reach  time.Duration // of the shortest replay so far, below 0: none; of receive alone

	mu    sync.Mutex // guards what follows, and never calls out
	asked []asked    // watch frames that were sent and not answered yet
	set   map[transport.Address]bool
}

// asked is a watch frame that was sent.
type asked struct {
	addresses int  // that the connection has with it
	replay    bool // it wants one
	last      bool // of Watch.Set
}

// Watch implements transport.Transport.
//
// spec: relay-api.md#watch
func (r *Relay) Watch(ctx context.Context, tw transport.Watch) (err error) {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.calls.Done()
	defer func() {
		if ctx.Err() == nil {
			r.doubtAfter(err)
		}
	}()
	if len(tw.Set) == 0 || tw.Deliver == nil {
		return &fault{text: "watching nothing", kind: transport.ErrRefused}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := r.open(ctx, opening{path: "/v1/watch", isolate: "watch/" + tw.Isolate, limit: wire.DeliverSize, purpose: transport.PayWatch, told: tw.Time})
	if err != nil {
		return err
	}
	defer s.shut()
	stop := context.AfterFunc(ctx, func() { // send comes first, unless it is stuck
		select {
		case <-s.ctx.Done():
		case <-time.After(lingerFor):
			s.fail(ctx.Err())
		}
	})
	defer stop()
	w := &watch{
		Watch: tw, socket: s, caller: ctx, cells: make(chan deliver, maxWaiting),
		echoes: echoes{some: make(chan struct{}, 1)}, set: map[transport.Address]bool{}, reach: -1,
	}
	if err := w.greet(); err != nil {
		return err
	}
	return s.run(w.receive, w.send, w.deliver)
}

// greet reads the first frame.
func (w *watch) greet() error {
	b, err := w.read()
	if err != nil {
		return err
	}
	kind, err := kindOf(b)
	if err != nil {
		return err
	}
	if kind != wire.FrameGreeting {
		return broken("no greeting")
	}
	g := parseGreeting(b)
	w.nonce = g.nonce
	return w.second(g.second[:])
}

// receive reads frames until the connection ends.
func (w *watch) receive() error {
	defer close(w.cells) // what has arrived is still delivered
	for {
		b, err := w.read()
		if err != nil {
			return err
		}
		kind, err := kindOf(b)
		if err != nil {
			return err
		}
		switch kind {
		case wire.FrameDeliver:
			err = w.arrived(parseDeliver(b))
		case wire.FrameWatched:
			err = w.answered(parseWatched(b))
		case wire.FrameRefused:
			err = parseRefused(b)
		default:
			err = broken("a second greeting")
		}
		if err != nil {
			return err
		}
	}
}

// arrived hands a cell on.
func (w *watch) arrived(d deliver) error {
	w.mu.Lock()
	ours := w.set[d.address]
	w.mu.Unlock()
	if !ours {
		return broken("a cell for an address that is not watched")
	}
	select {
	case w.cells <- d:
		return nil
	default:
	}
	w.behind.Store(true)
	defer w.behind.Store(false)
	select {
	case w.cells <- d:
		return nil
	case <-w.ctx.Done():
		return w.err()
	}
}

// answered takes the answer to the oldest watch frame.
func (w *watch) answered(a watched) error {
	w.mu.Lock()
	if len(w.asked) == 0 {
		w.mu.Unlock()
		return broken("an answer that was not asked for")
	}
	q := w.asked[0]
	w.asked = w.asked[1:]
	w.mu.Unlock()
	if a.addresses != q.addresses {
		return broken("it watches another number of addresses")
	}
	if q.replay && (w.reach < 0 || a.reach < w.reach) {
		w.reach = a.reach
	}
	if q.last && w.Ready != nil {
		w.Ready(max(w.reach, 0))
	}
	return nil
}

// deliver calls Deliver for every cell that has arrived, also when the
// connection has broken meanwhile.
func (w *watch) deliver() error {
	for d := range w.cells {
		if w.caller.Err() != nil || w.relay.ctx.Err() != nil {
			continue
		}
		w.Deliver(transport.Delivery{Address: d.address, Cell: d.cell, Seen: w.echoes.seen(d.nonce)})
	}
	return nil
}

// send writes watch frames and echoes until the connection or the caller's
// context ends.
func (w *watch) send() error {
	if err := w.add(w.Set, true); err != nil {
		return err
	}
	more := w.More
	for {
		select {
		case <-w.ctx.Done():
			return w.err()
		case <-w.caller.Done():
			w.echo()
			return w.caller.Err()
		case <-w.echoes.some:
			if err := w.echo(); err != nil {
				return err
			}
		case set, ok := <-more:
			if !ok {
				more = nil
			} else if err := w.add(set, false); err != nil {
				return err
			}
		}
	}
}

// echo writes the echoes that wait, as many as a frame takes at a time.
func (w *watch) echo() error {
	for {
		nonces := w.echoes.take(wire.MaxEchoes)
		if len(nonces) == 0 {
			return nil
		}
		if err := w.write(appendEchoes(nil, nonces)); err != nil {
			return err
		}
	}
}
