package relay

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/hub"
)

// handshakeWithin is how long a TLS handshake may take, from being accepted.
const handshakeWithin = 5 * time.Second

// door closes connections from networks over their limit before they have cost
// anything, does the TLS handshakes of the rest, and knows those that have
// requests until they leave: for good, or to become a watch or put connection,
// which are counted by themselves.
//
// spec: relay-api.md#limits
type door struct {
	net.Listener
	gate *gate.Gate

	arrivals chan arrival
	quit     chan struct{} // closed by Close
	work     sync.WaitGroup

	mu      sync.Mutex // guards the below
	inside  map[net.Conn]func()
	shaking map[net.Conn]struct{}
	closed  bool
}

// arrival is what Accept returns.
type arrival struct {
	c   net.Conn
	err error
}

// newDoor returns a door that lets in those who come to ln, of hub.Listen, until
// it is closed.
func newDoor(ln net.Listener, g *gate.Gate) *door {
	d := &door{
		Listener: ln, gate: g, arrivals: make(chan arrival), quit: make(chan struct{}),
		inside: map[net.Conn]func(){}, shaking: map[net.Conn]struct{}{},
	}
	d.work.Go(d.open)
	return d
}

func (d *door) Accept() (net.Conn, error) {
	select {
	case a := <-d.arrivals:
		return a.c, a.err
	case <-d.quit:
		return nil, net.ErrClosed
	}
}

// open lets connections in. An error is Accept's: where it passes, such as too
// many open files, whoever calls Accept waits a little and calls again.
func (d *door) open() {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			if !d.arrive(arrival{err: err}) {
				return
			}
			continue
		}
		release, ok := d.gate.Allow(gate.Peer(c.RemoteAddr().String()), gate.Connection)
		if !ok {
			c.Close()
			continue
		}
		d.mu.Lock()
		if d.closed {
			d.mu.Unlock()
			release()
			c.Close()
			return
		}
		d.inside[c], d.shaking[c] = release, struct{}{}
		d.mu.Unlock()
		if _, ok := c.(*tls.Conn); ok {
			d.work.Go(func() { d.shake(c) })
		} else {
			d.shake(c)
		}
	}
}

func (d *door) arrive(a arrival) bool {
	select {
	case d.arrivals <- a:
		return true
	case <-d.quit:
		return false
	}
}

// shake does the handshake of a connection.
func (d *door) shake(c net.Conn) {
	err := hub.Handshake(c, time.Now().Add(handshakeWithin))
	d.mu.Lock()
	delete(d.shaking, c)
	d.mu.Unlock()
	if err != nil || !d.arrive(arrival{c: c}) {
		c.Close()
		d.left(c)
	}
}

// Close ends the door, and the handshakes that are under way.
func (d *door) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	close(d.quit)
	for c := range d.shaking {
		c.Close()
	}
	d.mu.Unlock()
	err := d.Listener.Close()
	d.work.Wait()
	return err
}

// left says that a connection has no requests any more.
func (d *door) left(c net.Conn) {
	d.mu.Lock()
	release := d.inside[c]
	delete(d.inside, c)
	d.mu.Unlock()
	if release != nil {
		release()
	}
}
