package vault

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// lower is the file system under the encryption, with two things put right.
//
// A log ends with its last whole block: a power cut or a full disk can leave a
// part of one behind it, which cannot be decrypted and never was in an
// acknowledged commit, and SQLite, which goes by the size, would stop at it
// with an error. And a write for which there is no space says so: SQLite does
// not keep the operating system's reason until it reports the error.
type lower struct{ vfs.VFS }

// OpenFilename opens a file of any kind.
func (l lower) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, got, err := vfsutil.WrapOpenFilename(l.VFS, name, flags)
	if err != nil {
		return nil, got, spaceError(err)
	}
	if flags&vfs.OPEN_WAL != 0 {
		return logFile{lowerFile{f}}, got, nil
	}
	return lowerFile{f}, got, nil
}

// lowerFile has no shared memory: only one process uses the database.
type lowerFile struct{ vfs.File }

func (f lowerFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, spaceError(err)
}

func (f lowerFile) Truncate(size int64) error { return spaceError(f.File.Truncate(size)) }

// HasMoved lets SQLite notice that the file was taken away under it.
func (f lowerFile) HasMoved() (bool, error) { return vfsutil.WrapHasMoved(f.File) }

type logFile struct{ lowerFile }

// Size returns the size up to the end of the last whole block, in bytes.
func (f logFile) Size() (int64, error) {
	n, err := f.lowerFile.Size()
	return n &^ (pageSize - 1), err
}

func spaceError(err error) error {
	if err != nil && noSpace(err) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}
