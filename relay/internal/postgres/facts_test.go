package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/audit"
)

// The database has just what the inventory explains; what is not in it, and a
// row that is past its end, are found.
func TestTheDatabaseIsAsTheInventorySays(t *testing.T) {
	at := fresh(t)
	d := open(t, at)
	e := create(t, d.Blobs(1<<20), 1)
	check := func(now time.Time) (r audit.Report, f audit.Facts) {
		f, err := d.Facts(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		r.Check([]audit.Facts{f})
		return r, f
	}
	r, f := check(noon)
	if len(r.Findings) != 0 || f.Rows["record"] != 1 || f.Rows["used"] != parts || len(f.Sizes) != 1 {
		t.Errorf("got %+v and findings %v, want one blob and none", f, r.Findings)
	}
	if r, _ := check(time.Unix(int64(e.Until)*86_400, 0).Add(11 * time.Minute)); len(r.Findings) != 1 || r.Findings[0].Check != "promises" {
		t.Errorf("eleven minutes after its end: got %v, want a broken promise", r.Findings)
	}
	sql(t, at, "CREATE TABLE log_of_senders (at timestamp)", "ALTER TABLE record ADD arrived integer")
	r, _ = check(noon)
	text := ""
	for _, f := range r.Findings {
		text += f.String() + "\n"
	}
	for _, want := range []string{"log_of_senders.at is in no inventory", `"sender" in its name`, "record.arrived is in no inventory"} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %q in it", text, want)
		}
	}
}
