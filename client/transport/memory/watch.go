package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// labelProof separates these proofs from those of every other transport.
const labelProof = "tacet/v1/memory/proof"

// maxQueue bounds the cells that a watch has not delivered yet: a reader that
// is slower loses its connection, as on a relay.
const maxQueue = 4096

// watch is one running watch: its connection, as it were.
type watch struct {
	endpoint *Endpoint
	period   uint64
	nonce    [32]byte
	set      map[transport.Address]bool // guarded by the network's lock
	err      error                      // why it ended; stands once done is closed
	done     chan struct{}

	mu    sync.Mutex // guards waiting
	some  chan struct{}
	wait  []delivery
	flood bool
}

// queue gives the watch a cell to deliver. It takes no lock but its own: the
// network calls it while holding its lock.
func (w *watch) queue(d delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wait) == maxQueue {
		w.flood = true
	} else {
		w.wait = append(w.wait, d)
	}
	select {
	case w.some <- struct{}{}:
	default:
	}
}

// Watch implements transport.Transport.
func (e *Endpoint) Watch(ctx context.Context, tw transport.Watch) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.calls.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &watch{
		endpoint: e, period: tw.Period, set: map[transport.Address]bool{},
		done: make(chan struct{}), some: make(chan struct{}, 1),
	}
	rand.Read(w.nonce[:])
	if err := e.network.open(w); err != nil {
		return err
	}
	defer e.network.close(w)

	tell(tw.Time, e.network)
	if len(tw.Set) == 0 {
		return fmt.Errorf("watching nothing: %w", transport.ErrRefused)
	}
	since, err := e.add(w, tw.Isolate, tw.Set)
	if err != nil {
		return err
	}
	if tw.Ready != nil {
		tw.Ready(since)
	}
	return e.serve(ctx, w, tw)
}

// serve delivers until something ends the watch.
func (e *Endpoint) serve(ctx context.Context, w *watch, tw transport.Watch) error {
	clock := time.NewTicker(TimeEvery)
	defer clock.Stop()
	more := tw.More
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.done:
			return w.err
		case <-clock.C:
			tell(tw.Time, e.network)
		case set, ok := <-more:
			if !ok {
				more = nil
			} else if _, err := e.add(w, tw.Isolate, set); err != nil {
				return err
			}
		case <-w.some:
			if err := w.deliver(ctx, tw.Deliver); err != nil {
				return err
			}
		}
	}
}

// deliver delivers all that waits.
func (w *watch) deliver(ctx context.Context, to func(transport.Delivery)) error {
	w.mu.Lock()
	wait, flood := w.wait, w.flood
	w.wait = nil
	w.mu.Unlock()
	for _, d := range wait {
		if ctx.Err() != nil {
			break
		}
		cell := d.cell
		to(transport.Delivery{
			Address: d.address,
			Cell:    &cell,
			Seen:    func() { w.endpoint.network.seen(w, d.flight) },
		})
	}
	if flood {
		return errors.New("too many cells waited to be delivered")
	}
	return nil
}

// seen counts a device for a put, if it is in time and its watch still runs.
func (n *Network) seen(w *watch, f *flight) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running[w] && n.flights[f] && time.Since(f.start) <= SeenWithin {
		f.seen[w] = true
	}
}

// open starts a watch, unless its endpoint has left since the call began.
func (n *Network) open(w *watch) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.endpoint.closed || w.endpoint.parted {
		return errBroken
	}
	n.running[w] = true
	return nil
}

// close ends a watch that returns.
func (n *Network) close(w *watch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(w, errBroken)
}

// drop ends a watch. The caller holds the lock.
func (n *Network) drop(w *watch, err error) {
	if !n.running[w] {
		return
	}
	delete(n.running, w)
	for a := range w.set {
		left := slices.DeleteFunc(n.watched[a], func(o *watch) bool { return o == w })
		if len(left) == 0 {
			delete(n.watched, a)
		} else {
			n.watched[a] = left
		}
	}
	w.err = err
	close(w.done)
}

// add verifies a set and watches it.
func (e *Endpoint) add(w *watch, isolate string, set []transport.Owned) (time.Duration, error) {
	n := e.network
	if _, now := n.now(); w.period+1 < now || w.period > now+1 {
		return 0, fmt.Errorf("period is not current: %w", transport.ErrRefused)
	}
	if len(w.set)+len(set) > transport.MaxWatched { // w.set changes in this goroutine only
		return 0, fmt.Errorf("too many addresses: %w", transport.ErrRefused)
	}
	replay := map[transport.Address]bool{}
	for _, o := range set {
		m := w.proof(o.Address)
		signature, err := o.Sign(m)
		if err != nil {
			return 0, fmt.Errorf("signing proof: %w", err)
		}
		if !verify(o.Address, m, signature) {
			return 0, fmt.Errorf("ownership proof does not verify: %w", transport.ErrRefused)
		}
		if o.Replay {
			replay[o.Address] = true
		}
		n.tap(Event{Time: time.Now(), Endpoint: e.name, Isolate: isolate, Watch: true, Address: o.Address})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.running[w] {
		return 0, w.err
	}
	for _, o := range set {
		if !w.set[o.Address] {
			w.set[o.Address] = true
			n.watched[o.Address] = append(n.watched[o.Address], w)
		}
	}
	return n.replay(w, replay, time.Now()), nil
}

// proof is the message that an owner signs: label ‖ 0 ‖ nonce 32 ‖ address 32 ‖ period 8.
func (w *watch) proof(a transport.Address) []byte {
	m := append([]byte(labelProof), 0)
	m = append(m, w.nonce[:]...)
	m = append(m, a[:]...)
	return binary.BigEndian.AppendUint64(m, w.period)
}

// tell tells the network's time.
func tell(to func(int64), n *Network) {
	if to != nil {
		unix, _ := n.now()
		to(unix)
	}
}
