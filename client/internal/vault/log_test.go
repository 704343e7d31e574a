package vault

import (
	"bytes"
	"errors"
	"maps"
	"testing"
)

// killed makes a vault with a full log, as a kill leaves it, and returns its files.
func killed(t testing.TB) map[string][]byte {
	t.Helper()
	v, dir := newVault(t)
	v.Close()
	v = openOn(t, dir, newLazyDisk())
	for i := range 60 {
		update(t, v, func(tx *Tx) error { return busyStep(tx, i) })
		if i == 20 {
			if err := v.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return readVault(t, dir)
}

func TestLogOfAKilledProcessIsWhole(t *testing.T) {
	files := killed(t)
	if n := len(files[rowsName+logSuffix]); n < 100*pageSize {
		t.Fatalf("got a log of %d bytes, want a long one", n)
	}
	dir := t.TempDir()
	writeVault(t, dir, files)
	if err := outcome(t, dir); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestFlippedBytesInTheLogAreCaughtOrHarmless(t *testing.T) {
	files := killed(t)
	log := files[rowsName+logSuffix]
	rng, dir := fixed(), t.TempDir()
	caught, blocks := 0, len(log)/pageSize
	for block := 0; block < blocks; block += 1 + blocks/60 {
		damaged := maps.Clone(files)
		damaged[rowsName+logSuffix] = bytes.Clone(log)
		damaged[rowsName+logSuffix][block*pageSize+rng.IntN(pageSize)] ^= 1 << rng.IntN(8)
		writeVault(t, dir, damaged)
		err := outcome(t, dir) // checks the rows when there is no error
		switch {
		case errors.Is(err, ErrDamaged):
			caught++
			unchanged(t, dir, damaged)
		case err != nil:
			t.Errorf("block %d: got %v, want ErrDamaged", block, err)
		case block < blocks-2:
			t.Errorf("block %d of %d: got no error, want ErrDamaged", block, blocks)
		}
	}
	if caught < 30 {
		t.Errorf("caught %d, want most of %d", caught, blocks)
	}
}

func TestLogCutAnywhereIsBehind(t *testing.T) {
	files := killed(t)
	log := files[rowsName+logSuffix]
	dir := t.TempDir()
	for cut := 0; cut < len(log)-2*pageSize; cut += 31*sector + len(log)/40 {
		damaged := maps.Clone(files)
		damaged[rowsName+logSuffix] = log[:cut]
		writeVault(t, dir, damaged)
		if _, err := Open(dir, pass); !errors.Is(err, ErrBehind) {
			t.Fatalf("cut to %d of %d bytes: got %v, want ErrBehind", cut, len(log), err)
		}
		unchanged(t, dir, damaged)
	}
}

func TestLogOfAnotherTimeIsCaught(t *testing.T) {
	files := killed(t)
	dir := t.TempDir()
	writeVault(t, dir, files)
	v := openVault(t, dir)
	for i := range 60 {
		update(t, v, func(tx *Tx) error { return busyStep(tx, i) })
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	later := readVault(t, dir)
	later[rowsName+logSuffix] = files[rowsName+logSuffix]
	writeVault(t, dir, later)
	if err := outcome(t, dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}
