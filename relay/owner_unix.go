//go:build unix

package relay

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// giveAll gives what lies in a data directory to its owner, where this is root:
// what root made there while no relay ran must not be in the relay's way.
func giveAll(data string) error {
	if os.Geteuid() != 0 || data == "" {
		return nil
	}
	return filepath.WalkDir(data, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = giveAs(path, data)
		}
		return err
	})
}

// giveAs gives a file to the owner of another, where this is root.
func giveAs(path, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(like, &st); err != nil {
		return err
	}
	return os.Lchown(path, int(st.Uid), int(st.Gid))
}
