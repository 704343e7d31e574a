package vault

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Event: id = sequence; A = contact; B = 1 for what was received and is not known
// to be read; H = name of a text.

// Event returns an event, or convo.ErrGone.
func (s Store) Event(seq int64) (*convo.Event, error) {
	e := &convo.Event{}
	row, found, err := s.get(Event, seq, e)
	if err == nil && !found {
		err = convo.ErrGone
	}
	if err == nil && e.Kind == convo.Gone {
		err = convo.ErrGone
	}
	e.Seq, e.Contact = seq, row.A
	return e, err
}

// PutEvent writes an event.
func (s Store) PutEvent(e *convo.Event) error {
	received := int64(1)
	if e.Out || e.Seen {
		received = 0
	}
	var h []byte
	if n, ok := e.Name(); ok {
		h = n[:]
	}
	return s.put(Event, &e.Seq, e.Contact, received, h, e)
}

// Named finds a text by its name, or fails with convo.ErrGone. One that disappeared is
// found, as convo.Gone.
func (s Store) Named(n content.Name) (*convo.Event, error) {
	row, found, err := s.Find(Event, n[:])
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, convo.ErrGone
	}
	e := &convo.Event{}
	err = decode(Event, row, e)
	e.Seq, e.Contact = row.ID, row.A
	return e, err
}

// Events calls f with events after a sequence number, oldest first. contact 0
// means everybody.
func (s Store) Events(contact, after int64, f func(*convo.Event) error) error {
	return s.events(contact, Query{AfterID: after}, f)
}

// LastEvents calls f with the newest n events after a sequence number, newest first.
func (s Store) LastEvents(contact, after int64, n int, f func(*convo.Event) error) error {
	return s.events(contact, Query{AfterID: after, Limit: n, Desc: true}, f)
}

func (s Store) events(contact int64, q Query, f func(*convo.Event) error) error {
	if contact != 0 {
		q.A = ptr(contact)
	}
	return s.Each(Event, q, func(row Row) error {
		e := &convo.Event{}
		if err := decode(Event, row, e); err != nil {
			return err
		}
		if e.Kind == convo.Gone {
			return nil
		}
		e.Seq, e.Contact = row.ID, row.A
		return f(e)
	})
}

// Outbox: A = contact; B = 1 when sealed; H = contact 8 ‖ message id 8.

func messageKey(contact int64, m wire.MessageID) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(contact)), m[:]...)
}

func rowOf(row Row, found bool, err error) (*convo.Row, error) {
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, convo.ErrGone
	}
	r := &convo.Row{}
	err = decode(Outbox, row, r)
	r.ID, r.Contact, r.Sealed, r.Message = row.ID, row.A, row.B == 1, wire.MessageID(row.H[8:])
	return r, err
}

// Row returns a row of the outbox, or convo.ErrGone.
func (s Store) Row(id int64) (*convo.Row, error) { return rowOf(s.Get(Outbox, id)) }

// RowOf finds a contact's row by message, or fails with convo.ErrGone.
func (s Store) RowOf(contact int64, m wire.MessageID) (*convo.Row, error) {
	return rowOf(s.Find(Outbox, messageKey(contact, m)))
}

// RowsOf returns a contact's rows, oldest first; 0 means everybody's.
func (s Store) RowsOf(contact int64) (all []*convo.Row, err error) {
	q := Query{}
	if contact != 0 {
		q.A = ptr(contact)
	}
	err = s.Each(Outbox, q, func(row Row) error {
		r, err := rowOf(row, true, nil)
		all = append(all, r)
		return err
	})
	return all, err
}

// PutRow writes a row.
func (s Store) PutRow(r *convo.Row) error {
	sealed := int64(0)
	if r.Sealed {
		sealed = 1
	}
	return s.put(Outbox, &r.ID, r.Contact, sealed, messageKey(r.Contact, r.Message), r)
}

// DeleteRow deletes a row.
func (s Store) DeleteRow(id int64) error { return s.Delete(Outbox, id) }

// SealedRows counts a contact's sealed rows.
func (s Store) SealedRows(contact int64) (int, error) {
	return s.Count(Outbox, Query{A: ptr(contact), BFrom: ptr(1), BTo: ptr(1)})
}

// WaitingRows counts a contact's rows; 0 means everybody's.
func (s Store) WaitingRows(contact int64) (int, error) {
	if contact == 0 {
		return s.Count(Outbox, Query{})
	}
	return s.Count(Outbox, Query{A: ptr(contact)})
}

// NextUnsealed returns a contact's oldest row that is not sealed, or convo.ErrGone.
func (s Store) NextUnsealed(contact int64) (*convo.Row, error) {
	var first *convo.Row
	err := s.Each(Outbox, Query{A: ptr(contact), BFrom: ptr(0), BTo: ptr(0), Limit: 1}, func(row Row) (err error) {
		first, err = rowOf(row, true, nil)
		return err
	})
	if err == nil && first == nil {
		err = convo.ErrGone
	}
	return first, err
}

// Seen: id = first 55 bits of H(contact ‖ message id), or any where one message
// came under two ciphertexts; B = day; H = hash of the inner ciphertext; the
// value is the message id. Owed: A = contact; B = 1 while its ack is sealed and
// on its way; H = contact 8 ‖ message id 8.

func seenID(contact int64, m wire.MessageID) int64 {
	h := sha256.Sum256(messageKey(contact, m))
	return int64(binary.BigEndian.Uint64(h[:])>>9) | 1
}

