// Package wake is the part of a relay that wakes sleeping devices. A Forwarder
// takes tickets from senders and passes each on, unread, to the gateway that it
// names. A Gateway, the role "wake", opens tickets that were sealed to it and
// pushes a message that says nothing.
//
// Neither keeps who may be woken: a ticket holds it all, and an endpoint is in
// memory for as long as its push takes. What is kept is counts under a keyed
// hash, for an hour, and keyed hashes of used tickets. The package wants no
// token and counts no network: whoever calls it has done that.
//
// Spec: docs/spec/wake.md.
package wake

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	tickets "github.com/tacet-chat/tacet/internal/wake"
)

const (
	maxJitter  = 2 * time.Second
	maxPushes  = 4096 // that wait or are under way
	maxOpening = 4    // tickets that are being opened at one moment
	retryLeast = 5 * time.Second
	sweepEvery = 5 * time.Minute
)

// GatewayConfig is what a Gateway works with.
type GatewayConfig struct {
	Realm   key.Sign // the gateway's keys are derived from it
	Data    string   // where spent tickets are kept; empty: memory
	Contact string   // a mailto: or https: URL for push services; may be empty
	Dialer  *Dialer
	Roots   *x509.CertPool // that push services are checked by; nil: those of the system
	Now     func() time.Time
	Rand    io.Reader   // nil: crypto/rand
	Failed  func(error) // told that spent tickets cannot be written
}

// Gateway opens tickets and pushes. Its handlers may be called while Run runs.
type Gateway struct {
	cfg    GatewayConfig
	key    key.XWing
	prover *tickets.Prover
	push   *pusher
	limit  *limiter
	spent  *spent

	opening chan struct{}
	retry   time.Duration // at least, before a second try

	mu      sync.Mutex // guards the rest
	ctx     context.Context
	pushes  sync.WaitGroup
	waiting int
}

// Labels of what is derived from the realm key.
const (
	labelKey   = "tacet/v1/relay/wake"
	labelProof = "tacet/v1/relay/wake/proof"
	labelVAPID = "tacet/v1/relay/wake/vapid"
)

// NewGateway makes a gateway. Whoever calls it calls Close.
func NewGateway(cfg GatewayConfig) (*Gateway, error) {
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	g := &Gateway{
		cfg: cfg, key: key.Derive[key.XWingRole](cfg.Realm.Bytes(), labelKey), opening: make(chan struct{}, maxOpening), retry: retryLeast,
		prover: tickets.NewProver(key.Derive[key.WakeRole](cfg.Realm.Bytes(), labelProof)),
	}
	g.push = newPusher(cfg.Dialer, cfg.Roots, tickets.NewVAPID(key.Derive[key.WakeRole](cfg.Realm.Bytes(), labelVAPID), cfg.Contact), cfg.Now, cfg.Rand)
	var err error
	if g.limit, err = newLimiter(cfg.Rand); err != nil {
		return nil, err
	}
	g.spent, err = openSpent(cfg.Data, key.Derive[key.WakeRole](cfg.Realm.Bytes(), labelSpent), cfg.Now())
	return g, err
}

// Public returns the key that tickets are sealed to: key 19 of the descriptor.
func (g *Gateway) Public() key.XWingPublic { return key.XWingPublicOf(g.key) }

// Run pushes until ctx ends, and returns when the last push has.
func (g *Gateway) Run(ctx context.Context) error {
	g.mu.Lock()
	g.ctx = ctx
	g.mu.Unlock()
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			g.mu.Lock()
			g.ctx = nil // nobody adds any more
			g.mu.Unlock()
			g.pushes.Wait()
			return nil
		case <-tick.C:
			g.limit.sweep(g.cfg.Now())
			if err := g.spent.sweep(g.cfg.Now()); err != nil {
				g.cfg.Failed(err)
			}
		}
	}
}

// Close gives back what NewGateway took. Run must have returned.
func (g *Gateway) Close() error {
	g.key.Wipe()
	return g.spent.close()
}

// Sweep is what Run does every few minutes, for who sets the clock.
func (g *Gateway) Sweep() error {
	g.limit.sweep(g.cfg.Now())
	return g.spent.sweep(g.cfg.Now())
}

// Open does with a ticket what it asks for, if it is good. It says nothing about
// that to anybody.
//
// spec: wake.md#opening
func (g *Gateway) Open(ticket []byte) {
	g.opening <- struct{}{}
	t, err := tickets.Open(g.key, ticket)
	<-g.opening
	if err != nil {
		return
	}
	now := g.cfg.Now()
	unix := uint64(max(now.Unix(), 0))
	if t.Expires <= unix || t.Expires > unix+tickets.MaxLife || !g.prover.MACGood(t.MAC, t.Endpoint) {
		return
	}
	if _, err := g.push.target(t.Endpoint); err != nil {
		return
	}
	endpoint := g.limit.name(ofEndpoint, []byte(t.Endpoint))
	spend := func() bool { return g.spent.spend(t.ID, t.Expires, g.cfg.Failed) }
	if v, at := g.limit.take(endpoint, g.limit.name(ofFamily, t.Family[:]), now, g.uniform(maxJitter), spend); v == send {
		g.start(t.Subscription, endpoint, at.Sub(now))
	}
}

// start pushes after a while, unless too much waits.
func (g *Gateway) start(s tickets.Subscription, endpoint name, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == nil || g.ctx.Err() != nil || g.waiting >= maxPushes {
		return
	}
	g.waiting++
	ctx := g.ctx
	g.pushes.Go(func() {
		defer func() {
			g.mu.Lock()
			g.waiting--
			g.mu.Unlock()
		}()
		for try := 0; sleep(ctx, wait) && try < 2; try++ {
			out, err := g.push.push(ctx, &s, tickets.Message{})
			if errors.Is(err, ErrForbidden) || !g.judge(out, endpoint) {
				return
			}
			wait = g.retry + g.uniform(retryLeast)
		}
	})
}

// judge does what a push service's answer asks for, and reports whether the push
// should be tried again.
//
// spec: wake.md#push
func (g *Gateway) judge(out outcome, endpoint name) (again bool) {
	switch out.status {
	case http.StatusNotFound, http.StatusGone:
		g.limit.pause(endpoint, g.cfg.Now(), span)
	case http.StatusTooManyRequests:
		g.limit.pause(endpoint, g.cfg.Now(), out.after)
	}
	return out.status == 0 || out.status >= 500
}

// sleep waits, and reports whether ctx goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// uniform draws a time from 0 to d.
func (g *Gateway) uniform(d time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(g.cfg.Rand, b[:]); err != nil {
		panic("wake: no randomness") // crypto/rand never fails
	}
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(d))
}
