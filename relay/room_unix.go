//go:build linux || darwin

package relay

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// room says how many bytes this user may still write where a folder is or will be.
func room(dir string) (free uint64, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil {
			return st.Bavail * uint64(st.Bsize), true
		}
		if dir == filepath.Dir(dir) {
			return 0, false
		}
		dir = filepath.Dir(dir)
	}
}
