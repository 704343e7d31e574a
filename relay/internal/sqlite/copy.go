package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// copyPages is how many pages one step of a copy takes: 1 MiB, after which
// others have their turn.
const copyPages = 256

// Copy makes a copy of the store at path, which must not be there, while the
// store goes on. It is whole as of its end: what others write meanwhile is in
// it, and no half of anything. The copy has no mark beside it, so that whoever
// opens it replaces what must not outlive a loss.
func (f *file) Copy(ctx context.Context, path string) (err error) {
	uri, err := claim(path)
	if err != nil {
		return err
	}
	var b *sqlite3.Backup
	if err := f.ask(ctx, false, func() (err error) { b, err = f.db.BackupInit("main", uri); return err }); err != nil {
		return err
	}
	for done := false; !done && err == nil; {
		err = f.ask(ctx, false, func() (err error) { done, err = b.Step(copyPages); return err })
	}
	return errors.Join(err, f.ask(context.WithoutCancel(ctx), false, b.Close))
}

// CopyFile is Copy for a store that no relay has open.
func CopyFile(from, path string) error {
	uri, err := claim(path)
	if err != nil {
		return err
	}
	db, err := sqlite3.OpenFlags(from, sqlite3.OPEN_READWRITE)
	f := &file{path: from, db: db, layout: layout{full: errors.New("disk is full")}}
	if err != nil {
		return f.explain(err)
	}
	_, err = f.text("PRAGMA locking_mode=EXCLUSIVE")
	if err == nil {
		err = db.Backup("main", uri)
	}
	return f.explain(errors.Join(err, db.Close()))
}

// claim makes a file that only its owner can read, for SQLite to fill.
func claim(path string) (uri string, err error) {
	h, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String(), h.Close()
}

// Lighten takes out of a copy what is not to lie in a backup: secrets that are
// replaced when the copy is opened anyway, and what was spent. Whoever gets at
// the copy then cannot sign a receipt or make a token.
func Lighten(path string) error {
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	f := &file{path: path, db: db, layout: layout{full: errors.New("disk is full")}}
	if err != nil {
		return f.explain(err)
	}
	err = f.lighten()
	return f.explain(errors.Join(err, db.Close()))
}

func (f *file) lighten() error {
	app, err := f.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	// A mark that nothing beside fits: the store is a copy, also if it was never used.
	sql, ok := map[int64]string{
		applicationID:     "UPDATE store SET receipts = zeroblob(32), mark = randomblob(16), previous = zeroblob(16)",
		gateApplicationID: "DELETE FROM spent; UPDATE root SET seed = zeroblob(32), key = zeroblob(32), mark = randomblob(16), previous = zeroblob(16); VACUUM",
	}[app]
	if !ok {
		return fmt.Errorf("%w: nothing of a backup", ErrForeign)
	}
	// One file again, without a log beside it.
	return f.db.Exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; PRAGMA secure_delete=ON;" + sql)
}
