package contact

import (
	"encoding/hex"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// MemberName is what somebody is called who is known from a group only: by the
// beginning of their root, as nobody vouches for what they call themselves and a
// name of that kind may be that of a contact.
func MemberName(root key.SignPublic) string { return "member " + hex.EncodeToString(root[:4]) }

// MemberDevice finds or makes the record of a device of somebody who shares a group
// with us: the place is that of the manifest that the group shows. Who is not known
// becomes a Member. Of a contact the manifest that is held counts: what a group shows
// may be older, and says nothing against them.
//
// It fails with ErrState for whom nothing is to be begun with (blocked, or on the way
// to be a contact), and with ErrHello for a device that is not active.
//
// spec: hello.md#introductions
func MemberDevice(tx Tx, now time.Time, m *manifest.Manifest, place int) (*Record, error) {
	is, ok := m.Active(place)
	if !ok || !m.Signed() {
		return nil, ErrHello
	}
	p, err := tx.ContactOf(m.Root)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	fresh := err != nil || p.State == Declined || p.State == Failed
	switch {
	case fresh:
		if p, err = recordFor(tx, m.Root); err != nil {
			return nil, err
		}
		p.State, p.Since, p.Manifest, p.Last = Member, now.Unix(), m.Append(nil), m.Ref()
		if p.Name == "" {
			if p.Name, err = freeName(tx, MemberName(m.Root), p); err != nil {
				return nil, err
			}
		}
		return p, errors.Join(p.Is(m, place), tx.PutContact(p))
	case !p.Kept() || p.Stop:
		return nil, ErrState
	}
	held, err := manifest.Parse(p.Manifest)
	if err != nil {
		return nil, err
	}
	if p.State == Member && m.Sequence > held.Sequence && manifest.CheckRevoked(held, m) == nil {
		p.replace(held, m.Append(nil))
		held = m
		if err := tx.PutContact(p); err != nil {
			return nil, err
		}
	}
	at, ok := held.Find(is.Sign)
	if !ok || held.Devices[at] != is {
		return nil, ErrHello
	}
	d, err := DeviceFor(tx, p, held, at)
	if err != nil {
		return nil, err
	}
	if d != p {
		d.Join(p)
	}
	return d, tx.PutContact(d)
}
