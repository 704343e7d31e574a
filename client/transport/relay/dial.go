package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Dialer opens a stream to addr, host:port. isolate names the connection: where
// network addresses are hidden, different names must share nothing.
type Dialer = func(ctx context.Context, network, addr, isolate string) (net.Conn, error)

// Some ways swallow packets that are too large for them and tell nobody: a
// connection is made, and its first large packet is never answered. Then another
// one is made with packets that fit wherever IPv6 does.
//
// spec: relay-api.md#connections-that-are-gone
const (
	narrowSegment = 1200             // bytes of TCP payload, for packets of at most 1,280 with some room for tunnels
	hungUp        = 3 * time.Second  // who ends a connection sooner did so on purpose
	muteAfter     = 10 * time.Second // without a byte, a relay that took the connection counts as mute
)

// narrow is the context's key for a connection with small packets.
type narrow struct{}

// Direct returns a dialer that connects straight to the relay, which then sees
// our network address.
func Direct() Dialer {
	// No TCP keepalive: the relay's pings find out what it would, and every
	// packet wakes a phone's radio.
	wide, small := &net.Dialer{KeepAlive: -1}, &net.Dialer{KeepAlive: -1, Control: narrowed}
	return func(ctx context.Context, network, addr, _ string) (net.Conn, error) {
		if ctx.Value(narrow{}) != nil {
			return small.DialContext(ctx, network, addr)
		}
		return wide.DialContext(ctx, network, addr)
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

// errMute: a connection was made, and nothing came over it.
var errMute = &fault{text: "the relay took the connection and said nothing"}

// connect opens a stream and checks who is there. The caller closes it.
func (r *Relay) connect(ctx context.Context, isolate string, pin *[32]byte) (*stream, error) {
	if r.narrow.Load() {
		ctx = context.WithValue(ctx, narrow{}, true)
	}
	s, err := r.attempt(ctx, isolate, pin)
	if !errors.Is(err, errMute) || r.hides || ctx.Err() != nil || ctx.Value(narrow{}) != nil {
		return s, err
	}
	s, err = r.attempt(context.WithValue(ctx, narrow{}, true), isolate, pin)
	if err == nil {
		r.narrow.Store(true)
	}
	return s, err
}

// attempt is one try to connect.
func (r *Relay) attempt(ctx context.Context, isolate string, pin *[32]byte) (*stream, error) {
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
	first, began := &heard{Conn: c}, time.Now()
	t := tls.Client(first, who.config(r.at.host, trust{pin, r.proxied(), pin == nil, r.roots}))
	if !r.hides && ctx.Value(narrow{}) == nil {
		mute := time.AfterFunc(muteAfter, func() {
			if !first.any.Load() {
				c.Close()
			}
		})
		defer mute.Stop()
	}
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		switch {
		case who.err != nil: // a stranger must not get to hide behind another error
			return nil, who.err
		case !first.any.Load() && ctx.Err() == nil && time.Since(began) >= hungUp:
			return nil, errMute
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

// heard notes whether anything came over a connection.
type heard struct {
	net.Conn
	any atomic.Bool
}

func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 {
		h.any.Store(true)
	}
	return n, err
}
