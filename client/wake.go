package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Gateway is what the client needs of a relay to be woken and to wake others.
// client/transport/relay implements it.
type Gateway interface {
	// Wake has the relay pass a ticket on.
	Wake(ctx context.Context, ticket []byte) error
	// ProveWake has a gateway push a challenge to an endpoint: transport.ErrRefused
	// if it does not push there, transport.ErrNothing if the push service fails.
	ProveWake(ctx context.Context, request []byte) error
	// ConfirmWake answers a challenge.
	ConfirmWake(ctx context.Context, request []byte) (mac [32]byte, err error)
}

// WakeOptions say how this device is woken.
type WakeOptions struct {
	URL     string `json:"url"`               // the push endpoint
	Gateway string `json:"gateway,omitempty"` // relay with the role wake; empty: our own relay
	// SameOperator accepts a gateway that runs under the key of our own relay.
	SameOperator bool `json:"same_operator,omitempty"`
	Unified      bool `json:"unified,omitempty"` // the endpoint is one of UnifiedPush, and is asked whether it is
}

// WakeStatus says how this device is woken.
type WakeStatus struct {
	Push     string    `json:"push"`    // host of the push service
	Gateway  string    `json:"gateway"` // relay that pushes
	Proven   bool      `json:"proven"`  // the endpoint is known to be ours, and contacts are given tickets
	Same     bool      `json:"same_operator,omitempty"`
	Given    int       `json:"given"` // tickets of ours that contacts have
	LastPush time.Time `json:"last_push"`
	Waiting  bool      `json:"waiting,omitempty"` // an endpoint waits for its challenge
	Tests    int       `json:"tests"`             // that came
}

// Pushed is what a pushed body came to.
type Pushed struct {
	Kind      string  `json:"kind"`                // challenge, wake, test or unknown
	Events    []Event `json:"events,omitempty"`    // of a wake: what it brought
	Connected bool    `json:"connected,omitempty"` // of a wake: the relay was reached
	Running   bool    `json:"running,omitempty"`   // of a wake: a process is moving messages already
}

// Kinds of what is pushed.
const (
	PushedChallenge = "challenge" // the endpoint is proven now
	PushedWake      = "wake"
	PushedTest      = "test"
	PushedUnknown   = "unknown" // of a blocked contact, an endpoint before this one, or of nobody: nothing was done
)

// wakeSetup is one endpoint. wakeState is what is kept of them: the one in use
// goes on until the next one is proven.
type (
	wakeSetup struct {
		Set     int64                 `cbor:"1,keyasint"`
		URL     string                `cbor:"2,keyasint"`
		Gateway contact.Realm         `cbor:"3,keyasint"`
		Public  []byte                `cbor:"4,keyasint"`
		Secret  []byte                `cbor:"5,keyasint"`
		Family  [wake.FamilySize]byte `cbor:"6,keyasint"`
		MAC     [wake.MACSize]byte    `cbor:"7,keyasint"`
		Proof   [wake.IDSize]byte     `cbor:"8,keyasint"` // id of the keys that the challenge is for
		Same    bool                  `cbor:"9,keyasint"`
		Pushed  int64                 `cbor:"10,keyasint"` // unix seconds of the last push
		Tests   []convo.GivenTicket   `cbor:"11,keyasint"` // tickets that this device keeps for itself
		Tested  int                   `cbor:"12,keyasint"` // tests that came
	}
	wakeState struct {
		Sets int64      `cbor:"1,keyasint"` // endpoints there were
		Now  *wakeSetup `cbor:"2,keyasint"` // proven
		Next *wakeSetup `cbor:"3,keyasint"` // to be proven
	}
)

// PushSize is the size of every body that a gateway pushes, in bytes.
const PushSize = wake.PushSize

const (
	maxTests   = 4
	testLife   = time.Hour
	handAtOnce = 8           // contacts that are given tickets at a time
	handEvery  = time.Minute // while there are more
)

