package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// tick is the unit of times in /proc: USER_HZ, 100 on every Linux that Go runs on.
const tick = time.Second / 100

// parseStat reads user and system time from /proc/PID/stat. The name of the
// program comes before, in brackets, and may hold spaces and brackets itself.
func parseStat(b []byte) (time.Duration, error) {
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 { // proc_pid_stat(5): fields 14 and 15
		return 0, errors.New("/proc: stat is too short")
	}
	user, err1 := strconv.ParseInt(string(f[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(f[12]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("/proc: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// parseState reads the state of a process from its stat: R, S, T and others.
func parseState(b []byte) byte {
	if f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]); len(f) > 0 {
		return f[0][0]
	}
	return 0
}

// parseGroup reads the process group of a process from its stat, or 0.
func parseGroup(b []byte) int {
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 3 {
		return 0
	}
	group, _ := strconv.Atoi(string(f[2]))
	return group
}

// parseStatus reads one number from /proc/PID/status; those of memory are in kB.
func parseStatus(b []byte, name string) (int64, error) {
	for line := range bytes.Lines(b) {
		if after, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			if f := bytes.Fields(after); len(f) > 0 {
				return strconv.ParseInt(string(f[0]), 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("/proc: status has no %s", name)
}
