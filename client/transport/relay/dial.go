package relay

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Dialer opens a stream to addr, host:port. isolate names the connection: where
// network addresses are hidden, different names must share nothing.
type Dialer = func(ctx context.Context, network, addr, isolate string) (net.Conn, error)

// Direct returns a dialer that connects straight to the relay, which then sees
// our network address.
func Direct() Dialer {
	// No TCP keepalive: the relay's pings find out what it would, and every
	// packet wakes a phone's radio.
	d := &net.Dialer{KeepAlive: -1}
	return func(ctx context.Context, network, addr, _ string) (net.Conn, error) {
		return d.DialContext(ctx, network, addr)
	}
}

// stream is a connection that is ready for HTTP.
type stream struct {
	net.Conn
	raw net.Conn             // what TLS runs over
	tls *tls.ConnectionState // nil without TLS
	who shown                // what TLS showed
}

// Close ends the connection without a last word: TLS would wait five seconds for
// a network that takes none, and nothing here depends on it.
func (s *stream) Close() error { return s.raw.Close() }

// connect opens a stream and checks who is there. The caller closes it.
func (r *Relay) connect(ctx context.Context, isolate string, pin *[32]byte) (*stream, error) {
	c, err := r.dial(ctx, "tcp", r.at.addr(), isolate)
	if err != nil {
		return nil, err
	}
	if r.at.plain {
		// What a resolver makes of "localhost" must not lead elsewhere without TLS.
		if a, ok := c.RemoteAddr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
			c.Close()
			return nil, stranger("a relay on this machine")
		}
		return &stream{Conn: c, raw: c}, nil
	}
	var who shown
	t := tls.Client(c, who.config(r.at.host, trust{pin, r.proxied(), pin == nil, r.roots}))
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		if who.err != nil { // a stranger must not get to hide behind another error
			err = who.err
		}
		return nil, err
	}
	state := t.ConnectionState()
	return &stream{Conn: t, raw: c, tls: &state, who: who}, nil
}

// admitted refuses a connection whose TLS ended in front of the relay unless the
// descriptor, which the pinned key signed, says that this is so.
//
// spec: relay-api.md#proxies-in-front
func (s *stream) admitted(d *wire.Descriptor) error {
	if s.who.proxied && !d.Proxied {
		return stranger("the certificates of the relay")
	}
	return nil
}
