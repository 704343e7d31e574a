package relay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// A connection can be gone without a word: the device took another network, its
// home another address, or it slept. The relay's pings tell, by their absence,
// after a minute and more. These times are for what can be known sooner.
//
// spec: relay-api.md#connections-that-are-gone
const (
	lookEvery   = 5 * time.Second  // at this device's addresses and clocks
	sleptFor    = 10 * time.Second // a look that is so late means that somebody slept
	probeWithin = 10 * time.Second // for the answer to a ping of ours
)

// errMoved ends a connection from an address that this device no longer has.
var errMoved = &fault{text: "this device has another network address now"}

// guard looks after the sockets until there are none.
func (r *Relay) guard() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		awoke := slept(now.Sub(last), now.Round(0).Sub(last.Round(0)))
		last = now
		r.part()
		if awoke {
			r.doubt()
		}
		if r.alone() {
			return
		}
	}
}

// slept reports whether this process or its computer slept between two looks. A
// process that was stopped is late by the monotonic clock, which stands still
// while most computers sleep: the one on the wall does not.
func slept(monotonic, wall time.Duration) bool {
	return max(monotonic, wall) > lookEvery+sleptFor
}

// guarded adds a socket to those that are looked after.
func (r *Relay) guarded(s *socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sockets[s] = true
	if !r.guards && !r.closed {
		r.guards = true
		r.calls.Go(r.guard)
	}
}

// left takes a socket out again.
func (r *Relay) left(s *socket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sockets, s)
}

// alone reports whether there is no socket left, and then guard ends.
func (r *Relay) alone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guards = len(r.sockets) > 0
	return !r.guards
}

// part ends sockets whose own address this device does not have any more.
func (r *Relay) part() {
	r.mu.Lock()
	var far []*socket
	for s := range r.sockets {
		if s.local.IsValid() && !s.local.IsLoopback() {
			far = append(far, s)
		}
	}
	r.mu.Unlock()
	if len(far) == 0 {
		return
	}
	ours, err := net.InterfaceAddrs()
	if err != nil {
		return // then the other ways have to do
	}
	have := map[netip.Addr]bool{}
	for _, a := range ours {
		if n, ok := a.(*net.IPNet); ok {
			ip, _ := netip.AddrFromSlice(n.IP)
			have[ip.Unmap()] = true
		}
	}
	for _, s := range far {
		if !have[s.local] {
			r.narrow.Store(false) // another network, another way
			s.fail(errMoved)
		}
	}
}

// doubt asks every socket whether it is still there. Behind a proxy it asks
// none: connections that share nothing would all speak in one moment.
func (r *Relay) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hides || r.closed {
		return
	}
	for s := range r.sockets {
		if !s.probing {
			s.probing = true
			r.calls.Go(s.probe)
		}
	}
}

// doubtAfter is doubt when a connection ended in a way that may mean the network.
func (r *Relay) doubtAfter(err error) {
	for _, other := range []error{transport.ErrClosed, transport.ErrRefused, transport.ErrIdentity, transport.ErrTime, context.Canceled} {
		if errors.Is(err, other) {
			return
		}
	}
	if err != nil {
		r.doubt()
	}
}

// probe pings, and ends the socket if nothing comes back.
func (s *socket) probe() {
	ctx, cancel := context.WithTimeout(s.ctx, probeWithin)
	defer cancel()
	// Who does not read, as cells come faster than they are opened, hears no answer.
	if err := s.ws.Ping(ctx); err != nil && !s.behind.Load() {
		s.fail(errSilent) // does nothing to one that has ended
	}
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.probing = false
}

// localOf is the address of our end, the zero value if it has none.
func localOf(c net.Conn) (a netip.Addr) {
	if t, ok := c.LocalAddr().(*net.TCPAddr); ok {
		a, _ = netip.AddrFromSlice(t.IP)
	}
	return a.Unmap()
}
