package vault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// maxBatch bounds how many updates share one commit.
const maxBatch = 128

// batch is one transaction of the database. Its updates are savepoints in it,
// and come to the disk, or not, together.
type batch struct {
	updates int           // that succeeded
	done    chan struct{} // closed when err is final
	err     error
}

// Update runs fn and, if it returns nil, waits until all that it wrote is on
// the disk. An error of fn undoes what fn has done and is returned as it is.
// With any other error nothing of the update was kept, except that after
// ErrStorage this is not known.
//
// Updates run one after the other. Those that wait at the same time share one
// commit, each seeing what the ones before it have written; a lone one is
// committed at once. ctx bounds the wait for the turn, not the commit.
func (v *Vault) Update(ctx context.Context, fn func(*Tx) error) error {
	if err := v.turn.take(ctx, writing); err != nil {
		return err
	}
	b, err := v.join()
	if err != nil {
		v.turn.give()
		return fmt.Errorf("beginning update: %w", err)
	}
	if err := v.attempt(ctx, b, fn); err != nil {
		return err
	}
	<-b.done
	if b.err != nil {
		return fmt.Errorf("committing update: %w", b.err)
	}
	return nil
}

// View runs fn, which sees the last committed state and can write nothing. It
// holds up everybody else while it runs. ctx bounds the wait and each Each.
func (v *Vault) View(ctx context.Context, fn func(*Tx) error) error {
	if err := v.turn.take(ctx, reading); err != nil {
		return err
	}
	defer v.turn.give()
	if err := v.usable(); err != nil {
		return fmt.Errorf("beginning view: %w", err)
	}
	tx := &Tx{v: v, ctx: ctx}
	defer func() { tx.v = nil }()
	return fn(tx)
}

// join returns the open batch, or opens one. It is called with the turn.
func (v *Vault) join() (*batch, error) {
	if v.batch != nil {
		return v.batch, nil
	}
	if err := v.usable(); err != nil {
		return nil, err
	}
	if err := v.db.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	v.batch = &batch{done: make(chan struct{})}
	return v.batch, nil
}

// attempt runs fn in a savepoint and then passes the turn on, whether fn
// returns, panics or ends its goroutine.
func (v *Vault) attempt(ctx context.Context, b *batch, fn func(*Tx) error) error {
	defer v.proceed(b)
	before := v.now
	if err := v.db.exec("SAVEPOINT one"); err != nil {
		return v.lose(b, err)
	}
	tx := &Tx{v: v, ctx: ctx, write: true}
	good := false
	defer func() {
		tx.v = nil
		if !good {
			v.undo(b, before, tx.broken)
		}
	}()
	// A generation that a failed update had is not used again.
	v.last++
	tx.generation = v.last
	if err := ctx.Err(); err != nil {
		return err
	}
	err := fn(tx)
	switch {
	case err != nil:
		return err
	case tx.broken != nil:
		return tx.broken
	case !v.db.transacting():
		return v.lose(b, ErrStorage)
	}
	if err := v.db.exec("RELEASE one"); err != nil {
		return v.lose(b, err)
	}
	good = true
	b.updates++
	v.now.generation = tx.generation
	return nil
}

// undo takes back what one update has done. Some errors, a full disk among
// them, make SQLite take back the whole transaction: then all in it have
// failed, for the reason that broke this one.
func (v *Vault) undo(b *batch, before state, broken error) {
	v.now = before
	if !v.db.transacting() {
		if broken == nil {
			broken = ErrStorage
		}
		_ = v.lose(b, broken)
		return
	}
	if err := v.db.exec("ROLLBACK TO one"); err != nil {
		_ = v.lose(b, err)
		return
	}
	if err := v.db.exec("RELEASE one"); err != nil {
		_ = v.lose(b, err)
	}
}

// lose notes that the whole batch has failed, with the first reason.
func (v *Vault) lose(b *batch, err error) error {
	if b.err == nil {
		b.err = err
	}
	return b.err
}

// proceed passes the turn to the next writer of the batch, or ends the batch
// and gives the turn up.
func (v *Vault) proceed(b *batch) {
	if b.err == nil && b.updates < maxBatch && v.turn.pass() {
		return
	}
	v.settle(b)
	v.turn.settled()
	close(b.done)
	if v.failed == nil && v.db.log > maxLogPages {
		_ = v.checkpoint() // on failure the log has it all; the next one tries again
	}
	v.turn.give()
}

// settle commits or rolls back.
func (v *Vault) settle(b *batch) {
	v.batch = nil
	if b.err == nil && b.updates > 0 {
		b.err = v.commit()
	}
	if b.err == nil && b.updates > 0 {
		v.saved = v.now
		v.generation.Store(v.saved.generation)
		// The commit is on the disk whatever becomes of its mark. Without space
		// for it, the next commit writes a newer one.
		if err := v.mark.set(v.saved.generation); err != nil && !errors.Is(err, ErrFull) {
			v.failed = err
		}
		v.arm()
		return
	}
	v.now = v.saved
	if v.db.transacting() {
		if err := v.db.exec("ROLLBACK"); err != nil {
			v.failed = err
		}
	}
	if errors.Is(b.err, ErrStorage) || errors.Is(b.err, ErrDamaged) {
		v.failed = b.err
	}
}

// commit writes the state and ends the transaction.
func (v *Vault) commit() error {
	sealed, err := sealState(v.keys, &v.now, rand.Reader)
	if err != nil {
		return err
	}
	if err := v.db.run("UPDATE state SET v = ? WHERE id = 1", sealed); err != nil {
		return err
	}
	return v.db.exec("COMMIT")
}
