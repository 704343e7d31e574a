package vault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// weak are parameters for tests alone.
var weak = Params{Memory: 64, Time: 1, Threads: 1, Weak: true}

var pass = []byte("correct horse")

// newVault makes a vault in a new folder and closes it with the test. Most
// tests need no disk to wait for.
func newVault(t testing.TB) (*Vault, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "profile")
	v, err := create(dir, pass, weak, newLazyDisk())
	if err != nil {
		t.Fatalf("creating: %v", err)
	}
	t.Cleanup(func() { v.Close() })
	return v, dir
}

func reopen(t testing.TB, v *Vault) *Vault {
	t.Helper()
	if err := v.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	return openVault(t, v.Dir())
}

func openVault(t testing.TB, dir string) *Vault {
	t.Helper()
	return openOn(t, dir, newLazyDisk())
}

func update(t testing.TB, v *Vault, fn func(*Tx) error) {
	t.Helper()
	if err := v.Update(t.Context(), fn); err != nil {
		t.Fatalf("updating: %v", err)
	}
}

func view(t testing.TB, v *Vault, fn func(*Tx) error) {
	t.Helper()
	if err := v.View(t.Context(), fn); err != nil {
		t.Fatalf("viewing: %v", err)
	}
}

// get returns the value of a row that must be there.
func get(t testing.TB, v *Vault, table Table, id int64) []byte {
	t.Helper()
	var value []byte
	view(t, v, func(tx *Tx) error {
		r, ok, err := tx.Get(table, id)
		if err == nil && !ok {
			t.Errorf("%s %d: got no row, want one", table, id)
		}
		value = r.V
		return err
	})
	return value
}

func ptr64(n int64) *int64 { return &n }

func TestRowsComeBackAfterReopening(t *testing.T) {
	v, _ := newVault(t)
	want := Row{A: -5, B: 1 << 60, H: []byte("handle"), V: []byte("value")}
	for _, table := range tables() {
		update(t, v, func(tx *Tx) error {
			id, err := tx.Insert(table, want)
			if err == nil && id != 1 {
				t.Errorf("%s: got id %d, want 1", table, id)
			}
			return err
		})
	}
	v = reopen(t, v)
	want.ID = 1
	for _, table := range tables() {
		view(t, v, func(tx *Tx) error {
			got, ok, err := tx.Find(table, want.H)
			if !ok || !equal(got, want) {
				t.Errorf("%s: got %v, %t, want %v", table, got, ok, want)
			}
			return err
		})
	}
	if err := v.Verify(t.Context()); err != nil {
		t.Errorf("verifying: got %v, want no error", err)
	}
}

func equal(a, b Row) bool {
	return a.ID == b.ID && a.A == b.A && a.B == b.B && bytes.Equal(a.H, b.H) && bytes.Equal(a.V, b.V)
}

func TestErrorUndoesTheUpdate(t *testing.T) {
	v, _ := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, V: []byte("kept")}) })
	before := v.Generation()
	mine := errors.New("mine")
	err := v.Update(t.Context(), func(tx *Tx) error {
		if err := tx.Put(Meta, Row{ID: 1, V: []byte("undone")}); err != nil {
			t.Error(err)
		}
		if _, err := tx.Insert(Event, Row{}); err != nil {
			t.Error(err)
		}
		return mine
	})
	if err != mine {
		t.Errorf("got error %v, want the function's own", err)
	}
	if g := v.Generation(); g != before {
		t.Errorf("got generation %d, want %d", g, before)
	}
	v = reopen(t, v)
	if got := get(t, v, Meta, 1); string(got) != "kept" {
		t.Errorf("got %q, want kept", got)
	}
	view(t, v, func(tx *Tx) error {
		n, err := tx.Count(Event, Query{})
		if n != 0 {
			t.Errorf("got %d events, want 0", n)
		}
		return err
	})
	if err := v.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	v, dir := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
	lock, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	files := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got mode %o, want %o", d.Name(), got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files != 5 { // lock, key, mark, rows.db, rows.db-wal
		t.Errorf("got %d files, want 5", files)
	}
}
