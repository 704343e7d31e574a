package convo

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Groups is who understands what groups say in pair sessions: opaque here.
type Groups interface {
	// Take takes what a device said, in the transaction in which it was opened. An
	// error undoes the transaction, and the message is offered again.
	Take(tx Tx, now time.Time, from *contact.Record, payload []byte, ch *Change) error
	// Revoked is told of every newer manifest, of a person or of ours: devices may
	// have joined it, and those that it revokes or lacks are to go at once.
	Revoked(tx Tx, now time.Time, person key.SignPublic, m *manifest.Manifest, ch *Change) error
}

// Tell queues something for a device that groups say to it. Nothing is shown for it.
// It waits there until the device acks it or is revoked. It fails with ErrStopped or
// ErrBlocked for a device to which nothing is sent, and with ErrLong.
func (e *Engine) Tell(tx Tx, now time.Time, device int64, payload []byte) (*Change, error) {
	ch := &Change{}
	r, err := tx.Contact(device)
	switch {
	case err != nil:
		return nil, err
	case r.Stop:
		return nil, ErrStopped
	case !r.Kept() || r.Gone:
		return nil, ErrBlocked
	case len(payload) == 0 || len(payload) > content.MaxGroup:
		return nil, ErrLong
	}
	_, err = e.write(tx, now, r, &content.Content{Sent: uint64(now.Unix()), Group: payload}, Row{}, ch)
	return ch, err
}

// introductionLife is how long an introduction can be taken up: as long as something
// is parked.
const introductionLife = 30 * 24 * time.Hour

// Bundle makes an introduction for one person, who need not be known: whoever shows
// that root may begin one session with this device, as a Member. It travels through
// somebody whom both know. 16 bytes of secret, then the sealed bundle.
//
// spec: invite.md#introductions
func (e *Engine) Bundle(tx Tx, now time.Time, person key.SignPublic) ([]byte, error) {
	inv, err := contact.NewInvite(tx, e.Rand, now, e.Self, e.Home.Realm, e.Home.Live, contact.InviteOptions{Uses: 1, Life: introductionLife, Name: e.Name})
	if err != nil {
		return nil, err
	}
	raw := invite.AppendIntroduction(nil, inv.Link(), inv.Sealed)
	inv.Group, inv.For, inv.Sealed = true, person, nil // no relay keeps it
	return raw, tx.PutInvite(inv)
}

// Meet takes up an introduction. The person is a Member unless they are a contact.
// It fails with the errors of invite.Open, and with contact.ErrSelf, and does nothing
// where there is a session with that device.
//
// spec: invite.md#introductions
func (e *Engine) Meet(tx Tx, now time.Time, raw []byte) (*Change, error) {
	link, sealed, err := invite.ParseIntroduction(raw)
	if err != nil {
		return nil, err
	}
	b, err := invite.Open(link, sealed, now)
	if err != nil {
		return nil, err
	}
	if b.Root == e.Self.Manifest.Root {
		return nil, contact.ErrSelf
	}
	ch := &Change{}
	is, ok := b.Manifest.Active(int(b.Device))
	if !ok {
		return nil, contact.ErrHello
	}
	switch d, err := tx.DeviceOf(b.Root, is.Sign); {
	case errors.Is(err, contact.ErrUnknown):
	case err != nil:
		return nil, err
	case !d.Kept() && d.State != contact.Declined:
		return ch, nil // blocked, or on the way to be a contact
	default:
		if _, err := primary(tx, d.ID); err == nil {
			return ch, nil
		} else if !errors.Is(err, ErrBlocked) {
			return nil, err
		}
	}
	c := &content.Content{Sent: uint64(now.Unix()), Drop: &content.Drop{Back: true}}
	first, _, err := e.First(c, b.Manifest)
	if err != nil {
		return nil, err
	}
	out, err := contact.Start(tx, e.Rand, now, contact.Starting{
		Self: e.Self, Link: link, Bundle: b, Realm: e.Home.Realm, Live: e.Home.Live, Name: b.Name, Mine: e.Name, First: first, Group: true,
	})
	if err != nil {
		return nil, err
	}
	row := &Row{Contact: out.Contact.ID, Message: out.Message, Sealed: true, Hello: true, Route: out.Route.ID, State: Queued,
		Born: now.Unix(), Made: now.Unix(), Payload: out.Whole, Until: out.Until}
	if err := tx.PutRow(row); err != nil {
		return nil, err
	}
	ch.Added, ch.Routes = append(ch.Added, row), true
	return ch, e.topUp(tx, now, out.Contact.ID, ch)
}
