// Package relay is the transport over our own relay: WebSockets for putting and
// watching, single HTTP requests for blobs and the descriptor. It implements
// the client's side of docs/spec/relay-api.md.
//
// A relay is known by its pinned realm key. Certificate authorities have no part
// in that, but for relays whose TLS ends in a program in front, which a user has
// to allow by name; and they can vouch for a name before a key is pinned. There
// is no fallback. Connections with different names share
// nothing that a proxy or a relay could join them by. The package keeps nothing
// on disk, does not retry, and its errors name neither addresses nor hosts. It
// does not open cells and holds no key of a person.
package relay

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// How long things may take. They are wide: Tor needs seconds where a direct
// connection needs milliseconds.
const (
	connectWithin = 45 * time.Second // TCP, proxy and TLS, and the upgrade to a WebSocket
	requestWithin = 90 * time.Second // one HTTP request with its answer
	writeWithin   = 20 * time.Second // one message into the socket
	answerWithin  = wire.AnswerAfter + 20*time.Second
	unsureAfter   = wire.AnswerAfter + 5*time.Second // without an answer, until the connection is asked about
	silenceSlack  = 15 * time.Second                 // beyond ping and pong, before silence means broken
	idleAfter     = 4 * time.Minute                  // a put connection without puts is closed
	descriptorAge = time.Hour                        // a descriptor is asked for again
	renewWithin   = 10 * time.Minute                 // at a random moment of this
	lingerFor     = time.Second                      // for the last echoes of a watch that ends
)

// Options say which relay, and how it is reached.
type Options struct {
	// Name is host or host:port. localhost, 127.0.0.1 and [::1] are reached
	// without TLS, everything else by TLS 1.3.
	Name string
	// Pin is the SHA-256 of the realm key. Only FetchUnpinned goes without.
	Pin *[32]byte
	// Dial opens connections, see Direct and SOCKS5. nil is Direct.
	Dial Dialer
	// HidesAddress says that Dial hides our network address from the relay.
	HidesAddress bool
	// Proxied says whether TLS may end in a program in front of the relay, for
	// which an authority vouches in place of the realm key; nil: it may not. It is
	// asked at every connection.
	Proxied func() bool
	// Roots are the authorities, nil: those of the system.
	Roots *x509.CertPool
	// Pay pays for what the relay wants a token for. nil: it gets none, and what
	// needs one waits. PayWith sets it later.
	Pay transport.Payer
}

// Relay is a transport over one relay. It implements transport.Transport.
type Relay struct {
	at    endpoint
	dial  Dialer
	hides bool
	allow func() bool // Options.Proxied
	roots *x509.CertPool
	pin   [32]byte

	payer  atomic.Pointer[transport.Payer] // see PayWith
	narrow atomic.Bool                     // large packets do not get through, see connect

	ctx   context.Context // ends with Close, with ErrClosed as its cause
	end   context.CancelCauseFunc
	calls sync.WaitGroup // everything that runs

	asking chan struct{} // holds one token: whoever fetches the descriptor

	mu         sync.Mutex // guards everything below, and never calls out
	closed     bool
	descriptor *wire.Descriptor
	fetched    time.Time
	renewing   bool // the descriptor is being fetched again, or will be soon
	links      map[string]*link
	sockets    map[*socket]bool    // those that are open
	vouchers   map[string]*voucher // by name of connection, see claim
	guards     bool                // guard runs
}

// New prepares a transport. It connects when first used. It fails for a name
// that cannot be one, without a pin, and for a loopback relay behind a proxy:
// there, the name would mean the proxy's own machine, without TLS.
func New(o Options) (*Relay, error) {
	if o.Pin == nil {
		return nil, errors.New("no realm key is pinned for this relay")
	}
	r, err := open(o)
	if err != nil {
		return nil, err
	}
	r.pin = *o.Pin
	return r, nil
}

// open is New without the pin.
func open(o Options) (*Relay, error) {
	at, err := parseName(o.Name)
	if err != nil {
		return nil, err
	}
	if at.plain && o.HidesAddress {
		return nil, errors.New("a relay on this machine is not reached through a proxy")
	}
	r := &Relay{
		at: at, dial: o.Dial, hides: o.HidesAddress, allow: o.Proxied, roots: o.Roots,
		asking: make(chan struct{}, 1), links: map[string]*link{}, sockets: map[*socket]bool{}, vouchers: map[string]*voucher{},
	}
	r.PayWith(o.Pay)
	if r.dial == nil {
		r.dial = Direct()
	}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	return r, nil
}

// Caps implements transport.Transport.
func (r *Relay) Caps() transport.Caps {
	return transport.Caps{LiveCount: true, HidesAddress: r.hides}
}

// Ack implements transport.Transport: a relay without parking stores nothing.
func (r *Relay) Ack(context.Context, []transport.DeliveryID) error { return nil }

// Close implements transport.Transport.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end(transport.ErrClosed)
	r.calls.Wait()
	return nil
}

// Warnings says, in sentences for people, what is weaker about this relay than
// it should be, as far as is known: nothing is before the first connection.
func (r *Relay) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.descriptor == nil || r.at.plain:
	case r.descriptor.Proxied:
		return []string{"TLS to this relay ends in a program in front of it, not in the relay: whoever runs that program sees " +
			"which network addresses use which addresses of the relay, and could watch yours in your place while you are connected. Messages stay sealed."}
	case !r.descriptor.Binding:
		return []string{"This relay does not bind proofs to its TLS connections: " +
			"whoever ends TLS in front of it could watch your addresses in your place while you are connected."}
	}
	return nil
}

// proxied reports whether TLS may end in front of the relay.
func (r *Relay) proxied() bool { return r.allow != nil && r.allow() }

// enter begins a call.
func (r *Relay) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return transport.ErrClosed
	}
	r.calls.Add(1)
	return nil
}

// bound returns a context that also ends, with its cause, when the relay is
// closed, and after d, with errSlow.
func (r *Relay) bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(transport.ErrClosed) })
	ctx, done := context.WithTimeoutCause(ctx, d, errSlow)
	return ctx, func() { stop(); done(); cancel(nil) }
}

// once names a connection that shares nothing with any other.
func once() string {
	var b [16]byte
	rand.Read(b[:])
	return "once/" + hex.EncodeToString(b[:])
}