func readWake(tx *vault.Tx) (st wakeState, err error) {
	row, found, err := tx.Get(vault.Meta, metaWake)
	if err == nil && found && cbor.Unmarshal(row.V, &st) != nil {
		err = vault.ErrDamaged
	}
	return st, err
}

// putWake keeps the state and sets how the engine makes tickets.
func (c *Client) putWake(tx *vault.Tx, st *wakeState) error {
	raw, err := cbor.Marshal(st)
	if err != nil {
		return err
	}
	if err := tx.Put(vault.Meta, vault.Row{ID: metaWake, V: raw}); err != nil {
		return err
	}
	return c.setWaking(st)
}

func (c *Client) setWaking(st *wakeState) error {
	c.engine.Waking = nil
	if st.Now == nil {
		return nil
	}
	w, err := st.Now.waking()
	c.engine.Waking = w
	return err
}

func (s *wakeSetup) waking() (*convo.Waking, error) {
	secret, err := key.New[key.WakeRole](s.Secret)
	if err != nil || len(s.Public) != key.XWingPublicSize {
		return nil, vault.ErrDamaged
	}
	return &convo.Waking{
		Set: s.Set, Gateway: wake.Gateway{Name: s.Gateway.Name, Realm: s.Gateway.Pin}, Public: key.XWingPublic(s.Public),
		Secret: secret, Family: s.Family, MAC: s.MAC, URL: s.URL,
	}, nil
}

// changeWake changes what is kept in one transaction.
func (c *Client) changeWake(ctx context.Context, f func(st *wakeState) error) error {
	err := c.vault.Update(ctx, func(tx *vault.Tx) error {
		st, err := readWake(tx)
		if err != nil {
			return err
		}
		if err := f(&st); err != nil {
			return err
		}
		return c.putWake(tx, &st)
	})
	c.stored(err)
	return vaultError(err)
}

// SetWake asks a gateway to push a challenge to an endpoint. The endpoint is in
// use once ReceivePush is given that challenge. It fails with ErrEndpoint,
// ErrNoGateway, ErrSameOperator or ErrPushService.
//
// spec: wake.md#proof
func (c *Client) SetWake(ctx context.Context, o WakeOptions) (WakeStatus, error) {
	if wake.CheckEndpoint(o.URL) != nil {
		return WakeStatus{}, ErrEndpoint
	}
	next, gateway, err := c.newSetup(ctx, &o)
	if err != nil {
		return WakeStatus{}, err
	}
	w, err := next.waking()
	if err != nil {
		return WakeStatus{}, vaultError(err)
	}
	private, auth := wake.PushKeys(w.Secret, next.Proof)
	p := wake.Prove{Service: wake.WebPush, Subscription: wake.NewSubscription(o.URL, private, auth)}
	if o.Unified {
		p.Service = wake.UnifiedPush
	}
	request, err := p.Append(nil)
	if err != nil {
		return WakeStatus{}, ErrEndpoint
	}
	// The challenge may be here before the answer is: so it is kept first.
	err = c.changeWake(ctx, func(st *wakeState) error {
		st.Sets++
		next.Set, st.Next = st.Sets, next
		return nil
	})
	if err != nil {
		return WakeStatus{}, err
	}
	if err := gateway.ProveWake(ctx, request); err != nil {
		gone := c.changeWake(context.WithoutCancel(ctx), func(st *wakeState) error {
			if st.Next != nil && st.Next.Set == next.Set {
				st.Next = nil
			}
			return nil
		})
		return WakeStatus{}, errors.Join(wakeError(err), gone)
	}
	return next.status(false), nil
}

