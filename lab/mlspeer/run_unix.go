//go:build unix

package mlspeer

import (
	"os/exec"
	"syscall"
)

// alone gives the program a process group of its own, to be ended with it.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
