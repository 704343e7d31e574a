package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/relay/internal/blob"
)

// explain joins SQLite's reasons with the errors that callers branch on.
func (s *Store) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrDamaged), errors.Is(err, ErrForeign):
		return err
	case errors.Is(err, sqlite3.FULL):
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case errors.Is(err, sqlite3.CORRUPT):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.Is(err, sqlite3.NOTADB):
		return fmt.Errorf("%w: %w", ErrForeign, err)
	case errors.Is(err, sqlite3.IOERR):
		// The reason is lost on the way out of the database: find it anew.
		if cause := probe(filepath.Dir(s.opt.Path)); errors.Is(cause, syscall.ENOSPC) || errors.Is(cause, syscall.EDQUOT) {
			return fmt.Errorf("%w: %w", blob.ErrFull, cause)
		} else if cause != nil {
			return fmt.Errorf("%w: %w", err, cause)
		}
	}
	return err
}

// probe writes as much as the largest transaction, and takes it back.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	chunk := make([]byte, 256<<10)
	for range maxBatch {
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
	s := &Store{opt: Options{Path: path}, db: db}
	if err != nil {
		return s.explain(err)
	}
	verdict, err := s.text("PRAGMA locking_mode=EXCLUSIVE")
	if err == nil {
		verdict, err = s.text("PRAGMA integrity_check(1)")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return s.explain(err)
	}
	if verdict != "ok" {
		return ErrDamaged
	}
	return nil
}
