package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tacet-chat/tacet/internal/key"
)

// version is that of the tables. There is no older one yet.
const version = 1

// turn is the advisory lock under which one node at a time looks at the tables.
const turn = 0x7ace7b10

// Every column, and who may read it: who holds the database. No sender, no
// reader, no time finer than a day, no order of arrival.
const schema = `
CREATE TABLE tacet (
	version  integer NOT NULL, -- of these tables
	realm    bytea NOT NULL,   -- 32, fingerprint of the realm key, which is public
	receipts bytea NOT NULL,   -- 32, Ed25519 seed
	identity bytea NOT NULL,   -- 32, hash of what PostgreSQL says of itself
	began    integer NOT NULL  -- day that the newest root of tokens goes by; the root is not here
);
CREATE TABLE record (
	id         bytea PRIMARY KEY, -- 32
	hash       bytea NOT NULL,    -- 32, SHA-256 of the content
	capability bytea,             -- 32, hash; NULL for slots, and once the content is gone
	until      integer,           -- day the content goes; NULL once it is gone
	forget     integer NOT NULL   -- day this row goes, a multiple of 30
);
CREATE INDEX record_until ON record (until) WHERE until IS NOT NULL;
CREATE INDEX record_forget ON record (forget);
CREATE TABLE content (
	id   bytea PRIMARY KEY,       -- 32
	body bytea NOT NULL           -- as it came
);
ALTER TABLE content ALTER body SET STORAGE EXTERNAL;
CREATE TABLE used (
	part  integer PRIMARY KEY,    -- 0 to 15, so that puts seldom wait for each other
	bytes bigint NOT NULL         -- of contents and records; the sum over all counts
) WITH (fillfactor = 20);
INSERT INTO used SELECT n, 0 FROM generate_series(0, 15) n;
CREATE TABLE invite (
	hash bytea PRIMARY KEY,       -- 32, of the secret
	uses integer NOT NULL,        -- that are left
	last integer NOT NULL         -- day on which it can be used at the latest
);
CREATE TABLE member (
	credential bytea PRIMARY KEY  -- 32, hash; nothing joins it to an invite or a day
);`

const parts = 16 // of table used

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// identity is what differs between a database and one that was made from a copy
// of it: a dump that was read back has other numbers in the catalogue, a copy of
// the files that was recovered is on another timeline. A bare copy of all files
// cannot be told apart this way; docs tell the operator what to do.
func identity(ctx context.Context, q querier) (string, error) {
	var s string
	err := q.QueryRow(ctx, `SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
		left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid, 'tacet'::regclass::oid) FROM pg_database d WHERE datname = current_database()`).Scan(&s)
	return s, err
}

// prepare makes or checks the tables and reads the key, while other nodes wait.
func (d *DB) prepare(ctx context.Context, c *pgx.Conn) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", turn); err != nil {
			return err
		}
		var made bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass('tacet') IS NOT NULL").Scan(&made); err != nil {
			return err
		}
		if !made {
			return d.create(ctx, tx)
		}
		if err := compare(ctx, tx, d.opt.Realm); err != nil {
			return err
		}
		return d.load(ctx, tx)
	})
}

// compare says whether the tables are of this version and realm.
func compare(ctx context.Context, q querier, realm [32]byte) error {
	var was int
	var of []byte
	if err := q.QueryRow(ctx, "SELECT version, realm FROM tacet").Scan(&was, &of); err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	switch {
	case was > version:
		return ErrNewer
	case was < version || string(of) != string(realm[:]):
		return ErrForeign
	}
	return nil
}

// create makes the tables, with a new key.
func (d *DB) create(ctx context.Context, tx pgx.Tx) (err error) {
	if _, err := tx.Exec(ctx, schema+parkSchema); err != nil {
		return err
	}
	if d.sign, err = key.Generate[key.SignRole](d.opt.Random); err != nil {
		return err
	}
	if d.self, err = identity(ctx, tx); err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(d.self))
	_, err = tx.Exec(ctx, "INSERT INTO tacet VALUES ($1, $2, $3, $4, 0)", version, d.opt.Realm[:], d.sign.Bytes(), hash[:])
	return err
}

// load reads the key, and replaces it where the database is not the one that
// had it: a store that lost an entry must not sign for its id again.
//
// spec: relay-api.md#life-of-a-blob
func (d *DB) load(ctx context.Context, tx pgx.Tx) (err error) {
	var seed, was []byte
	if err := tx.QueryRow(ctx, "SELECT receipts, identity FROM tacet").Scan(&seed, &was); err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	defer clear(seed)
	if d.self, err = identity(ctx, tx); err != nil {
		return err
	}
	if hash := sha256.Sum256([]byte(d.self)); string(hash[:]) != string(was) {
		d.renewed = true
		if d.sign, err = key.Generate[key.SignRole](d.opt.Random); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE tacet SET receipts = $1, identity = $2", d.sign.Bytes(), hash[:])
		return err
	}
	if d.sign, err = key.New[key.SignRole](seed); err != nil {
		return fmt.Errorf("%w: the receipt key is none", ErrForeign)
	}
	return nil
}
