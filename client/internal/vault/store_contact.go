package vault

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/key"
)

// Store is a transaction as the two halves of the client see it: it implements
// the small stores that they declare. The A, B and H columns of each table are
// named at its methods; everything else is in the sealed value.
//
// spec: vault.md#tables
type Store struct{ *Tx }

// ptr returns a pointer to v, for queries.
func ptr(v int64) *int64 { return &v }

// put writes a record, sealed, and sets its id when it is new.
func (s Store) put(t Table, id *int64, a, b int64, h []byte, v any) error {
	raw, err := cbor.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing %s: %w", t, err)
	}
	row := Row{ID: *id, A: a, B: b, H: h, V: raw}
	if *id == 0 {
		*id, err = s.Insert(t, row)
		return err
	}
	return s.Put(t, row)
}

// get reads a record; found is false when there is none.
func (s Store) get(t Table, id int64, v any) (row Row, found bool, err error) {
	row, found, err = s.Get(t, id)
	if err != nil || !found {
		return row, found, err
	}
	return row, true, decode(t, row, v)
}

func decode(t Table, row Row, v any) error {
	if err := cbor.Unmarshal(row.V, v); err != nil {
		return fmt.Errorf("reading %s: %w", t, ErrDamaged)
	}
	return nil
}

// Contact: A = person, 0 for the record that stands for one; B = 1 for a device
// of our own; H = root, and then the device's name except where A and B are 0.

// Contact returns the record of a person or a device, or contact.ErrUnknown.
func (s Store) Contact(id int64) (*contact.Record, error) {
	r := &contact.Record{}
	_, found, err := s.get(Contact, id, r)
	if err == nil && !found {
		err = contact.ErrUnknown
	}
	r.ID = id
	if err != nil {
		return r, err
	}
	return r, s.joined(r)
}

// joined completes a record that was read.
func (s Store) joined(r *contact.Record) error {
	if r.Person == 0 {
		r.Settle()
		return nil
	}
	p, err := s.Contact(r.Person)
	if err != nil {
		return fmt.Errorf("reading the person of a device: %w", err)
	}
	r.Join(p)
	return nil
}

func (s Store) contactAt(h []byte) (*contact.Record, error) {
	row, found, err := s.Find(Contact, h)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, contact.ErrUnknown
	}
	r := &contact.Record{}
	if err := decode(Contact, row, r); err != nil {
		return nil, err
	}
	r.ID = row.ID
	return r, s.joined(r)
}

// ContactOf finds the record of a person by root, or fails with contact.ErrUnknown.
func (s Store) ContactOf(root key.SignPublic) (*contact.Record, error) { return s.contactAt(root[:]) }

// DeviceOf finds a device by its person's root and its name, or fails with
// contact.ErrUnknown.
func (s Store) DeviceOf(root, sign key.SignPublic) (*contact.Record, error) {
	r, err := s.contactAt(slices.Concat(root[:], sign[:]))
	if !errors.Is(err, contact.ErrUnknown) {
		return r, err
	}
	if r, err = s.ContactOf(root); err == nil && (r.Gone || r.Sign != sign) {
		return nil, contact.ErrUnknown
	}
	return r, err
}

func (s Store) contacts(q Query) (all []*contact.Record, err error) {
	err = s.Each(Contact, q, func(row Row) error {
		r := &contact.Record{}
		if err := decode(Contact, row, r); err != nil {
			return err
		}
		r.ID = row.ID
		all = append(all, r)
		return s.joined(r)
	})
	return all, err
}

// Contacts returns the records of people in the order they were met.
func (s Store) Contacts() ([]*contact.Record, error) {
	return s.contacts(Query{A: ptr(0), BFrom: ptr(0), BTo: ptr(0)})
}

// DevicesOf returns the records of a person's devices.
func (s Store) DevicesOf(person int64) ([]*contact.Record, error) {
	p, err := s.Contact(person)
	if err != nil {
		return nil, err
	}
	rest, err := s.contacts(Query{A: ptr(person)})
	if p.Gone {
		return rest, err
	}
	return append([]*contact.Record{p}, rest...), err
}

// OwnDevices returns the records of our other devices.
func (s Store) OwnDevices() ([]*contact.Record, error) {
	return s.contacts(Query{A: ptr(0), BFrom: ptr(1), BTo: ptr(1)})
}

// Devices returns every record there is.
func (s Store) Devices() ([]*contact.Record, error) { return s.contacts(Query{}) }

// PutContact writes a record. What is true of the person is not taken from that of
// another device.
func (s Store) PutContact(r *contact.Record) error {
	if r.Person == 0 && !r.Own {
		return s.put(Contact, &r.ID, 0, 0, r.Root[:], r)
	}
	own, h, kept := int64(0), slices.Concat(r.Root[:], r.Sign[:]), *r
	if r.Own {
		own = 1
	} else {
		kept.Strip()
	}
	if err := s.put(Contact, &kept.ID, r.Person, own, h, &kept); err != nil {
		return err
	}
	r.ID = kept.ID
	return nil
}

// DeleteContact forgets a record.
func (s Store) DeleteContact(id int64) error { return s.Delete(Contact, id) }

// Route: A = contact, 0 for an invite's; B = invite.

// Route returns a route, or contact.ErrUnknown.
func (s Store) Route(id int64) (*contact.RouteRecord, error) {
	r := &contact.RouteRecord{}
	row, found, err := s.get(Route, id, r)
	if err == nil && !found {
		err = contact.ErrUnknown
	}
	r.ID, r.Contact = id, row.A
	return r, err
}

// RoutesOf returns the routes of a contact, oldest first; 0 means those of invites.
func (s Store) RoutesOf(id int64) (all []*contact.RouteRecord, err error) {
	err = s.Each(Route, Query{A: ptr(id)}, func(row Row) error {
		r := &contact.RouteRecord{}
		if err := decode(Route, row, r); err != nil {
			return err
		}
		r.ID, r.Contact = row.ID, row.A
		all = append(all, r)
		return nil
	})
	return all, err
}

// PutRoute writes a route.
func (s Store) PutRoute(r *contact.RouteRecord) error {
	return s.put(Route, &r.ID, r.Contact, r.Invite, nil, r)
}

// DeleteRoute destroys a route with its keys.
func (s Store) DeleteRoute(id int64) error { return s.Delete(Route, id) }

// Session: A = contact.

// SessionsOf returns the sessions with a contact, oldest first.
func (s Store) SessionsOf(id int64) (all []*contact.SessionRecord, err error) {
	err = s.Each(Session, Query{A: ptr(id)}, func(row Row) error {
		r := &contact.SessionRecord{}
		if err := decode(Session, row, r); err != nil {
			return err
		}
		r.ID, r.Contact = row.ID, row.A
		all = append(all, r)
		return nil
	})
	return all, err
}

// PutSession writes a session.
func (s Store) PutSession(r *contact.SessionRecord) error {
	return s.put(Session, &r.ID, r.Contact, 0, nil, r)
}

// DeleteSession destroys a session with its keys.
func (s Store) DeleteSession(id int64) error { return s.Delete(Session, id) }

// Invite: no columns.

// Invite returns an invite, or contact.ErrInvite.
func (s Store) Invite(id int64) (*contact.InviteRecord, error) {
	r := &contact.InviteRecord{}
	_, found, err := s.get(Invite, id, r)
	if err == nil && !found {
		err = contact.ErrInvite
	}
	r.ID = id
	return r, err
}

// Invites returns all invites, oldest first.
func (s Store) Invites() (all []*contact.InviteRecord, err error) {
	err = s.Each(Invite, Query{}, func(row Row) error {
		r := &contact.InviteRecord{}
		if err := decode(Invite, row, r); err != nil {
			return err
		}
		r.ID = row.ID
		all = append(all, r)
		return nil
	})
	return all, err
}

// PutInvite writes an invite.
func (s Store) PutInvite(r *contact.InviteRecord) error {
	return s.put(Invite, &r.ID, 0, 0, nil, r)
}

// DeleteInvite forgets an invite.
func (s Store) DeleteInvite(id int64) error { return s.Delete(Invite, id) }
