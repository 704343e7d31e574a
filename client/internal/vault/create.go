package vault

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/tacet-chat/tacet/internal/key"
)

// folderPattern names a vault that is being made.
const folderPattern = folderName + "-*" + newSuffix

// Create makes a vault in the profile folder dir, which is made too where it
// is not there, with mode 0700. The vault appears whole or not at all. It fails
// with ErrExists, ErrNoPassphrase, ErrParams, ErrLocked while another Create
// works in the same folder, and ErrFull.
func Create(dir string, pass []byte, p Params) (*Vault, error) {
	v, err := create(dir, pass, p, vfs.Find(""))
	if err != nil {
		return nil, fmt.Errorf("creating vault: %w", err)
	}
	return v, nil
}

func create(dir string, pass []byte, p Params, base vfs.VFS) (*Vault, error) {
	root, err := key.Generate[key.VaultRole](rand.Reader)
	if err != nil {
		return nil, err
	}
	defer root.Wipe()
	// Everything that can be refused is refused before a file is made.
	h, err := wrapKey(rand.Reader, root, pass, p)
	if err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	path := filepath.Join(dir, folderName)
	if _, err := os.Lstat(path); err == nil {
		return nil, ErrExists
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fileError(err)
	}
	if err := build(dir, path, h, root, base); err != nil {
		return nil, err
	}
	return attach(dir, root, base)
}

// build writes a vault under another name and gives it its own at the end.
func build(dir, path string, h *header, root key.Vault, base vfs.VFS) error {
	// What an interrupted Create has left was never a vault.
	left, err := filepath.Glob(filepath.Join(escapeGlob(dir), folderPattern))
	if err != nil {
		return ErrStorage
	}
	for _, l := range left {
		if err := os.RemoveAll(l); err != nil {
			return fileError(err)
		}
	}
	next, err := os.MkdirTemp(dir, folderPattern) // mode 0700
	if err != nil {
		return fileError(err)
	}
	if err := fill(next, h, root, base); err != nil {
		os.RemoveAll(next)
		return err
	}
	if err := os.Rename(next, path); err != nil {
		os.RemoveAll(next)
		if errors.Is(err, fs.ErrExist) {
			return ErrExists
		}
		return fileError(err)
	}
	return syncFolder(dir)
}

// fill writes the files of an empty vault into folder and waits for the disk.
func fill(folder string, h *header, root key.Vault, base vfs.VFS) error {
	k, err := deriveKeys(root)
	if err != nil {
		return err
	}
	defer k.wipe()
	s := state{generation: 1}
	for i := range s.next {
		s.next[i] = 1
	}
	if err := writeNew(filepath.Join(folder, keyName), h.Append(nil)); err != nil {
		return err
	}
	if err := createMark(filepath.Join(folder, markName), k, s.generation, rand.Reader); err != nil {
		return err
	}
	if err := writeNew(filepath.Join(folder, rowsName), nil); err != nil {
		return err
	}
	d, err := openDatabase(folder, k, base, rand.Reader)
	if err != nil {
		return err
	}
	err = lay(d, k, &s)
	if e := d.close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(folder, rowsName+logSuffix), 0o600); err != nil {
		return fileError(err) // the one file that SQLite makes
	}
	return syncFolder(folder)
}

// lay writes the schema and the first state.
func lay(d *database, k *keys, s *state) error {
	sealed, err := sealState(k, s, rand.Reader)
	if err != nil {
		return err
	}
	if err := d.exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if err := d.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, sql := range schema(tableCount) {
		if err := d.exec(sql); err != nil {
			return err
		}
	}
	if err := d.exec(fmt.Sprintf("PRAGMA user_version=%d", schemaVersion)); err != nil {
		return err
	}
	if err := d.run("INSERT INTO state (id, v) VALUES (1, ?)", sealed); err != nil {
		return err
	}
	if err := d.exec("COMMIT"); err != nil {
		return err
	}
	return d.checkpoint()
}

// makeFolder makes dir and its parents, durably.
func makeFolder(dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return ErrExists
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fileError(err)
	}
	return syncFolder(filepath.Dir(filepath.Clean(dir)))
}

// escapeGlob makes a path match itself and nothing else.
func escapeGlob(path string) string {
	var b []byte
	for _, c := range []byte(path) {
		if c == '*' || c == '?' || c == '[' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return string(b)
}
