// Package sqlite keeps blobs in one SQLite file. It implements blob.Store.
//
// One goroutine, Run, owns the only connection: it answers reads, joins the
// writes that wait into one transaction, and answers them once that is on disk
// (WAL, synchronous = FULL). Deleted content is overwritten (secure_delete),
// and the log that still holds it is emptied by a TRUNCATE checkpoint every
// minute and after every sweep. The order of pages in the file can show the
// order in which blobs came until pages are used again; no row or column does.
//
// The key for receipts lives in the same file, so that a lost store is a lost
// key; mark.go notices a file that was put back from a copy. Nothing else of
// the relay is kept here.
package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/blob"
)

// Errors of Open. The cause is wrapped beside them.
var (
	// ErrDamaged: the file is not what it was: cut short, overwritten, or emptied.
	ErrDamaged = errors.New("blob store is damaged")
	// ErrForeign: the file is a database of something else, or of a newer version.
	ErrForeign = errors.New("file is not a blob store of this version")
)

const (
	applicationID = 0x7ace7b10
	version       = 1

	pageSize = 4096
	cacheKiB = 512
	logPages = 4096 // a log this long is used again from its start: 16 MiB
)

// Every column, and who may read it: who holds the disk. No sender, no reader,
// no time finer than a day, no order of arrival.
const schema = `
CREATE TABLE record (
	id         BLOB PRIMARY KEY, -- 32
	hash       BLOB NOT NULL,    -- 32, SHA-256 of the content
	capability BLOB,             -- 32, hash; NULL for slots, and once the content is gone
	until      INTEGER,          -- day the content goes; NULL once it is gone
	forget     INTEGER NOT NULL  -- day this row goes, a multiple of 30
) WITHOUT ROWID;
CREATE INDEX record_until ON record (until) WHERE until IS NOT NULL;
CREATE INDEX record_forget ON record (forget);
CREATE TABLE content (
	id   BLOB PRIMARY KEY,       -- 32
	body BLOB NOT NULL           -- as it came
) WITHOUT ROWID;
CREATE TABLE store (
	receipts BLOB NOT NULL,      -- 32, Ed25519 seed
	mark     BLOB NOT NULL,      -- 16, see mark.go
	previous BLOB NOT NULL       -- 16
);`

// Options say where and how much.
type Options struct {
	Path   string    // of the database; beside it lie -wal and -mark
	Max    int64     // bound of the file in bytes
	Random io.Reader // for the receipt key and marks
}

// Store is a blob.Store. Its methods answer while Run runs.
type Store struct {
	opt   Options
	calls chan *call
	ended chan struct{} // closed when Run has returned

	sign    key.Sign
	renewed bool

	// Owned by Run, and before it by Open, after it by Close.
	db    *sqlite3.Conn
	stmts statements
	mark  mark
}

// Open opens or makes a store.
func Open(opt Options) (*Store, error) {
	s := &Store{opt: opt, calls: make(chan *call), ended: make(chan struct{})}
	if err := s.open(); err != nil {
		if s.db != nil {
			s.stmts.close()
			s.db.Close()
		}
		return nil, fmt.Errorf("opening blob store: %w", s.explain(err))
	}
	return s, nil
}

func (s *Store) open() error {
	if err := s.checkFile(); err != nil {
		return err
	}
	db, err := sqlite3.OpenFlags(s.opt.Path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return err
	}
	s.db = db
	if err := db.Exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF"); err != nil {
		return err
	}
	if err := s.checkSchema(); err != nil {
		return err
	}
	if err := s.setUp(); err != nil {
		return err
	}
	if err := s.stmts.prepare(db); errors.Is(err, sqlite3.ERROR) {
		return fmt.Errorf("%w: %w", ErrDamaged, err) // a table is missing
	} else if err != nil {
		return err
	}
	return s.identify()
}

// checkFile makes the file, closed to others, or looks at the one that is
// there: SQLite would take an empty one for a new store.
func (s *Store) checkFile() error {
	f, err := os.OpenFile(s.opt.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	if f, err = os.OpenFile(s.opt.Path, os.O_RDWR, 0); err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(s.markPath()); info.Size() == 0 && err == nil {
		return fmt.Errorf("%w: file is empty", ErrDamaged)
	}
	return nil
}

// checkSchema refuses what is not ours and makes what is new.
func (s *Store) checkSchema() error {
	app, err := s.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	ver, err := s.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	tables, err := s.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	switch {
	case app == applicationID && ver == version:
		return nil
	case app != 0 || ver != 0 || tables != 0:
		return ErrForeign
	}
	seed, err := key.Generate[key.SignRole](s.opt.Random)
	if err != nil {
		return err
	}
	defer seed.Wipe()
	return s.inTransaction(func() error {
		if err := s.db.Exec(schema); err != nil {
			return err
		}
		q, _, err := s.db.Prepare("INSERT INTO store VALUES (?, zeroblob(16), zeroblob(16))")
		if err != nil {
			return err
		}
		defer q.Close()
		if err := q.BindBlob(1, seed.Bytes()); err != nil {
			return err
		}
		if err := q.Exec(); err != nil {
			return err
		}
		return s.db.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, version))
	})
}

// setUp chooses how the file is written. FAST instead of ON would leave
// deleted content on pages that become free.
func (s *Store) setUp() error {
	if mode, err := s.text("PRAGMA journal_mode=WAL"); err != nil {
		return err
	} else if mode != "wal" {
		return fmt.Errorf("%w: journal mode is %s", ErrForeign, mode)
	}
	if err := s.db.Exec(fmt.Sprintf("PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"+
		"PRAGMA wal_autocheckpoint=%d; PRAGMA cache_size=-%d; PRAGMA max_page_count=%d", logPages, cacheKiB, max(64, s.opt.Max/pageSize))); err != nil {
		return err
	}
	for pragma, want := range map[string]int64{"secure_delete": 1, "synchronous": 2, "page_size": pageSize} {
		if got, err := s.number("PRAGMA " + pragma); err != nil {
			return err
		} else if got != want {
			return fmt.Errorf("%w: %s is %d", ErrForeign, pragma, got)
		}
	}
	return nil
}

// number runs a query of one number.
func (s *Store) number(sql string) (n int64, err error) {
	q, _, err := s.db.Prepare(sql)
	if err != nil {
		return 0, err
	}
	defer q.Close()
	if q.Step() {
		n = q.ColumnInt64(0)
	}
	return n, q.Err()
}

// text runs a query of one text.
func (s *Store) text(sql string) (v string, err error) {
	q, _, err := s.db.Prepare(sql)
	if err != nil {
		return "", err
	}
	defer q.Close()
	if q.Step() {
		v = q.ColumnText(0)
	}
	return v, q.Err()
}

// Receipts returns the key that signs receipts.
func (s *Store) Receipts() key.Sign { return s.sign }

// Renewed reports that Open found a store which was put back from a copy, and
// gave it a new receipt key.
func (s *Store) Renewed() bool { return s.renewed }

var _ blob.Store = (*Store)(nil)
