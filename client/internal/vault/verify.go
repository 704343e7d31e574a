package vault

import (
	"context"
	"fmt"
)

// Verify reads everything: every page and index, every row against the ledger,
// the ledger against the state. It fails with ErrDamaged. It holds up everybody
// else while it runs, for seconds where there is much.
func (v *Vault) Verify(ctx context.Context) error {
	return v.View(ctx, func(tx *Tx) error {
		if err := tx.verify(); err != nil {
			return fmt.Errorf("verifying vault: %w", err)
		}
		return nil
	})
}

func (tx *Tx) verify() error {
	d := tx.v.db
	s, err := d.stmt("PRAGMA integrity_check(1)")
	if err != nil {
		return err
	}
	good := s.Step() && s.ColumnText(0) == "ok"
	if err := storageError(s.Reset()); err != nil {
		return err
	}
	if !good {
		return ErrDamaged
	}
	total, err := d.ledger(tx.v.keys)
	if err != nil {
		return err
	}
	if total != tx.v.saved.sum {
		return ErrDamaged
	}
	for _, t := range tables() {
		if err := tx.verifyTable(t); err != nil {
			return err
		}
	}
	return nil
}

// verifyTable opens all rows. Each is in the ledger, or Each fails; as many
// rows as entries means that none is missing. The integrity check of SQLite
// does not count the entries of an index that leaves rows out.
func (tx *Tx) verifyTable(t Table) error {
	var rows, found int64
	err := tx.Each(t, Query{}, func(r Row) error {
		rows++
		if len(r.H) > 0 {
			found++
		}
		return nil
	})
	if err != nil {
		return err
	}
	first, err := t.ledgerID(1)
	if err != nil {
		return err
	}
	n := string(t)
	indexed, _, err := tx.v.db.number("SELECT count(*) FROM " + n + " INDEXED BY " + n + "_h WHERE h IS NOT NULL")
	if err != nil {
		return err
	}
	entries, _, err := tx.v.db.number("SELECT count(*) FROM ledger WHERE id BETWEEN ? AND ?", first, first-1+maxID)
	if err != nil {
		return err
	}
	if entries != rows || indexed != found {
		return ErrDamaged
	}
	return nil
}
