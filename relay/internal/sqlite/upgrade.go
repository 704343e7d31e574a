package sqlite

import (
	"errors"
	"fmt"
	"os"

	sqlite3 "github.com/ncruces/go-sqlite3"
)

// ErrOlder: the file is a store of ours, and of an older version: Upgrade makes
// it one of this.
var ErrOlder = errors.New("an older version made it")

// kind is one sort of store, as far as its versions go.
type kind struct {
	version int64             // of this program
	steps   map[int64]upgrade // by the version that a step starts from
}

// upgrade brings a store one version on, within a transaction.
type upgrade func(db *sqlite3.Conn) error

// kinds are the stores there are, by application id. Every version that was
// ever released has a step here, and a file of it in testdata, for ever.
func kinds() map[int64]kind {
	return map[int64]kind{
		applicationID:     {version, nil},
		gateApplicationID: {gateVersion, map[int64]upgrade{1: gateSwept}},
		parkID:            {parkVersion, nil},
	}
}

// gateSwept adds the day by which marks were swept. Nobody knows what it was.
func gateSwept(db *sqlite3.Conn) error {
	return db.Exec("ALTER TABLE root RENAME TO was;" + rootSchema + `;
INSERT INTO root (seed, key, began, swept, mark, previous) SELECT seed, key, began, 0, mark, previous FROM was;
DROP TABLE was`)
}

// Versions says which version a store is of and which this program has. The
// relay that has it open must be stopped.
func Versions(path string) (is, newest int64, err error) {
	f, k, is, err := inspect(path, kinds())
	if err != nil {
		return 0, 0, err
	}
	return is, k.version, f.db.Close()
}

// Upgrade brings a store to this program's version: all steps in one
// transaction, so that it is of the old version or of the new one, whatever
// happens. It returns the version that the store was of. A store of a newer
// version is left alone: ErrNewer.
func Upgrade(path string) (from int64, err error) { return upgradeBy(path, kinds()) }

func upgradeBy(path string, all map[int64]kind) (from int64, err error) {
	f, k, from, err := inspect(path, all)
	if err != nil {
		return from, err
	}
	if from < k.version {
		err = f.inTransaction(func() error {
			for v := from; v < k.version; v++ {
				step, ok := k.steps[v]
				if !ok {
					return fmt.Errorf("%w: nothing leads from version %d to %d", ErrForeign, v, v+1)
				}
				if err := step(f.db); err != nil {
					return fmt.Errorf("from version %d to %d: %w", v, v+1, err)
				}
			}
			return f.db.Exec(fmt.Sprintf("PRAGMA user_version=%d", k.version))
		})
	}
	return from, f.explain(errors.Join(err, f.db.Close()))
}

// inspect opens a store for itself and says what it is.
func inspect(path string, all map[int64]kind) (f *file, k kind, is int64, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, k, 0, err
	}
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	f = &file{path: path, db: db, layout: layout{full: errors.New("disk is full")}}
	if err != nil {
		return nil, k, 0, f.explain(err)
	}
	err = db.Exec("PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON")
	var app int64
	if err == nil {
		app, err = f.number("PRAGMA application_id")
	}
	if err == nil {
		is, err = f.number("PRAGMA user_version")
	}
	k, ours := all[app]
	switch {
	case err != nil:
	case !ours || is < 1:
		err = ErrForeign
	case is > k.version:
		err = fmt.Errorf("%w: %w", ErrForeign, ErrNewer)
	}
	if err != nil {
		return nil, k, is, f.explain(errors.Join(err, db.Close()))
	}
	return f, k, is, nil
}
