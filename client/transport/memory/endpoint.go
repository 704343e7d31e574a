package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// Endpoint is one party's transport. It implements transport.Transport.
type Endpoint struct {
	network *Network
	name    string
	calls   sync.WaitGroup // Put and Watch

	// Guarded by the network's lock.
	closed bool
	parted bool
	joined map[flightKey]*flight
	links  map[string]bool // names of connections that puts were made over
	opened int             // and how many were opened in all
}

// flightKey says which puts are the same put.
type flightKey struct {
	isolate string
	id      transport.CellID
	address transport.Address
}

// flight is a put that is not answered yet.
type flight struct {
	endpoint *Endpoint
	key      flightKey
	start    time.Time
	seen     map[*watch]bool
	done     chan struct{} // closed once receipt and err stand
	receipt  transport.Receipt
	err      error
}

// Endpoint returns a new endpoint. The name only shows in events.
func (n *Network) Endpoint(name string) *Endpoint {
	return &Endpoint{
		network: n, name: name,
		joined: map[flightKey]*flight{}, links: map[string]bool{},
	}
}

// Caps implements transport.Transport.
func (e *Endpoint) Caps() transport.Caps {
	return transport.Caps{LiveCount: true, HidesAddress: e.network.options.HidesAddress}
}

// Ack implements transport.Transport: nothing is stored.
func (e *Endpoint) Ack(context.Context, []transport.DeliveryID) error { return nil }

// enter begins a call, unless there is no way onto the network.
func (e *Endpoint) enter() error {
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	switch {
	case e.closed:
		return transport.ErrClosed
	case e.parted:
		return errParted
	}
	e.calls.Add(1)
	return nil
}

// Close implements transport.Transport.
func (e *Endpoint) Close() error {
	n := e.network
	n.mu.Lock()
	if !e.closed {
		e.closed = true
		n.cut(e, transport.ErrClosed)
	}
	n.mu.Unlock()
	e.calls.Wait()
	return nil
}

// Break ends an endpoint's connections as they are: puts under way fail though
// their cells may have arrived, watches end. New connections work at once.
func (n *Network) Break(e *Endpoint) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut(e, errBroken)
}

// Part breaks the connections of endpoints and keeps them off the network.
func (n *Network) Part(endpoints ...*Endpoint) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range endpoints {
		e.parted = true
		n.cut(e, errBroken)
	}
}

// Parted reports whether the endpoint is off the network.
func (e *Endpoint) Parted() bool {
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	return e.parted
}

// Heal lets endpoints back onto the network.
func (n *Network) Heal(endpoints ...*Endpoint) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range endpoints {
		e.parted = false
	}
}

// cut ends everything of e. The caller holds the lock.
func (n *Network) cut(e *Endpoint, err error) {
	for f := range n.flights {
		if f.endpoint == e {
			n.land(f, transport.Receipt{}, err)
		}
	}
	for w := range n.running {
		if w.endpoint == e {
			n.drop(w, err)
		}
	}
	clear(e.links)
}

// PutLinks counts the connections that were opened for puts so far.
func (e *Endpoint) PutLinks() int {
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	return e.opened
}

// Put implements transport.Transport.
func (e *Endpoint) Put(ctx context.Context, p transport.Put) (transport.Receipt, error) {
	if err := e.enter(); err != nil {
		return transport.Receipt{}, err
	}
	defer e.calls.Done()
	if err := ctx.Err(); err != nil {
		return transport.Receipt{}, err
	}
	if p.Cell == nil {
		return transport.Receipt{}, fmt.Errorf("putting no cell: %w", transport.ErrRefused)
	}
	f := e.offer(p)
	select {
	case <-f.done:
		return f.receipt, f.err
	case <-ctx.Done():
		return transport.Receipt{}, ctx.Err()
	}
}

// offer sends a cell to all who watch, unless the same put is under way.
func (e *Endpoint) offer(p transport.Put) *flight {
	n, now := e.network, time.Now()
	n.tap(Event{Time: now, Endpoint: e.name, Isolate: p.Isolate, Address: p.Address})
	n.mu.Lock()
	defer n.mu.Unlock()
	key := flightKey{p.Isolate, p.ID, p.Address}
	if f := e.joined[key]; f != nil {
		return f
	}
	f := &flight{endpoint: e, key: key, start: now, seen: map[*watch]bool{}, done: make(chan struct{})}
	if e.closed || e.parted { // since enter
		f.err = errBroken
		close(f.done)
		return f
	}
	if !e.links[p.Isolate] {
		e.links[p.Isolate] = true
		e.opened++
	}
	e.joined[key] = f
	n.flights[f] = true
	d := delivery{address: p.Address, cell: *p.Cell, flight: f}
	n.keep(d, now)
	for _, w := range n.watched[p.Address] {
		n.send(w, d)
	}
	time.AfterFunc(AnswerAfter, func() { n.answer(f) })
	return f
}

// answer gives a put its receipt, or breaks its connection.
func (n *Network) answer(f *flight) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.flights[f] {
		return
	}
	if n.chance(n.faults.Break) {
		n.land(f, transport.Receipt{}, errBroken)
		return
	}
	n.land(f, transport.Receipt{Delivered: len(f.seen), Complete: true}, nil)
}

// land ends a flight. The caller holds the lock.
func (n *Network) land(f *flight, r transport.Receipt, err error) {
	delete(n.flights, f)
	delete(f.endpoint.joined, f.key)
	f.receipt, f.err = r, err
	close(f.done)
}
