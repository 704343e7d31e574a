//go:build !linux && !windows

package servers

import (
	"os/exec"
	"syscall"
)

// prepare gives the program a process group and a user of its own.
func prepare(cmd *exec.Cmd, as *owner, _ syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
}
