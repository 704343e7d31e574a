package client

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestAFullDiskDoesNothingByHalves fills a small disk under a profile by
// sending. The first send that does not fit says so and leaves nothing behind;
// reading goes on; what comes in meanwhile is not acked, and comes again when
// there is room.
func TestAFullDiskDoesNothingByHalves(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, nothing is shown about full disks: this needs root, to mount one")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1200k"); err != nil {
		t.Skipf("SKIPPED, nothing is shown about full disks: mounting: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		ada.stop()
		copyProfile(t, ada.opt.Dir, dir+"/p")
		ada.opt.Dir = dir + "/p"
		ada.start()
		time.Sleep(time.Second)

		// A ballast takes the room, so that the vault need not be written full.
		ballast(t, dir, 200<<10)
		bob.stop() // or acks would make room
		sent, err := 0, error(nil)
		for err == nil && sent < 2000 {
			if _, err = ada.Send(t.Context(), Outgoing{To: "bob", Text: fmt.Sprint("message ", sent, strings.Repeat(".", 800))}); err == nil {
				sent++
			}
		}
		if !errors.Is(err, ErrFull) || sent == 0 {
			t.Fatalf("got %v after %d messages, want ErrFull after some", err, sent)
		}
		check := func(when string, more int) {
			t.Helper()
			all, err := ada.Read(t.Context(), Query{})
			if err != nil {
				t.Fatalf("%s: reading: %v", when, err)
			}
			n := map[string]int{}
			for _, e := range all {
				if e.Out {
					n[strings.TrimRight(e.Text, ".")]++
				}
			}
			for i := range sent + more {
				if n[fmt.Sprint("message ", i)] != 1 {
					t.Errorf("%s: message %d is there %d times, want once", when, i, n[fmt.Sprint("message ", i)])
				}
			}
			if n[fmt.Sprint("message ", sent+more)] != 0 {
				t.Errorf("%s: the message that did not fit is there", when)
			}
			st, err := ada.Status(t.Context())
			if err != nil || st.Waiting != sent+more {
				t.Errorf("%s: %d wait, %v, want %d", when, st.Waiting, err, sent+more)
			}
		}
		check("full", 0)
		ada.ends = ErrFull // the log cannot be emptied, and is read again
		ada.stop()
		ada.start()
		check("full, and opened again", 0)

		// Bob writes to a device that cannot keep it.
		bob.start()
		time.Sleep(time.Second)
		e := bob.send("ada", "do you have room?")
		time.Sleep(5 * time.Second)
		if got := bob.state(e); got == OnDevice {
			t.Errorf("a message to a full device is %s, though it cannot keep it", got)
		}
		if st, _ := ada.Status(t.Context()); !st.Running || !strings.Contains(st.Trouble, "full") {
			t.Errorf("got status %+v, want a client that runs and says that the disk is full", st)
		}
		if err := os.Remove(dir + "/ballast"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := bob.state(e); got != OnDevice {
			t.Errorf("a message is %s once there was room, want %s", got, OnDevice)
		}
		if st, _ := ada.Status(t.Context()); st.Waiting != 0 || st.Trouble != "" {
			t.Errorf("got status %+v once there was room, want nothing that waits", st)
		}
		n := map[string]int{}
		for _, text := range bob.texts(Received) {
			n[strings.TrimRight(text, ".")]++
		}
		for i := range sent {
			if n[fmt.Sprint("message ", i)] != 1 {
				t.Errorf("message %d was shown %d times, want once", i, n[fmt.Sprint("message ", i)])
			}
		}
	})
}

// ballast takes all room of a disk but some.
func ballast(t *testing.T, dir string, leave uint64) {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	free := s.Bavail * uint64(s.Bsize)
	if free <= leave {
		t.Fatalf("the disk has %d bytes left, want more than %d", free, leave)
	}
	if err := os.WriteFile(dir+"/ballast", make([]byte, free-leave), 0o600); err != nil {
		t.Fatal(err)
	}
}
