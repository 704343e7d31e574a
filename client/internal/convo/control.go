package convo

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/device"
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
	case a == Accept && (r.State == contact.Request || r.State == contact.Member):
		r.State = contact.Accepted
		return ch, e.accept(tx, now, r, ch)
	case a == Decline && r.State == contact.Request:
		r.State = contact.Declined
	case a == Block:
		r.State = contact.Blocked
		// Everything goes before the record is emptied: their devices are found by it.
		if err := e.drop(tx, r, ch); err != nil {
			return nil, err
		}
		r.Empty()
		if err := tx.PutContact(r); err != nil {
			return nil, err
		}
		return ch, e.agree(tx, now, contactKey(keyStanding, r.Root), []byte{byte(contact.Blocked)}, ch)
	default:
		return nil, contact.ErrState
	}
	if err := tx.PutContact(r); err != nil {
		return nil, err
	}
	return ch, e.drop(tx, r, ch)
}

// drop destroys what leads to and from a person, on all their devices: the private
// halves of our routes included, so that nothing of theirs can reach us again.
func (e *Engine) drop(tx Tx, p *contact.Record, ch *Change) error {
	devices, err := tx.DevicesOf(p.ID)
	if err != nil {
		return err
	}
	for _, d := range devices {
		if err := e.dropRows(tx, d.ID, ch); err != nil {
			return err
		}
		// With its ids the tickets they have open nothing any more.
		if err := errors.Join(tx.DeleteWake(d.ID), contact.Forget(tx, d.ID)); err != nil {
			return err
		}
		if d.ID != p.ID {
			if err := errors.Join(tx.DropParts(d.ID), tx.DeleteContact(d.ID)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropRows ends what waits for a device, by a person's act.
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
	if err := e.allOf(tx, now, r, ch); err != nil {
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
	ctl := &content.Control{Accept: accept && r.State != contact.Member, Name: e.Name, Route: contact.AppendOffer(nil, o, e.Home.Realm), Level: contact.LevelDevices}
	if r.Own {
		ctl.Accept, ctl.Name = false, ""
	}
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
	if len(c.Manifest) > 0 {
		if gone, err := e.newManifest(tx, now, r, c.Manifest, ch); err != nil || gone {
			return err
		}
	}
	p, err := contact.Principal(tx, r)
	if err != nil {
		return err
	}
	if len(c.Prekeys) > 0 {
		if p, err := pqxdh.ParsePrekeys(c.Prekeys); err == nil && p.Verify(r.Sign) == nil {
			r.Before, r.Prekeys = r.Prekeys, c.Prekeys
		}
	}
	if c.Name != "" && !r.Own {
		p.Claimed = contact.CleanName(c.Name)
	}
	r.Level, r.Leaves = max(r.Level, c.Level), r.Leaves || c.Leaves
	ch.Meets = ch.Meets || c.Leaves
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
	accepted := c.Accept && (p.State == contact.Pending || p.State == contact.Failed || p.State == contact.Member)
	if accepted {
		p.State, ch.Wakes = contact.Accepted, true
	}
	if p != r {
		if err := tx.PutContact(p); err != nil {
			return err
		}
		r.Join(p)
	}
	if err := tx.PutContact(r); err != nil {
		return err
	}
	if err := e.introduceOthers(tx, now, r, ch); err != nil {
		return err
	}
	if accepted {
		if err := e.allOf(tx, now, r, ch); err != nil {
			return err
		}
		if err := e.notice(tx, now, r.ID, "accepted your request", ch); err != nil {
			return err
		}
		return e.greet(tx, now, r, ch)
	}
	if r.Kept() && !r.Stop && c.Suite != 0 {
		return e.upgrade(tx, now, r, ch)
	}
	return nil
}

// allOf keeps a place for every device of somebody who is a contact now.
func (e *Engine) allOf(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	p, err := contact.Principal(tx, r)
	if err != nil {
		return err
	}
	if err := e.follow(tx, now, p, false, ch); err != nil {
		return err
	}
	is, err := tx.Contact(r.ID)
	if err == nil {
		*r = *is
	}
	return err
}

// greet gives a contact prekeys of ours, whatever they have.
func (e *Engine) greet(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	ctl := &content.Control{Level: contact.LevelDevices}
	if r.State == contact.Member {
		ctl.Name = e.Name // in the hello it is for who is asked
	}
	if err := e.prekeys(now, r, ctl); err != nil {
		return err
	}
	if err := tx.PutContact(r); err != nil {
		return err
	}
	_, err := e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Control: ctl}, Row{}, ch)
	return err
}

// newManifest takes a newer list of the devices of the person whose device r is, or
// of ours. gone says that r is not there any more.
//
// spec: manifest.md#checks
func (e *Engine) newManifest(tx Tx, now time.Time, r *contact.Record, raw []byte, ch *Change) (gone bool, err error) {
	m, err := manifest.Parse(raw)
	if err != nil {
		return false, nil // of a newer version, or nonsense: the old one stays
	}
	if r.Own {
		if m.Root == r.Root && m.Sequence > e.Self.Manifest.Sequence {
			err = e.ownManifest(tx, now, m, ch)
		}
	} else {
		var p *contact.Record
		if p, err = contact.Principal(tx, r); err != nil {
			return false, err
		}
		err = e.theirManifest(tx, now, p, m, ch)
		if p != r {
			r.Join(p)
		}
	}
	if err != nil {
		return false, err
	}
	is, err := tx.Contact(r.ID)
	if errors.Is(err, contact.ErrUnknown) || err == nil && is.Gone {
		return true, nil
	}
	if err == nil {
		*r = *is // what follows from the list is in its record
	}
	return false, err
}

// theirManifest takes a manifest of a person, stops the contact, or passes it over.
func (e *Engine) theirManifest(tx Tx, now time.Time, p *contact.Record, m *manifest.Manifest, ch *Change) error {
	before := p.Manifest
	switch err := p.NewManifest(m, now); {
	case contact.Doubtful(err):
		return errors.Join(tx.PutContact(p), e.notice(tx, now, p.ID, p.Warning, ch))
	case err != nil || bytes.Equal(before, p.Manifest):
		return nil
	}
	if err := tx.PutContact(p); err != nil {
		return err
	}
	return e.follow(tx, now, p, true, ch)
}

// ownManifest takes a manifest of ours that another device of ours showed. One that
// contradicts ours is not taken: it is told, where a person sees it.
func (e *Engine) ownManifest(tx Tx, now time.Time, m *manifest.Manifest, ch *Change) error {
	err := e.adopt(tx, now, m, ch)
	if errors.Is(err, device.ErrNotOurs) || contact.Doubtful(err) || errors.Is(err, manifest.ErrSignature) || errors.Is(err, manifest.ErrExpired) {
		return nil
	}
	return err
}

// Renewed tells every device of every contact, and ours, about our own new manifest.
func (e *Engine) Renewed(tx Tx, now time.Time, ch *Change) error {
	devices, err := tx.Devices()
	if err != nil {
		return err
	}
	for _, r := range devices {
		if !r.Kept() || r.Stop || r.Gone {
			continue
		}
		if _, err := primary(tx, r.ID); errors.Is(err, ErrBlocked) {
			continue // it is told when it is met
		} else if err != nil {
			return err
		}
		if err := e.show(tx, now, r, ch); err != nil {
			return err
		}
	}
	return nil
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
		r.Realm = fresh.Realm // the caller keeps it
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
		case !r.Mine || r.ID == fresh.ID || r.Retire != 0 && !r.Burnt:
		case r.Acked && fresh.Older(r): // they have had a newer one for a while
			fresh.Replace(now)
		case r.Older(fresh) && r.Burnt:
			if err := tx.DeleteRoute(r.ID); err != nil {
				return err
			}
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
