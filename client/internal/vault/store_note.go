package vault

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// Notes of groups: A = number of the first two parts of the name, which end with
// strokes; H = SHA-256 of the name.

type noteRow struct {
	_     struct{} `cbor:",toarray"`
	Name  string
	Value []byte
}

// noteNumber is column A of a note, or of all that begin with a prefix; false where
// the prefix is of less than two parts.
func noteNumber(name string) (int64, bool) {
	first, rest, ok := strings.Cut(name, "/")
	if !ok {
		return 0, false
	}
	second, _, ok := strings.Cut(rest, "/")
	if !ok {
		return 0, false
	}
	h := sha256.Sum256([]byte(first + "/" + second + "/"))
	return int64(binary.BigEndian.Uint64(h[:])>>1) | 1, true
}

func noteKey(name string) []byte {
	h := sha256.Sum256([]byte(name))
	return h[:]
}

// Note returns what was noted under a name, or group.ErrUnknown.
func (s Store) Note(name string) ([]byte, error) {
	row, found, err := s.Find(GroupNote, noteKey(name))
	if err == nil && !found {
		err = group.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	var n noteRow
	err = decode(GroupNote, row, &n)
	return n.Value, err
}

// PutNote notes a value under a name.
func (s Store) PutNote(name string, value []byte) error {
	h := noteKey(name)
	id, err := s.place(GroupNote, h)
	if err != nil {
		return err
	}
	a, _ := noteNumber(name)
	return s.put(GroupNote, &id, a, 0, h, &noteRow{Name: name, Value: value})
}

// eachNote calls f with the notes whose names begin with a prefix.
func (s Store) eachNote(prefix string, f func(id int64, name string)) error {
	q := Query{}
	if a, ok := noteNumber(prefix); ok {
		q.A = &a
	}
	return s.Each(GroupNote, q, func(row Row) error {
		var n noteRow
		if err := decode(GroupNote, row, &n); err != nil {
			return err
		}
		if strings.HasPrefix(n.Name, prefix) {
			f(row.ID, n.Name)
		}
		return nil
	})
}

// Notes returns the names that begin with a prefix, ascending.
func (s Store) Notes(prefix string) (names []string, err error) {
	err = s.eachNote(prefix, func(_ int64, name string) { names = append(names, name) })
	slices.Sort(names)
	return names, err
}

// DeleteNotes deletes all whose names begin with a prefix.
func (s Store) DeleteNotes(prefix string) error {
	var ids []int64
	if err := s.eachNote(prefix, func(id int64, _ string) { ids = append(ids, id) }); err != nil {
		return err
	}
	return s.Delete(GroupNote, ids...)
}
