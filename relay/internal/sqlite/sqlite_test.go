package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

const today blob.Day = 20_000

// start opens the store in dir and runs it until stop is called.
func start(t *testing.T, dir string, max int64) (s *Store, stop func()) {
	t.Helper()
	s, err := Open(Options{Path: filepath.Join(dir, "blobs.db"), Max: max, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	return s, sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
}

// crash copies the files as they are now: what a killed process leaves.
func crash(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func create(t *testing.T, s *Store, n byte) *blob.Entry {
	t.Helper()
	e := storetest.NewEntry(n, 16<<10)
	e.Capability = sha256.Sum256([]byte{n})
	if hash, err := s.Create(t.Context(), e, today); err != nil || hash != e.Hash {
		t.Fatalf("creating: got hash %x, %v", hash[:4], err)
	}
	return e
}

func wantContent(t *testing.T, s *Store, e *blob.Entry) {
	t.Helper()
	if content, _, err := s.Get(t.Context(), e.ID, today); err != nil || !bytes.Equal(content, e.Content) {
		t.Errorf("got %d bytes, %v, want %d", len(content), err, len(e.Content))
	}
}

func TestBlobs(t *testing.T) {
	storetest.Blobs(t, func(t *testing.T, max int64) blob.Store {
		s, stop := start(t, t.TempDir(), max)
		t.Cleanup(stop)
		return s
	})
}

func TestTwoRestartsKeepContentAndKey(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, dir, 1<<20)
	sign := s.Receipts().Clone()
	e := create(t, s, 1)
	stop()
	for range 2 {
		s, stop = start(t, dir, 1<<20)
		if s.Renewed() || !s.Receipts().Equal(sign) {
			t.Error("got another receipt key after a restart, want the same")
		}
		wantContent(t, s, e)
		stop()
	}
}

func TestWhatWasAnsweredSurvivesACrash(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, dir, 1<<20)
	defer stop()
	var all []*blob.Entry
	for i := range byte(3) {
		all = append(all, create(t, s, i))
		left := crash(t, dir)
		c, stopCopy := start(t, left, 1<<20)
		for _, e := range all {
			wantContent(t, c, e)
		}
		if c.Renewed() || !c.Receipts().Equal(s.Receipts()) {
			t.Error("got another receipt key after a crash, want the same")
		}
		stopCopy()
	}
}

// A crash can come after the transaction and before the mark is filed.
func TestACrashBeforeTheMarkIsFiledKeepsTheKey(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, dir, 1<<20)
	stop()
	old, err := os.ReadFile(filepath.Join(dir, "blobs.db-mark"))
	if err != nil {
		t.Fatal(err)
	}
	s, stop := start(t, dir, 1<<20)
	defer stop()
	create(t, s, 1) // brings a new mark
	left := crash(t, dir)
	if err := os.WriteFile(filepath.Join(left, "blobs.db-mark"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	c, stopCopy := start(t, left, 1<<20)
	defer stopCopy()
	if c.Renewed() || !c.Receipts().Equal(s.Receipts()) {
		t.Error("got another receipt key, want the same")
	}
}

func TestAStoreThatLostSomethingTakesANewKey(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, dir, older string){
		"an older copy was put back": func(t *testing.T, dir, older string) {
			os.Remove(filepath.Join(dir, "blobs.db-wal"))
			copyFile(t, filepath.Join(older, "blobs.db"), filepath.Join(dir, "blobs.db"))
			copyFile(t, filepath.Join(older, "blobs.db-wal"), filepath.Join(dir, "blobs.db-wal"))
		},
		"the log was lost": func(t *testing.T, dir, older string) {
			if err := os.Truncate(filepath.Join(dir, "blobs.db-wal"), 0); err != nil {
				t.Fatal(err)
			}
		},
		"the mark was removed": func(t *testing.T, dir, older string) {
			if err := os.Remove(filepath.Join(dir, "blobs.db-mark")); err != nil {
				t.Fatal(err)
			}
		},
		"the database was removed": func(t *testing.T, dir, older string) {
			if err := errors.Join(os.Remove(filepath.Join(dir, "blobs.db")), os.Remove(filepath.Join(dir, "blobs.db-wal"))); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, stop := start(t, dir, 1<<20)
			defer stop()
			create(t, s, 1)
			older := crash(t, dir)
			if _, err := s.Sweep(t.Context(), today); err != nil { // a checkpoint
				t.Fatal(err)
			}
			create(t, s, 2)
			left := crash(t, dir)

			lose(t, left, older)
			c, stopCopy := start(t, left, 1<<20)
			defer stopCopy()
			if c.Receipts().Equal(s.Receipts()) {
				t.Error("got the same receipt key, want a new one")
			}
			key := c.Receipts().Clone()
			e := create(t, c, 3)
			stopCopy()
			if c, stopCopy = start(t, left, 1<<20); c.Renewed() || !c.Receipts().Equal(key) {
				t.Error("got another new key at the next start, want it to stay")
			}
			wantContent(t, c, e)
			stopCopy()
		})
	}
}

// sha is how a secret is named here.
func sha(b []byte) [32]byte { return sha256.Sum256(b) }

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// traces counts a pattern in every file below dir.
func traces(t *testing.T, dir string, pattern []byte) (n int) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(b, pattern)
	}
	return n
}

func TestDeletedContentIsGoneFromTheDisk(t *testing.T) {
	for name, settle := range map[string]func(t *testing.T, s *Store){
		"after a sweep": func(t *testing.T, s *Store) {
			if _, err := s.Sweep(t.Context(), today); err != nil {
				t.Error(err)
			}
		},
		"after a minute": func(t *testing.T, s *Store) {
			time.Sleep(checkpointEvery)
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s, stop := start(t, dir, 4<<20)
				defer stop()
				pattern := storetest.NewEntry(7, 64).Content
				var all []*blob.Entry
				for i := range byte(9) {
					all = append(all, create(t, s, i))
				}
				settle(t, s)
				before := traces(t, dir, pattern)
				if before == 0 {
					t.Error("got no trace of a blob that lies there, want some: the search is blind")
				}
				e := all[7]
				if err := s.Delete(t.Context(), e.ID, e.Capability, today); err != nil {
					t.Fatal(err)
				}
				settle(t, s)
				if got := traces(t, dir, pattern); got != 0 {
					t.Errorf("got %d traces of a deleted blob, want 0 (before: %d)", got, before)
				}
				if got := traces(t, dir, e.Capability[:]); got != 0 {
					t.Errorf("got %d traces of its capability's hash, want 0", got)
				}
				wantContent(t, s, all[8])
			})
		})
	}
}

// One write that does not fit must not fail those that it shares a transaction with.
func TestAWriteThatDoesNotFitTakesNoOtherDown(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, stop := start(t, dir, 1<<20)
		defer stop()
		room := create(t, s, 0)
		for i := byte(100); ; i++ {
			if _, err := s.Create(t.Context(), storetest.NewEntry(i, 16<<10), today); errors.Is(err, blob.ErrFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Delete(t.Context(), room.ID, room.Capability, today); err != nil {
			t.Fatal(err)
		}

		release := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { s.ask(t.Context(), false, func() error { <-release; return nil }) })
		synctest.Wait()
		errs := make([]error, 3)
		for i, size := range []int{4 << 10, 256 << 10, 4 << 10} {
			wg.Go(func() { _, errs[i] = s.Create(t.Context(), storetest.NewEntry(byte(1+i), size), today) })
		}
		synctest.Wait() // all three wait for the goroutine that owns the database
		close(release)
		wg.Wait()
		if errs[0] != nil || !errors.Is(errs[1], blob.ErrFull) || errs[2] != nil {
			t.Errorf("got %v, want only the second to be refused with %v", errs, blob.ErrFull)
		}
	})
}

func TestWhatIsNotOursIsRefusedAndLeftAlone(t *testing.T) {
	good := t.TempDir()
	s, stop := start(t, good, 4<<20)
	for i := range byte(20) {
		create(t, s, i)
	}
	stop()
	for name, c := range map[string]struct {
		spoil func(db string) error
		want  error
	}{
		"cut in half":       {func(db string) error { return os.Truncate(db, 100<<10) }, ErrDamaged},
		"cut to one page":   {func(db string) error { return os.Truncate(db, 4096) }, ErrDamaged},
		"emptied":           {func(db string) error { return os.Truncate(db, 0) }, ErrDamaged},
		"overwritten":       {func(db string) error { return os.WriteFile(db, bytes.Repeat([]byte("not a database "), 9999), 0o600) }, ErrForeign},
		"another program's": {func(db string) error { return change(db, "PRAGMA application_id=1") }, ErrForeign},
		"a newer version's": {func(db string) error { return change(db, "PRAGMA user_version=2") }, ErrForeign},
		"without its key":   {func(db string) error { return change(db, "DELETE FROM store") }, ErrDamaged},
		"without a table":   {func(db string) error { return change(db, "DROP TABLE content") }, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := crash(t, good)
			db := filepath.Join(dir, "blobs.db")
			if err := c.spoil(db); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(db)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(Options{Path: db, Max: 4 << 20, Random: rand.Reader})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err == nil {
				s.Close()
			}
			if after, err := os.ReadFile(db); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the file was changed (%v), want it left alone", err)
			}
		})
	}
}

func change(db, sql string) error {
	c, err := sqlite3.Open(db)
	if err != nil {
		return err
	}
	return errors.Join(c.Exec(sql), c.Exec("PRAGMA wal_checkpoint(TRUNCATE)"), c.Close())
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, dir, 1<<20)
	defer stop()
	create(t, s, 1)
	for _, name := range []string{"blobs.db", "blobs.db-mark"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s: got mode %o, want 600", name, got)
		}
	}
}

func TestAStoppedStoreSaysSo(t *testing.T) {
	s, stop := start(t, t.TempDir(), 1<<20)
	stop()
	_, err := s.Create(t.Context(), storetest.NewEntry(1, 4096), today)
	if !errors.Is(err, blob.ErrStopped) {
		t.Errorf("got %v, want %v", err, blob.ErrStopped)
	}
}

func TestTheLogDoesNotGrowWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, dir, 256<<20)
	defer stop()
	for i := range byte(160) {
		if _, err := s.Create(t.Context(), storetest.NewEntry(i, 256<<10), today); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "blobs.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Size(), int64(24<<20); got > want {
		t.Errorf("got a log of %d bytes after 40 MiB, want at most %d", got, want)
	}
}

func BenchmarkCreate(b *testing.B) {
	s, err := Open(Options{Path: filepath.Join(b.TempDir(), "blobs.db"), Max: 8 << 30, Random: rand.Reader})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	b.SetBytes(16 << 10)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		e := storetest.NewEntry(1, 16<<10)
		for pb.Next() {
			rand.Read(e.ID[:])
			if _, err := s.Create(b.Context(), e, today); err != nil {
				b.Error(err)
			}
		}
	})
	cancel()
	if err := errors.Join(<-done, s.Close()); err != nil {
		b.Error(err)
	}
}
