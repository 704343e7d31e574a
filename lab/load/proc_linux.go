package load

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the user and system time that a process has used, in steps of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of a process: %w", err)
	}
	return parseStat(b)
}

// resident is the memory of a process that is in RAM, in bytes.
func resident(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a process: %w", err)
	}
	kb, err := parseStatus(b, "VmRSS")
	return kb << 10, err
}

// apart keeps a process out of the way of ctrl-C at the terminal, which is for
// us, and has the system end it should we die without a word.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// exactly makes sleeps of the calling thread end within microseconds of their
// time, where the system's habit is 50 µs.
func exactly() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// sleep sleeps in the system: a timer of the Go runtime comes up to 1 ms late.
func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&ts, nil)
}

// fileLimit is how many files this process may have open.
func fileLimit() (uint64, bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return l.Cur, err == nil
}

// freeze stops a process in the middle of whatever it does, and returns when it
// has stopped.
func freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("freezing a process: %w", err)
	}
	for end := now() + int64(patience); now() < end; sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return fmt.Errorf("freezing a process: %w", err)
		}
		if parseState(b) == 'T' {
			return nil
		}
	}
	return errors.New("freezing a process: it goes on")
}

// thaw lets a frozen process go on.
func thaw(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// ownTime is the user and system time that this process has used.
func ownTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// groupTime is what the processes of a group that run now have used, in steps of
// 10 ms each.
func groupTime(leader int) (all time.Duration) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil || parseGroup(b) != leader {
			continue
		}
		if used, err := parseStat(b); err == nil {
			all += used
		}
	}
	return all
}

// killGroup ends a process that was started apart, and all that it has started.
func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
