// Package natslink carries the bus over NATS core: through a server embedded in
// this process, which routes join to those of the other nodes, or through one
// that the operator runs. It implements docs/spec/bus.md#carriers.
//
// JetStream, monitoring, system account, logs and traces are off. No address
// and nothing of a cell is a subject; the subjects are the realm's name and the
// random names of nodes. What is carried is sealed by package bus, so nothing
// here is trusted with more than bringing it.
package natslink

import (
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tacet-chat/tacet/relay/internal/bus"
)

// Bounds and times.
const (
	maxWaiting  = 1024 // messages that came and were not taken yet; beyond, they are lost
	pingEvery   = 2 * time.Second
	pingsOut    = 2 // unanswered, then a connection is opened anew
	localPing   = time.Hour
	retryAfter  = 200 * time.Millisecond
	retryJitter = 200 * time.Millisecond
	dialWithin  = 5 * time.Second
	lastWords   = time.Second // to be written when it ends
)

// ErrURL is an address of a NATS server that is none.
var ErrURL = errors.New("not an address of a NATS server")

// errClosed is a connection that the library gave up.
var errClosed = errors.New("the connection to NATS was closed")

// Link is one node's connection to NATS. It implements bus.Link.
type Link struct {
	realm bus.Realm
	url   string
	local *local // the embedded server, or nil

	mu sync.Mutex // guards nc
	nc *nats.Conn // nil unless Run runs
}

// External returns a link through the operator's own NATS. The address may hold
// a name and password or a token, and several servers with commas between.
// Nothing is connected yet.
func External(realm bus.Realm, url string) (*Link, error) {
	if url == "" {
		return nil, ErrURL
	}
	return &Link{realm: realm, url: url}, nil
}

// Run implements bus.Link. It comes back to NATS for as long as that takes,
// whatever NATS says in between: an operator who mends a password there has not
// to start every node again. An error is an address that nobody can connect to.
func (l *Link) Run(ctx context.Context, self bus.ID, receive func([]byte)) error {
	if l.local != nil {
		defer l.local.stop()
	}
	for {
		err := l.connect(ctx, self, receive)
		if !errors.Is(err, errClosed) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryAfter + rand.N(retryJitter)):
		}
	}
}

// connect carries over one connection until ctx ends, or it was closed for good.
func (l *Link) connect(ctx context.Context, self bus.ID, receive func([]byte)) error {
	came := make(chan *nats.Msg, maxWaiting)
	closed := make(chan struct{})
	nc, err := nats.Connect(l.url, append(l.options(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))...)
	if err != nil {
		return plain(err)
	}
	defer nc.Close()
	// One channel for both: messages stay in the order in which they came.
	for _, name := range []string{l.subject(bus.All), l.subject(self)} {
		if _, err := nc.ChanSubscribe(name, came); err != nil {
			return plain(err)
		}
	}
	l.mu.Lock()
	l.nc = nc
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.nc = nil
		l.mu.Unlock()
		nc.FlushTimeout(lastWords)
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-closed:
			return errClosed
		case m, ok := <-came:
			if !ok {
				return errClosed // with the connection, its subscriptions close what they fill
			}
			receive(m.Data)
		}
	}
}

// options are those of every connection. The library's own handlers print.
func (l *Link) options() []nats.Option {
	all := []nats.Option{
		nats.NoEcho(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(retryAfter), nats.ReconnectJitter(retryJitter, retryJitter), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut), nats.Timeout(dialWithin),
		nats.IgnoreAuthErrorAbort(), // else the second refusal of a password would be the last try
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if l.local != nil {
		// Both ends are in this process: one that does not answer in time is a
		// machine that stalls, and a new connection would only lose messages.
		all = append(all, nats.PingInterval(localPing), nats.InProcessServer(l.local.server), nats.UserInfo(l.local.user, l.local.password))
	}
	return all
}

// subject returns where messages for a node go.
func (l *Link) subject(to bus.ID) string {
	name := "tacet." + l.realm.Name() + "."
	if to == bus.All {
		return name + "all"
	}
	return name + hex.EncodeToString(to[:])
}

func (l *Link) conn() *nats.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nc
}

// Send implements bus.Link.
func (l *Link) Send(to bus.ID, b []byte) {
	if nc := l.conn(); nc != nil {
		nc.Publish(l.subject(to), b) // what it does not take is lost
	}
}

// Up implements bus.Link.
func (l *Link) Up() bool {
	nc := l.conn()
	return nc != nil && nc.IsConnected() && (l.local == nil || l.local.server.NumRoutes() > 0)
}

// Cut implements bus.Link. A node without its connection reaches nobody, be the
// server in this process or elsewhere. An embedded server without routes cannot
// tell others that are down from others that are out of reach.
func (l *Link) Cut() bool {
	nc := l.conn()
	return nc == nil || !nc.IsConnected()
}

// plain says what is wrong without the address, which may hold a password.
func plain(err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return errors.New("NATS does not accept the name and password")
	case errors.Is(err, nats.ErrNoServers):
		return errors.New("no NATS server answers")
	case errors.Is(err, nats.ErrConnectionClosed):
		return errClosed
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		return errors.New("NATS and nats.url do not agree on TLS")
	}
	var u *url.Error
	if errors.As(err, &u) {
		return ErrURL
	}
	return errors.New("NATS does not take the connection")
}
