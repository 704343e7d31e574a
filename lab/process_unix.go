//go:build unix

package lab

import (
	"os/exec"
	"syscall"
)

// apart puts a process into a group of its own: a ctrl-C at the terminal is for
// us, and the system wakes and ends a frozen one that we leave behind.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// freeze stops a process in the middle of whatever it does.
func (p *process) freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// thaw lets a frozen process go on.
func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
