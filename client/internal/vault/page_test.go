package vault

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// busy makes a vault whose database has many pages, none of them free, and
// lets it go on to a second state. It returns the files of both, closed.
func busy(t testing.TB) (first, second map[string][]byte) {
	t.Helper()
	v, dir := newVault(t)
	v.Close()
	v = openOn(t, dir, newLazyDisk())
	for i := range 40 {
		update(t, v, func(tx *Tx) error { return busyStep(tx, i) })
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	first = readVault(t, dir)
	v = openOn(t, dir, newLazyDisk())
	for i := range 60 {
		update(t, v, func(tx *Tx) error { return busyStep(tx, i) })
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return first, readVault(t, dir)
}

func busyStep(tx *Tx, i int) error {
	for _, table := range tables() {
		r := Row{ID: int64(i + 1), A: int64(i % 3), B: int64(i), H: []byte{byte(i), 'h'}, V: value(i, 100+i)}
		if table == Event && i%3 == 0 {
			r.V = value(i, 6000) // overflow pages
		}
		if err := tx.Put(table, r); err != nil {
			return err
		}
	}
	return nil
}

// outcome says what became of a vault made of files: an error, or every row
// that busy wrote.
func outcome(t testing.TB, dir string) error {
	v, err := openWith(dir, pass, newLazyDisk())
	if err != nil {
		return err
	}
	defer v.Close()
	if err := v.Verify(t.Context()); err != nil {
		return err
	}
	return v.View(t.Context(), func(tx *Tx) error {
		for _, table := range tables() {
			n := 0
			err := tx.Each(table, Query{}, func(r Row) error {
				if r.B != int64(n) || r.V[0] != byte(n) {
					t.Errorf("%s %d: not what was written", table, r.ID)
				}
				n++
				return nil
			})
			if err != nil {
				return err
			}
			if n != 60 {
				t.Errorf("%s: got %d rows, want 60", table, n)
			}
		}
		return nil
	})
}

// unchanged checks that an Open that failed has left the files alone.
func unchanged(t testing.TB, dir string, want map[string][]byte) {
	t.Helper()
	got := readVault(t, dir)
	if !maps.EqualFunc(got, want, bytes.Equal) {
		t.Error("opening has changed the files")
	}
}

func TestEveryPageWithAFlippedBitIsCaught(t *testing.T) {
	_, files := busy(t)
	rng := fixed()
	dir := t.TempDir()
	pages := len(files[rowsName]) / pageSize
	for page := range pages {
		damaged := maps.Clone(files)
		damaged[rowsName] = bytes.Clone(files[rowsName])
		damaged[rowsName][page*pageSize+rng.IntN(pageSize)] ^= 1 << rng.IntN(8)
		writeVault(t, dir, damaged)
		if err := outcome(t, dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("page %d of %d: got %v, want ErrDamaged", page+1, pages, err)
		}
	}
}

// TestEveryPagePutBackIsCaught puts single blocks of an older state in place
// of newer ones: what somebody can do without any key.
func TestEveryPagePutBackIsCaught(t *testing.T) {
	first, second := busy(t)
	dir := t.TempDir()
	tried := 0
	for at := 0; at+pageSize <= len(first[rowsName]); at += pageSize {
		old := first[rowsName][at : at+pageSize]
		if bytes.Equal(old, second[rowsName][at:at+pageSize]) {
			continue
		}
		tried++
		mixed := maps.Clone(second)
		mixed[rowsName] = bytes.Clone(second[rowsName])
		copy(mixed[rowsName][at:], old)
		writeVault(t, dir, mixed)
		if err := outcome(t, dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("page %d: got %v, want ErrDamaged", at/pageSize+1, err)
		}
	}
	if tried < 20 {
		t.Errorf("tried %d pages, want at least 20", tried)
	}
}

func TestAllPagesButOnePutBackIsCaught(t *testing.T) {
	first, second := busy(t)
	dir := t.TempDir()
	for at := 0; at+pageSize <= len(first[rowsName]); at += pageSize {
		kept := second[rowsName][at : at+pageSize]
		if bytes.Equal(kept, first[rowsName][at:at+pageSize]) {
			continue
		}
		mixed := maps.Clone(first) // with its older mark, so that nothing but the pages can tell
		mixed[rowsName] = bytes.Clone(first[rowsName])
		copy(mixed[rowsName][at:], kept)
		writeVault(t, dir, mixed)
		v, err := openWith(dir, pass, newLazyDisk())
		if err == nil {
			err = v.Verify(t.Context())
			v.Close()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("page %d: got %v, want ErrDamaged", at/pageSize+1, err)
		}
	}
}

func TestOlderDatabaseIsBehindItsMark(t *testing.T) {
	first, second := busy(t)
	dir := t.TempDir()
	mixed := maps.Clone(second)
	mixed[rowsName] = first[rowsName]
	writeVault(t, dir, mixed)
	if _, err := Open(dir, pass); !errors.Is(err, ErrBehind) || !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrBehind, which is an ErrDamaged", err)
	}
	unchanged(t, dir, mixed)
}

// TestWholeFolderPutBackShowsInTheGeneration says what is not detected here.
func TestWholeFolderPutBackShowsInTheGeneration(t *testing.T) {
	first, second := busy(t)
	dir := t.TempDir()
	var at [2]uint64
	for i, files := range []map[string][]byte{first, second} {
		writeVault(t, dir, files)
		v := openVault(t, dir)
		at[i] = v.Generation()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if at[0] >= at[1] {
		t.Errorf("got generations %d and %d, want the older one lower", at[0], at[1])
	}
}

func TestMissingEmptyAndShortFilesAreDamages(t *testing.T) {
	_, files := busy(t)
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, c := range []struct {
			name string
			cut  func([]byte) []byte
		}{
			{"missing", nil},
			{"empty", func(b []byte) []byte { return b[:0] }},
			{"half", func(b []byte) []byte { return b[:len(b)/2] }},
			{"one byte short", func(b []byte) []byte { return b[:max(0, len(b)-1)] }},
			{"one page short", func(b []byte) []byte { return b[:max(0, len(b)-pageSize)] }},
			{"longer", func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, pageSize)...) }},
		} {
			damaged := maps.Clone(files)
			if c.cut == nil {
				delete(damaged, name)
			} else {
				damaged[name] = c.cut(files[name])
			}
			writeVault(t, dir, damaged)
			err := outcome(t, dir)
			harmless := err == nil && bytes.Equal(damaged[name], files[name]) && c.cut != nil || // the log is empty anyway
				err == nil && c.name == "longer" && name != keyName || // nobody reads what hangs over
				err == nil && c.name != "missing" && c.name != "empty" && name == markName || // one slot is left
				err == nil && c.name == "one byte short" && name == rowsName && lastIsEmpty(t, files)
			if !harmless && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s: got %v, want ErrDamaged", name, c.name, err)
			}
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s: got %v, want no other error than ErrDamaged", name, c.name, err)
			}
			if err != nil && c.name != "one page short" && c.name != "half" && c.name != "one byte short" {
				unchanged(t, dir, damaged)
			}
		}
	}
}

