//go:build unix

package setup

import (
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writable says why a directory cannot be written to, and leaves it alone.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// active reports whether systemd runs a unit.
func active(unit string) bool {
	return exec.Command("systemctl", "is-active", "--quiet", filepath.Base(unit)).Run() == nil
}
