package relay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Headers of what is paid for.
//
// spec: relay-api.md#tokens
const (
	tokenHeader   = "Tacet-Token"   // base64url without padding of a presented token
	contextHeader = "Tacet-Context" // and of the 16 bytes that it is bound to
)

const (
	// contextCells is how many cells a put context takes.
	contextCells = 128
	// maxTokens is how many tokens one connection or request is tried with.
	maxTokens = 3
	// sameFor is how long a token that may or may not have arrived is presented
	// again: a relay takes it for the same request for 120 s.
	sameFor = 100 * time.Second
	// maxVouchers bounds the put contexts that are remembered, forgetAfter their
	// time: the longest live period.
	maxVouchers = 4096
	forgetAfter = time.Hour
)

// Faults of paying.
var (
	errEmpty  = &fault{text: transport.ErrEmpty.Error(), kind: transport.ErrEmpty}
	errSpent  = &fault{text: transport.ErrSpent.Error(), kind: transport.ErrSpent}
	errLimit  = &fault{text: transport.ErrLimit.Error(), kind: transport.ErrLimit}
	errFailed = &fault{text: transport.ErrBusy.Error(), kind: transport.ErrBusy}
)

// PayWith sets who pays. It is for whoever did not have a payer when the relay
// was opened, and is called before the relay is used.
func (r *Relay) PayWith(p transport.Payer) {
	if p != nil {
		r.payer.Store(&p)
	}
}

// announce tells the payer what a descriptor says of tokens.
func (r *Relay) announce(ctx context.Context, d *wire.Descriptor) error {
	p := r.payer.Load()
	if p == nil {
		return nil
	}
	a := transport.Announcement{Class: d.Class, Since: d.IssuedDay, Gate: d.Gate}
	for _, i := range d.Issuers {
		a.Issuers = append(a.Issuers, transport.Issuer{Kind: byte(i.Kind), Epoch: uint32(i.Epoch), Key: i.Key})
	}
	return payFault((*p).Announced(ctx, a))
}

// payFault is an error of the payer as one of this package: its text names nobody.
func payFault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &fault{text: err.Error(), kind: err}
}

// pay takes a token.
func (r *Relay) pay(ctx context.Context, p transport.Purpose, binding []byte) ([]byte, error) {
	payer := r.payer.Load()
	if payer == nil {
		return nil, errEmpty
	}
	token, err := (*payer).Pay(ctx, p, binding)
	return token, payFault(err)
}

// ready reports whether there is a token to pay with.
func (r *Relay) ready(ctx context.Context, p transport.Purpose) error {
	payer := r.payer.Load()
	if payer == nil {
		return errEmpty
	}
	return payFault((*payer).Ready(ctx, p))
}

// voucher is what one connection is paid with: a random id, and the token that
// is bound to it. For puts the id names the put context, in which the relay
// counts cells and which goes on over another connection without another token
// until its live period ends. Whoever holds a voucher has it alone; cells is
// guarded by Relay.mu.
//
// spec: relay-api.md#tokens
type voucher struct {
	purpose transport.Purpose
	id      [16]byte
	token   []byte // nil: not paid yet, or the relay has taken it
	open    bool   // the relay has taken it: for puts, the context is there
	paid    time.Time
	period  int64 // live period in which it was paid
	cells   int   // that were put in this context
}

// full reports whether no more cells fit. The caller holds the lock.
func (v *voucher) full() bool { return v != nil && v.cells >= contextCells }

// taken notes that the relay has opened what was paid for.
func (v *voucher) taken() {
	if v != nil {
		v.open, v.token = true, nil
	}
}

// livePeriod is the live period of a relay by our clock.
func livePeriod(d *wire.Descriptor) int64 { return time.Now().Unix() / int64(d.Period) }

// claim returns a voucher for the connection of that name: the one that was kept
// if it is still good, else a new one, not paid yet. It fails before anything is
// asked of the network if there is nothing to pay with.
func (r *Relay) claim(ctx context.Context, name string, p transport.Purpose, d *wire.Descriptor) (*voucher, error) {
	r.mu.Lock()
	v := r.vouchers[name]
	delete(r.vouchers, name)
	r.mu.Unlock()
	if v != nil && v.purpose == p && v.good(d) {
		return v, nil
	}
	if err := r.ready(ctx, p); err != nil {
		return nil, err
	}
	v = &voucher{purpose: p, period: livePeriod(d)}
	rand.Read(v.id[:])
	return v, nil
}

// good reports whether a voucher that was kept can still be used: an open
// context in its live period, or a token that the relay may not have seen.
func (v *voucher) good(d *wire.Descriptor) bool {
	switch {
	case v.open:
		return v.purpose == transport.PayPut && v.period == livePeriod(d) && v.cells < contextCells
	case v.token != nil:
		return time.Since(v.paid) < sameFor
	}
	return false
}

// keep puts a voucher back, for the next connection of that name.
func (r *Relay) keep(name string, v *voucher) {
	if v == nil || v.token == nil && !v.open {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, old := range r.vouchers {
		if time.Since(old.paid) > forgetAfter || len(r.vouchers) >= maxVouchers {
			delete(r.vouchers, n) // costs a token, no cell
		}
	}
	r.vouchers[name] = v
}

// present puts a voucher into the headers of a request. A new one is paid here,
// when the connection is there: a token is not spent on a relay that is away.
func (r *Relay) present(ctx context.Context, v *voucher, h http.Header) error {
	if v == nil {
		return nil
	}
	if err := r.settle(ctx, v); err != nil {
		return err
	}
	h.Set(contextHeader, base64.RawURLEncoding.EncodeToString(v.id[:]))
	if v.token != nil {
		h.Set(tokenHeader, base64.RawURLEncoding.EncodeToString(v.token))
	}
	return nil
}

// settle pays a voucher that is new.
func (r *Relay) settle(ctx context.Context, v *voucher) error {
	if v.open || v.token != nil {
		return nil
	}
	token, err := r.pay(ctx, v.purpose, v.id[:])
	if err == nil {
		v.token, v.paid = token, time.Now()
	}
	return err
}

// bill is what a single request has to be paid for.
type bill struct {
	purpose transport.Purpose
	binding []byte
}

// askPaid is ask for a request that costs a token where the relay wants tokens.
// A token that the relay does not take is gone; two more are tried.
func (r *Relay) askPaid(ctx context.Context, d *wire.Descriptor, b bill, q request) (answer, error) {
	if !d.Has(wire.RoleToken) {
		return r.ask(ctx, q)
	}
	q.bill = &b
	for range maxTokens {
		if err := r.ready(ctx, b.purpose); err != nil {
			return answer{}, err
		}
		a, err := r.ask(ctx, q)
		if err != nil || a.status != http.StatusUnauthorized {
			return a, err
		}
	}
	r.distrust() // perhaps the relay has new keys
	return answer{}, errSpent
}
