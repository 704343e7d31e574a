package servers

import (
	"os/exec"
	"syscall"
)

// prepare has nothing to do: neither program is started on Windows.
func prepare(*exec.Cmd, *owner, syscall.Signal) {}
