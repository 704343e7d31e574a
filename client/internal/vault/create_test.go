package vault

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestCreateLeavesAVaultAlone(t *testing.T) {
	v, dir := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, V: []byte("kept")}) })
	if _, err := Create(dir, pass, weak); !errors.Is(err, ErrExists) {
		t.Errorf("open vault: got %v, want ErrExists", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, []byte("another"), weak); !errors.Is(err, ErrExists) {
		t.Errorf("closed vault: got %v, want ErrExists", err)
	}
	if got := get(t, openVault(t, dir), Meta, 1); string(got) != "kept" {
		t.Errorf("got %q, want kept", got)
	}
}

func TestCreateLeavesDamagedVaultsAlone(t *testing.T) {
	v, dir := newVault(t)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{keyName, rowsName, markName, rowsName + logSuffix} {
		if err := os.Remove(filepath.Join(dir, folderName, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(dir, pass, weak); !errors.Is(err, ErrExists) {
			t.Errorf("without %s: got %v, want ErrExists", name, err)
		}
		if _, err := Open(dir, pass); !errors.Is(err, ErrDamaged) {
			t.Errorf("without %s: got %v, want ErrDamaged", name, err)
		}
	}
}

// TestInterruptedCreateIsNoVault fails every write of a Create in turn.
func TestInterruptedCreateIsNoVault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profile")
	failed := 0
	for k := 0; ; k++ {
		d := newLazyDisk()
		d.failWrites(k, syscall.ENOSPC)
		v, err := create(dir, pass, weak, d)
		if err == nil {
			v.Close()
			break
		}
		failed++
		if !errors.Is(err, ErrFull) {
			t.Fatalf("write %d: got %v, want ErrFull", k, err)
		}
		if _, err := Open(dir, pass); !errors.Is(err, ErrMissing) {
			t.Fatalf("write %d: got %v, want ErrMissing", k, err)
		}
		// A kill would leave this behind.
		if err := os.MkdirAll(filepath.Join(dir, folderName+"-1"+newSuffix, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 10 {
		t.Errorf("got %d failures, want many", failed)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != folderName {
		t.Errorf("got %v, %v, want the vault alone", list, err)
	}
	openVault(t, dir)
}

func TestOneOfManyCreatesWins(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profile")
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 8 {
		wg.Go(func() {
			v, err := Create(dir, pass, weak)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
				v.Close()
			case !errors.Is(err, ErrExists) && !errors.Is(err, ErrLocked):
				t.Errorf("got %v, want ErrExists or ErrLocked", err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("got %d vaults, want 1", won)
	}
	openVault(t, dir)
}

func TestCreateRefusesBeforeItWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profile")
	if _, err := Create(dir, nil, weak); !errors.Is(err, ErrNoPassphrase) {
		t.Errorf("got %v, want ErrNoPassphrase", err)
	}
	if _, err := Create(dir, pass, Params{Memory: 1024, Time: 1, Threads: 1}); !errors.Is(err, ErrParams) {
		t.Errorf("got %v, want ErrParams", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no folder made", err)
	}
}

func TestOddFolderNames(t *testing.T) {
	for _, name := range []string{"with space", "100%41 ?#&=", "[a-z]*", "ünï", "semi;colon'quote\""} {
		dir := filepath.Join(t.TempDir(), name)
		v, err := Create(dir, pass, weak)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, V: []byte(name)}) })
		v = reopen(t, v)
		if got := get(t, v, Meta, 1); string(got) != name {
			t.Errorf("%q: got %q", name, got)
		}
		info, err := os.Stat(filepath.Join(dir, folderName, rowsName+logSuffix))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%q: got log %v, %v, want mode 600", name, info, err)
		}
	}
}

func TestChangedPassphraseReplacesTheOld(t *testing.T) {
	v, dir := newVault(t)
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, V: []byte("kept")}) })
	before := readVault(t, dir)[keyName]
	next := []byte("battery staple")
	if err := v.ChangePassphrase([]byte("wrong"), next); !errors.Is(err, ErrPassphrase) {
		t.Errorf("wrong old one: got %v, want ErrPassphrase", err)
	}
	if err := v.ChangePassphrase(pass, nil); !errors.Is(err, ErrNoPassphrase) {
		t.Errorf("empty new one: got %v, want ErrNoPassphrase", err)
	}
	if got := readVault(t, dir)[keyName]; !bytes.Equal(got, before) {
		t.Error("got another key file after a refusal, want the same")
	}
	// What a kill in an earlier change has left is not in the way.
	if err := os.WriteFile(filepath.Join(dir, folderName, keyName+newSuffix), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.ChangePassphrase(pass, next); err != nil {
		t.Fatal(err)
	}
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 2}) })
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, pass); !errors.Is(err, ErrPassphrase) {
		t.Errorf("old passphrase: got %v, want ErrPassphrase", err)
	}
	v, err := Open(dir, next)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if got := get(t, v, Meta, 1); string(got) != "kept" {
		t.Errorf("got %q, want kept", got)
	}
	files := readVault(t, dir)
	if _, ok := files[keyName+newSuffix]; ok {
		t.Error("got a key.new left over, want none")
	}
	h, err := parseHeader(files[keyName])
	if err != nil || h.params != weak {
		t.Errorf("got parameters %+v, %v, want the same as before", h.params, err)
	}
}

func TestForeignKeyFileIsNotTakenOver(t *testing.T) {
	v, dir := newVault(t)
	_, other := newVault(t)
	files := readVault(t, other)
	if err := os.WriteFile(filepath.Join(dir, folderName, keyName), files[keyName], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.ChangePassphrase(pass, []byte("next")); !errors.Is(err, ErrDamaged) {
		t.Errorf("changing: got %v, want ErrDamaged", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, pass); !errors.Is(err, ErrDamaged) {
		t.Errorf("opening: got %v, want ErrDamaged", err)
	}
}

func TestErrorsNameNothing(t *testing.T) {
	secret := "secretprofile"
	dir := filepath.Join(t.TempDir(), secret)
	v, err := Create(dir, pass, weak)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	d := newDisk()
	v = openOn(t, dir, d)
	var errs []error
	add := func(err error) {
		if err == nil {
			t.Error("got no error, want one to look at")
		}
		errs = append(errs, err)
	}
	_, err = Open(dir, pass)
	add(err)
	_, err = Open(dir+"/none", pass)
	add(err)
	_, err = Create(dir, pass, weak)
	add(err)
	_, err = Create(filepath.Join(dir, folderName, keyName, secret), pass, weak)
	add(err)
	_, err = Take(dir + "/none")
	add(err)
	_, err = Take("/dev/null/" + secret)
	add(err)
	add(replace(filepath.Join(dir, "none", secret), nil))
	d.failWrites(0, syscall.ENOSPC)
	add(v.Update(t.Context(), func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, H: []byte(secret)}) }))
	d.failWrites(0, errIO)
	add(v.Update(t.Context(), func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1, H: []byte(secret)}) }))
	d.heal()
	v.Close()
	if err := os.Truncate(filepath.Join(dir, folderName, rowsName), 9*pageSize); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, pass)
	add(err)
	for _, err := range errs {
		for _, bad := range []string{secret, os.TempDir(), "/dev", string(pass), rowsName, "meta", "event", "INSERT"} {
			if strings.Contains(err.Error(), bad) {
				t.Errorf("got error %q with %q in it", err, bad)
			}
		}
	}
}
