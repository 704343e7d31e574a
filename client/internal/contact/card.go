package contact

import (
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

// Card is all that another device of ours needs to reach one device of a person, or
// one of ours: who it is, prekeys to begin a session with, and the routes that lead
// to it. Routes and prekeys are those that this device was given; a new device says
// hello by them once and is given its own.
//
// spec: manifest.md#how-a-new-device-meets-others
type Card struct {
	Root     key.SignPublic `cbor:"1,keyasint"`
	Sign     key.SignPublic `cbor:"2,keyasint"`
	Manifest []byte         `cbor:"3,keyasint"`
	Name     string         `cbor:"4,keyasint"`
	Claimed  string         `cbor:"5,keyasint"`
	State    State          `cbor:"6,keyasint"`
	Verified bool           `cbor:"7,keyasint"`
	Since    int64          `cbor:"8,keyasint"`
	Level    byte           `cbor:"9,keyasint"`
	Prekeys  []byte         `cbor:"10,keyasint"`
	Realm    Realm          `cbor:"11,keyasint"`
	Routes   []RouteRecord  `cbor:"12,keyasint"` // theirs, oldest first, at most cardRoutes
	Own      bool           `cbor:"13,keyasint,omitempty"`
	Before   []byte         `cbor:"14,keyasint,omitempty"`
}

// cardRoutes bounds the routes on a card: the newest ones that are still served.
const cardRoutes = 3

// ErrCard is returned for a card that is not well-formed.
var ErrCard = errors.New("card of a device is malformed")

// CardOf makes the card of a device, ours or theirs.
func CardOf(tx Tx, r *Record) ([]byte, error) {
	routes, err := tx.RoutesOf(r.ID)
	if err != nil {
		return nil, err
	}
	c := Card{
		Root: r.Root, Sign: r.Sign, Manifest: r.Manifest, Name: r.Name, Claimed: r.Claimed, State: r.State, Verified: r.Verified,
		Since: r.Since, Level: r.Level, Prekeys: r.Prekeys, Before: r.Before, Realm: r.Realm, Own: r.Own,
	}
	for _, route := range routes {
		if !route.Mine && route.Invite == 0 && route.Retire == 0 {
			c.Routes = append(c.Routes, *route)
		}
	}
	c.Routes = c.Routes[max(0, len(c.Routes)-cardRoutes):]
	raw, err := cbor.Marshal(&c)
	if err != nil {
		return nil, fmt.Errorf("writing card: %w", err)
	}
	return raw, nil
}

// OwnCard makes the card of this device, for one that is being linked: prekeys and
// the route are for that device alone.
func OwnCard(self *device.Identity, prekeys []byte, route *RouteRecord) ([]byte, error) {
	c := Card{Root: self.Manifest.Root, Sign: self.Name(), State: Accepted, Level: LevelDevices, Prekeys: prekeys, Realm: route.Realm, Routes: []RouteRecord{*route}, Own: true}
	raw, err := cbor.Marshal(&c)
	if err != nil {
		return nil, fmt.Errorf("writing card: %w", err)
	}
	return raw, nil
}

// ParseCard reads what CardOf wrote. It fails with ErrCard.
func ParseCard(raw []byte) (*Card, error) {
	c := &Card{}
	if err := cbor.Unmarshal(raw, c); err != nil {
		return nil, ErrCard
	}
	if len(c.Routes) > cardRoutes || c.State != Accepted && c.State != Member {
		return nil, ErrCard
	}
	for _, p := range [][]byte{c.Prekeys, c.Before} {
		if len(p) == 0 {
			continue
		}
		set, err := pqxdh.ParsePrekeys(p)
		if err != nil || set.Verify(c.Sign) != nil {
			return nil, ErrCard
		}
	}
	for i := range c.Routes {
		r := &c.Routes[i]
		if r.Mine || len(r.Owner) > 0 {
			return nil, ErrCard
		}
		chain, _, err := r.Keys()
		if err != nil {
			return nil, ErrCard
		}
		chain.Wipe()
	}
	return c, nil
}

// TakeCard keeps what a card says of a device of somebody: the person, if they are
// not known, and the way to the device, if there is none. It returns the person, nil
// if they are blocked here; met says that they are new to this device. A manifest
// that contradicts the one we hold stops the contact, as from anybody.
func TakeCard(tx Tx, now time.Time, c *Card) (p *Record, met bool, err error) {
	m, err := manifest.Parse(c.Manifest)
	if err != nil || m.Root != c.Root {
		return nil, false, ErrCard
	}
	p, err = tx.ContactOf(c.Root)
	switch {
	case errors.Is(err, ErrUnknown):
		if err := m.Verify(c.Root, time.Time{}); err != nil {
			return nil, false, ErrCard
		}
		p, met = &Record{Root: c.Root}, true
	case err != nil:
		return nil, false, err
	case p.State == Declined, p.State == Failed, p.State == Pending, p.State == Request:
		// Our other device is further than this one.
		met = true
	case p.State == Blocked:
		return nil, false, nil
	}
	if met {
		p.Claimed, p.Verified = c.Claimed, p.Verified || c.Verified
		if p.Since == 0 {
			p.Since = c.Since
		}
		if p.ID == 0 || len(p.Manifest) == 0 {
			p.Manifest = c.Manifest
			if i, ok := m.Find(c.Sign); ok {
				if err := p.Is(m, i); err != nil {
					return nil, false, ErrCard
				}
			}
		}
		if p.ID == 0 {
			if p.Name, err = freeName(tx, c.Name, p); err != nil {
				return nil, false, err
			}
		}
	}
	if p.State != Accepted {
		p.State = c.State
	}
	p.Known = true
	if err := p.NewManifest(m, now); err != nil && !Doubtful(err) {
		return nil, false, nil // of a past that both have left
	}
	return p, met, tx.PutContact(p)
}

// Reach gives a device the way that a card says, unless it has one. Routes that no
// offer could have brought are left out.
func (c *Card) Reach(tx Tx, home Realm, d *Record) error {
	have, err := tx.SessionsOf(d.ID)
	if err != nil || len(have) > 0 {
		return err
	}
	d.Level = max(d.Level, c.Level)
	d.Prekeys, d.Before, d.Realm = c.Prekeys, c.Before, c.Realm
	old, err := tx.RoutesOf(d.ID)
	if err != nil {
		return err
	}
	for _, r := range old {
		if !r.Mine {
			if err := tx.DeleteRoute(r.ID); err != nil {
				return err
			}
		}
	}
	for _, r := range c.Routes {
		if !Reachable(home, r.Realm) {
			continue
		}
		r.ID, r.Contact, r.Invite = 0, d.ID, 0
		if err := tx.PutRoute(&r); err != nil {
			return err
		}
	}
	return tx.PutContact(d)
}
