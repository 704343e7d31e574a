package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Names inside a profile. The vault is a folder of its own so that it appears
// whole or not at all.
const (
	folderName = "vault"
	keyName    = "key"     // the header
	markName   = "mark"    // the last generation known to be committed
	rowsName   = "rows.db" // the database
	logSuffix  = "-wal"    // its write-ahead log
	lockName   = "lock"    // in the profile itself
	newSuffix  = ".new"    // not yet durable: never read, removed by the next writer
)

// fileError strips the path from an error of package os: what is shown or
// reported must not name a profile. A full disk becomes ErrFull.
func fileError(err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case noSpace(err):
		return ErrFull
	case errors.As(err, &errno):
		return fmt.Errorf("%w: %w", ErrStorage, errno)
	}
	return ErrStorage
}

// noSpace says that err is for want of space: disk, quota or size limit.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// writeNew writes a file that must not be there yet and waits for the disk.
func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileError(err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return fileError(err)
}

// replace puts b in place of path. At every moment, a power cut included, path
// is the old content or the new one.
func replace(path string, b []byte) error {
	next := path + newSuffix
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	if err := writeNew(next, b); err != nil {
		os.Remove(next)
		return err
	}
	if err := os.Rename(next, path); err != nil {
		os.Remove(next)
		return fileError(err)
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder waits until the names in a folder are on the disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fileError(err)
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return fileError(err)
}

// readBounded reads a file of at most limit bytes. ErrDamaged when it is
// missing, longer, or no file.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrDamaged
	}
	if err != nil {
		return nil, fileError(err)
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, ErrDamaged
	}
	b, err := os.ReadFile(path)
	return b, fileError(err)
}

// Exists reports whether there is a vault in the profile folder dir, without
// opening it.
func Exists(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, folderName))
	return err == nil
}
