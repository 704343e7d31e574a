//go:build !unix

package mlspeer

import "os/exec"

func alone(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { cmd.Process.Kill() }
