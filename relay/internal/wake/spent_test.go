package wake

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	tickets "github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/relay/internal/audit"
)

func openedSpent(t *testing.T, dir string, now time.Time) *spent {
	t.Helper()
	k, err := key.New[key.WakeRole](bytes.Repeat([]byte{5}, 32))
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSpent(dir, k, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

// audited holds the file against the inventory, as an audit does.
func (s *spent) audited(t *testing.T, now time.Time) (audit.Facts, []audit.Finding) {
	t.Helper()
	f, err := s.facts(now)
	if err != nil {
		t.Fatal(err)
	}
	var r audit.Report
	r.Check([]audit.Facts{f})
	return f, r.Findings
}

// No used ticket stays in the file when its day is over, be it one of many, and
// an audit of the file itself would tell.
func TestUsedTicketsGoFromTheFileWithTheirDay(t *testing.T) {
	dir := t.TempDir()
	noon := time.Unix(20000*daySeconds+daySeconds/2, 0)
	s := openedSpent(t, dir, noon)
	fail := func(err error) { t.Error(err) }
	use := func(id byte, expires time.Time) {
		if !s.spend([tickets.IDSize]byte{id}, uint64(expires.Unix()), fail) {
			t.Errorf("%d was used before", id)
		}
	}
	use(1, noon.Add(time.Hour))
	for id := byte(2); id < 10; id++ {
		use(id, noon.Add(48*time.Hour))
	}
	f, found := s.audited(t, noon)
	if f.Rows["ticket"] != 9 || len(found) != 0 {
		t.Errorf("got %v and %v, want 9 entries and no findings", f.Rows, found)
	}
	morning := noon.Add(12*time.Hour + sweepGrace + time.Second)
	if f, found = s.audited(t, morning); f.Promises[0].Rows != 1 || len(found) != 1 || found[0].Check != "promises" {
		t.Errorf("without a sweep: got %+v and %v, want one entry that is late and is found", f.Promises, found)
	}
	if err := s.sweep(morning); err != nil {
		t.Fatal(err)
	}
	if f, found = s.audited(t, morning); f.Rows["ticket"] != 8 || f.Promises[0].Rows != 0 || len(found) != 0 {
		t.Errorf("after a sweep: got %v, %+v and %v, want 8 entries, none late", f.Rows, f.Promises, found)
	}
	// What is left is still known, also to a new process.
	s.close()
	s = openedSpent(t, dir, morning)
	if s.spend([tickets.IDSize]byte{2}, uint64(noon.Add(48*time.Hour).Unix()), fail) {
		t.Error("a ticket was taken twice")
	}
}

// A write that was cut short leaves entries that are none. They go.
func TestWhatNoTicketHasIsNotKept(t *testing.T) {
	dir := t.TempDir()
	now := time.Unix(20000*daySeconds, 0)
	b := binary.BigEndian.AppendUint32(nil, 4_000_000_000)
	b = append(b, make([]byte, 8)...)
	b = binary.BigEndian.AppendUint32(b, 20007)
	b = append(b, bytes.Repeat([]byte{1}, 8)...)
	if err := os.WriteFile(filepath.Join(dir, SpentFile), append(b, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openedSpent(t, dir, now)
	if f, _ := s.audited(t, now); f.Rows["ticket"] != 1 {
		t.Errorf("got %v, want the one that a ticket can have", f.Rows)
	}
	kept, err := os.ReadFile(filepath.Join(dir, SpentFile))
	if err != nil || !bytes.Equal(kept, b[entrySize:]) {
		t.Errorf("got %x, %v in the file", kept, err)
	}
}
