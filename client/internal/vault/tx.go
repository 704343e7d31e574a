package vault

import (
	"bytes"
	"context"
	"crypto/rand"
)

// Tx reads and writes inside one Update or View. It is for the goroutine that
// the function runs in, and ends with the function.
type Tx struct {
	v          *Vault // nil: ended
	ctx        context.Context
	write      bool
	generation uint64 // the version of every row that is written
	broken     error  // a write was left half done: the update cannot be kept
}

func (tx *Tx) readable() error {
	if tx.v == nil {
		return ErrTx
	}
	return tx.broken
}

func (tx *Tx) writable() error {
	if tx.v == nil || !tx.write {
		return ErrTx
	}
	return tx.broken
}

// Generation returns the generation that an Update's rows are written under,
// or that a View sees.
func (tx *Tx) Generation() uint64 {
	switch {
	case tx.v == nil:
		return 0
	case tx.write:
		return tx.generation
	}
	return tx.v.saved.generation
}

// Get returns the row with that id and whether there is one. It fails with
// ErrDamaged when the row is not the one that was written last.
func (tx *Tx) Get(t Table, id int64) (Row, bool, error) {
	if err := tx.readable(); err != nil {
		return Row{}, false, err
	}
	lid, err := t.ledgerID(id)
	if err != nil {
		return Row{}, false, err
	}
	version, ok, err := tx.version(lid)
	if err != nil || !ok {
		return Row{}, false, err
	}
	rows, err := tx.read(t, " WHERE t.id = ?", id)
	if err != nil {
		return Row{}, false, err
	}
	if len(rows) != 1 || rows[0].version != version || rows[0].ID != id {
		return Row{}, false, ErrDamaged // the ledger has it, the table does not
	}
	return rows[0].Row, true, nil
}

// Find returns the row with that H, the one of the lowest id where there are
// several, and whether there is one. No row is found by an empty H.
func (tx *Tx) Find(t Table, h []byte) (Row, bool, error) {
	if err := tx.readable(); err != nil {
		return Row{}, false, err
	}
	if _, err := t.number(); err != nil || len(h) > MaxH {
		return Row{}, false, ErrRow
	}
	if len(h) == 0 {
		return Row{}, false, nil
	}
	rows, err := tx.read(t, " WHERE t.h = ? ORDER BY t.id LIMIT 1", h)
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	if !bytes.Equal(rows[0].H, h) {
		return Row{}, false, ErrDamaged
	}
	return rows[0].Row, true, nil
}

// Insert adds a row and returns its id: r.ID, or where that is 0 the next one,
// which no row of the table has had before. It fails with ErrDuplicate, after
// which the update can go on.
func (tx *Tx) Insert(t Table, r Row) (int64, error) {
	if err := tx.writable(); err != nil {
		return 0, err
	}
	if r.ID == 0 {
		n, err := t.number()
		if err != nil {
			return 0, err
		}
		r.ID = tx.v.now.next[n-1]
	}
	lid, err := t.ledgerID(r.ID)
	if err != nil {
		return 0, err
	}
	if _, ok, err := tx.version(lid); err != nil {
		return 0, err
	} else if ok {
		return 0, ErrDuplicate
	}
	return r.ID, tx.store(t, lid, &r, "INSERT INTO "+string(t)+" (id, a, b, h, v) VALUES (?, ?, ?, ?, ?)")
}

// Put writes a row in place of the one with its id, or adds it. It fails with
// ErrDuplicate when another row has an H that must be unique.
func (tx *Tx) Put(t Table, r Row) error {
	if err := tx.writable(); err != nil {
		return err
	}
	lid, err := t.ledgerID(r.ID)
	if err != nil {
		return err
	}
	return tx.store(t, lid, &r, "INSERT INTO "+string(t)+" (id, a, b, h, v) VALUES (?, ?, ?, ?, ?)"+
		" ON CONFLICT (id) DO UPDATE SET a = excluded.a, b = excluded.b, h = excluded.h, v = excluded.v")
}

// Delete removes rows. Ids that are not there are passed over.
func (tx *Tx) Delete(t Table, ids ...int64) error {
	if err := tx.writable(); err != nil {
		return err
	}
	for _, id := range ids {
		lid, err := t.ledgerID(id)
		if err != nil {
			return err
		}
		if err := tx.remove(t, lid, id); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) remove(t Table, lid, id int64) error {
	version, ok, err := tx.version(lid)
	if err != nil || !ok {
		return err
	}
	if err := tx.v.db.run("DELETE FROM "+string(t)+" WHERE id = ?", id); err != nil {
		return tx.fail(err)
	}
	if err := tx.v.db.run("DELETE FROM ledger WHERE id = ?", lid); err != nil {
		return tx.fail(err)
	}
	tx.v.now.sum.remove(tx.v.keys.entry(lid, version))
	return nil
}

// store writes the row and its version: two statements and the sum, of which
// all or none must be kept.
func (tx *Tx) store(t Table, lid int64, r *Row, sql string) error {
	if err := r.check(); err != nil {
		return err
	}
	old, replaces, err := tx.version(lid)
	if err != nil {
		return err
	}
	sealed, err := tx.v.keys.sealRow(t, r, tx.generation, rand.Reader)
	if err != nil {
		return err
	}
	h := r.H
	if len(h) == 0 {
		h = nil
	}
	switch err := tx.v.db.run(sql, r.ID, r.A, r.B, h, sealed); err {
	case nil:
	case ErrDuplicate:
		return err // the statement alone was undone
	default:
		return tx.fail(err)
	}
	if err := tx.v.db.run("INSERT INTO ledger (id, n) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
		lid, int64(tx.generation)); err != nil {
		return tx.fail(err)
	}
	s := &tx.v.now
	if replaces {
		s.sum.remove(tx.v.keys.entry(lid, old))
	}
	s.sum.add(tx.v.keys.entry(lid, tx.generation))
	n, err := t.number()
	if err != nil {
		return tx.fail(err)
	}
	s.next[n-1] = max(s.next[n-1], r.ID+1)
	return nil
}

// version returns what the ledger has for a row.
func (tx *Tx) version(lid int64) (uint64, bool, error) {
	n, ok, err := tx.v.db.number("SELECT n FROM ledger WHERE id = ?", lid)
	return uint64(n), ok, err
}

// fail keeps the update from being committed, whatever its function returns.
func (tx *Tx) fail(err error) error {
	if tx.broken == nil {
		tx.broken = err
	}
	return err
}
