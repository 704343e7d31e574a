package load

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

// TestGroupOnARelay has a text, an addition and a removal in a group of eight whose members are
// all whole, and looks at counts and bytes: who gets how many cells is known.
func TestGroupOnARelay(t *testing.T) {
	needsProc(t)
	if testing.Short() {
		t.Skip("SKIPPED 1 group of eight: short")
	}
	t.Parallel() // it waits most of the time
	r, err := Group(t.Context(), GroupOptions{Short: true, Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	checkGroup(t, &r.Results[0], 8, 7)
	if g := r.Results[0]; !g.Hybrid || g.Shared {
		t.Errorf("got hybrid %t and shared %t, want a hybrid group with a copy for each", g.Hybrid, g.Shared)
	}
	var table, doc bytes.Buffer
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &table)
	want := regexp.MustCompile(`^group: 8 leaves send \d+\.\d ms CPU, all have it after \d+ ms$`)
	if line := last(table.String()); !want.MatchString(line) {
		t.Errorf("last line: got %q, want %s", line, want)
	}
	if err := r.JSON(&doc); err != nil {
		t.Fatal(err)
	}
	var back GroupReport
	d := json.NewDecoder(&doc)
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if back.Line() != r.Line() {
		t.Errorf("line in JSON: got %q, want %q", back.Line(), r.Line())
	}
}

// checkGroup looks at what was counted in a group whose texts are copies for each.
func checkGroup(t *testing.T, g *GroupResult, leaves, whole int) {
	t.Helper()
	others := leaves - 1
	if g.Leaves != leaves || g.Whole != whole || len(g.Texts) == 0 || g.Add == nil || g.Remove == nil {
		t.Fatalf("got %d leaves, %d whole members, %d texts", g.Leaves, g.Whole, len(g.Texts))
	}
	for _, x := range g.Texts {
		// A copy that nobody took in time is put again: there may be more.
		if x.Cells < others || x.Reached != others || x.Sent < int64(others*wire.CellSize) || x.MemberGot < wire.CellSize || x.CPU <= 0 {
			t.Errorf("a text: got %+v, want at least %d cells and acks of %d", x, others, others)
		}
	}
	for _, s := range []*GroupStep{g.Add, g.Remove} {
		class := int64(wire.BlobClasses[2])
		// The slot is put once and read by each; the members hear of it and tell where they are.
		if s.Sent < class || s.MemberGot < float64(class) || s.Cells < others || s.Puts < others || s.CPU <= 0 {
			t.Errorf("a change: got %+v, want a blob of %d bytes that is put once and read by each, and at least %d cells each way", s, class, others)
		}
	}
	if g.Add.In == 0 || g.Add.JoinerGot == 0 {
		t.Errorf("the addition: got %+v, want the joiner in", g.Add)
	}
}
