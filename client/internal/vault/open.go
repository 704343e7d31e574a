package vault

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/tacet-chat/tacet/internal/key"
)

// maxKeyFile bounds the key file of any version, in bytes.
const maxKeyFile = 1 << 16

// Open opens the vault in the profile folder dir. It creates and repairs
// nothing. It fails with ErrMissing, ErrPassphrase, ErrLocked, ErrNewer,
// ErrDamaged, ErrBehind (which is an ErrDamaged) and ErrStorage.
//
// Opening checks the key file, the mark, the schema, the state and the whole
// ledger of versions. Rows are checked as they are read; Verify checks all.
func Open(dir string, pass []byte) (*Vault, error) {
	v, err := openWith(dir, pass, vfs.Find(""))
	if err != nil {
		return nil, fmt.Errorf("opening vault: %w", err)
	}
	return v, nil
}

func openWith(dir string, pass []byte, base vfs.VFS) (*Vault, error) {
	h, err := readHeader(dir)
	if err != nil {
		return nil, err
	}
	root, err := h.unwrap(pass)
	if err != nil {
		return nil, err
	}
	defer root.Wipe()
	return attach(dir, root, base)
}

func readHeader(dir string) (*header, error) {
	folder := filepath.Join(dir, folderName)
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrMissing
	case err != nil:
		return nil, fileError(err)
	case !info.IsDir():
		return nil, ErrDamaged
	}
	b, err := readBounded(filepath.Join(folder, keyName), maxKeyFile)
	if err != nil {
		return nil, err
	}
	return parseHeader(b)
}

// attach opens the files with the vault key at hand.
func attach(dir string, root key.Vault, base vfs.VFS) (*Vault, error) {
	k, err := deriveKeys(root)
	if err != nil {
		return nil, err
	}
	v := &Vault{dir: dir, keys: k}
	if err := v.attach(filepath.Join(dir, folderName), base); err != nil {
		var ignored error
		v.release(&ignored)
		return nil, err
	}
	return v, nil
}

func (v *Vault) attach(folder string, base vfs.VFS) error {
	if err := checkFiles(folder); err != nil {
		return err
	}
	d, err := openDatabase(folder, v.keys, base, rand.Reader)
	if err != nil {
		return err
	}
	v.db = d
	tables, err := d.inspect()
	if err != nil {
		return err
	}
	m, marked, err := openMark(filepath.Join(folder, markName), v.keys, rand.Reader)
	if err != nil {
		return err
	}
	v.mark = m
	s, err := d.root(v.keys, tables)
	if err != nil {
		return err
	}
	if s.generation < marked {
		return ErrBehind
	}
	total, err := d.ledger(v.keys)
	if err != nil {
		return err
	}
	if total != s.sum {
		return ErrDamaged
	}
	if err := d.extend(v.keys, &s, tables); err != nil {
		return err
	}
	v.saved, v.now = s, s
	v.generation.Store(s.generation)
	v.last, err = jump(s.generation, rand.Reader)
	return err
}

// jumpSize is how many random bytes an opening adds to the generation: room
// for eight million openings in 63 bits.
const jumpSize = 5

// jump returns where an opening begins to count. What a crash cut off may have
// left sealed rows in the tail of the log, under generations that no state
// knows of; put back later, they must not stand in for others. Neither this
// opening nor any other that began at the same state uses them again.
func jump(generation uint64, rand io.Reader) (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(rand, b[8-jumpSize:]); err != nil {
		return 0, fmt.Errorf("reading randomness: %w", err)
	}
	return generation + binary.BigEndian.Uint64(b[:]), nil
}

// checkFiles looks at the database and its log before SQLite does: SQLite
// takes an empty file for a new database and deletes the log beside it, and
// makes a log where there is none.
func checkFiles(folder string) error {
	rows, err := os.Lstat(filepath.Join(folder, rowsName))
	if err != nil {
		return damagedIfMissing(err)
	}
	log, err := os.Lstat(filepath.Join(folder, rowsName+logSuffix))
	if err != nil {
		return damagedIfMissing(err)
	}
	if !rows.Mode().IsRegular() || rows.Size() < pageSize || !log.Mode().IsRegular() {
		return ErrDamaged
	}
	return nil
}

