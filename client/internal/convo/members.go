package convo

import (
	"bytes"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// HasSession reports whether there is a session with a device, or one was begun.
func HasSession(tx Tx, root, sign key.SignPublic) (bool, error) {
	d, err := tx.DeviceOf(root, sign)
	if errors.Is(err, contact.ErrUnknown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = primary(tx, d.ID)
	if errors.Is(err, ErrBlocked) {
		return false, nil
	}
	return err == nil, err
}

// Expect makes a place for what waits for a device of somebody who shares a group
// with us: the device at a place of the manifest that the group shows. It is a
// Member's unless its person is a contact. It fails with contact.ErrSelf, and with
// the errors of contact.MemberDevice.
//
// spec: hello.md#introductions
func (e *Engine) Expect(tx Tx, now time.Time, m *manifest.Manifest, place int) (*contact.Record, error) {
	if m.Root == e.Self.Manifest.Root {
		return nil, contact.ErrSelf
	}
	return contact.MemberDevice(tx, now, m, place)
}

// Bundle makes an introduction for a device that Expect would make a place for: it,
// and nobody else, can begin a session with this one by it. It fails with the errors of
// Expect. The same bytes may be sent again until there is a session.
//
// spec: hello.md#introductions
func (e *Engine) Bundle(tx Tx, now time.Time, m *manifest.Manifest, place int) ([]byte, *Change, error) {
	d, err := e.Expect(tx, now, m, place)
	if err != nil {
		return nil, nil, err
	}
	ctl := &content.Control{}
	if err := e.prekeys(now, d, ctl); err != nil {
		return nil, nil, err
	}
	route, offer, err := contact.NewRoute(e.Rand, now, e.Home.Realm, e.Home.Live)
	if err != nil {
		return nil, nil, err
	}
	route.Contact = d.ID
	if err := e.gift(tx, now, d, ctl, giftOffer); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(tx.PutContact(d), tx.PutRoute(route)); err != nil {
		return nil, nil, err
	}
	if err := trim(tx, d.ID, route.ID); err != nil {
		return nil, nil, err
	}
	i := &contact.Introduction{
		Device: e.Self.Place(e.Self.Manifest), Made: now.Unix(), Manifest: e.Self.Manifest, Prekeys: ctl.Prekeys, Offer: *offer, Realm: e.Home.Realm,
		Name: contact.CleanName(e.Name), Guest: ctl.Guest,
	}
	return i.Append(nil), &Change{Routes: true}, nil
}

// Meet takes up an introduction that came by a group: root and sign are whose leaf it
// came from, and it must be theirs. Where there is a session that has worked with the
// same keys nothing is done. It fails with contact.ErrIntroduction for one that is not
// theirs or not well-formed, and with the errors of Expect; then nothing was changed.
//
// spec: hello.md#introductions
func (e *Engine) Meet(tx Tx, now time.Time, root, sign key.SignPublic, raw []byte) (*Change, error) {
	i, err := contact.ParseIntroduction(raw)
	if err != nil {
		return nil, err
	}
	if i.Manifest.Root != root || i.Sign() != sign || contact.CheckOffer(now, e.Home.Realm, &i.Offer, i.Realm) != nil {
		return nil, contact.ErrIntroduction
	}
	d, err := e.Expect(tx, now, i.Manifest, i.Device)
	if err != nil {
		return nil, err
	}
	ch := &Change{}
	if bytes.Equal(d.Prekeys, i.Prekeys) || bytes.Equal(d.Before, i.Prekeys) {
		return ch, nil // the hello by it is on its way, or was answered
	}
	if since := now.Sub(time.Unix(d.Rekeyed, 0)); since >= 0 && since < rekeyEvery {
		return ch, nil
	}
	d.Level = max(d.Level, contact.LevelDevices)
	d.Before, d.Prekeys = nil, i.Prekeys
	if p, err := contact.Principal(tx, d); err != nil {
		return nil, err
	} else if p.State == contact.Member {
		p.Claimed = i.Name
		if err := tx.PutContact(p); err != nil {
			return nil, err
		}
		if p != d {
			d.Join(p)
		}
	}
	if err := e.newRoute(tx, now, d, contact.TheirRoute(i.Made, d.ID, &i.Offer, i.Realm)); err != nil {
		return nil, err
	}
	if len(i.Guest) > 0 && e.Gifts != nil {
		if err := e.Gifts.Keep(tx, i.Realm, i.Guest); err != nil {
			return nil, err
		}
	}
	if _, err := primary(tx, d.ID); err == nil {
		d.Rekeyed = now.Unix() // they lost the session that there was
	} else if !errors.Is(err, ErrBlocked) {
		return nil, err
	}
	err = e.meet(tx, now, d, ch)
	if err == nil {
		err = e.resealAll(tx, now, d.ID, ch)
	}
	return ch, err
}
