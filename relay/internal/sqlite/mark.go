package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	sqlite3 "github.com/ncruces/go-sqlite3"
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

func (f *file) markPath() string { return f.path + "-mark" }

// identify reads the mark, and gives the store a new key where it must.
func (f *file) identify() error {
	if f.renew == nil {
		return nil
	}
	var now, previous []byte
	err := each(f.db, "SELECT mark, previous FROM "+f.marks, func(q *sqlite3.Stmt) { now, previous = q.ColumnBlob(0, nil), q.ColumnBlob(1, nil) })
	if err != nil {
		return err
	}
	if len(now) != markSize || len(previous) != markSize {
		return ErrDamaged
	}
	filed, err := os.ReadFile(f.markPath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading mark: %w", err)
	}
	// A crash between the transaction and the file leaves the previous one
	// there, with nobody answered since. A store that was made just now has none.
	f.renewed = !isZero(now) && !bytes.Equal(filed, now) && !bytes.Equal(filed, previous)
	copy(f.mark.filed[:], filed)
	if f.renewed {
		if err := f.inTransaction(f.renew); err != nil {
			return err
		}
	}
	if isZero(now) || f.renewed { // before the key is used for the first time
		return f.inTransaction(f.stamp)
	}
	return nil
}

// stamp writes a new mark within a transaction, once per checkpoint.
func (f *file) stamp() error {
	if f.renew == nil || f.mark.fresh || f.mark.due != nil {
		return nil
	}
	var m [markSize]byte
	if _, err := io.ReadFull(f.random, m[:]); err != nil {
		return err
	}
	f.mark.written = &m
	return f.once("UPDATE "+f.marks+" SET mark = ?, previous = ?", m[:], f.mark.filed[:])
}

// fileMark files the mark of a transaction that is on disk. Until that has worked
// no transaction counts as done.
func (f *file) fileMark() error {
	if f.mark.written != nil {
		f.mark.due, f.mark.written = f.mark.written, nil
	}
	if f.mark.due == nil {
		return nil
	}
	if err := writeFile(f.markPath(), f.mark.due[:]); err != nil {
		return fmt.Errorf("writing mark: %w", err)
	}
	f.mark = mark{filed: *f.mark.due, fresh: true}
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
