package servers

import (
	"os/exec"
	"syscall"
)

// prepare gives the program a process group and a user of its own, and has the
// system end it should we end without a word.
func prepare(cmd *exec.Cmd, as *owner, last syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: last}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
}
