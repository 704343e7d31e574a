package vault

import (
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// wholeBlocks is a file system under the encryption whose logs end with their
// last whole block. A power cut or a full disk can leave a part of a block at
// the end; it cannot be decrypted, no acknowledged commit was in it, and SQLite,
// which goes by the size, would stop at it with an error.
type wholeBlocks struct{ vfs.VFS }

// OpenFilename wraps logs and leaves every other file as it is.
func (w wholeBlocks) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, got, err := vfsutil.WrapOpenFilename(w.VFS, name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		f = logFile{f}
	}
	return f, got, err
}

type logFile struct{ vfs.File }

// Size returns the size up to the end of the last whole block, in bytes.
func (f logFile) Size() (int64, error) {
	n, err := f.File.Size()
	return n &^ (pageSize - 1), err
}

// Unwrap returns the file underneath.
func (f logFile) Unwrap() vfs.File { return f.File }
