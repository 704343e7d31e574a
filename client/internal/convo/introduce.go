package convo

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/session"
)

// Introduce begins sessions with devices that this one was told of and has not met,
// at most so many at a time. It reports whether there are more. What waits for them
// is sealed at once.
//
// spec: manifest.md#how-a-new-device-meets-others
func (e *Engine) Introduce(tx Tx, now time.Time, most int) (ch *Change, more bool, err error) {
	ch = &Change{}
	if err := e.revokeLeft(tx, now, ch); err != nil {
		return nil, false, err
	}
	devices, err := tx.Devices()
	if err != nil {
		return nil, false, err
	}
	for _, r := range devices {
		may, err := e.mayMeet(tx, r)
		if err != nil {
			return nil, false, err
		}
		if !may {
			continue
		}
		if most--; most < 0 {
			return ch, true, nil
		}
		if err := e.meet(tx, now, r, ch); err != nil {
			return nil, false, err
		}
	}
	return ch, false, nil
}

// mayMeet reports whether a session with a device can be begun and there is none.
func (e *Engine) mayMeet(tx Tx, r *contact.Record) (bool, error) {
	if !r.Kept() || r.Stop || r.Gone || len(r.Prekeys) == 0 || r.Level < contact.LevelDevices {
		return false, nil
	}
	have, err := tx.SessionsOf(r.ID)
	if err != nil || len(have) > 0 {
		return false, err
	}
	routes, err := tx.RoutesOf(r.ID)
	for _, route := range routes {
		if !route.Mine {
			return true, err
		}
	}
	return false, err
}

func (e *Engine) meet(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	s, err := e.begin(tx, now, r, ch)
	if errors.Is(err, session.ErrDevice) || errors.Is(err, session.ErrPrekey) {
		return nil // their manifest has changed meanwhile
	}
	if err != nil {
		return err
	}
	defer s.Wipe()
	if err := contact.MakePrimary(tx, r.ID, s, now); err != nil {
		return err
	}
	r.Showed = e.Self.Manifest.Sequence // it is in the hello
	if err := e.greet(tx, now, r, ch); err != nil {
		return err
	}
	return e.topUp(tx, now, r.ID, ch)
}

// introduceOthers tells our other devices how to reach a device that can be reached
// by now, and what was said with the person before they knew of them.
func (e *Engine) introduceOthers(tx Tx, now time.Time, r *contact.Record, ch *Change) error {
	if r.Carded || !r.Kept() || len(r.Prekeys) == 0 || r.Level < contact.LevelDevices {
		return nil
	}
	own, err := e.others(tx)
	if err != nil || len(own) == 0 || r.Own && len(own) == 1 {
		return err
	}
	r.Carded = true
	if err := tx.PutContact(r); err != nil {
		return err
	}
	card, err := contact.CardOf(tx, r)
	if err != nil {
		return err
	}
	if err := e.agree(tx, now, append(contactKey(keyCard, r.Root), r.Sign[:]...), card, ch); err != nil {
		return err
	}
	p, err := contact.Principal(tx, r)
	if err != nil || r.Own {
		return err
	}
	if p.Known {
		return nil
	}
	p.Known = true
	if err := tx.PutContact(p); err != nil {
		return err
	}
	if p.State != contact.Accepted {
		return nil
	}
	if err := e.agree(tx, now, contactKey(keyName, p.Root), []byte(p.Name), ch); err != nil {
		return err
	}
	return tx.Events(p.ID, 0, func(ev *Event) error {
		if _, named := ev.Name(); !named {
			return nil
		}
		return e.tell(tx, now, &content.Sync{Copy: copyOf(p, ev)}, ch)
	})
}

// Cards returns the cards of every device that another device of ours should know:
// those of contacts, of members of groups, and ours, for a device that is linked. From
// then on those devices count as known to all of ours.
func (e *Engine) Cards(tx Tx) (cards [][]byte, err error) {
	devices, err := tx.Devices()
	if err != nil {
		return nil, err
	}
	for _, r := range devices {
		if !r.Kept() || r.Own && r.Joined == 0 {
			continue
		}
		if r.Gone {
			r.Known = true // by the cards of their other devices
			if err := tx.PutContact(r); err != nil {
				return nil, err
			}
			continue
		}
		if !r.Carded || r.Person == 0 && !r.Known {
			r.Carded, r.Known = len(r.Prekeys) > 0 && r.Level >= contact.LevelDevices, true
			if err := tx.PutContact(r); err != nil {
				return nil, err
			}
		}
		card, err := contact.CardOf(tx, r)
		if err != nil {
			return nil, err
		}
		cards = append(cards, card)
	}
	return cards, nil
}

