package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tacet-chat/tacet/internal/key"
)

// A store that lost anything must take a new receipt key, and the usual way to
// lose something is to put an older copy of the file back. So a random mark
// stands both in the database and in a small file beside it. The first
// transaction after each checkpoint brings a new one, and nobody is answered
// before it stands in both. If at the start they differ, the database is not
// the one that last answered here: a copy from before, or one whose log is
// missing. A copy of the whole directory cannot be told apart this way; docs
// tell the operator to remove the mark after putting one back.
//
// spec: relay-api.md#life-of-a-blob

const markSize = 16

// mark is the state of that.
type mark struct {
	filed   [markSize]byte  // what the file beside holds
	written *[markSize]byte // what the transaction under way has written
	due     *[markSize]byte // what is on disk in the database and not yet filed
	fresh   bool            // there was a new mark since the last checkpoint
}

func (s *Store) markPath() string { return s.opt.Path + "-mark" }

// identify reads key and mark, and gives the store a new key where it must.
func (s *Store) identify() error {
	var seed, now, previous []byte
	q, _, err := s.db.Prepare("SELECT receipts, mark, previous FROM store")
	if err != nil {
		return err
	}
	defer q.Close()
	if q.Step() {
		seed, now, previous = q.ColumnBlob(0, nil), q.ColumnBlob(1, nil), q.ColumnBlob(2, nil)
	}
	if err := q.Reset(); err != nil {
		return err
	}
	if len(now) != markSize || len(previous) != markSize {
		return ErrDamaged
	}
	filed, err := os.ReadFile(s.markPath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading mark: %w", err)
	}
	// A crash between the transaction and the file leaves the previous one
	// there, with nobody answered since. A store that was made just now has none.
	if !isZero(now) && !bytes.Equal(filed, now) && !bytes.Equal(filed, previous) {
		if seed, err = s.renew(); err != nil {
			return err
		}
		s.renewed = true
	}
	if s.sign, err = key.New[key.SignRole](seed); err != nil {
		return ErrDamaged
	}
	clear(seed)
	copy(s.mark.filed[:], filed)
	if isZero(now) || s.renewed { // before the key is used for the first time
		return s.inTransaction(s.stamp)
	}
	return nil
}

// renew replaces the receipt key.
func (s *Store) renew() ([]byte, error) {
	fresh, err := key.Generate[key.SignRole](s.opt.Random)
	if err != nil {
		return nil, err
	}
	q, _, err := s.db.Prepare("UPDATE store SET receipts = ?")
	if err != nil {
		return nil, err
	}
	defer q.Close()
	return bytes.Clone(fresh.Bytes()), s.inTransaction(func() error { return exec(q, fresh.Bytes()) })
}

// stamp writes a new mark within a transaction, once per checkpoint.
func (s *Store) stamp() error {
	if s.mark.fresh || s.mark.due != nil {
		return nil
	}
	var m [markSize]byte
	if _, err := io.ReadFull(s.opt.Random, m[:]); err != nil {
		return err
	}
	s.mark.written = &m
	return exec(s.stmts.setMark, m[:], s.mark.filed[:])
}

// file files the mark of a transaction that is on disk. Until that has worked
// no transaction counts as done.
func (s *Store) file() error {
	if s.mark.written != nil {
		s.mark.due, s.mark.written = s.mark.written, nil
	}
	if s.mark.due == nil {
		return nil
	}
	if err := writeFile(s.markPath(), s.mark.due[:]); err != nil {
		return fmt.Errorf("writing mark: %w", err)
	}
	s.mark = mark{filed: *s.mark.due, fresh: true}
	return nil
}

// writeFile replaces a file so that it holds the old bytes or the new ones,
// whatever happens, and the new ones once it returns.
func writeFile(path string, b []byte) error {
	f, err := os.OpenFile(path+"-new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(path+"-new", path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func isZero(b []byte) bool { return bytes.Equal(b, make([]byte, len(b))) }
