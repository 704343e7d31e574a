package leak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// relayName is what people call the relay. Names of loopback are spoken to
// without TLS, which costs no handshake and lets the recorder read what the relay
// reads. What TLS would add is fresh for each connection and the same for everybody.
const relayName = "127.0.0.1:7117"

var errDown = errors.New("no network")

// wires is the network between people and the relay, in memory: a connection is
// a pipe without a delay, since a relay that sees exact times learns the most.
type wires struct {
	rec      *Recorder
	incoming chan net.Conn
	done     chan struct{} // closed by Close

	mu       sync.Mutex // guards all below
	closed   bool
	down     map[int]bool
	open     map[int]map[net.Conn]bool // by person
	circuits map[string]int
	port     int
}

func newWires(rec *Recorder) *wires {
	return &wires{rec: rec, incoming: make(chan net.Conn), done: make(chan struct{}), down: map[int]bool{}, open: map[int]map[net.Conn]bool{}, circuits: map[string]int{}}
}

// Accept, Close and Addr make it the relay's listener.
func (w *wires) Accept() (net.Conn, error) {
	select {
	case c := <-w.incoming:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

// Close ends listening.
func (w *wires) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return net.ErrClosed
	}
	w.closed = true
	close(w.done)
	return nil
}

// Addr is where the relay believes that it listens.
func (w *wires) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(relayName))
}

// end is one end of a connection, with the network addresses that each side sees.
type end struct {
	net.Conn
	local, remote net.Addr
}

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.remote }

// dial connects a person from a network address. The relay's end is recorded.
func (w *wires) dial(ctx context.Context, who int, from netip.Addr) (net.Conn, error) {
	w.mu.Lock()
	if w.closed || w.down[who] {
		w.mu.Unlock()
		return nil, errDown
	}
	w.port++
	at := net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, uint16(1024+w.port%60_000)))
	w.mu.Unlock()
	near, far := net.Pipe()
	// The client sees an address of its own machine, as it does with a proxy: it
	// looks whether it still has it, and it does.
	self := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(at.Port)))
	mine := &held{end: end{near, self, w.Addr()}, w: w, who: who}
	theirs := w.rec.attach(&end{far, w.Addr(), at}, from, who)
	select {
	case w.incoming <- theirs:
	case <-w.done:
		return nil, errDown
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down[who] {
		near.Close()
		return nil, errDown
	}
	if w.open[who] == nil {
		w.open[who] = map[net.Conn]bool{}
	}
	w.open[who][mine] = true
	return mine, nil
}

// held is a person's end: it breaks when their network goes.
type held struct {
	end
	w   *wires
	who int
}

// Close ends the connection.
func (h *held) Close() error {
	h.w.mu.Lock()
	delete(h.w.open[h.who], h)
	h.w.mu.Unlock()
	return h.end.Close()
}

// cut takes a person's network away, with every connection there is: the relay
// sees all of them end at one moment. mend gives it back.
func (w *wires) cut(who int) {
	w.mu.Lock()
	w.down[who] = true
	all := w.open[who]
	w.open[who] = nil
	w.mu.Unlock()
	for c := range all {
		c.(*held).end.Close()
	}
}

func (w *wires) mend(who int) {
	w.mu.Lock()
	delete(w.down, who)
	w.mu.Unlock()
}

// circuit returns the network address of a circuit: connections of one name share
// one, others share nothing. A relay behind Tor's onion service can ask for the
// number of the circuit in this form; a common proxy shows less.
func (w *wires) circuit(name string) netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.circuits[name]
	if !ok {
		n = len(w.circuits) + 1
		w.circuits[name] = n
	}
	a := [16]byte{0: 0xfc, 2: 0xde, 3: 0xad, 4: 0xbe, 5: 0xef, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
	return netip.AddrFrom16(a)
}

// home returns the network address of a person who connects directly. Each is in
// a network of their own.
func home(who int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(who >> 8), byte(who), 1}) }

// access is how one person reaches relays. It implements client.Network.
type access struct {
	w      *wires
	who    int
	way    Way
	wrap   func(*network.Relay) transport.Transport
	direct bool
}

func (a *access) dial(ctx context.Context, _, _, isolate string) (net.Conn, error) {
	switch {
	case a.direct:
		return a.w.dial(ctx, a.who, home(a.who))
	case a.way.OneCircuit:
		isolate = "all"
	}
	return a.w.dial(ctx, a.who, a.w.circuit(fmt.Sprint(a.who, " ", isolate)))
}

func (a *access) options() network.Options {
	return network.Options{Name: relayName, Dial: a.dial}
}

// Open implements client.Network.
func (a *access) Open(_ string, pin [32]byte) (transport.Transport, error) {
	o := a.options()
	o.Pin = &pin
	r, err := network.New(o)
	if err != nil {
		return nil, err
	}
	if a.wrap != nil {
		return a.wrap(r), nil
	}
	return r, nil
}

// Identify implements client.Network.
func (a *access) Identify(ctx context.Context, _ string) ([32]byte, error) {
	return network.Identify(ctx, a.options())
}

// FetchUnpinned implements client.Network.
func (a *access) FetchUnpinned(ctx context.Context, _ string, id wire.BlobID) ([]byte, [32]byte, error) {
	return network.FetchUnpinned(ctx, a.options(), id)
}

// Proxy implements client.Network: whether the client keeps connections apart
// depends on it.
func (a *access) Proxy() string {
	if a.direct {
		return ""
	}
	return "socks5://in.memory:9050"
}
