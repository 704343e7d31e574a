package client

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/pad"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Gates of realms, as descriptors say them.
const (
	gateOpen   = "open"
	gateInvite = "invite"
	gateClosed = "closed"
)

// StateMember is the state of a Contact that stands for a realm: what Accept
// returns for a realm invite.
const StateMember = "member"

// realmLink finds an invite to a realm in what a person pasted. found is false
// where the text has none: then it may be a person's.
func realmLink(text string) (l wire.RealmLink, found bool, err error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, wire.RealmLinkMid) {
		return l, false, nil
	}
	l, err = wire.ParseRealmLink(strings.Join(strings.Fields(text), ""))
	return l, true, err
}

// realmOf asks a relay for its key and compares it with what a realm invite says.
func (c *Client) realmOf(ctx context.Context, l wire.RealmLink) (contact.Realm, error) {
	r := contact.Realm{Name: l.Relay}
	if p := c.home(); p.Live != 0 && p.Realm.Name == l.Relay {
		r.Pin = p.Realm.Pin
	} else {
		if c.opt.Network == nil {
			return r, ErrNoRelay
		}
		var err error
		if r.Pin, err = c.opt.Network.Identify(ctx, l.Relay); err != nil {
			return r, networkError(err)
		}
	}
	if [wire.RealmPrintSize]byte(r.Pin[:]) != l.Print {
		return r, ErrRelayKey
	}
	return r, nil
}

// previewRealm says what an invite to a realm leads to.
func (c *Client) previewRealm(ctx context.Context, l wire.RealmLink) (Preview, error) {
	r, err := c.realmOf(ctx, l)
	if err != nil {
		return Preview{}, err
	}
	return Preview{Link: l.String(), Relay: r.Name, RelayKey: KeyText(r.Pin), Realm: true, Member: true}, nil
}

// acceptRealm becomes a member of a realm, and makes its relay ours if we have
// none. It may be repeated after a crash at any point.
//
// spec: purse.md#becoming-a-member
func (c *Client) acceptRealm(ctx context.Context, l wire.RealmLink, say func(string)) (Contact, error) {
	r, err := c.realmOf(ctx, l)
	if err != nil {
		return Contact{}, err
	}
	if err := c.enter(ctx, entry{realm: r, secret: (*[32]byte)(l.Secret[:]), home: true}, say); err != nil {
		return Contact{}, err
	}
	if p := c.home(); p.Live == 0 {
		if err := p.setRelay(ctx, c.opt.Network, r.Name, r.Pin); err != nil {
			return Contact{}, err
		}
		err := c.update(ctx, func(tx vault.Store, _ time.Time) (*convo.Change, error) {
			c.engine.Home = convo.Home{Realm: p.Realm, Live: p.Live} // the engine is the transaction's
			return nil, putProfile(tx.Tx, &p)
		})
		if err != nil {
			return Contact{}, err
		}
		c.adopted(p)
	}
	c.lookAtPurse()
	return Contact{Name: r.Name, Relay: r.Name, State: StateMember}, nil
}

// adopted notes that a relay is ours now.
func (c *Client) adopted(p profile) {
	c.mu.Lock()
	c.profile = p
	c.mu.Unlock()
	select {
	case c.homed <- struct{}{}:
	default:
	}
}

// entry is how a realm is entered.
type entry struct {
	realm  contact.Realm
	secret *[32]byte      // of a realm invite, nil: there is none
	home   bool           // it is to be our home, or it is
	guests *invite.Bundle // whose tokens may pay, nil: none
}

// enter makes sure that we can pay a relay before anything is to go there: as a
// member, with a puzzle or with the tokens of a guest. Where the relay wants none
// it does nothing. After a crash it goes on where it was, and takes no second use
// of an invite.
func (c *Client) enter(ctx context.Context, e entry, say func(string)) error {
	if say == nil {
		say = func(string) {}
	}
	t, err := c.realms.relay(e.realm)
	if err != nil {
		return networkError(err)
	}
	d, err := t.Descriptor(ctx)
	if err != nil {
		return networkError(err)
	}
	gate, ok := t.(Gate)
	if !d.Has(wire.RoleToken) || !ok {
		return nil
	}
	st, err := c.purse.Stands(ctx, e.realm.Pin)
	if err != nil {
		return vaultError(err)
	}
	switch {
	case st.Member && (!st.Lost || e.secret == nil || !e.home):
	case e.secret != nil && e.home:
		say("becoming a member of the realm")
		if err := c.join(ctx, gate, e, d.Gate); err != nil {
			return err
		}
	case !e.home:
		if st.Tokens || e.guests != nil && len(e.guests.Guests) > 0 {
			return nil
		}
		return ErrNoTokens
	case d.Gate == gateOpen:
		if err := c.purse.Solve(ctx, e.realm.Pin, e.realm.Name); err != nil {
			return vaultError(err)
		}
	case d.Gate == gateClosed:
		return ErrRealmShut
	default:
		return ErrNeedInvite
	}
	return c.firstTokens(ctx, e.realm.Pin, say)
}

