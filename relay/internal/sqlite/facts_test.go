package sqlite

import (
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/audit"
)

// The store keeps just what the inventory explains, and tells when a row is past
// its end.
func TestTheStoreIsAsTheInventorySays(t *testing.T) {
	s, stop := start(t, t.TempDir(), 1<<20)
	defer stop()
	e := create(t, s, 1)
	now := time.Unix(int64(today)*86400+3600, 0)
	facts, err := s.Facts(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	var r audit.Report
	r.Check([]audit.Facts{facts})
	if len(r.Findings) != 0 || facts.Rows["record"] != 1 || facts.Rows["content"] != 1 || len(facts.Sizes) != 1 || facts.Sizes[0].Bytes != 16<<10 {
		t.Errorf("got %+v and findings %v, want one blob and no findings", facts, r.Findings)
	}
	// Nobody swept: the promise is broken once its grace is over.
	end := time.Unix(int64(e.Until)*86400, 0)
	for after, want := range map[time.Duration]int{-time.Second: 0, 5 * time.Minute: 0, 11 * time.Minute: 1} {
		facts, err := s.Facts(t.Context(), end.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		var r audit.Report
		if r.Check([]audit.Facts{facts}); len(r.Findings) != want {
			t.Errorf("%v after its end: got %v, want %d findings", after, r.Findings, want)
		}
	}
}
