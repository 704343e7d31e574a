package load

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestHold holds some connections while others come and go.
func TestHold(t *testing.T) {
	needsProc(t)
	t.Parallel()
	for _, plain := range []bool{false, true} {
		h, err := Hold(t.Context(), HoldOptions{For: time.Second, Plain: plain, Short: true, Progress: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(h.Line())
		if err := h.Wrong(); err != nil {
			t.Error(err)
		}
		if h.Came == 0 || h.Was.Goroutines < h.Idle || h.Was.Heap == 0 || h.Is.RSS == 0 || h.KiB == 0 {
			t.Errorf("got %+v", h)
		}
		var b bytes.Buffer
		if err := h.JSON(&b); err != nil {
			t.Fatal(err)
		}
		var back Held
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Line() != h.Line() {
			t.Errorf("JSON: got %v, %v", back.Line(), err)
		}
	}
}

// TestIdleConnectionsAreLight holds enough connections for their memory to be
// told from the relay's own, and keeps them to the bounds of docs/perf.md.
func TestIdleConnectionsAreLight(t *testing.T) {
	needsProc(t)
	if testing.Short() {
		t.Skip("the race detector's memory is none of a relay's")
	}
	t.Parallel()
	for _, c := range []struct {
		plain bool
		most  float64 // KiB
	}{{true, 10}, {false, 20}} {
		h, err := Hold(t.Context(), HoldOptions{Idle: 1600, Rate: 20, For: time.Second, Plain: c.plain, Progress: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		if t.Log(h.Line()); h.KiB > c.most {
			t.Errorf("got %.1f KiB for an idle connection, plain %v; want at most %.0f", h.KiB, c.plain, c.most)
		}
	}
}

// TestWhatVisitorsLeaveShows plants a relay that leaves goroutines behind, and
// states that are wrong.
func TestWhatVisitorsLeaveShows(t *testing.T) {
	needsProc(t)
	t.Parallel()
	h, err := Hold(t.Context(), HoldOptions{For: time.Second, Plain: true, Short: true, role: roleLeaky, settle: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Wrong(); err == nil || !strings.Contains(err.Error(), "goroutines") {
		t.Errorf("got %v of %s", err, h.Line())
	}
	for name, h := range map[string]Held{
		"ended":  {Ended: 1},
		"failed": {Failed: 1},
		"heap":   {Was: state{Heap: 100}, Is: state{Heap: 107}},
	} {
		if h.Wrong() == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
