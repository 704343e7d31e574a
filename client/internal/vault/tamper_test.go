package vault

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/tacet-chat/tacet/internal/key"
)

// rootOf returns the vault key of a profile.
func rootOf(t testing.TB, dir string) key.Vault {
	t.Helper()
	h, err := readHeader(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := h.unwrap(pass)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// tamper changes a closed vault as somebody could who had the file key alone.
func tamper(t testing.TB, dir string, sql ...string) {
	t.Helper()
	k, err := deriveKeys(rootOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(filepath.Join(dir, folderName), k, vfs.Find(""), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sql {
		if err := d.exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := d.checkpoint(); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
}

// use opens a vault, reads every row in every way and verifies, and returns
// the first error.
func use(t testing.TB, dir string) error {
	v, err := Open(dir, pass)
	if err != nil {
		return err
	}
	defer v.Close()
	err = v.View(t.Context(), func(tx *Tx) error {
		for _, table := range tables() {
			for id := int64(1); id < 5; id++ {
				if _, _, err := tx.Get(table, id); err != nil {
					return err
				}
			}
			for _, h := range []string{"one", "two", "three"} {
				if _, _, err := tx.Find(table, []byte(h)); err != nil {
					return err
				}
			}
			if err := tx.Each(table, Query{A: ptr64(1)}, func(Row) error { return nil }); err != nil {
				return err
			}
			if err := tx.Each(table, Query{}, func(Row) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.Verify(t.Context())
}

// sample makes a vault with rows 1, 2 and 3 in two tables, of which row 2 has
// an older version, kept in row 4 of table fragment by its sealed bytes.
func sample(t testing.TB) string {
	t.Helper()
	v, dir := newVault(t)
	put := func(id int64, h, value string) {
		update(t, v, func(tx *Tx) error {
			for _, table := range []Table{Session, Event} {
				if err := tx.Put(table, Row{ID: id, A: 1, B: id, H: []byte(h), V: []byte(value)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	put(2, "two", "old")
	if err := v.turn.take(t.Context(), reading); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE TABLE aside (id INTEGER PRIMARY KEY, v BLOB, n INTEGER)",
		"INSERT INTO aside SELECT s.id, s.v, l.n FROM session s JOIN ledger l ON l.id = 3 << 56 | s.id",
	} {
		if err := v.db.exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	v.turn.give()
	put(1, "one", "first")
	put(2, "two", "new")
	put(3, "three", "third")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTamperedRowsAreCaught(t *testing.T) {
	const drop = "DROP TABLE aside"
	for _, c := range []struct {
		name string
		sql  []string
		want error
	}{
		{"nothing", nil, nil},
		{"an older value put back", []string{"UPDATE session SET v = (SELECT v FROM aside) WHERE id = 2"}, ErrDamaged},
		{"an older value and its version put back", []string{
			"UPDATE session SET v = (SELECT v FROM aside) WHERE id = 2",
			"UPDATE ledger SET n = (SELECT n FROM aside) WHERE id = 3 << 56 | 2"}, ErrDamaged},
		{"values of two rows exchanged", []string{
			"UPDATE session SET v = (SELECT v FROM session WHERE id = 1) WHERE id = 3"}, ErrDamaged},
		{"a value moved to another table", []string{
			"UPDATE event SET v = (SELECT v FROM session WHERE id = 1) WHERE id = 1"}, ErrDamaged},
		{"a row moved to another id", []string{"UPDATE session SET id = 4 WHERE id = 3"}, ErrDamaged},
		{"a row and its version moved to another id", []string{
			"UPDATE session SET id = 4 WHERE id = 3", "UPDATE ledger SET id = 3 << 56 | 4 WHERE id = 3 << 56 | 3"}, ErrDamaged},
		{"A changed", []string{"UPDATE session SET a = 2 WHERE id = 1"}, ErrDamaged},
		{"B changed", []string{"UPDATE session SET b = 9 WHERE id = 1"}, ErrDamaged},
		{"H changed", []string{"UPDATE session SET h = x'00' WHERE id = 1"}, ErrDamaged},
		{"H removed", []string{"UPDATE session SET h = NULL WHERE id = 1"}, ErrDamaged},
		{"a row removed", []string{"DELETE FROM session WHERE id = 1"}, ErrDamaged},
		{"a row and its version removed", []string{
			"DELETE FROM session WHERE id = 1", "DELETE FROM ledger WHERE id = 3 << 56 | 1"}, ErrDamaged},
		{"a row copied", []string{"INSERT INTO session SELECT 4, a, b, h, v FROM session WHERE id = 1"}, ErrDamaged},
		{"a version changed", []string{"UPDATE ledger SET n = n + 1 WHERE id = 3 << 56 | 1"}, ErrDamaged},
		{"versions exchanged", []string{
			"UPDATE ledger SET n = CASE id & 3 WHEN 1 THEN (SELECT n FROM ledger WHERE id = 3 << 56 | 3)" +
				" ELSE (SELECT n FROM ledger WHERE id = 3 << 56 | 1) END WHERE id IN (3 << 56 | 1, 3 << 56 | 3)"}, ErrDamaged},
		{"the state removed", []string{"DELETE FROM state"}, ErrDamaged},
		{"the state emptied", []string{"UPDATE state SET v = x''"}, ErrDamaged},
		{"a later schema", []string{"PRAGMA user_version = 4"}, ErrNewer},
		{"no schema version", []string{"PRAGMA user_version = 0"}, ErrDamaged},
		{"one table more", []string{"CREATE TABLE more (id INTEGER PRIMARY KEY)"}, ErrDamaged},
		{"one index less", []string{"DROP INDEX event_h"}, ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := sample(t)
			tamper(t, dir, append(c.sql, drop)...)
			if err := use(t, dir); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestOpeningAloneCatches has ledgers that agree with the rows and not with
// the state.
func TestOpeningAloneCatches(t *testing.T) {
	for name, sql := range map[string][]string{
		"an older value and its version": {"UPDATE session SET v = (SELECT v FROM aside) WHERE id = 2",
			"UPDATE ledger SET n = (SELECT n FROM aside) WHERE id = 3 << 56 | 2"},
		"a row and its version removed": {"DELETE FROM session WHERE id = 1", "DELETE FROM ledger WHERE id = 3 << 56 | 1"},
	} {
		dir := sample(t)
		tamper(t, dir, append(sql, "DROP TABLE aside")...)
		if _, err := Open(dir, pass); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", name, err)
		}
	}
}

func TestVerifyCatchesWhatChangedSinceOpening(t *testing.T) {
	dir := sample(t)
	tamper(t, dir, "DROP TABLE aside")
	v := openVault(t, dir)
	if err := v.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"DELETE FROM session WHERE id = 1", "DELETE FROM ledger WHERE id = 3 << 56 | 1"} {
		if err := v.db.exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Verify(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}

// TestReadingAloneCatches reads one row in one way and does not verify.
func TestReadingAloneCatches(t *testing.T) {
	get := func(tx *Tx) error { _, _, err := tx.Get(Session, 1); return err }
	find := func(tx *Tx) error { _, _, err := tx.Find(Session, []byte("one")); return err }
	each := func(tx *Tx) error { return tx.Each(Session, Query{A: ptr64(1)}, func(Row) error { return nil }) }
	all := func(tx *Tx) error { return tx.verify() }
	for _, c := range []struct {
		name, sql string
		caught    map[string]func(*Tx) error
	}{
		{"a row removed", "DELETE FROM session WHERE id = 1", map[string]func(*Tx) error{"Get": get, "Verify": all}},
		{"a value exchanged", "UPDATE session SET v = (SELECT v FROM session WHERE id = 3) WHERE id = 1",
			map[string]func(*Tx) error{"Get": get, "Find": find, "Each": each}},
		{"an older value put back", "UPDATE session SET v = (SELECT v FROM aside), h = x'6f6e65', id = 1 WHERE id = 2",
			map[string]func(*Tx) error{"Get": get, "Find": find, "Each": each}},
		{"a row without a version", "INSERT INTO session SELECT 4, a, b, NULL, v FROM session WHERE id = 1",
			map[string]func(*Tx) error{"Each": each, "Verify": all}},
	} {
		dir := sample(t)
		if c.name == "an older value put back" {
			tamper(t, dir, "DELETE FROM session WHERE id = 1")
		}
		tamper(t, dir, c.sql, "DROP TABLE aside")
		v := openVault(t, dir)
		for how, read := range c.caught {
			if err := v.View(t.Context(), read); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, %s: got %v, want ErrDamaged", c.name, how, err)
			}
		}
	}
}
