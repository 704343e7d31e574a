package vault

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/internal/content"
)

// earlier makes a closed vault look as an earlier version wrote it.
func earlier(t *testing.T, dir string, version int64) {
	have, ok := tablesOf(version)
	if !ok {
		t.Fatalf("there was no version %d", version)
	}
	t.Helper()
	k, err := deriveKeys(rootOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(filepath.Join(dir, folderName), k, vfs.Find(""), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.root(k, tableCount)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Append(nil)
	sealed, err := seal(k.state, nil, b[:len(b)-8*(tableCount-have)], nil, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.run("UPDATE state SET v = ? WHERE id = 1", sealed); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.close()); err != nil {
		t.Fatal(err)
	}
	tamper(t, dir, older(version)...)
}

// older is the SQL that takes the later tables away.
func older(version int64) (sql []string) {
	have, _ := tablesOf(version)
	all := tables()
	for _, table := range all[have:] {
		sql = append(sql, "DROP TABLE "+string(table))
	}
	return append(sql, fmt.Sprintf("PRAGMA user_version = %d", version))
}

func TestEarlierVaultGetsItsTables(t *testing.T) {
	for _, version := range []int64{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { extended(t, version) })
	}
}

func extended(t *testing.T, version int64) {
	dir := sample(t)
	tamper(t, dir, "DROP TABLE aside")
	before := rowsOf(t, dir)
	earlier(t, dir, version)
	for range 2 { // the second time it is a vault like any other
		if err := use(t, dir); err != nil {
			t.Fatalf("got %v, want the rows of before", err)
		}
	}
	if after := rowsOf(t, dir); after != before {
		t.Errorf("got rows %q, want %q", after, before)
	}
	v, err := Open(dir, pass)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	update(t, v, func(tx *Tx) error {
		if err := (Store{tx}).PutGroup(&group.Record{ID: group.ID{1}, Name: "walkers"}); err != nil {
			return err
		}
		if err := (Store{tx}).PutShared(&content.Entry{Key: []byte("k"), Count: 7}); err != nil {
			return err
		}
		return Store{tx}.PutPurseRealm(&purse.Realm{Pin: [32]byte{1}, Name: "relay.example"})
	})
}

// Neither purse nor groups can be taken away by saying that the vault is of before
// there were any.
func TestTablesAreNotTakenAway(t *testing.T) {
	for _, version := range []int64{1, 2} {
		v, dir := newVault(t)
		update(t, v, func(tx *Tx) error {
			if err := (Store{tx}).PutGroup(&group.Record{ID: group.ID{1}}); err != nil {
				return err
			}
			return Store{tx}.PutPurseRealm(&purse.Realm{Pin: [32]byte{1}})
		})
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		tamper(t, dir, older(version)...)
		if _, err := Open(dir, pass); !errors.Is(err, ErrDamaged) {
			t.Errorf("version %d: got %v, want %v", version, err, ErrDamaged)
		}
	}
}

// rowsOf returns all rows of a closed vault as text.
func rowsOf(t *testing.T, dir string) (all string) {
	t.Helper()
	v, err := Open(dir, pass)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	err = v.View(t.Context(), func(tx *Tx) error {
		for _, table := range tables() {
			err := tx.Each(table, Query{}, func(r Row) error {
				all += string(table) + string(r.H) + string(r.V) + "\n"
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
