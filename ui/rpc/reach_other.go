//go:build !linux

package rpc

import (
	"errors"
	"path/filepath"
)

// reach returns the path to the profile's socket.
func reach(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, SocketName)
	if len(path) > maxPath {
		return "", nil, errors.New("the path of the profile's folder is too long for a socket")
	}
	return path, func() {}, nil
}
