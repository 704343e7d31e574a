package vault

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestPowerCutLosesNoAcknowledgedUpdate replays what an opening wrote to the
// disk up to any point, keeps of the writes that were not synced what chance
// decides, sector by sector, and opens what is left. Each round goes on from
// what a cut of the round before has left.
func TestPowerCutLosesNoAcknowledgedUpdate(t *testing.T) {
	const rounds, updates, cuts = 5, 20, 40
	rng := rand.New(rand.NewPCG(1, 2))
	v, dir := newVault(t)
	update(t, v, func(tx *Tx) error { return powerStep(tx, 0) })
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	before, done := readVault(t, dir), 0
	for range rounds {
		r := recordUpdates(t, before, done, updates)
		for range cuts {
			at := rng.IntN(len(r.ops) + 1)
			acked := done
			for _, o := range r.ops[:at] {
				if n, ok := o.note.(int); ok {
					acked = n
				}
			}
			files := powerCut(before, r.ops[:at], rng)
			files[markName] = r.marks[max(0, acked-done-rng.IntN(3))]
			n, err := checkPower(t, files, acked)
			if err != nil {
				t.Fatalf("cut after call %d of %d, %d acknowledged: %v", at, len(r.ops), acked, err)
			}
			r.left, r.reached = files, n
		}
		before, done = r.left, r.reached
	}
}

// recording is one opening's life: its calls to the disk, and the mark file
// after each update.
type recording struct {
	ops     []op
	marks   [][]byte
	left    map[string][]byte // after the last cut
	reached int               // the update that left contains
}

func recordUpdates(t *testing.T, files map[string][]byte, done, updates int) *recording {
	t.Helper()
	dir := t.TempDir()
	writeVault(t, dir, files)
	d := newDisk()
	d.record = true
	v := openOn(t, dir, d)
	r := &recording{marks: [][]byte{files[markName]}}
	for n := done + 1; n <= done+updates; n++ {
		update(t, v, func(tx *Tx) error { return powerStep(tx, n) })
		r.marks = append(r.marks, readVault(t, dir)[markName])
		d.say(n)
		if n%9 == 0 {
			if err := v.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.ops = d.ops
	return r
}

// powerStep writes rows of several pages in three tables that must agree.
func powerStep(tx *Tx, n int) error {
	if _, err := tx.Insert(Event, Row{A: 1, B: int64(n), V: value(n, 1500)}); err != nil {
		return err
	}
	if err := tx.Put(Contact, Row{ID: 1, B: int64(n), H: []byte("who")}); err != nil {
		return err
	}
	if n > 0 {
		if err := tx.Delete(Outbox, int64(n)); err != nil {
			return err
		}
	}
	return tx.Put(Outbox, Row{ID: int64(n + 1), V: value(n, 900)})
}

func value(n, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(n + i)
	}
	return b
}

// checkPower opens files and returns the update that they have reached: acked,
// or the one that was under way.
func checkPower(t *testing.T, files map[string][]byte, acked int) (n int, err error) {
	dir := t.TempDir()
	writeVault(t, dir, files)
	v, err := openWith(dir, pass, newLazyDisk())
	if err != nil {
		return 0, err
	}
	defer v.Close()
	if err := v.Verify(t.Context()); err != nil {
		return 0, err
	}
	return n, v.View(t.Context(), func(tx *Tx) error {
		r, ok, err := tx.Get(Contact, 1)
		if err != nil || !ok {
			return fmt.Errorf("contact: got %t, %v", ok, err)
		}
		if n = int(r.B); n < acked || n > acked+1 {
			return fmt.Errorf("got update %d, want %d or one more", n, acked)
		}
		return checkSteps(tx, n)
	})
}

// checkSteps checks that three tables agree on n.
func checkSteps(tx *Tx, n int) error {
	seen := 0
	err := tx.Each(Event, Query{A: ptr64(1)}, func(r Row) error {
		if r.B != int64(seen) || string(r.V) != string(value(seen, 1500)) {
			return fmt.Errorf("event %d is not what was written", seen)
		}
		seen++
		return nil
	})
	if err != nil {
		return err
	}
	if seen != n+1 {
		return fmt.Errorf("got %d events, want %d", seen, n+1)
	}
	if c, err := tx.Count(Outbox, Query{}); err != nil || c != 1 {
		return fmt.Errorf("got %d outbox rows, %v, want 1", c, err)
	}
	if _, ok, err := tx.Get(Outbox, int64(n+1)); err != nil || !ok {
		return fmt.Errorf("outbox: got %t, %v", ok, err)
	}
	return nil
}

// readVault returns the files of the vault in a profile.
func readVault(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	list, err := os.ReadDir(filepath.Join(dir, folderName))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		b, err := os.ReadFile(filepath.Join(dir, folderName, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name()] = b
	}
	return files
}

// writeVault makes the vault of a profile consist of files.
func writeVault(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	folder := filepath.Join(dir, folderName)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
