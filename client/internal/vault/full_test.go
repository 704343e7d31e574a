package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fillUntil inserts events until an update fails, and returns how many were
// acknowledged and the error.
func fillUntil(v *Vault, size, most int) (int, error) {
	for n := range most {
		err := v.Update(context.Background(), func(tx *Tx) error {
			if err := tx.Put(Contact, Row{ID: 1, B: int64(n + 1)}); err != nil {
				return err
			}
			_, err := tx.Insert(Event, Row{A: 1, B: int64(n + 1), V: value(n, size)})
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return most, nil
}

// checkFilled checks that exactly n inserts of fillUntil are there.
func checkFilled(t *testing.T, v *Vault, n int) {
	t.Helper()
	view(t, v, func(tx *Tx) error {
		r, _, err := tx.Get(Contact, 1)
		if err != nil {
			return err
		}
		events := 0
		err = tx.Each(Event, Query{}, func(Row) error { events++; return nil })
		if int(r.B) != n || events != n {
			t.Errorf("got counter %d and %d events, want %d of both", r.B, events, n)
		}
		return err
	})
	if err := v.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFullDiskKeepsWhatWasThere(t *testing.T) {
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("SKIPPED the test on a real full disk: no file system can be mounted here (%v)", err)
	}
	t.Cleanup(func() { unix.Unmount(mount, unix.MNT_DETACH) })
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(mount, "profile")
	v, err := Create(dir, pass, weak)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	n, err := fillUntil(v, 20_000, 1000)
	if !errors.Is(err, ErrFull) {
		t.Fatalf("after %d updates: got %v, want ErrFull", n, err)
	}
	if n == 0 {
		t.Fatal("got no update in before the disk was full")
	}
	checkFilled(t, v, n)
	if err := v.Checkpoint(t.Context()); err != nil && !errors.Is(err, ErrFull) {
		t.Errorf("checkpoint: got %v, want ErrFull or none", err)
	}
	checkFilled(t, v, n)
	if _, err := Create(filepath.Join(mount, "other"), pass, weak); err != nil && !errors.Is(err, ErrFull) {
		t.Errorf("second vault: got %v, want ErrFull", err)
	}
	if err := os.RemoveAll(filepath.Join(mount, "other")); err != nil {
		t.Fatal(err)
	}
	// A crash now, with the disk still full.
	copied := t.TempDir()
	writeVault(t, copied, readVault(t, dir))
	c := openVault(t, copied)
	checkFilled(t, c, n)
	// There is room again: it goes on, without being opened again.
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
	v = reopen(t, v)
	checkFilled(t, v, n)
}

// fillChild writes under a limit on the size of files.
func fillChild(dir string) error {
	v, err := Open(dir, pass)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	n, err := fillUntil(v, 20_000, 1000)
	fmt.Println(n, errors.Is(err, ErrFull))
	return nil // and end without Close
}

func TestFileSizeLimitIsAFullDisk(t *testing.T) {
	v, dir := newVault(t)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	var n int
	var full bool
	if _, err := fmt.Sscan(childSays(t, roleFill, dir), &n, &full); err != nil {
		t.Fatal(err)
	}
	if n == 0 || !full {
		t.Errorf("got %d updates and ErrFull %t, want some and true", n, full)
	}
	checkFilled(t, openVault(t, dir), n)
}

// TestEveryFailingWriteLeavesTheVaultWhole lets the k-th write of an update
// fail for want of space, for every k.
func TestEveryFailingWriteLeavesTheVaultWhole(t *testing.T) {
	v, dir := newVault(t)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	d := newLazyDisk()
	v = openOn(t, dir, d)
	acked := 0
	one := func() error {
		return v.Update(t.Context(), func(tx *Tx) error {
			if err := tx.Put(Contact, Row{ID: 1, B: int64(acked + 1)}); err != nil {
				return err
			}
			_, err := tx.Insert(Event, Row{A: 1, B: int64(acked + 1), V: value(acked, 9000)})
			return err
		})
	}
	failed := 0
	for k := 0; ; k++ {
		d.failWrites(k, syscall.ENOSPC)
		err := one()
		left := d.failWrite
		d.heal()
		if err == nil {
			acked++
			if left > 0 {
				break // it did not need so many writes
			}
			continue
		}
		failed++
		if !errors.Is(err, ErrFull) {
			t.Fatalf("write %d: got %v, want ErrFull", k, err)
		}
		if err := one(); err != nil {
			t.Fatalf("after write %d failed: got %v, want no error", k, err)
		}
		acked++
		checkFilled(t, v, acked)
	}
	if failed < 5 {
		t.Errorf("got %d failures, want several", failed)
	}
	v = reopen(t, v)
	checkFilled(t, v, acked)
}

func TestFailingSyncStopsTheVault(t *testing.T) {
	for _, errno := range []error{errIO, syscall.ENOSPC} {
		v, dir := newVault(t)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		d := newDisk()
		v = openOn(t, dir, d)
		n, err := fillUntil(v, 100, 3)
		if n != 3 || err != nil {
			t.Fatal(n, err)
		}
		d.failSyncs(errno)
		put := func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) }
		if err := v.Update(t.Context(), put); !errors.Is(err, ErrStorage) {
			t.Errorf("%v: got %v, want ErrStorage", errno, err)
		}
		d.heal()
		if err := v.Update(t.Context(), put); !errors.Is(err, ErrStorage) {
			t.Errorf("%v, next update: got %v, want ErrStorage", errno, err)
		}
		if err := v.View(t.Context(), func(*Tx) error { return nil }); !errors.Is(err, ErrStorage) {
			t.Errorf("%v, next view: got %v, want ErrStorage", errno, err)
		}
		if err := v.Close(); err != nil {
			t.Errorf("%v: closing: %v", errno, err)
		}
		checkFilled(t, openVault(t, dir), 3)
	}
}
