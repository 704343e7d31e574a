package vault

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"lukechampine.com/adiantum"
)

const (
	canary = "CANARY the plaintext that nobody may find"
	handle = "CANARY a handle that nobody may find"
)

// hits counts the files below dir that hold what.
func hits(t *testing.T, dir string, what []byte) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, what) {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPlaintextIsInNoFile(t *testing.T) {
	v, dir := newVault(t)
	root := rootOf(t, dir)
	secrets := map[string][]byte{
		"value": []byte(canary), "handle": []byte(handle), "column A": binary.BigEndian.AppendUint64(nil, 0x0ca7a12e0ca7a12e),
		"passphrase": pass, "vault key": root.Bytes(), "schema": []byte("CREATE TABLE"), "SQLite": []byte("SQLite format"),
	}
	put := func(tx *Tx) error {
		for _, table := range tables() {
			r := Row{ID: 1, A: 0x0ca7a12e0ca7a12e, H: []byte(handle), V: bytes.Repeat([]byte(canary), 300)}
			if err := tx.Put(table, r); err != nil {
				return err
			}
		}
		return nil
	}
	update(t, v, put)
	look := func(when string) {
		t.Helper()
		for name, s := range secrets {
			if n := hits(t, dir, s); n != 0 {
				t.Errorf("%s, %s: got it in %d files, want none", when, name, n)
			}
		}
	}
	look("in the log")
	if err := v.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("in the database")
	update(t, v, put)
	if err := v.ChangePassphrase(pass, pass); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")

	// The control: the same rows in a plain file are found by the same search.
	plain := t.TempDir()
	writePlain(t, filepath.Join(plain, rowsName))
	for _, name := range []string{"value", "handle", "column A", "schema", "SQLite"} {
		if n := hits(t, plain, secrets[name]); n != 1 {
			t.Errorf("control, %s: got it in %d files, want 1", name, n)
		}
	}
}

func writePlain(t *testing.T, path string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sql := range schema(tableCount) {
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := c.Prepare("INSERT INTO event (id, a, b, h, v) VALUES (1, ?, 0, ?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.BindInt64(1, 0x0ca7a12e0ca7a12e)
	s.BindBlob(2, []byte(handle))
	s.BindBlob(3, []byte(canary))
	if err := s.Exec(); err != nil {
		t.Fatal(err)
	}
}

// decrypted returns a file of the vault as SQLite sees it.
func decrypted(t *testing.T, dir, name string) []byte {
	t.Helper()
	k, err := deriveKeys(rootOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	c := adiantum.New(k.file.Bytes())
	b := readVault(t, dir)[name]
	for at := 0; at+pageSize <= len(b); at += pageSize {
		// The tweak is the offset, little-endian.
		c.Decrypt(b[at:at+pageSize], binary.LittleEndian.AppendUint64(nil, uint64(at)))
	}
	return b
}

// TestDeletedAndReplacedRowsAreGone looks under the encryption for the handle
// and for the sealed value of rows that were deleted or replaced.
func TestDeletedAndReplacedRowsAreGone(t *testing.T) {
	v, dir := newVault(t)
	update(t, v, func(tx *Tx) error {
		for id := int64(1); id <= 40; id++ { // neighbours, so that pages stay in use
			if err := tx.Put(Event, Row{ID: id, H: []byte(handle), V: make([]byte, 300)}); err != nil {
				return err
			}
		}
		return tx.Put(Event, Row{ID: 41, H: []byte("other"), V: make([]byte, 9000)})
	})
	var small, large []byte
	sealed := func(id int64) (b []byte) {
		s, err := v.db.bind("SELECT v FROM event WHERE id = ?", id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Step() {
			b = s.ColumnBlob(0, nil)
		}
		s.Reset()
		return b[versionSize : versionSize+200]
	}
	small, large = sealed(7), sealed(41)
	found := func(what []byte) (n int) {
		for _, name := range []string{rowsName, rowsName + logSuffix} {
			n += bytes.Count(decrypted(t, dir, name), what)
		}
		return n
	}
	if err := v.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, what := range [][]byte{small, large, []byte(handle)} {
		if found(what) == 0 {
			t.Fatal("control: the search finds nothing")
		}
	}
	update(t, v, func(tx *Tx) error {
		for id := int64(1); id <= 40; id++ {
			if id%2 == 1 {
				if err := tx.Delete(Event, id); err != nil {
					return err
				}
				continue
			}
			if err := tx.Put(Event, Row{ID: id, V: make([]byte, 10)}); err != nil {
				return err
			}
		}
		return tx.Put(Event, Row{ID: 41, V: make([]byte, 9000)})
	})
	if found(small) == 0 {
		t.Error("control: got the row gone before a checkpoint")
	}
	if err := v.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, what := range map[string][]byte{"deleted value": small, "replaced value": large, "handle": []byte(handle)} {
		if n := found(what); n != 0 {
			t.Errorf("%s: got it %d times, want it gone", name, n)
		}
	}
}

func TestSealingTheSameTwiceLooksDifferent(t *testing.T) {
	k := exampleKeys(t)
	a, err := k.sealRow(Meta, &exampleRow, 9, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.sealRow(Meta, &exampleRow, 9, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a[versionSize:], b[versionSize:]) {
		t.Error("got the same twice")
	}
}
