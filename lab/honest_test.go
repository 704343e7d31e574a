package lab

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// TestAFrozenDeviceIsNeverCounted stops the process of a device in the middle of
// whatever it does, again and again. Its connection stands and the system takes
// bytes for it; no answer counts it. Whenever it runs it is counted.
func TestAFrozenDeviceIsNeverCounted(t *testing.T) {
	t.Parallel()
	s, err := Raise(t.Context(), StageOptions{AckMean: 100 * time.Millisecond, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Meet(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	quiet := func() {
		until(t, "nothing to wait", func() bool {
			a, err1 := s.Ada.Status(t.Context())
			b, err2 := s.Bob.Status(t.Context())
			return err1 == nil && err2 == nil && a.Waiting+b.Waiting == 0
		})
	}
	quiet()
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for i := range rounds {
		// Live: counted, unless its echo came too late for the answer: a device that
		// just found its connection gone is not there, and a busy machine is slow.
		// Acks of Ada's are puts too, show nothing and need not count, so the message
		// waits until none has gone for a while.
		for try := 0; ; try++ {
			until(t, "a while without puts", func() bool { return puts(s.Tap, adaFrom, time.Now().Add(-2*time.Second)) == 0 })
			since := time.Now()
			e, err := s.Ada.Send(t.Context(), "bob", fmt.Sprint("live ", i, " ", try))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Ada.Reach(t.Context(), patience, e.Seq, client.OnDevice); err != nil {
				t.Fatal(err)
			}
			until(t, "the answer to a put", func() bool { return len(counted(s.Tap, adaFrom, since)) > 0 })
			got := counted(s.Tap, adaFrom, since)[0]
			if got == 1 {
				break
			}
			if got != 0 || echoedInTime(s.Tap, adaFrom, since) {
				t.Errorf("got count %d for a live device that echoed in time, want 1", got)
			}
			if try == 9 {
				t.Fatal("a live device was not counted once in ten messages")
			}
			quiet()
		}
		quiet()
		if err := s.Bob.Freeze(); err != nil {
			t.Skipf("SKIPPED: this system cannot freeze a process: %v", err)
		}
		since := time.Now()
		e, err := s.Ada.Send(t.Context(), "bob", fmt.Sprint("frozen ", i))
		if err != nil {
			t.Fatal(err)
		}
		until(t, "answers", func() bool { return len(counted(s.Tap, adaFrom, since)) >= 2 })
		if got := counted(s.Tap, adaFrom, since); slices.Max(got) != 0 {
			t.Errorf("got counts %v for a frozen device, want 0", got)
		}
		if now, err := s.Ada.Reach(t.Context(), patience, e.Seq, client.Offered); err != nil || now.State != client.Offered {
			t.Errorf("a message to a frozen device is %s, %v, want %s", now.State, err, client.Offered)
		}
		if err := s.Bob.Thaw(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ada.Reach(t.Context(), patience, e.Seq, client.OnDevice); err != nil {
			t.Error(err)
		}
		quiet()
	}
}
