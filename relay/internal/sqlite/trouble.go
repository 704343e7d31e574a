package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// explain joins SQLite's reasons with the errors that callers branch on.
func (f *file) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, ErrForeign):
		return err
	case errors.Is(err, sqlite3.FULL):
		return fmt.Errorf("%w: %w", f.full, err)
	case errors.Is(err, sqlite3.CORRUPT):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case errors.Is(err, sqlite3.IOERR):
		// The reason is lost on the way out of the database: find it anew.
		if cause := probe(filepath.Dir(f.path)); errors.Is(cause, syscall.ENOSPC) || errors.Is(cause, syscall.EDQUOT) {
			return fmt.Errorf("%w: %w", f.full, cause)
		} else if cause != nil {
			return fmt.Errorf("%w: %w", err, cause)
		}
	}
	return err
}

// probe writes as much as the largest transaction, 4 MiB, and takes it back.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	chunk := make([]byte, 256<<10)
	for range 16 {
		if _, err = f.Write(chunk); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// Check reads a whole store that no relay has open and fails with ErrDamaged if
// anything in it does not fit together.
func Check(path string) error {
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	f := &file{path: path, db: db}
	if err != nil {
		return f.explain(err)
	}
	verdict, err := f.text("PRAGMA locking_mode=EXCLUSIVE")
	if err == nil {
		verdict, err = f.text("PRAGMA integrity_check(1)")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return f.explain(err)
	}
	if verdict != "ok" {
		return ErrDamaged
	}
	return nil
}