// lastIsEmpty reports whether the last page of the database is all zeros, as one that
// stands in the list of free pages alone: cut short it reads as what it is.
func lastIsEmpty(t *testing.T, files map[string][]byte) bool {
	t.Helper()
	dir := t.TempDir()
	writeVault(t, dir, files)
	b := decrypted(t, dir, rowsName)
	return bytes.Equal(b[len(b)-pageSize:], make([]byte, pageSize))
}

func TestNoVaultIsMissingAndStaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profile")
	if _, err := Open(dir, pass); !errors.Is(err, ErrMissing) {
		t.Errorf("no profile: got %v, want ErrMissing", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no folder made", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, pass); !errors.Is(err, ErrMissing) {
		t.Errorf("empty profile: got %v, want ErrMissing", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("got %v, %v, want nothing made", list, err)
	}
	if err := os.Mkdir(filepath.Join(dir, folderName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, pass); !errors.Is(err, ErrDamaged) {
		t.Errorf("empty vault folder: got %v, want ErrDamaged", err)
	}
}

func TestWrongPassphraseChangesNothing(t *testing.T) {
	_, files := busy(t)
	dir := t.TempDir()
	writeVault(t, dir, files)
	if _, err := Open(dir, []byte("wrong")); !errors.Is(err, ErrPassphrase) {
		t.Errorf("got %v, want ErrPassphrase", err)
	}
	unchanged(t, dir, files)
	if err := outcome(t, dir); err != nil {
		t.Error(err)
	}
}

// fixed is the same chance in every run.
func fixed() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }
