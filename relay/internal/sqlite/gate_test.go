package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/audit"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

const gateToday = gate.Day(today)

// startGate opens the store in dir and runs it until stop is called.
func startGate(t testing.TB, dir string) (g *Gate, stop func()) {
	t.Helper()
	g, err := OpenGate(filepath.Join(dir, "gate.db"), gateToday, gateToday, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return g, running(t, g)
}

// running runs a store until stop is called.
func running(t testing.TB, g *Gate) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, g.Close()); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
}

func TestGate(t *testing.T) {
	storetest.Members(t, func(t *testing.T) gate.Members {
		g, stop := startGate(t, t.TempDir())
		t.Cleanup(stop)
		return g
	})
	storetest.Spent(t, func(t *testing.T) gate.Spent {
		g, stop := startGate(t, t.TempDir())
		t.Cleanup(stop)
		return g
	})
}

func rootOf(t *testing.T, g *Gate, began gate.Day) gate.Root {
	t.Helper()
	r, err := g.Root(t.Context(), began, began)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func spend(t *testing.T, g *Gate, hash uint64, want gate.Verdict) {
	t.Helper()
	if v, err := g.Spend(t.Context(), gate.Mark{Until: gateToday + 2, Hash: hash, Request: 1}); err != nil || v != want {
		t.Errorf("spending %d: got %d, %v, want %d", hash, v, err, want)
	}
}

// What was answered is there after a crash, and after two: root, marks, members, uses.
func TestAGateThatCrashedKnowsWhatItAnswered(t *testing.T) {
	dir := t.TempDir()
	g, stop := startGate(t, dir)
	defer stop()
	root := rootOf(t, g, gateToday)
	for i := range byte(3) {
		spend(t, g, uint64(i), gate.First)
		if err := errors.Join(g.AddInvite(t.Context(), gate.Invite{Hash: [32]byte{i}, Uses: 2, Last: gateToday}),
			g.Join(t.Context(), [32]byte{i}, [32]byte{100 + i}, gateToday)); err != nil {
			t.Fatal(err)
		}
		left := dir
		for range 2 {
			left = crash(t, left)
			c, stopCopy := startGate(t, left)
			if got := rootOf(t, c, gateToday+1); got != root || c.Renewed() {
				t.Error("got another root after a crash")
			}
			for j := range i + 1 {
				spend(t, c, uint64(j), gate.Other)
				if ok, err := c.Member(t.Context(), [32]byte{100 + j}); err != nil || !ok {
					t.Errorf("member %d: got %v, %v", j, ok, err)
				}
			}
			if list, err := c.Invites(t.Context(), gateToday); err != nil || len(list) != int(i)+1 || list[i].Uses != 1 {
				t.Errorf("got invites %v, %v, want %d with one use left", list, err, i+1)
			}
			stopCopy()
		}
	}
}

// A store that was put back from a copy does not know what was spent since. So
// no token of before may be good, and devices must be told that the seed is new.
func TestAGateThatWasPutBackBeginsANewSeed(t *testing.T) {
	for name, lose := range map[string]func(dir, older string) error{
		"an older copy was put back": func(dir, older string) error {
			os.Remove(filepath.Join(dir, "gate.db-wal"))
			return errors.Join(copyOver(older, dir, "gate.db"), copyOver(older, dir, "gate.db-wal"))
		},
		"the log was lost":     func(dir, older string) error { return os.Truncate(filepath.Join(dir, "gate.db-wal"), 0) },
		"the mark was removed": func(dir, older string) error { return os.Remove(filepath.Join(dir, "gate.db-mark")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g, stop := startGate(t, dir)
			defer stop()
			root := rootOf(t, g, gateToday)
			if err := errors.Join(g.AddInvite(t.Context(), gate.Invite{Hash: [32]byte{1}, Uses: 3, Last: gateToday}),
				g.Join(t.Context(), [32]byte{1}, [32]byte{2}, gateToday)); err != nil {
				t.Fatal(err)
			}
			older := crash(t, dir)
			if err := g.Sweep(t.Context(), gateToday); err != nil { // a checkpoint
				t.Fatal(err)
			}
			spend(t, g, 7, gate.First)
			left := crash(t, dir)
			if err := lose(left, older); err != nil {
				t.Fatal(err)
			}
			c, stopCopy := startGate(t, left)
			fresh := rootOf(t, c, gateToday)
			if !c.Renewed() || fresh.Seed == root.Seed || fresh.Key == root.Key || fresh.Began <= root.Began {
				t.Errorf("got renewed %v, began %d after %d, want a new seed and key and a later day", c.Renewed(), fresh.Began, root.Began)
			}
			if ok, err := c.Member(t.Context(), [32]byte{2}); err != nil || !ok {
				t.Errorf("got member %v, %v: membership does not hang on the seed", ok, err)
			}
			stopCopy()
			c, stopCopy = startGate(t, left)
			if again := rootOf(t, c, gateToday+40); again != fresh || c.Renewed() {
				t.Error("got another root at the start after, want it to stay")
			}
			stopCopy()
		})
	}
}

// A store that was swept by a clock that was ahead forgets nothing of that when it
// is opened again, whatever the clock shows then.
func TestAGateKnowsByWhichDayItWasSwept(t *testing.T) {
	dir := t.TempDir()
	g, stop := startGate(t, dir)
	before := rootOf(t, g, gateToday)
	spend(t, g, 1, gate.First)
	if err := g.Sweep(t.Context(), gateToday+3); err != nil {
		t.Fatal(err)
	}
	left := crash(t, dir)
	stop()
	openAt := func(dir string, today gate.Day) (*Gate, func()) {
		t.Helper()
		g, err := OpenGate(filepath.Join(dir, "gate.db"), gateToday, today, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return g, running(t, g)
	}
	for name, dir := range map[string]string{"closed": dir, "crashed": left} {
		g, stop := openAt(dir, gateToday+3)
		if got, err := g.Root(t.Context(), gateToday+3, gateToday+3); err != nil || got != before || g.Renewed() {
			t.Errorf("%s: got another root while the clock is ahead, %v", name, err)
		}
		for hash := range uint64(3) {
			if v, err := g.Spend(t.Context(), gate.Mark{Until: gateToday + 3, Today: gateToday + 3, Hash: hash}); err != nil || v != gate.Other {
				t.Errorf("%s: got verdict %d, %v of what was swept, want %d", name, v, err, gate.Other)
			}
		}
		stop()
		g, stop = openAt(dir, gateToday)
		after, err := g.Root(t.Context(), gateToday, gateToday)
		if err != nil || after.Seed == before.Seed || after.Key == before.Key || after.Began <= before.Began {
			t.Errorf("%s: got a root of day %d after one of %d, %v, want a new one", name, after.Began, before.Began, err)
		}
		spend(t, g, 1, gate.First) // under another key it is another mark
		stop()
		g, stop = openAt(dir, gateToday)
		if again, err := g.Root(t.Context(), gateToday, gateToday); err != nil || again != after || g.Renewed() {
			t.Errorf("%s: got another root at the next start, %v", name, err)
		}
		spend(t, g, 1, gate.Other)
		stop()
	}
}

func copyOver(from, to, name string) error {
	b, err := os.ReadFile(filepath.Join(from, name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, name), b, 0o600)
}

func TestAGateOfANewerVersionIsRefusedAndLeftAlone(t *testing.T) {
	good := t.TempDir()
	_, stop := startGate(t, good)
	stop()
	for name, c := range map[string]struct {
		spoil func(db string) error
		want  []error
	}{
		"a newer version's": {func(db string) error { return change(db, "PRAGMA user_version=3") }, []error{ErrForeign, ErrNewer}},
		"a blob store":      {func(db string) error { return change(db, "PRAGMA application_id=2061404944") }, []error{ErrForeign}},
		"cut":               {func(db string) error { return os.Truncate(db, 4096) }, []error{ErrDamaged}},
		"without its root":  {func(db string) error { return change(db, "DELETE FROM root") }, []error{ErrDamaged}},
		"without a table":   {func(db string) error { return change(db, "DROP TABLE member") }, []error{ErrDamaged}},
	} {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(crash(t, good), "gate.db")
			if err := c.spoil(db); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(db)
			if err != nil {
				t.Fatal(err)
			}
			g, err := OpenGate(db, gateToday, gateToday, rand.Reader)
			for _, want := range c.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if err == nil {
				g.Close()
			}
			if after, err := os.ReadFile(db); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the file was changed (%v), want it left alone", err)
			}
		})
	}
}

// A mark is searched for as the file has it: 8 bytes, big-endian.
func TestWhatIsOverIsGoneFromTheDisk(t *testing.T) {
	dir := t.TempDir()
	g, stop := startGate(t, dir)
	defer stop()
	rootOf(t, g, gateToday)
	invite, hash := [32]byte(bytes.Repeat([]byte{0xc3, 0x5c}, 16)), uint64(0x7ea1_b0c2_d3e4_f506)
	if err := g.AddInvite(t.Context(), gate.Invite{Hash: invite, Uses: 1, Last: gateToday}); err != nil {
		t.Fatal(err)
	}
	spend(t, g, hash, gate.First)
	find := func() (n [2]int) {
		return [2]int{traces(t, dir, invite[:]), traces(t, dir, binary.BigEndian.AppendUint64(nil, hash))}
	}
	if err := g.Sweep(t.Context(), gateToday); err != nil {
		t.Fatal(err)
	}
	if got := find(); got[0] == 0 || got[1] == 0 {
		t.Errorf("got %v traces of what lies there, want some: the search is blind", got)
	}
	if err := g.Sweep(t.Context(), gateToday+2); err != nil {
		t.Fatal(err)
	}
	if got := find(); got != [2]int{} {
		t.Errorf("got %v traces of invite and token after their end, want none", got)
	}
}

func TestTheGateIsAsTheInventorySays(t *testing.T) {
	g, stop := startGate(t, t.TempDir())
	defer stop()
	rootOf(t, g, gateToday)
	spend(t, g, 1, gate.First)
	if err := g.AddInvite(t.Context(), gate.Invite{Hash: [32]byte{1}, Uses: 1, Last: gateToday}); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int{0: 0, 24*time.Hour - time.Second: 0, 24*time.Hour + 11*time.Minute: 1, 48*time.Hour + 11*time.Minute: 2} {
		facts, err := g.Facts(t.Context(), time.Unix(int64(today)*86400, 0).Add(after))
		if err != nil {
			t.Fatal(err)
		}
		var r audit.Report
		if r.Check([]audit.Facts{facts}); len(r.Findings) != want || facts.Rows["spent"] != 1 || facts.Rows["invite"] != 1 {
			t.Errorf("after %v: got %v, %v, want %d findings and a row each", after, facts.Rows, r.Findings, want)
		}
	}
}

// BenchmarkSpend is the figure for how fast tokens are spent: each is on disk
// before it counts.
func BenchmarkSpend(b *testing.B) {
	g, stop := startGate(b, b.TempDir())
	defer stop()
	var n atomic.Uint64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m := gate.Mark{Until: gateToday, Hash: n.Add(1) * 0x9e37_79b9_7f4a_7c15}
			if v, err := g.Spend(b.Context(), m); v != gate.First || err != nil {
				b.Error(v, err)
			}
		}
	})
}