// Opened finds a message by the hash of its inner ciphertext.
func (s Store) Opened(hash [16]byte) (m wire.MessageID, ok bool, err error) {
	row, found, err := s.Find(Seen, hash[:])
	if err != nil || !found {
		return m, false, err
	}
	if len(row.V) != len(m) {
		return m, false, ErrDamaged
	}
	return wire.MessageID(row.V), true, nil
}

// Known reports whether a message of a contact was opened.
func (s Store) Known(contact int64, m wire.MessageID) (bool, error) {
	_, found, err := s.Get(Seen, seenID(contact, m))
	return found, err
}

// PutOpened remembers an opened message.
func (s Store) PutOpened(contact int64, hash [16]byte, m wire.MessageID, day int64, owes bool) error {
	row := Row{ID: seenID(contact, m), B: day, H: hash[:], V: m[:]}
	known, err := s.Known(contact, m)
	if err != nil {
		return err
	}
	if known { // sealed twice: both ciphertexts must be known again
		row.ID = seenID(contact, wire.MessageID(hash[:8]))&^1 | 2
	}
	if err := s.Put(Seen, row); err != nil || !owes {
		return err
	}
	return s.Settle(contact, []wire.MessageID{m}, true)
}

// Owed returns up to max messages of a contact that wait for an ack, oldest first.
func (s Store) Owed(contact int64, max int) (ids []wire.MessageID, err error) {
	err = s.Each(Owed, Query{A: ptr(contact), BFrom: ptr(0), BTo: ptr(0), Limit: max}, func(row Row) error {
		ids = append(ids, wire.MessageID(row.H[8:]))
		return nil
	})
	return ids, err
}

// Owing returns the contacts that wait for an ack.
func (s Store) Owing() (contacts []int64, err error) {
	seen := map[int64]bool{}
	err = s.Each(Owed, Query{}, func(row Row) error {
		if !seen[row.A] {
			seen[row.A] = true
			contacts = append(contacts, row.A)
		}
		return nil
	})
	return contacts, err
}

// Settle notes whether acks are owed for messages.
func (s Store) Settle(contact int64, ids []wire.MessageID, owes bool) error {
	for _, m := range ids {
		h := messageKey(contact, m)
		row, found, err := s.Find(Owed, h)
		switch {
		case err != nil:
			return err
		case owes && !found:
			_, err = s.Insert(Owed, Row{A: contact, H: h})
		case owes && row.B != 0:
			row.B = 0
			err = s.Put(Owed, row)
		case !owes && found:
			err = s.Delete(Owed, row.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Leaving notes that the acks that are owed for messages are on their way.
func (s Store) Leaving(contact int64, ids []wire.MessageID) error {
	for _, m := range ids {
		row, found, err := s.Find(Owed, messageKey(contact, m))
		if err == nil && found {
			row.B = 1
			err = s.Put(Owed, row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Recall owes everything again that was on its way when the last process ended.
func (s Store) Recall() error {
	return s.Each(Owed, Query{BFrom: ptr(1), BTo: ptr(1)}, func(row Row) error {
		row.B = 0
		return s.Put(Owed, row)
	})
}

// ForgetOpened forgets what was opened before a day.
func (s Store) ForgetOpened(beforeDay int64) error {
	var ids []int64
	err := s.Each(Seen, Query{A: ptr(0), BTo: ptr(beforeDay - 1)}, func(row Row) error {
		ids = append(ids, row.ID)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Delete(Seen, ids...)
}

// Fragment: A = contact; B = unix seconds; H = contact 8 ‖ logical id 8 ‖ part 1.

// PutPart stores a part of a long message and returns the whole when it is complete.
func (s Store) PutPart(contact int64, logical wire.MessageID, part, parts byte, content []byte, now int64) ([]byte, error) {
	h := append(messageKey(contact, logical), part)
	if _, found, err := s.Find(Fragment, h); err != nil || found {
		return nil, err
	}
	id, err := s.Insert(Fragment, Row{A: contact, B: now, H: h, V: content})
	if err != nil {
		return nil, err
	}
	ids := []int64{id}
	all := make([][]byte, parts)
	for i := range parts {
		if i == part {
			all[i] = content
			continue
		}
		row, found, err := s.Find(Fragment, append(messageKey(contact, logical), i))
		if err != nil || !found {
			return nil, err
		}
		all[i] = row.V
		ids = append(ids, row.ID)
	}
	whole := []byte{}
	for _, p := range all {
		whole = append(whole, p...)
	}
	return whole, s.Delete(Fragment, ids...)
}

// DropParts forgets the parts of messages of a contact that are not whole.
func (s Store) DropParts(contact int64) error {
	var ids []int64
	err := s.Each(Fragment, Query{A: ptr(contact)}, func(row Row) error {
		ids = append(ids, row.ID)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Delete(Fragment, ids...)
}

// OpenParts names the messages of a contact that are not whole yet.
func (s Store) OpenParts(contact int64) (ids []wire.MessageID, err error) {
	err = s.Each(Fragment, Query{A: ptr(contact)}, func(row Row) error {
		if m := wire.MessageID(row.H[8:]); !slices.Contains(ids, m) {
			ids = append(ids, m)
		}
		return nil
	})
	return ids, err
}

// Unread counts what was received from a contact after an event.
func (s Store) Unread(contact, read int64) (int, error) {
	return s.Count(Event, Query{A: ptr(contact), BFrom: ptr(1), BTo: ptr(1), AfterID: read})
}
