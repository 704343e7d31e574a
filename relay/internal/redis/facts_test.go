package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/audit"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// The server has just what the inventory explains; a key of ours that is not in
// it, and a mark that is past its end, are found.
func TestTheServerIsAsTheInventorySays(t *testing.T) {
	s := open(t, emptied(t), &raise{})
	root(t, s)
	for _, spend := range []func(gate.Mark) (gate.Verdict, error){
		func(m gate.Mark) (gate.Verdict, error) { return s.Spend(t.Context(), m) },
		func(m gate.Mark) (gate.Verdict, error) { return s.Issue(t.Context(), m) },
	} {
		if v, err := spend(gate.Mark{Until: today + 2, Hash: 7, Request: 9}); v != gate.First || err != nil {
			t.Fatal(v, err)
		}
	}
	check := func(now time.Time) (r audit.Report, f audit.Facts) {
		f, err := s.Facts(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		r.Check([]audit.Facts{f})
		return r, f
	}
	noon := time.Unix(int64(today)*86_400+43_200, 0)
	r, f := check(noon)
	if len(r.Findings) != 0 || f.Rows["spent"] != 1 || f.Rows["part"] != 1 || f.Rows["once"] != 1 || f.Rows["root"] != 4 {
		t.Errorf("got %+v and findings %v, want one of each and none", f.Rows, r.Findings)
	}
	if r, _ := check(noon.Add(60 * time.Hour)); len(r.Findings) != 1 || r.Findings[0].Check != "promises" {
		t.Errorf("after its end: got %v, want a broken promise", r.Findings)
	}
	if err := s.client.Set(t.Context(), "{tacet}:contacts:7", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r, _ = check(noon)
	text := ""
	for _, f := range r.Findings {
		text += f.String() + "\n"
	}
	if !strings.Contains(text, "contacts.key is in no inventory") || !strings.Contains(text, `"contact" in its name`) {
		t.Errorf("got %s, want the key of contacts", text)
	}
}
