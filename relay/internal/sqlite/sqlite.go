// Package sqlite keeps what a relay on one node keeps, in one SQLite file for
// each thing. Store, a blob.Store, is blobs.db; Gate, a gate.Members and a
// gate.Spent, is gate.db; Park, a park.Store, is park.db.
//
// Each file has one goroutine, Run, that owns the only connection: it answers
// reads, joins the writes that wait into one transaction, and answers them once
// that is on disk (WAL, synchronous = FULL; park.db does not wait). Deleted content is overwritten
// (secure_delete), and the log that still holds it is emptied by a TRUNCATE
// checkpoint every minute and after every sweep. The order of pages in a file can
// show the order in which rows came until pages are used again; no row or column
// does.
//
// What must die with a file lies in it, so that a lost file is a lost key;
// mark.go notices a file that was put back from a copy.
package sqlite

import (
	"fmt"
	"io"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/blob"
)

const (
	applicationID = 0x7ace7b10
	version       = 1
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
	Random io.Reader // for keys and marks
}

// Store is a blob.Store. Its methods answer while Run runs.
type Store struct {
	file
	sign key.Sign
	q    statements
}

// Open opens or makes a store.
func Open(opt Options) (*Store, error) {
	s := &Store{}
	s.file = file{path: opt.Path, max: opt.Max, random: opt.Random, layout: layout{
		name: "blob store", schema: schema, app: applicationID, version: version, cacheKiB: 512, batch: 16, // at most 4 MiB of content
		fresh: s.fill, renew: s.renew, marks: "store", full: blob.ErrFull, stopped: blob.ErrStopped,
	}}
	if err := s.open(s.q.queries()); err != nil {
		return nil, err
	}
	if err := s.readKey(); err != nil {
		s.unprepare()
		s.db.Close()
		return nil, fmt.Errorf("opening %s: %w", s.name, err)
	}
	return s, nil
}

// fill writes the one row about the store.
func (s *Store) fill() error {
	seed, err := key.Generate[key.SignRole](s.random)
	if err != nil {
		return err
	}
	defer seed.Wipe()
	return s.once("INSERT INTO store VALUES (?, zeroblob(16), zeroblob(16))", seed.Bytes())
}

// renew replaces the receipt key.
func (s *Store) renew() error {
	seed, err := key.Generate[key.SignRole](s.random)
	if err != nil {
		return err
	}
	defer seed.Wipe()
	return s.once("UPDATE store SET receipts = ?", seed.Bytes())
}

// readKey reads the receipt key.
func (s *Store) readKey() error {
	var seed []byte
	if err := each(s.db, "SELECT receipts FROM store", func(q *sqlite3.Stmt) { seed = q.ColumnBlob(0, nil) }); err != nil {
		return s.explain(err)
	}
	defer clear(seed)
	var err error
	if s.sign, err = key.New[key.SignRole](seed); err != nil {
		return ErrDamaged
	}
	return nil
}

// Close closes the file. Run must have returned, or never have been called.
func (s *Store) Close() error {
	s.sign.Wipe()
	return s.file.Close()
}

// Receipts returns the key that signs receipts.
func (s *Store) Receipts() key.Sign { return s.sign }

var _ blob.Store = (*Store)(nil)
