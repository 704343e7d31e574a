package relay

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// socket is one WebSocket to the relay, for puts or for a watch. It ends with
// its context, whose cause says why.
type socket struct {
	relay *Relay
	ws    *websocket.Conn
	ctx   context.Context
	fail  context.CancelCauseFunc // nil is no failure

	realm   [32]byte // the realm key, for proofs
	binding [wire.BindingSize]byte
	clock   [32]byte // the time key
	told    func(unix int64)

	local   netip.Addr  // our end, if it has an address
	voucher *voucher    // what paid for it, nil: nothing did
	behind  atomic.Bool // the goroutine that reads waits for what it has read to be taken
	probing bool        // guarded by Relay.mu

	quiet time.Duration // silence that means the connection is broken
	dog   *time.Timer   // ends the socket unless alive is called in time
	buf   []byte        // of the goroutine that reads
}

// opening says which WebSocket to open.
type opening struct {
	path    string
	isolate string // names the connection
	limit   int    // largest message that is read
	purpose transport.Purpose
	told    func(unix int64) // if not nil, called with every second that was verified
}

// open connects to a WebSocket of the relay and pays for it where that is
// wanted. The caller calls shut.
func (r *Relay) open(ctx context.Context, o opening) (*socket, error) {
	ctx, cancel := r.bound(ctx, connectWithin)
	defer cancel()
	d, err := r.describe(ctx, o.isolate, descriptorAge)
	if err != nil {
		return nil, plain(ctx, err)
	}
	if !d.Has(wire.RoleToken) {
		return r.dialSocket(ctx, o, d, nil)
	}
	for range maxTokens {
		v, err := r.claim(ctx, o.isolate, o.purpose, d)
		if err != nil {
			return nil, plain(ctx, err)
		}
		s, err := r.dialSocket(ctx, o, d, v)
		if err == nil || !errors.Is(err, transport.ErrSpent) {
			return s, err
		}
	}
	r.distrust() // perhaps the relay has new keys
	return nil, errSpent
}

// dialSocket is one try to open a WebSocket, with a voucher where one is wanted.
func (r *Relay) dialSocket(ctx context.Context, o opening, d *wire.Descriptor, v *voucher) (*socket, error) {
	c, err := r.connect(ctx, o.isolate, &r.pin)
	if err != nil {
		r.keep(o.isolate, v)
		return nil, plain(ctx, err)
	}
	if err := c.admitted(d); err != nil {
		c.Close()
		return nil, err
	}
	header := http.Header{"User-Agent": {""}}
	if err := r.present(ctx, v, header); err != nil {
		c.Close()
		return nil, plain(ctx, err)
	}
	s := &socket{
		voucher: v,
		relay:   r, realm: d.Realm, clock: d.Time, told: o.told, buf: make([]byte, o.limit+1), local: localOf(c.raw),
		quiet: time.Duration(d.Ping)*time.Second + wire.PongWithin + silenceSlack,
	}
	if err := s.bind(c, d.Binding); err != nil {
		c.Close()
		return nil, err
	}
	ws, resp, err := websocket.Dial(ctx, r.at.url(o.path), &websocket.DialOptions{
		HTTPClient:      client(c),
		HTTPHeader:      header,
		CompressionMode: websocket.CompressionDisabled,
		OnPingReceived:  s.ping,
		OnPongReceived:  func(context.Context, []byte) { s.alive() },
	})
	if err != nil {
		c.Close()
		if resp != nil {
			if err := statusError(resp.StatusCode); err != nil {
				if !errors.Is(err, transport.ErrSpent) {
					r.keep(o.isolate, v)
				}
				return nil, err
			}
		}
		r.keep(o.isolate, v)
		return nil, plain(ctx, err)
	}
	v.taken()
	ws.SetReadLimit(int64(o.limit))
	s.ws = ws
	s.ctx, s.fail = context.WithCancelCause(r.ctx)
	s.dog = time.AfterFunc(s.quiet, func() { s.fail(errSilent) })
	r.guarded(s)
	return s, nil
}

// bind takes the channel binding from a connection.
//
// spec: relay-api.md#channel-binding
func (s *socket) bind(c *stream, binding bool) error {
	if !binding {
		return nil
	}
	if c.tls == nil {
		return broken("proofs are said to be bound to TLS, and there is none")
	}
	b, err := c.tls.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
	if err != nil {
		return &fault{text: "binding proofs to the connection"}
	}
	copy(s.binding[:], b)
	return nil
}

// shut ends the socket and frees what it holds. Nobody may be reading.
func (s *socket) shut() {
	s.relay.left(s)
	s.dog.Stop()
	s.fail(errBroken)
	s.ws.CloseNow()
}

// err says why the socket ended.
func (s *socket) err() error { return context.Cause(s.ctx) }

// alive is called for every frame and ping.
func (s *socket) alive() { s.dog.Reset(s.quiet) }

// second verifies a signed second and tells it.
func (s *socket) second(b []byte) error {
	unix, err := readSecond(b, s.clock)
	if err != nil {
		s.relay.distrust()
		return err
	}
	if s.told != nil {
		s.told(unix)
	}
	return nil
}

// ping is called by the goroutine that reads. It must not close the connection
// itself: that would wait for the reader, which is this goroutine.
func (s *socket) ping(_ context.Context, payload []byte) bool {
	if err := s.second(payload); err != nil {
		s.fail(err)
		return false
	}
	s.alive()
	return true
}

// read returns the next message, which is good until the next call. Pings are
// answered on the way.
func (s *socket) read() ([]byte, error) {
	kind, r, err := s.ws.Reader(s.ctx)
	if err != nil {
		return nil, plain(s.ctx, err)
	}
	n := 0
	for err == nil {
		if n == len(s.buf) {
			return nil, broken("a message that is too long")
		}
		var m int
		m, err = r.Read(s.buf[n:])
		n += m
	}
	if err != io.EOF {
		return nil, plain(s.ctx, err)
	}
	if kind != websocket.MessageBinary {
		return nil, broken("a text message")
	}
	s.alive()
	return s.buf[:n], nil
}

// write sends one message.
func (s *socket) write(b []byte) error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, writeWithin, errSlow)
	defer cancel()
	return plain(ctx, s.ws.Write(ctx, websocket.MessageBinary, b))
}

// run runs the loops of a socket until the first of them ends, ends the others,
// and returns why. A loop that returns nil has nothing to say about it.
func (s *socket) run(loops ...func() error) error {
	var all sync.WaitGroup
	for _, loop := range loops {
		all.Go(func() {
			if err := loop(); err != nil {
				s.fail(err)
			}
		})
	}
	all.Wait()
	return s.err()
}
