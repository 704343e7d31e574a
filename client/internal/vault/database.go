package vault

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/ncruces/go-sqlite3/vfs/adiantum"
	cipher "lukechampine.com/adiantum"
	"lukechampine.com/adiantum/hbsh"
)

// pageSize is SQLite's page and adiantum's block, in bytes.
const pageSize = 4096

// database is the one connection to the file and its prepared statements. It
// is used by whoever has the vault's turn, and by nobody else.
type database struct {
	conn  *sqlite3.Conn
	vfs   string // the name under which the encrypting file system is known
	stmts map[string]*sqlite3.Stmt
	log   int // pages in the write-ahead log after the last commit
}

// fileCipher gives adiantum the file key without the key ever being part of
// an SQL text or of a URI, both of which SQLite copies.
type fileCipher struct {
	file *hbsh.HBSH
	rand io.Reader
}

// HBSH returns the file's cipher for the one-byte stand-in that the URI
// carries, and a fresh one for a temporary file's random key.
func (c fileCipher) HBSH(key []byte) *hbsh.HBSH {
	if len(key) == 1 {
		return c.file
	}
	if len(key) != 32 {
		return nil
	}
	return cipher.New(key)
}

// KDF returns a random key: only temporary files ask for one.
func (c fileCipher) KDF(string) []byte {
	key := make([]byte, 32)
	if _, err := io.ReadFull(c.rand, key); err != nil {
		return nil
	}
	return key
}

// settings come right after opening, before the first page is read.
//
// In WAL mode with synchronous=FULL a commit is one sync of the log. The
// cipher works in blocks of 4 KiB while log frames are 4,120 bytes long, so an
// append rewrites the block that the last frame ends in; the file system of
// adiantum reports 4 KiB sectors without powersafe overwrite, and SQLite then
// fills the sector up after each commit, so that a torn block never holds a
// frame of a commit that was acknowledged.
func settings() []string {
	return []string{
		"locking_mode=EXCLUSIVE", // no second process, and no shared-memory file
		"synchronous=FULL",
		"fullfsync=ON",
		"checkpoint_fullfsync=ON",
		"secure_delete=ON",
		"temp_store=MEMORY",
		"cell_size_check=ON",
		"trusted_schema=OFF",
		"foreign_keys=OFF",
		"mmap_size=0",
		"cache_size=-8192", // KiB
	}
}

// openDatabase opens the file in folder. Base is the file system under the
// encryption. The file must be there; nothing is read yet.
func openDatabase(folder string, k *keys, base vfs.VFS, rand io.Reader) (*database, error) {
	path, err := filepath.Abs(filepath.Join(folder, rowsName))
	if err != nil {
		return nil, fileError(err)
	}
	var name [8]byte
	if _, err := io.ReadFull(rand, name[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	d := &database{vfs: "tacet-" + hex.EncodeToString(name[:]), stmts: make(map[string]*sqlite3.Stmt)}
	vfs.Register(d.vfs, adiantum.Wrap(lower{base}, fileCipher{file: cipher.New(k.file.Bytes()), rand: rand}))
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: url.Values{
		"vfs":    {d.vfs},
		"hexkey": {"00"}, // stands in for the key: see fileCipher
	}.Encode()}
	d.conn, err = sqlite3.OpenFlags(uri.String(), sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	if err != nil {
		vfs.Unregister(d.vfs)
		return nil, storageError(err)
	}
	if err := d.configure(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *database) configure() error {
	// The log is emptied by us, on purpose. A close that did it would destroy
	// what a log still holds when a vault turns out to be damaged.
	if _, err := d.conn.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		return storageError(err)
	}
	if _, err := d.conn.Config(sqlite3.DBCONFIG_DEFENSIVE, true); err != nil {
		return storageError(err)
	}
	d.conn.Limit(sqlite3.LIMIT_LENGTH, 2*MaxV)
	d.conn.Limit(sqlite3.LIMIT_ATTACHED, 0)
	for _, s := range settings() {
		if err := d.exec("PRAGMA " + s); err != nil {
			return err
		}
	}
	// The hook takes the place of SQLite's own checkpoints.
	d.conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		d.log = pages
		return nil
	})
	return nil
}

// exec runs SQL that has no parameters.
func (d *database) exec(sql string) error { return storageError(d.conn.Exec(sql)) }

// stmt returns the prepared statement for sql, which must be one of a bounded
// set of texts, reset and ready to be bound.
func (d *database) stmt(sql string) (*sqlite3.Stmt, error) {
	if s := d.stmts[sql]; s != nil {
		return s, nil
	}
	s, _, err := d.conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, storageError(err)
	}
	d.stmts[sql] = s
	return s, nil
}

// run executes sql with parameters that are int64 or []byte.
func (d *database) run(sql string, args ...any) error {
	s, err := d.bind(sql, args...)
	if err != nil {
		return err
	}
	return storageError(s.Exec())
}

// number returns the one integer that sql gives, and whether there is a row.
func (d *database) number(sql string, args ...any) (n int64, ok bool, err error) {
	s, err := d.bind(sql, args...)
	if err != nil {
		return 0, false, err
	}
	if ok = s.Step(); ok {
		n = s.ColumnInt64(0)
	}
	return n, ok, storageError(s.Reset())
}

func (d *database) bind(sql string, args ...any) (*sqlite3.Stmt, error) {
	s, err := d.stmt(sql)
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		switch a := a.(type) {
		case int64:
			err = s.BindInt64(i+1, a)
		case []byte:
			err = s.BindBlob(i+1, a) // nil is NULL
		default:
			panic("vault: parameter of an unknown type")
		}
		if err != nil {
			return nil, storageError(err)
		}
	}
	return s, nil
}

// transacting says whether a transaction is open: some errors end it.
func (d *database) transacting() bool { return !d.conn.GetAutocommit() }

// checkpoint moves the log into the file and empties the log.
func (d *database) checkpoint() error {
	_, _, err := d.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE)
	if err == nil {
		d.log = 0
	}
	return storageError(err)
}

// close releases everything. It leaves the log as it is.
func (d *database) close() error {
	for _, s := range d.stmts {
		s.Close() // repeats the error of the last use, known by then
	}
	d.stmts = nil
	err := d.conn.Close()
	vfs.Unregister(d.vfs)
	return storageError(err)
}

// storageError turns an error of SQLite into one of ours. The text of the
// original stays out: it can hold names and paths.
func storageError(err error) error {
	if err == nil {
		return nil
	}
	var code sqlite3.ExtendedErrorCode
	if !errors.As(err, &code) {
		return fileError(err)
	}
	switch code.Code() {
	case sqlite3.FULL:
		return ErrFull
	case sqlite3.BUSY, sqlite3.LOCKED:
		return ErrLocked
	case sqlite3.CORRUPT, sqlite3.NOTADB:
		return ErrDamaged
	case sqlite3.CONSTRAINT:
		return ErrDuplicate
	}
	switch code {
	case sqlite3.IOERR_SHORT_READ, sqlite3.IOERR_DATA, sqlite3.IOERR_CORRUPTFS:
		return ErrDamaged
	case sqlite3.IOERR_FSYNC, sqlite3.IOERR_DIR_FSYNC:
		// Even for want of space: what a failed sync has kept is not known.
	default:
		if noSpace(err) {
			return ErrFull
		}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return fmt.Errorf("%w: %w", ErrStorage, errno)
	}
	return fmt.Errorf("%w: %v", ErrStorage, code)
}
