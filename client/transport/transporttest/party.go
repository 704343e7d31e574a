package transporttest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// patience is how long anything may take before a test gives up. It is long:
// running into it is a failure, never a measurement.
const patience = time.Minute

// party is one test with its network.
type party struct {
	*testing.T
	suite Suite
	world *World
}

// join returns a transport that is closed with the test.
func (p *party) join() transport.Transport {
	tr := p.world.Join(p.T)
	p.Cleanup(func() { tr.Close() })
	return tr
}

// period returns the running live period.
func (p *party) period() uint64 {
	return uint64(time.Now().Unix()) / uint64(p.world.Live/time.Second)
}

// own makes an address with its proof.
func (p *party) own() transport.Owned {
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // no randomness
	}
	return transport.Owned{
		Address: transport.Address(pub),
		Sign:    func(m []byte) ([]byte, error) { return ed25519.Sign(private, m), nil },
	}
}

// owns makes n addresses.
func (p *party) owns(n int) []transport.Owned {
	set := make([]transport.Owned, n)
	for i := range set {
		set[i] = p.own()
	}
	return set
}

// cell makes a random cell.
func (p *party) cell() *transport.Cell {
	var c transport.Cell
	rand.Read(c[:])
	return &c
}

// id makes a random put id.
func (p *party) id() (id transport.CellID) {
	rand.Read(id[:])
	return id
}

// put puts one random cell and returns it with its receipt.
func (p *party) put(tr transport.Transport, a transport.Address) (*transport.Cell, transport.Receipt) {
	p.Helper()
	c := p.cell()
	r, err := tr.Put(p.Context(), transport.Put{Address: a, ID: p.id(), Cell: c})
	if err != nil {
		p.Fatalf("got put error %v, want a receipt", err)
	}
	return c, r
}

// want compares a receipt's count.
func (p *party) want(r transport.Receipt, delivered int) {
	p.Helper()
	if r.Delivered != delivered || !r.Complete {
		p.Errorf("got receipt %+v, want %d delivered and complete", r, delivered)
	}
}

// watching is a watch in a goroutine of its own.
type watching struct {
	*party
	stop  context.CancelFunc
	ready chan time.Duration
	got   chan transport.Delivery
	ended chan error
}

// start starts a watch of w with what it lacks filled in: the running period
// and a Deliver that calls Seen.
func (p *party) start(tr transport.Transport, w transport.Watch) *watching {
	ctx, stop := context.WithCancel(p.Context())
	v := &watching{
		party: p, stop: stop,
		ready: make(chan time.Duration, 2), got: make(chan transport.Delivery, 4096), ended: make(chan error, 1),
	}
	if w.Period == 0 {
		w.Period = p.period()
	}
	deliver := w.Deliver
	w.Deliver = func(d transport.Delivery) {
		if deliver == nil {
			d.Seen()
		} else {
			deliver(d)
		}
		v.got <- d
	}
	w.Ready = func(since time.Duration) { v.ready <- since }
	go func() { v.ended <- tr.Watch(ctx, w) }()
	p.Cleanup(stop)
	return v
}

// watch is start, and waits until the set is being watched.
func (p *party) watch(tr transport.Transport, w transport.Watch) *watching {
	p.Helper()
	v := p.start(tr, w)
	v.since()
	return v
}

// since waits until the set is being watched.
func (v *watching) since() time.Duration {
	v.Helper()
	select {
	case d := <-v.ready:
		return d
	case err := <-v.ended:
		v.Fatalf("got end of watch %v, want ready", err)
	case <-time.After(patience):
		v.Fatal("got silence, want ready")
	}
	return 0
}

// next waits for the next delivery.
func (v *watching) next() transport.Delivery {
	v.Helper()
	select {
	case d := <-v.got:
		return d
	case err := <-v.ended:
		v.Fatalf("got end of watch %v, want a delivery", err)
	case <-time.After(patience):
		v.Fatal("got silence, want a delivery")
	}
	return transport.Delivery{}
}

// expect waits for the next delivery and compares it.
func (v *watching) expect(a transport.Address, c *transport.Cell) {
	v.Helper()
	d := v.next()
	if d.Address != a || *d.Cell != *c {
		v.Errorf("got another cell or address, want the one that was put")
	}
}

// end waits for the end of the watch and returns its error.
func (v *watching) end() error {
	v.Helper()
	return wait(v.party, v.ended, "the end of the watch")
}

// wait waits for a value.
func wait[T any](p *party, c <-chan T, what string) (v T) {
	p.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		p.Fatalf("got silence, want %s", what)
	}
	return v
}

// refused wants an error that says: for good, and ready was never called.
func (v *watching) refused() {
	v.Helper()
	if err := v.end(); !errors.Is(err, transport.ErrRefused) {
		v.Errorf("got error %v, want one that is ErrRefused", err)
	}
	select {
	case <-v.ready:
		v.Error("got ready, want none for a set that was refused")
	default:
	}
}

// temporary wants an error that invites another try.
func (p *party) temporary(err error) {
	p.Helper()
	if err == nil {
		p.Fatal("got no error, want a temporary one")
	}
	for _, final := range []error{transport.ErrRefused, transport.ErrIdentity, transport.ErrTime, transport.ErrClosed} {
		if errors.Is(err, final) {
			p.Errorf("got error %v, want a temporary one", err)
		}
	}
}
