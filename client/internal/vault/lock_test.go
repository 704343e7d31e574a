package vault

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

func TestSecondProcessIsLockedOut(t *testing.T) {
	v, dir := newVault(t)
	lock, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := childSays(t, roleOpen, dir); got != "true" {
		t.Errorf("second process opening: got ErrLocked %s, want true", got)
	}
	if got := childSays(t, roleTake, dir); got != "true" {
		t.Errorf("second process locking: got ErrLocked %s, want true", got)
	}
	update(t, v, func(tx *Tx) error { return tx.Put(Meta, Row{ID: 1}) })
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if got := childSays(t, roleOpen, dir); got != "false" {
		t.Errorf("second process opening later: got ErrLocked %s, want false", got)
	}
	if got := childSays(t, roleTake, dir); got != "false" {
		t.Errorf("second process locking later: got ErrLocked %s, want false", got)
	}
}

func childSays(t *testing.T, role, dir string) string {
	t.Helper()
	out, err := command(t, role, dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestSecondOpenInOneProcessIsLockedOut(t *testing.T) {
	_, dir := newVault(t)
	if _, err := Open(dir, pass); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	lock, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if _, err := Take(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
}

func TestKilledProcessLeavesNoLock(t *testing.T) {
	v, dir := newVault(t)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, roleWrite, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != roleReady {
		t.Fatalf("got %q, %v, want a child that is ready", line, err)
	}
	if _, err := Open(dir, pass); !errors.Is(err, ErrLocked) {
		t.Errorf("while it runs: got %v, want ErrLocked", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	openVault(t, dir)
}

func TestLockNeedsTheFolder(t *testing.T) {
	if _, err := Take(t.TempDir() + "/none"); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
}
