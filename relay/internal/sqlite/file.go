package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// Errors of opening a store. The cause is wrapped beside them.
var (
	// ErrDamaged: the file is not what it was: cut short, overwritten, or emptied.
	ErrDamaged = errors.New("store is damaged")
	// ErrForeign: the file is a database of something else, or of a newer version.
	ErrForeign = errors.New("file is not a store of this version")
	// ErrNewer: of these, it is ours and of a newer version.
	ErrNewer = errors.New("a newer version made it")
)

const (
	pageSize = 4096
	logSize  = 16 << 20 // a log of so many bytes is used again from its start
)

// layout is what one sort of store has of its own.
type layout struct {
	name          string // in errors: "blob store"
	schema        string
	app, version  int64
	fresh         func() error // fills a store that was just made, within its transaction
	renew         func() error // replaces what must not outlive a loss, within a transaction; nil: nothing is marked
	marks         string       // the table with the columns mark and previous
	cacheKiB      int
	pageSize      int64  // bytes; 0: 4,096
	lossy         bool   // a power cut may take back the last transactions: they do not wait for the disk
	around        func() // called before and after each batch; nil: nothing is
	begun, undone func() // told that a transaction begins, or did not come to be; nil: nobody is
	batch         int    // calls in one transaction, at most
	full, stopped error
}

// file is one database and the goroutine, Run, that owns it.
type file struct {
	layout
	path    string
	max     int64 // bytes
	random  io.Reader
	queries []query

	calls   chan *call
	ended   chan struct{} // closed when Run has returned
	renewed bool

	// Owned by Run, and before it by open, after it by Close.
	db    *sqlite3.Conn
	stmts []**sqlite3.Stmt
	mark  mark
}

// open opens or makes the database. queries are prepared in the end.
func (f *file) open(queries []query) error {
	f.calls, f.ended, f.queries = make(chan *call), make(chan struct{}), queries
	if err := f.ready(); err != nil {
		return fmt.Errorf("opening %s: %w", f.name, f.explain(err))
	}
	return nil
}

// ready opens the database if it is not.
func (f *file) ready() error {
	if f.db != nil {
		return nil
	}
	err := f.tryOpen()
	if err != nil {
		f.shut()
	}
	return err
}

// shut closes the connection, and with it gives back all memory that SQLite had.
func (f *file) shut() error {
	if f.db == nil {
		return nil
	}
	f.unprepare()
	err := f.db.Close()
	f.db = nil
	return err
}

func (f *file) tryOpen() error {
	if err := f.checkFile(); err != nil {
		return err
	}
	db, err := sqlite3.OpenFlags(f.path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return err
	}
	f.db = db
	if err := db.Exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF;" +
		fmt.Sprintf("PRAGMA page_size=%d", f.page())); err != nil {
		return err
	}
	if err := f.checkSchema(); err != nil {
		return err
	}
	if err := f.setUp(); err != nil {
		return err
	}
	if err := f.prepare(f.queries); errors.Is(err, sqlite3.ERROR) {
		return fmt.Errorf("%w: %w", ErrDamaged, err) // a table is missing
	} else if err != nil {
		return err
	}
	return f.identify()
}

// checkFile makes the file, closed to others, or looks at the one that is
// there: SQLite would take an empty one for a new store.
func (f *file) checkFile() error {
	h, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return h.Close()
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	if h, err = os.OpenFile(f.path, os.O_RDWR, 0); err != nil {
		return err
	}
	defer h.Close()
	info, err := h.Stat()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.markPath()); info.Size() == 0 && err == nil {
		return fmt.Errorf("%w: file is empty", ErrDamaged)
	}
	return nil
}

// checkSchema refuses what is not ours and makes what is new.
func (f *file) checkSchema() error {
	app, err := f.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	ver, err := f.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	tables, err := f.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	switch {
	case app == f.app && ver == f.version:
		return nil
	case app == f.app && ver > f.version:
		return fmt.Errorf("%w: %w", ErrForeign, ErrNewer)
	case app == f.app && 0 < ver && ver < f.version:
		return fmt.Errorf("%w: %w", ErrForeign, ErrOlder)
	case app != 0 || ver != 0 || tables != 0:
		return ErrForeign
	}
	return f.inTransaction(func() error {
		if err := f.db.Exec(f.schema); err != nil {
			return err
		}
		if err := f.fresh(); err != nil {
			return err
		}
		return f.db.Exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", f.app, f.version))
	})
}

// setUp chooses how the file is written. FAST instead of ON would leave
// deleted content on pages that become free.
func (f *file) setUp() error {
	if mode, err := f.text("PRAGMA journal_mode=WAL"); err != nil {
		return err
	} else if mode != "wal" {
		return fmt.Errorf("%w: journal mode is %s", ErrForeign, mode)
	}
	page, sync := f.page(), int64(2) // FULL
	if f.lossy {
		sync = 1 // NORMAL
	}
	if err := f.db.Exec(fmt.Sprintf("PRAGMA synchronous=%d; PRAGMA secure_delete=ON;"+
		"PRAGMA wal_autocheckpoint=%d; PRAGMA cache_size=-%d; PRAGMA max_page_count=%d", sync, logSize/page, f.cacheKiB, max(64, f.max/page))); err != nil {
		return err
	}
	for pragma, want := range map[string]int64{"secure_delete": 1, "synchronous": sync, "page_size": page} {
		if got, err := f.number("PRAGMA " + pragma); err != nil {
			return err
		} else if got != want {
			return fmt.Errorf("%w: %s is %d", ErrForeign, pragma, got)
		}
	}
	return nil
}

func (f *file) page() int64 {
	if f.pageSize == 0 {
		return pageSize
	}
	return f.pageSize
}

// number runs a query of one number.
func (f *file) number(sql string) (n int64, err error) {
	q, _, err := f.db.Prepare(sql)
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
func (f *file) text(sql string) (v string, err error) {
	q, _, err := f.db.Prepare(sql)
	if err != nil {
		return "", err
	}
	defer q.Close()
	if q.Step() {
		v = q.ColumnText(0)
	}
	return v, q.Err()
}

// query is a statement and where it goes once it is prepared.
type query struct {
	to  **sqlite3.Stmt
	sql string
}

func (f *file) prepare(queries []query) (err error) {
	for _, q := range queries {
		if *q.to, _, err = f.db.Prepare(q.sql); err != nil {
			return err
		}
		f.stmts = append(f.stmts, q.to)
	}
	return nil
}

func (f *file) unprepare() {
	for _, q := range f.stmts {
		(*q).Close() // says again what the last step said
		*q = nil
	}
	f.stmts = nil
}

// once runs a statement that is not asked often.
func (f *file) once(sql string, args ...any) error {
	q, _, err := f.db.Prepare(sql)
	if err != nil {
		return err
	}
	defer q.Close()
	return exec(q, args...)
}

// Renewed reports that open found a store which was put back from a copy, and
// replaced in it what must not outlive a loss.
func (f *file) Renewed() bool { return f.renewed }

// bind sets the parameters of a statement: []byte (nil is NULL) or int64.
func bind(q *sqlite3.Stmt, args ...any) error {
	for i, a := range args {
		var err error
		switch a := a.(type) {
		case []byte:
			if a == nil {
				err = q.BindNull(i + 1)
			} else {
				err = q.BindBlob(i+1, a)
			}
		case int64:
			err = q.BindInt64(i+1, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func exec(q *sqlite3.Stmt, args ...any) error {
	if err := bind(q, args...); err != nil {
		return err
	}
	return q.Exec()
}