// TakeCard takes a card from another device of ours. A malformed one fails with
// contact.ErrCard and changes nothing.
func (e *Engine) TakeCard(tx Tx, now time.Time, raw []byte) (*Change, error) {
	c, err := contact.ParseCard(raw)
	if err != nil {
		return nil, err
	}
	ch := &Change{Meets: true}
	if c.Own {
		return ch, e.ownCard(tx, c)
	}
	return ch, e.card(tx, now, c, ch)
}

// takeCard is TakeCard for a card that was agreed on: one that this version cannot
// read is passed over.
func (e *Engine) takeCard(tx Tx, now time.Time, raw []byte, ch *Change) error {
	c, err := contact.ParseCard(raw)
	if err != nil {
		return nil
	}
	ch.Meets = true
	if c.Own {
		return e.ownCard(tx, c)
	}
	err = e.card(tx, now, c, ch)
	if errors.Is(err, contact.ErrCard) {
		return nil
	}
	return err
}

func (e *Engine) card(tx Tx, now time.Time, c *contact.Card, ch *Change) error {
	if c.Root == e.Self.Manifest.Root {
		return nil
	}
	p, met, err := contact.TakeCard(tx, now, c)
	if err != nil || p == nil {
		return err
	}
	if err := e.follow(tx, now, p, false, ch); err != nil {
		return err
	}
	d, err := tx.DeviceOf(c.Root, c.Sign)
	if errors.Is(err, contact.ErrUnknown) {
		return nil // revoked meanwhile
	}
	if err != nil {
		return err
	}
	d.Carded = len(c.Prekeys) > 0 && c.Level >= contact.LevelDevices
	if err := c.Reach(tx, e.Home.Realm, d); err != nil {
		return err
	}
	if !met {
		return nil
	}
	return e.recall(tx, now, c.Root, ch)
}

// ownCard takes the card of another device of ours.
func (e *Engine) ownCard(tx Tx, c *contact.Card) error {
	m := e.Self.Manifest
	i, ok := m.Find(c.Sign)
	if !ok || m.Devices[i].Revoked || c.Root != m.Root || c.Sign == e.Self.Name() {
		return nil
	}
	d, err := tx.DeviceOf(c.Root, c.Sign)
	if errors.Is(err, contact.ErrUnknown) {
		d, err = e.ownRecord(m, i), nil
		d.Joined = m.Sequence
		if err := tx.PutContact(d); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return c.Reach(tx, e.Home.Realm, d)
}

// Welcome prepares for a device of ours that is being linked: its record, with a
// route and prekeys that are for it alone. It returns the card by which the new
// device reaches this one. Nothing comes of it unless Adopt takes a manifest that
// lists the device; Unwelcome undoes it.
func (e *Engine) Welcome(tx Tx, now time.Time, is manifest.Device) (card []byte, ch *Change, err error) {
	ch = &Change{Routes: true}
	d := &contact.Record{Root: e.Self.Manifest.Root, Own: true, State: contact.Accepted, Sign: is.Sign, Level: contact.LevelDevices}
	if _, err := tx.DeviceOf(d.Root, d.Sign); err == nil {
		return nil, nil, contact.ErrKnown
	} else if !errors.Is(err, contact.ErrUnknown) {
		return nil, nil, err
	}
	ctl := &content.Control{}
	if err := e.prekeys(now, d, ctl); err != nil {
		return nil, nil, err
	}
	if err := tx.PutContact(d); err != nil {
		return nil, nil, err
	}
	mine, offer, err := contact.NewRoute(e.Rand, now, e.Home.Realm, e.Home.Live)
	if err != nil {
		return nil, nil, err
	}
	mine.Contact = d.ID
	if err := tx.PutRoute(mine); err != nil {
		return nil, nil, err
	}
	theirs := contact.TheirRoute(now.Unix(), 0, offer, e.Home.Realm)
	card, err = contact.OwnCard(e.Self, ctl.Prekeys, theirs)
	return card, ch, err
}

// Unwelcome undoes Welcome for a device that was not linked after all.
func (e *Engine) Unwelcome(tx Tx, is manifest.Device) (*Change, error) {
	ch := &Change{}
	d, err := tx.DeviceOf(e.Self.Manifest.Root, is.Sign)
	if errors.Is(err, contact.ErrUnknown) || err == nil && (!d.Own || d.Joined != 0) {
		return ch, nil
	}
	if err != nil {
		return nil, err
	}
	return ch, e.end(tx, d, ch)
}
