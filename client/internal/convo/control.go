package convo

import (
	"errors"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

// RenewDays is after how many days an owner offers a new route.
const RenewDays = 7

// HealDays is after how many days it does so if an epoch of the braid was
// completed since.
//
// spec: route.md#renewal
const HealDays = 2

// Answer is what a person says to a request.
type Answer byte

// Answers to a request.
const (
	Accept  Answer = 1
	Decline Answer = 2
	Block   Answer = 3
)

// Answer acts on a request, and Block on any contact.
func (e *Engine) Answer(tx Tx, now time.Time, id int64, a Answer) (*Change, error) {
	r, err := tx.Contact(id)
	if err != nil {
		return nil, err
	}
	ch := &Change{Routes: true}
	switch {
	case a == Accept && r.State == contact.Request:
		r.State = contact.Accepted
		return ch, e.accept(tx, now, r, ch)
	case a == Decline && r.State == contact.Request:
		r.State = contact.Declined
	case a == Block:
		r.State = contact.Blocked
		r.Empty()
	default:
		return nil, contact.ErrState
	}
	if err := tx.PutContact(r); err != nil {
		return nil, err
	}
	return ch, e.drop(tx, r.ID, ch)
}

// drop destroys what leads to and from a contact: the private halves of our
// routes included, so that nothing of theirs can reach us again.
func (e *Engine) drop(tx Tx, id int64, ch *Change) error {
	if err := e.dropRows(tx, id, ch); err != nil {
		return err
	}
	// With its ids the tickets they have open nothing any more.
	return errors.Join(tx.DeleteWake(id), contact.Forget(tx, id))
}

// dropRows ends what waits for a contact, by a person's act.
func (e *Engine) dropRows(tx Tx, id int64, ch *Change) error {
	rows, err := tx.RowsOf(id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := tx.DeleteRow(row.ID); err != nil {
			return err
		}
		ch.Removed = append(ch.Removed, row.ID)
		if row.Event == 0 {
			continue
		}
		ev, err := tx.Event(row.Event)
		if err != nil {
			return err
		}
		if ev.State < OnDevice {
			ev.State = Expired
			if err := tx.PutEvent(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// accept tells a contact that they are accepted and how to reach us. It rides
// with the answer to their hello.
func (e *Engine) accept(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	ch.Wakes = true
	if err := tx.PutContact(r); err != nil {
		return err
	}
	return e.offer(tx, now, r, true, ch)
}

// offer gives a contact a new route to us, fresh prekeys to start again with
// unless they have some, and our name.
func (e *Engine) offer(tx Tx, now time.Time, r *contact.Record, accept bool, ch *Change) error {
	route, o, err := contact.NewRoute(e.Rand, now, e.Home.Realm, e.Home.Live)
	if err != nil {
		return err
	}
	route.Contact = r.ID
	if err := tx.PutRoute(route); err != nil {
		return err
	}
	if err := trim(tx, r.ID, route.ID); err != nil {
		return err
	}
	ctl := &content.Control{Accept: accept, Name: e.Name, Route: contact.AppendOffer(nil, o, e.Home.Realm)}
	// Every set pushes out an old one that a restored device may still go by.
	if n := len(r.Given); n == 0 || now.Unix()-r.Given[n-1].Born >= RenewDays*daySeconds {
		if err := e.prekeys(now, r, ctl); err != nil {
			return err
		}
	}
	if err := e.gift(tx, now, r, ctl, giftOffer); err != nil {
		return err
	}
	if err := tx.PutContact(r); err != nil {
		return err
	}
	c := &content.Content{Sent: uint64(now.Unix()), Control: ctl}
	if err := e.ride(tx, r.ID, c); err != nil {
		return err
	}
	if s, err := primary(tx, r.ID); err == nil {
		s.Offered = s.Epoch
		err = tx.PutSession(s)
		if err != nil {
			return err
		}
	} else if !errors.Is(err, ErrBlocked) {
		return err
	}
	ch.Routes = true
	_, err = e.write(tx, now, r, c, Row{NewWay: route.ID}, ch)
	return err
}

// prekeys adds prekeys of ours for this contact alone, with which they, or we
// with theirs, can start a session again.
func (e *Engine) prekeys(now time.Time, r *contact.Record, ctl *content.Control) error {
	private, public, err := pqxdh.NewPrekeys(e.Rand, e.Self.Sign, false)
	if err != nil {
		return err
	}
	defer private.Wipe()
	g := contact.Given{Private: private.Append(nil), Public: public.Append(nil), Born: now.Unix()}
	r.Give(g)
	ctl.Prekeys = g.Public
	return nil
}

// control acts on what a contact's client said.
func (e *Engine) control(tx Tx, now time.Time, r *contact.Record, said *content.Content, ch *Change) error {
	c := said.Control
	if len(c.Prekeys) > 0 {
		if p, err := pqxdh.ParsePrekeys(c.Prekeys); err == nil && e.signedBy(r, p) {
			r.Before, r.Prekeys = r.Prekeys, c.Prekeys
		}
	}
	if len(c.Manifest) > 0 {
		if err := e.newManifest(tx, now, r, c.Manifest, ch); err != nil {
			return err
		}
	}
	if c.Name != "" {
		r.Claimed = contact.CleanName(c.Name)
	}
	if len(c.Route) > 0 {
		o, realm, err := contact.ParseOffer(c.Route)
		if err == nil {
			err = contact.CheckOffer(now, e.Home.Realm, &o, realm)
		}
		if err != nil {
			return e.notice(tx, now, r.ID, "they offered an address that is not valid; messages go to the old one", ch)
		}
		if err := e.newRoute(tx, now, r, contact.TheirRoute(int64(said.Sent), r.ID, &o, realm)); err != nil {
			return err
		}
	}
	if len(c.Guest) > 0 && e.Gifts != nil {
		if err := e.Gifts.Keep(tx, r.Realm, c.Guest); err != nil {
			return err
		}
	}
	if len(c.Tickets) > 0 {
		if err := e.takeTickets(tx, now, r, c.Tickets); err != nil {
			return err
		}
	}
	if c.Suite > r.Suite {
		e.heardSuite(now, r, c.Suite)
	}
	accepted := c.Accept && (r.State == contact.Pending || r.State == contact.Failed)
	if accepted {
		r.State, ch.Wakes = contact.Accepted, true
	}
	if err := tx.PutContact(r); err != nil {
		return err
	}
	if accepted {
		if err := e.notice(tx, now, r.ID, "accepted your request", ch); err != nil {
			return err
		}
		return e.greet(tx, now, r, ch)
	}
	if r.State == contact.Accepted && !r.Stop && c.Suite != 0 {
		return e.upgrade(tx, now, r, ch)
	}
	return nil
}

// greet gives a contact prekeys of ours, whatever they have.
func (e *Engine) greet(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	ctl := &content.Control{}
	if err := e.prekeys(now, r, ctl); err != nil {
		return err
	}
	if err := tx.PutContact(r); err != nil {
		return err
	}
	_, err := e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Control: ctl}, Row{}, ch)
	return err
}

// newManifest takes a newer list of the contact's devices.
//
// spec: manifest.md#checks
func (e *Engine) newManifest(tx Tx, now time.Time, r *contact.Record, raw []byte, ch *Change) error {
	m, err := manifest.Parse(raw)
	if err != nil {
		return nil // of a newer version, or nonsense: the old one stays
	}
	if err := r.NewManifest(m, now); contact.Doubtful(err) {
		return e.notice(tx, now, r.ID, r.Warning, ch)
	}
	return nil
}

// Renewed tells every contact about our own new manifest.
func (e *Engine) Renewed(tx Tx, now time.Time, ch *Change) error {
	people, err := tx.Contacts()
	if err != nil {
		return err
	}
	for _, r := range people {
		if r.State != contact.Accepted || r.Stop {
			continue
		}
		c := &content.Content{Sent: uint64(now.Unix()), Control: &content.Control{Manifest: e.Self.Manifest.Append(nil)}}
		if _, err := e.write(tx, now, r, c, Row{}, ch); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) signedBy(r *contact.Record, p *pqxdh.Prekeys) bool {
	m, err := manifest.Parse(r.Manifest)
	if err != nil || r.Device >= len(m.Devices) {
		return false
	}
	return p.Verify(m.Devices[r.Device].Sign) == nil
}

// newRoute takes a route to the contact's device. New seals use the newest; the
// old ones are kept for as long as their owner serves them, for a hello that
// starts again.
func (e *Engine) newRoute(tx Tx, now time.Time, r *contact.Record, fresh *contact.RouteRecord) error {
	old, err := tx.RoutesOf(r.ID)
	if err != nil {
		return err
	}
	for _, route := range old {
		switch {
		case route.Mine || route.Retire != 0:
		case fresh.Older(route): // an older offer came late
			fresh.Replace(now)
		default:
			route.Replace(now)
			if err := tx.PutRoute(route); err != nil {
				return err
			}
		}
	}
	if fresh.Retire == 0 {
		r.Realm = fresh.Realm
	}
	if err := tx.PutRoute(fresh); err != nil {
		return err
	}
	return trim(tx, r.ID, fresh.ID)
}

// maxRoutes bounds the routes of one contact, each way: whoever offers more, or
// makes us offer more, loses the oldest.
const maxRoutes = 8

// trim drops the oldest routes above maxRoutes of the direction of the newest.
func trim(tx contact.Routes, id, newest int64) error {
	fresh, err := tx.Route(newest)
	if err != nil {
		return err
	}
	all, err := tx.RoutesOf(id)
	if err != nil {
		return err
	}
	var same []*contact.RouteRecord // oldest first
	for _, r := range all {
		if r.Mine == fresh.Mine && r.ID != fresh.ID && r.Invite == 0 {
			same = append(same, r)
		}
	}
	// The newest one that they have for certain stays: what they send goes there.
	keep := -1
	for i, r := range same {
		if r.Mine && r.Acked {
			keep = i
		}
	}
	for i := 0; i < len(same)-maxRoutes+1; i++ {
		if i == keep {
			continue
		}
		if err := tx.DeleteRoute(same[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// routeAcked replaces our older routes once the other end has the new one.
func (e *Engine) routeAcked(tx Tx, now time.Time, row *Row) error {
	if row.NewWay == 0 {
		return nil
	}
	fresh, err := tx.Route(row.NewWay)
	if errors.Is(err, contact.ErrUnknown) {
		return nil
	}
	if err != nil {
		return err
	}
	fresh.Acked = true
	all, err := tx.RoutesOf(row.Contact)
	if err != nil {
		return err
	}
	for _, r := range all {
		switch {
		case !r.Mine || r.ID == fresh.ID || r.Retire != 0:
		case r.Acked && fresh.Older(r): // they have had a newer one for a while
			fresh.Replace(now)
		case r.Older(fresh):
			r.Replace(now)
			if err := tx.PutRoute(r); err != nil {
				return fmt.Errorf("retiring route: %w", err)
			}
		}
	}
	return tx.PutRoute(fresh)
}

// Fail tells that nobody will answer a hello of ours any more: its invite is
// gone from the relay. That is the relay's word, so the hello stays in the
// outbox, and an answer that comes after all is taken.
func (e *Engine) Fail(tx Tx, now time.Time, r *contact.Record) (*Change, error) {
	ch := &Change{}
	r.State = contact.Failed
	if err := tx.PutContact(r); err != nil {
		return nil, err
	}
	return ch, e.notice(tx, now, r.ID, "the invite was used by another device, revoked or has expired; ask for a new link", ch)
}
