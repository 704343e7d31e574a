package main

import (
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// canMount reports whether this test may mount file systems.
func canMount() bool {
	dir, err := os.MkdirTemp("", "mount")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if syscall.Mount("none", dir, "tmpfs", 0, "size=64k") != nil {
		return false
	}
	return syscall.Unmount(dir, 0) == nil
}

// tmpfs mounts a file system of a size, or makes one read-only: tmpfs DIR SIZE | tmpfs DIR ro
func tmpfs(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	if args[1] == "ro" {
		ts.Check(syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		return
	}
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("none", dir, "tmpfs", 0, "mode=0700,size="+args[1]))
	ts.Defer(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}
