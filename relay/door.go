package relay

import (
	"net"
	"sync"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// door closes connections from networks over their limit before they have cost
// anything, and knows those that have requests until they leave: for good, or
// to become a watch or put connection, which are counted by themselves.
//
// spec: relay-api.md#limits
type door struct {
	net.Listener
	gate *gate.Gate

	mu     sync.Mutex // guards inside
	inside map[net.Conn]func()
}

func newDoor(ln net.Listener, g *gate.Gate) *door {
	return &door{Listener: ln, gate: g, inside: map[net.Conn]func(){}}
}

func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		release, ok := d.gate.Allow(gate.Peer(c.RemoteAddr().String()), gate.Connection)
		if !ok {
			c.Close()
			continue
		}
		d.mu.Lock()
		d.inside[c] = release
		d.mu.Unlock()
		return c, nil
	}
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