// join shows a realm invite and a credential.
func (c *Client) join(ctx context.Context, gate Gate, e entry, policy string) error {
	request, err := c.purse.Join(ctx, e.realm.Pin, e.realm.Name, *e.secret)
	if err != nil || request == nil {
		return vaultError(err)
	}
	defer clear(request)
	err = gate.Join(ctx, request)
	switch {
	case errors.Is(err, transport.ErrOutside) && policy == gateClosed:
		return errors.Join(ErrRealmShut, c.purse.Refused(ctx, e.realm.Pin))
	case errors.Is(err, transport.ErrOutside):
		return errors.Join(ErrRealmUsed, c.purse.Refused(ctx, e.realm.Pin))
	case err != nil:
		return networkError(err)
	}
	return vaultError(c.purse.Joined(ctx, e.realm.Pin))
}

// firstTokens fetches the first batch of a realm at once, or finds that there are
// tokens. What is missing is fetched by a process that runs.
func (c *Client) firstTokens(ctx context.Context, pin [32]byte, say func(string)) error {
	say("getting the first tokens")
	if _, err := c.fetchTokens(ctx, say); err != nil {
		return vaultError(err)
	}
	st, err := c.purse.Stands(ctx, pin)
	switch {
	case err != nil:
		return vaultError(err)
	case ctx.Err() != nil:
		return ctx.Err()
	case st.Tokens:
		return nil
	}
	all, err := c.purse.Status(ctx)
	if err != nil {
		return vaultError(err)
	}
	for _, s := range all {
		switch {
		case s.Pin != pin:
		case s.Trouble == purse.BadProof || s.Trouble == purse.BadKeys:
			return ErrTokenKeys
		case s.Trouble == purse.Outside:
			return ErrNeedInvite
		case s.Resting > 0:
			return nil // a member of old who comes back: it waits for the hour
		}
	}
	return ErrNoTokens
}

// keepGuests takes the tokens that an invite brings for its relay.
func (c *Client) keepGuests(tx vault.Store, l invite.Link, b *invite.Bundle) error {
	if len(b.Guests) == 0 {
		return nil
	}
	g := purse.Gift{Pin: b.Realm, Epoch: b.GuestEpoch}
	for _, raw := range b.Guests {
		g.Tokens = append(g.Tokens, token.Raw(raw))
	}
	defer g.Wipe()
	return c.purse.Keep(tx, l.Relay, g)
}

// guestsFor takes tokens for an invite of ours out of the purse.
func (c *Client) guestsFor(tx vault.Store, o *contact.InviteOptions) error {
	if o.Uses != 1 {
		return nil
	}
	g, err := c.purse.Give(tx, c.engine.Home.Realm.Pin, invite.MaxGuests)
	if err != nil || len(g.Tokens) == 0 {
		return err
	}
	defer g.Wipe()
	o.GuestEpoch = g.Epoch
	for _, raw := range g.Tokens {
		o.Guests = append(o.Guests, raw)
	}
	return nil
}

// firstGift puts tokens for our realm into a hello to somebody who lives on
// another one, where ours wants them. It fails with convo.ErrLong if the text
// leaves no room.
func (c *Client) firstGift(tx vault.Store, now time.Time, msg *content.Content, theirs contact.Realm) (given int, err error) {
	r, err := tx.PurseRealm(c.engine.Home.Realm.Pin)
	if err != nil || r == nil || !r.Wants {
		return 0, err
	}
	body, err := msg.Append(nil)
	if err != nil {
		return 0, err
	}
	return c.engine.FirstGift(tx, now, msg, theirs, pad.MaxContent-len(body))
}