// newSetup finds the gateway and makes the keys for an endpoint.
func (c *Client) newSetup(ctx context.Context, o *WakeOptions) (*wakeSetup, Gateway, error) {
	home := c.home().Realm
	realm := contact.Realm{Name: o.Gateway}
	switch {
	case o.Gateway == "" && home.Name == "":
		return nil, nil, ErrNoRelay
	case o.Gateway == "":
		realm = home
	case c.opt.Network == nil:
		return nil, nil, ErrNetwork
	default:
		var err error
		if realm.Pin, err = c.opt.Network.Identify(ctx, o.Gateway); err != nil {
			return nil, nil, networkError(err)
		}
	}
	if realm.Pin == home.Pin && !o.SameOperator {
		return nil, nil, ErrSameOperator
	}
	r, err := c.realms.relay(realm)
	if err != nil {
		return nil, nil, networkError(err)
	}
	d, err := r.Descriptor(ctx)
	if err != nil {
		return nil, nil, networkError(err)
	}
	g, ok := r.(Gateway)
	if !ok || !d.Has(wire.RoleWake) {
		return nil, nil, ErrNoGateway
	}
	s := &wakeSetup{URL: o.URL, Gateway: realm, Public: d.Wake, Secret: make([]byte, 32), Same: realm.Pin == home.Pin}
	for _, b := range [][]byte{s.Secret, s.Family[:], s.Proof[:]} {
		if _, err := io.ReadFull(c.opt.rand(), b); err != nil {
			return nil, nil, err
		}
	}
	return s, g, nil
}

// wakeError says what went wrong at a gateway.
func wakeError(err error) error {
	switch {
	case errors.Is(err, transport.ErrNothing):
		return ErrPushService
	case errors.Is(err, transport.ErrIdentity):
		return networkError(err)
	case errors.Is(err, transport.ErrRefused):
		return ErrEndpoint
	}
	return networkError(err)
}

// WakeOff ends waking: nobody is given tickets any more, contacts are told to
// forget those they have, and pushes open nothing.
func (c *Client) WakeOff(ctx context.Context) error {
	err := c.changeWake(ctx, func(st *wakeState) error {
		st.Now, st.Next = nil, nil
		return nil
	})
	c.wake()
	return err
}

// TestWake has this device woken by a ticket of its own. Status counts those that
// came. It fails with ErrNoWake.
func (c *Client) TestWake(ctx context.Context) error {
	var ticket []byte
	err := c.changeWake(ctx, func(st *wakeState) error {
		if st.Now == nil {
			return ErrNoWake
		}
		w, err := st.Now.waking()
		if err != nil {
			return err
		}
		expires := time.Now().Add(testLife).Unix()
		raw, id, err := w.Ticket(c.opt.rand(), expires)
		if err != nil {
			return fmt.Errorf("making a ticket: %w", err)
		}
		ticket = raw
		st.Now.Tests = append(st.Now.Tests, convo.GivenTicket{ID: id, Expires: expires})
		if n := len(st.Now.Tests); n > maxTests {
			st.Now.Tests = st.Now.Tests[n-maxTests:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.passOn(ctx, ticket)
}

// passOn hands a ticket to our own relay.
func (c *Client) passOn(ctx context.Context, ticket []byte) error {
	r, err := c.realms.relay(c.home().Realm)
	if err != nil {
		return err
	}
	g, ok := r.(Gateway)
	if !ok {
		return ErrNoGateway
	}
	return networkError(g.Wake(ctx, ticket))
}

// status says how things are with an endpoint.
func (s *wakeSetup) status(proven bool) WakeStatus {
	st := WakeStatus{Gateway: s.Gateway.Name, Proven: proven, Waiting: !proven, Same: s.Same, Tests: s.Tested}
	if u, err := url.Parse(s.URL); err == nil {
		st.Push = u.Hostname()
	}
	if s.Pushed != 0 {
		st.LastPush = time.Unix(s.Pushed, 0)
	}
	return st
}

// wakeStatus is for Status: nil without an endpoint.
func wakeStatus(tx *vault.Tx) (*WakeStatus, error) {
	st, err := readWake(tx)
	if err != nil || st.Now == nil && st.Next == nil {
		return nil, err
	}
	if st.Now == nil {
		out := st.Next.status(false)
		return &out, nil
	}
	out := st.Now.status(true)
	out.Waiting = st.Next != nil
	err = (vault.Store{Tx: tx}).EachWake(func(_ int64, r *convo.WakeRecord) error {
		if r.Set == st.Now.Set {
			out.Given += len(r.Given)
		}
		return nil
	})
	return &out, err
}
