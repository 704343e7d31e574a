package load

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	b := []byte("4711 (a b) c) R 1 4711 4711 0 -1 4194560 5 0 0 0 1234 66 0 0 20 0 9 0 100 1000 200")
	if got, err := parseStat(b); err != nil || got != 13*time.Second {
		t.Errorf("got %v, %v, want 13s", got, err)
	}
	for _, bad := range []string{"", "1 (x) R 1 2 3", "1 (x) R 1 2 3 4 5 6 7 8 9 10 u s 13"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	b := []byte("Name:\tVmRSS\nVmHWM:\t   99 kB\nVmRSS:\t   4096 kB\nThreads:\t7\n")
	if got, err := parseStatus(b, "VmRSS"); err != nil || got != 4096 {
		t.Errorf("got %v, %v, want 4096", got, err)
	}
	for _, name := range []string{"VmSwap", "Vm"} {
		if got, err := parseStatus(b, name); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

// TestProcSelf reads ourselves: CPU time that we burn must show.
func TestProcSelf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED 1 test: no /proc here")
	}
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for x := uint64(1); ; x = x*2862933555777941757 + 3037000493 {
		if x%(1<<16) != 0 {
			continue
		}
		if now, err := cpuTime(os.Getpid()); err != nil {
			t.Fatal(err)
		} else if now >= before+3*tick {
			break
		}
	}
	if got, err := resident(os.Getpid()); err != nil || got < 1<<20 || got > 1<<36 {
		t.Errorf("resident memory: got %d, %v", got, err)
	}
	if _, err := cpuTime(-1); err == nil {
		t.Error("CPU time of no process: got no error")
	}
}
