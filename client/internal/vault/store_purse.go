package vault

import (
	"errors"

	"github.com/tacet-chat/tacet/client/internal/purse"
)

// Purse: a realm has A = 0 and H = its pin; a chunk of tokens has A = id of its
// realm's row and B = kind × 2^32 + epoch.

// PurseRealms returns what is kept of every realm, in the order they were met.
func (s Store) PurseRealms() (all []*purse.Realm, err error) {
	err = s.Each(Purse, Query{A: ptr(0)}, func(row Row) error {
		r := &purse.Realm{}
		if err := decode(Purse, row, r); err != nil {
			return err
		}
		r.ID = row.ID
		all = append(all, r)
		return nil
	})
	return all, err
}

// PurseRealm returns what is kept of a realm, nil if it is not known.
func (s Store) PurseRealm(pin [32]byte) (*purse.Realm, error) {
	row, found, err := s.Find(Purse, pin[:])
	if err != nil || !found {
		return nil, err
	}
	r := &purse.Realm{}
	err = decode(Purse, row, r)
	r.ID = row.ID
	return r, err
}

// PutPurseRealm writes what is kept of a realm.
func (s Store) PutPurseRealm(r *purse.Realm) error {
	return s.put(Purse, &r.ID, 0, 0, r.Pin[:], r)
}

var errEnough = errors.New("enough")

// Chunks calls f with chunks of tokens of a realm, see purse.Tx.
func (s Store) Chunks(realm int64, kind byte, epoch uint32, f func(*purse.Chunk) (bool, error)) error {
	q := Query{A: ptr(realm), Limit: 1} // the first one is mostly all that is looked for
	if kind != 0 {
		q.BFrom = ptr(int64(kind)<<32 | int64(epoch))
		q.BTo = q.BFrom
	}
	for {
		n := 0
		err := s.Each(Purse, q, func(row Row) error {
			n, q.AfterID = n+1, row.ID
			c := &purse.Chunk{}
			if err := decode(Purse, row, c); err != nil {
				return err
			}
			c.ID, c.Realm, c.Kind, c.Epoch = row.ID, realm, byte(row.B>>32), uint32(row.B)
			more, err := f(c)
			if err == nil && !more {
				err = errEnough
			}
			return err
		})
		if err == errEnough {
			return nil
		}
		if err != nil || n < q.Limit || q.Limit == 0 {
			return err
		}
		q.Limit = 0
	}
}

// PutChunk writes a chunk of tokens.
func (s Store) PutChunk(c *purse.Chunk) error {
	return s.put(Purse, &c.ID, c.Realm, int64(c.Kind)<<32|int64(c.Epoch), nil, c)
}

// DeleteChunk deletes a chunk of tokens.
func (s Store) DeleteChunk(id int64) error { return s.Delete(Purse, id) }
