package vault

// Try runs fn in a part of an update. If fn fails, all that it has written is undone,
// its error is returned as it is, and the update goes on without it; parts may hold
// parts. After an error of the database itself nothing of the update can be kept.
func (tx *Tx) Try(fn func() error) error {
	if err := tx.writable(); err != nil {
		return err
	}
	v, before := tx.v, tx.v.now
	if err := v.db.exec("SAVEPOINT part"); err != nil {
		tx.broken = err
		return err
	}
	err := fn()
	switch {
	case tx.broken != nil: // the update ends, and this part with it
		return tx.broken
	case !v.db.transacting(): // SQLite took all back
		tx.broken = ErrStorage
		return tx.broken
	}
	if err != nil {
		if back := v.db.exec("ROLLBACK TO part"); back != nil {
			tx.broken = back
			return back
		}
		v.now = before
	}
	if end := v.db.exec("RELEASE part"); end != nil {
		tx.broken = end
		return end
	}
	return err
}
