//go:build !linux

package load

import (
	"errors"
	"os/exec"
	"time"
)

// errProc is returned where a system does not show what a process costs.
var errProc = errors.New("this system does not show the CPU time and memory of another process")

func cpuTime(int) (time.Duration, error) { return 0, errProc }
func resident(int) (int64, error)        { return 0, errProc }
func apart(*exec.Cmd)                    {}
func exactly()                           {}
func sleep(d time.Duration)              { time.Sleep(d) }

func freeze(int) error          { return errProc }
func thaw(int) error            { return errProc }
func fileLimit() (uint64, bool) { return 0, false }

func ownTime() time.Duration      { return 0 }
func groupTime(int) time.Duration { return 0 }
func killGroup(cmd *exec.Cmd)     { cmd.Process.Kill() }
