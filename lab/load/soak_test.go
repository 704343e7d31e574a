package load

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestSoak has everything at once for some seconds. Its memory is not judged: the
// window of the relay fills for a minute.
func TestSoak(t *testing.T) {
	needsProc(t)
	t.Parallel()
	ways := []bool{false}
	if os.Getenv("TACET_LONG") != "" {
		ways = append(ways, true)
	}
	for _, plain := range ways {
		name := map[bool]string{false: "TLS", true: "plain"}[plain]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := Soak(t.Context(), SoakOptions{For: 4 * time.Second, Plain: plain, Short: true, Progress: t.Output(), every: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(o.Line())
			if err := o.Wrong(); err != nil {
				t.Error(err)
			}
			if o.Put == 0 || o.Seen <= o.Put/2 || o.Frosts == 0 || o.Connects <= int64(o.Mix.Devices) || o.Base == 0 || o.P50 == 0 || len(o.Samples) == 0 {
				t.Errorf("got %+v", o)
			}
			for _, s := range o.Samples {
				if s.RSS == 0 || s.Heap == 0 || s.Goroutines <= o.Base || s.Put == 0 {
					t.Errorf("got sample %+v", s)
				}
			}
			var b bytes.Buffer
			if err := o.JSON(&b); err != nil {
				t.Fatal(err)
			}
			var back Soaked
			if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Line() != o.Line() {
				t.Errorf("JSON: got %v, %v", back.Line(), err)
			}
		})
	}
}

// TestLeftGoroutinesShow plants a relay that leaves some behind.
func TestLeftGoroutinesShow(t *testing.T) {
	needsProc(t)
	t.Parallel()
	o, err := Soak(t.Context(), SoakOptions{For: time.Second, Plain: true, Short: true, Progress: t.Output(), role: roleLeaky, settle: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Wrong(); err == nil || !strings.Contains(err.Error(), "goroutines") {
		t.Errorf("got %v of %s", err, o.Line())
	}
}
