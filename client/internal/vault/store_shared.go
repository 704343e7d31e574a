package vault

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/internal/content"
)

// Shared: H = SHA-256 of the key; A = 1 for what is kept for this device alone.
// The row whose H is the one byte 0 has A = 2 and keeps the count.

var countKey = []byte{0}

// Shared returns an entry of what our devices share, nil if there is none.
func (s Store) Shared(key []byte) (*content.Entry, error) {
	h := sha256.Sum256(key)
	row, found, err := s.Find(Shared, h[:])
	if err != nil || !found {
		return nil, err
	}
	e := &content.Entry{}
	return e, decode(Shared, row, e)
}

// PutShared writes an entry. One without a count is for this device alone. The
// count of the map is never less than that of an entry.
func (s Store) PutShared(e *content.Entry) error {
	h := sha256.Sum256(e.Key)
	row, _, err := s.Find(Shared, h[:])
	if err != nil {
		return err
	}
	alone := int64(0)
	if e.Count == 0 {
		alone = 1
	}
	if err := s.put(Shared, &row.ID, alone, 0, h[:], e); err != nil || alone == 1 {
		return err
	}
	n, at, err := s.sharedCount()
	if err != nil || n >= e.Count {
		return err
	}
	at.V = binary.BigEndian.AppendUint64(nil, e.Count)
	at.A, at.H = 2, countKey
	if at.ID == 0 {
		_, err = s.Insert(Shared, at)
		return err
	}
	return s.Put(Shared, at)
}

// DeleteShared forgets what was kept for this device alone.
func (s Store) DeleteShared(key []byte) error {
	h := sha256.Sum256(key)
	row, found, err := s.Find(Shared, h[:])
	if err != nil || !found {
		return err
	}
	return s.Delete(Shared, row.ID)
}

// SharedCount returns the greatest count of an entry so far.
func (s Store) SharedCount() (uint64, error) {
	n, _, err := s.sharedCount()
	return n, err
}

func (s Store) sharedCount() (uint64, Row, error) {
	row, found, err := s.Find(Shared, countKey)
	if err != nil || !found {
		return 0, Row{}, err
	}
	if len(row.V) != 8 {
		return 0, row, ErrDamaged
	}
	return binary.BigEndian.Uint64(row.V), row, nil
}

// EachShared calls f with every entry that our devices share.
func (s Store) EachShared(f func(*content.Entry) error) error { return s.eachShared(0, f) }

// EachAlone calls f with every entry that is kept for this device alone.
func (s Store) EachAlone(f func(*content.Entry) error) error { return s.eachShared(1, f) }

func (s Store) eachShared(alone int64, f func(*content.Entry) error) error {
	return s.Each(Shared, Query{A: ptr(alone)}, func(row Row) error {
		e := &content.Entry{}
		if err := decode(Shared, row, e); err != nil {
			return err
		}
		return f(e)
	})
}

// SharedRows counts the entries that our devices share, and those that are kept for
// this device alone.
func (s Store) SharedRows() (shared, alone int, err error) {
	if shared, err = s.Count(Shared, Query{A: ptr(0)}); err != nil {
		return 0, 0, err
	}
	alone, err = s.Count(Shared, Query{A: ptr(1)})
	return shared, alone, err
}

var _ convo.Tx = Store{}
