//go:build unix

package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lock is a profile's lock, held by the one process that owns it.
type Lock struct{ f *os.File }

// Take takes the lock of the profile folder dir, so that a second process can
// tell that there is a first before anybody types a passphrase. It ends with
// the process. It fails with ErrLocked, and with ErrMissing when there is no
// such folder. The vault itself is guarded without it too: Open gives
// ErrLocked.
func Take(dir string) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("locking profile: %w", ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("locking profile: %w", fileError(err))
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking profile: %w", err)
	}
	return &Lock{f}, nil
}

// Release gives the lock up. The file stays: removing it would let two
// processes hold locks on two files of one name.
func (l *Lock) Release() error { return fileError(l.f.Close()) }

// lockFolder keeps two Creates in one folder apart.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fileError(err)
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func flock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrLocked
		default:
			return fileError(err)
		}
	}
}