// damagedIfMissing: the folder is there, so a file that is not is a damage.
func damagedIfMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrDamaged
	}
	return fileError(err)
}

// inspect reads for the first time, which takes the lock, and compares version
// and schema. It returns how many tables there are.
func (d *database) inspect() (tables int, err error) {
	version, ok, err := d.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	if version > schemaVersion {
		return 0, ErrNewer
	}
	n, known := tablesOf(version)
	if !ok || !known {
		return 0, ErrDamaged
	}
	s, err := d.stmt("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
	if err != nil {
		return 0, err
	}
	good := true
	for _, want := range schema(n) {
		good = good && s.Step() && s.ColumnText(0) == want
	}
	good = good && !s.Step()
	if err := storageError(s.Reset()); err != nil {
		return 0, err
	}
	if !good {
		return 0, ErrDamaged
	}
	return n, nil
}

// extend gives a vault of an earlier version the tables that it does not have,
// all or none of them. Everything else stays as it is.
//
// spec: vault.md#earlier-versions
func (d *database) extend(k *keys, s *state, have int) error {
	if have == tableCount {
		return nil
	}
	sealed, err := sealState(k, s, rand.Reader)
	if err != nil {
		return err
	}
	steps := []string{"BEGIN IMMEDIATE"}
	all := tables()
	for _, t := range all[have:] {
		steps = append(steps, t.schema()...)
	}
	steps = append(steps, fmt.Sprintf("PRAGMA user_version=%d", schemaVersion))
	for _, sql := range steps {
		if err := d.exec(sql); err != nil {
			return err
		}
	}
	if err := d.run("UPDATE state SET v = ? WHERE id = 1", sealed); err != nil {
		return err
	}
	return d.exec("COMMIT")
}

// root reads the sealed state.
func (d *database) root(k *keys, tables int) (state, error) {
	s, err := d.stmt("SELECT v FROM state WHERE id = 1")
	if err != nil {
		return state{}, err
	}
	var sealed []byte
	if s.Step() {
		sealed = s.ColumnBlob(0, nil)
	}
	if err := storageError(s.Reset()); err != nil {
		return state{}, err
	}
	return openState(k, sealed, tables)
}

// ledger adds up the entries of all rows.
func (d *database) ledger(k *keys) (total sum, err error) {
	s, err := d.stmt("SELECT id, n FROM ledger")
	if err != nil {
		return total, err
	}
	for s.Step() {
		total.add(k.entry(s.ColumnInt64(0), uint64(s.ColumnInt64(1))))
	}
	return total, storageError(s.Reset())
}

// ChangePassphrase wraps the vault key anew. Until the new key file is on the
// disk the old one is in place; after it, only next opens the vault. It fails
// with ErrPassphrase when old is wrong, and with ErrNoPassphrase.
//
// The vault key stays the same: whoever has a copy of the old key file and the
// old passphrase can still open any copy of the vault.
func (v *Vault) ChangePassphrase(old, next []byte) error {
	v.header.Lock()
	defer v.header.Unlock()
	if err := v.changePassphrase(old, next); err != nil {
		return fmt.Errorf("changing passphrase: %w", err)
	}
	return nil
}

func (v *Vault) changePassphrase(old, next []byte) error {
	h, err := readHeader(v.dir)
	if err != nil {
		return err
	}
	root, err := h.unwrap(old)
	if err != nil {
		return err
	}
	defer root.Wipe()
	if err := v.owns(root); err != nil {
		return err
	}
	h, err = wrapKey(rand.Reader, root, next, h.params)
	if err != nil {
		return err
	}
	return replace(filepath.Join(v.dir, folderName, keyName), h.Append(nil))
}

// owns checks that root is the key that this vault was opened with: somebody
// may have put another key file in place.
func (v *Vault) owns(root key.Vault) error {
	k, err := deriveKeys(root)
	if err != nil {
		return err
	}
	defer k.wipe()
	if err := v.turn.take(context.Background(), reading); err != nil {
		return err
	}
	defer v.turn.give()
	if v.closed {
		return ErrClosed
	}
	if !k.file.Equal(v.keys.file) {
		return ErrDamaged
	}
	return nil
}
