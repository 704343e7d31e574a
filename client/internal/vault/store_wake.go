package vault

import "github.com/tacet-chat/tacet/client/internal/convo"

// Meta, from wakeBase on: id = wakeBase + contact; A = 1.

// wakeBase is where the rows about waking begin in the table of single things.
const wakeBase = 1 << 32

// Wake returns what is kept of waking a contact's device, and ours for them.
func (s Store) Wake(contact int64) (*convo.WakeRecord, error) {
	r := &convo.WakeRecord{}
	_, _, err := s.get(Meta, wakeBase+contact, r)
	return r, err
}

// PutWake writes it.
func (s Store) PutWake(contact int64, r *convo.WakeRecord) error {
	id := wakeBase + contact
	return s.put(Meta, &id, 1, 0, nil, r)
}

// DeleteWake forgets it.
func (s Store) DeleteWake(contact int64) error { return s.Delete(Meta, wakeBase+contact) }

// EachWake calls f with what is kept of each contact. f must not change the store.
func (s Store) EachWake(f func(contact int64, r *convo.WakeRecord) error) error {
	return s.Each(Meta, Query{A: ptr(1)}, func(row Row) error {
		r := &convo.WakeRecord{}
		if err := decode(Meta, row, r); err != nil {
			return err
		}
		return f(row.ID-wakeBase, r)
	})
}
