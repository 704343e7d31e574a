package rpc

import (
	"fmt"
	"os"
	"path/filepath"
)

// reach returns a path to the profile's socket that is short enough for a
// socket's address, by way of an open folder if it has to.
func reach(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, SocketName)
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), SocketName), func() { f.Close() }, nil
}
