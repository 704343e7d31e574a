// Package vault keeps what a client must not lose in one encrypted SQLite
// file: identity, sessions, history, and what still waits to be sent. The file
// is encrypted under adiantum, every row's value is sealed once more and bound
// to its table, id, columns and version, and a ledger of versions makes an old
// page or an old row that is put back show. The key to all of it is wrapped by
// a passphrase.
//
// What an Update has written survives a kill and a power cut as soon as the
// Update has returned. Nothing is ever made anew in place of what is damaged,
// missing or locked; each of those is an error of its own.
//
// Generic tables are here; what the rows mean is for the typed stores beside
// them. The package does not decide when a profile is opened, has no policy on
// passphrases beyond refusing an empty one, and cannot tell a whole folder put
// back from an old copy: Generation is for whoever can.
//
// Spec: docs/spec/vault.md.
package vault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// Errors that callers branch on. None names a path, a table or a key.
var (
	// ErrExists: Create found a vault, and leaves it alone.
	ErrExists = errors.New("there is a vault here already")
	// ErrMissing: there is no vault in this folder.
	ErrMissing = errors.New("there is no vault here")
	// ErrPassphrase: the passphrase is not this vault's.
	ErrPassphrase = errors.New("the passphrase does not open this vault")
	// ErrDamaged: the files are not what this vault has written.
	ErrDamaged = errors.New("the vault is damaged")
	// ErrBehind is an ErrDamaged: whole, but older than a state that was
	// reached before. Keys in it may have been used already.
	ErrBehind = fmt.Errorf("%w: it went back to an older state", ErrDamaged)
	// ErrNewer: a newer version of the program has written this vault.
	ErrNewer = errors.New("the vault was written by a newer version")
	// ErrFull: the disk is full. Nothing of the update was kept, everything
	// before it was.
	ErrFull = errors.New("the disk is full")
	// ErrLocked: another process has this profile.
	ErrLocked = errors.New("another process has this profile open")
	// ErrClosed: the vault was closed.
	ErrClosed = errors.New("the vault is closed")
	// ErrStorage: the disk failed. Whether the update was kept is not known
	// until the vault is opened again; until then everything gives ErrStorage.
	ErrStorage = errors.New("the storage of the vault failed")
	// ErrDuplicate: a row with this id, or with an H that must be unique, is there.
	ErrDuplicate = errors.New("there is such a row already")
	// ErrRow: a row or a query is outside the bounds of this package.
	ErrRow = errors.New("the row is outside the bounds of the vault")
	// ErrTx: a write in a View, or use of a Tx after its function returned.
	ErrTx = errors.New("the transaction does not allow this")
	// ErrParams: parameters of key derivation below the floor or out of bounds.
	ErrParams = errors.New("the parameters of key derivation are not acceptable")
	// ErrNoPassphrase: a passphrase cannot be empty.
	ErrNoPassphrase = errors.New("the passphrase is empty")
)

const (
	// tidyAfter is how long replaced and deleted rows may stay in the log
	// after an update before a checkpoint takes them out of the files.
	tidyAfter = 10 * time.Second
	// maxLogPages bounds the write-ahead log between checkpoints, 4 KiB each.
	maxLogPages = 2000
)

// Vault is an open vault. Its methods may be called from any goroutine, but
// not from inside a function given to Update or View.
type Vault struct {
	dir        string // the profile
	generation atomic.Uint64
	timed      atomic.Bool // a timer was set since Timed
	header     sync.Mutex  // held while the key file is replaced

	turn turn // whoever has the turn owns everything below

	keys   *keys
	db     *database
	mark   *mark
	batch  *batch // the open transaction, or nil
	saved  state  // as committed
	now    state  // with what the open transaction has done
	last   uint64 // the last generation handed out, committed or not
	closed bool
	failed error       // ErrStorage once the disk has failed
	tidy   *time.Timer // nil: nothing to take out of the log
	tidied sync.WaitGroup
	aging  *aging      // nil: nobody has asked for the age
	shelf  group.Shelf // what of groups was read lately and is no secret
}

// Dir returns the profile folder that the vault was opened with.
func (v *Vault) Dir() string { return v.dir }

// Generation returns the generation of the last committed Update. It only
// grows: by one per Update, and by a random jump before the first Update of an
// opening. A copy kept elsewhere that is greater than this means that the
// whole folder was put back from an old copy.
func (v *Vault) Generation() uint64 { return v.generation.Load() }

// usable is called with the turn.
func (v *Vault) usable() error {
	if v.closed {
		return ErrClosed
	}
	return v.failed
}

// Checkpoint moves the log into the table file and empties it: what was
// deleted or replaced is then gone from the files. The vault does it by itself
// ten seconds after an update, and in Close.
func (v *Vault) Checkpoint(ctx context.Context) error {
	if err := v.turn.take(ctx, reading); err != nil {
		return err
	}
	defer v.turn.give()
	if err := v.usable(); err != nil {
		return err
	}
	return v.checkpoint()
}

// checkpoint is called with the turn and without an open transaction.
func (v *Vault) checkpoint() error {
	v.disarm()
	if err := v.db.checkpoint(); err != nil {
		v.arm() // try again later: the log has it all meanwhile
		return fmt.Errorf("emptying the log: %w", err)
	}
	if err := v.mark.sync(); err != nil {
		return fmt.Errorf("syncing the mark: %w", err)
	}
	return nil
}

// arm is called with the turn.
func (v *Vault) arm() {
	if v.tidy != nil || v.closed {
		return
	}
	v.tidied.Add(1)
	v.tidy = time.AfterFunc(tidyAfter, func() {
		defer v.tidied.Done()
		// An error is met again by the next checkpoint, and by Close.
		_ = v.Checkpoint(context.Background())
	})
}

// disarm is called with the turn.
func (v *Vault) disarm() {
	if v.tidy != nil && v.tidy.Stop() {
		v.tidied.Done()
	}
	v.tidy = nil
}

// Close waits for what is under way, empties the log, wipes the keys and
// releases the files. A second Close does nothing.
func (v *Vault) Close() error {
	if err := v.turn.take(context.Background(), reading); err != nil {
		return err
	}
	if v.closed {
		v.turn.give()
		return nil
	}
	var err error
	if v.failed == nil {
		err = v.checkpoint()
	}
	v.closed = true
	v.shelf.Clear()
	v.disarm()
	v.release(&err)
	v.turn.give()
	v.tidied.Wait()
	if err != nil {
		return fmt.Errorf("closing vault: %w", err)
	}
	return nil
}

// release closes the files and wipes the keys, keeping the first error.
func (v *Vault) release(err *error) {
	keep := func(e error) {
		if *err == nil {
			*err = e
		}
	}
	if v.db != nil {
		keep(v.db.close())
	}
	if v.mark != nil {
		keep(v.mark.close())
	}
	if v.keys != nil {
		v.keys.wipe() // after the database: the cipher reads the file key in place
	}
}
