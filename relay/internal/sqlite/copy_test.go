package sqlite

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// A copy that is made while others write is whole, and has all that was there
// when it began.
func TestACopyUnderWritesIsWhole(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, dir, 256<<20)
	defer stop()
	put := func(n int) error {
		e := storetest.NewEntry(byte(n), 64<<10)
		e.ID[1], e.ID[2] = byte(n>>8), byte(n>>16)
		_, err := s.Create(t.Context(), e, today)
		return err
	}
	const before = 96 // 6 MiB: several steps
	for n := range before {
		if err := put(n); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wrote int
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := before; ctx.Err() == nil && n < 4096; n++ {
			if err := put(n); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			wrote++
		}
	})
	for n := range 3 {
		to := filepath.Join(t.TempDir(), "copy.db")
		if err := s.Copy(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Lighten(to), Check(to)); err != nil {
			t.Fatalf("copy %d: %v", n, err)
		}
		c, stopCopy := start(t, filepath.Dir(rename(t, to)), 256<<20)
		if !c.Renewed() || c.Receipts().Equal(s.Receipts()) {
			t.Error("the copy has the receipt key of the store, want a new one")
		}
		for n := range before {
			e := storetest.NewEntry(byte(n), 64<<10)
			e.ID[1], e.ID[2] = byte(n>>8), byte(n>>16)
			wantContent(t, c, e)
		}
		stopCopy()
	}
	cancel()
	wg.Wait()
	if wrote == 0 {
		t.Error("nobody wrote meanwhile: the test is blind")
	}
	t.Logf("%d blobs were written meanwhile", wrote)
}

// rename gives a copy the name that start opens.
func rename(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "blobs.db")
	if err := os.Rename(path, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// What a copy must not hold is nowhere in its file, and what it must, is.
func TestALightCopyHoldsNoSecretThatSignsOrIsSpent(t *testing.T) {
	dir := t.TempDir()
	blobs, stop := start(t, dir, 4<<20)
	create(t, blobs, 1)
	seed := bytes.Clone(blobs.Receipts().Bytes())
	to := filepath.Join(t.TempDir(), "blobs.db")
	if err := blobs.Copy(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	stop()
	absent(t, to, seed)

	path := filepath.Join(dir, "gate.db")
	g, err := OpenGate(path, gateToday, gateToday, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	root, err := g.Root(t.Context(), 20_000, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	invite := gate.Invite{Hash: [32]byte{7}, Uses: 3, Last: 20_010}
	credential := [32]byte{1: 9}
	if err := errors.Join(g.AddInvite(t.Context(), invite), g.Join(t.Context(), invite.Hash, credential, 20_000)); err != nil {
		t.Fatal(err)
	}
	to = filepath.Join(t.TempDir(), "gate.db")
	if err := g.Copy(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := errors.Join(<-done, g.Close()); err != nil {
		t.Fatal(err)
	}
	absent(t, to, root.Seed[:])

	c, err := OpenGate(to, gateToday, gateToday, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { done <- c.Run(ctx) }()
	if got, err := c.Root(t.Context(), 20_000, 20_000); err != nil || got.Seed == root.Seed || got.Began <= root.Began {
		t.Errorf("got %d, %v, want another seed of a later day than %d", got.Began, err, root.Began)
	}
	if known, err := c.Member(t.Context(), credential); err != nil || !known {
		t.Errorf("got %t, %v: a member was lost", known, err)
	}
	cancel()
	if err := errors.Join(<-done, c.Close()); err != nil {
		t.Fatal(err)
	}
}

// absent lightens a copy and looks for a secret in it, which was there before.
func absent(t *testing.T, path string, secret []byte) {
	t.Helper()
	for _, want := range []bool{true, false} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(b, secret); got != want {
			t.Errorf("%s: the secret is there: %t, want %t", filepath.Base(path), got, want)
		}
		if want {
			if err := errors.Join(Lighten(path), Check(path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
		t.Errorf("got %q beside the copy", left)
	}
}

func TestACopyOfAFileAtRest(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, dir, 4<<20)
	e := create(t, s, 1)
	left := crash(t, dir) // with what stands in the log alone
	stop()
	to := filepath.Join(t.TempDir(), "blobs.db")
	if err := errors.Join(CopyFile(filepath.Join(left, "blobs.db"), to), Lighten(to), Check(to)); err != nil {
		t.Fatal(err)
	}
	c, stopCopy := start(t, filepath.Dir(to), 4<<20)
	defer stopCopy()
	wantContent(t, c, e)
	if err := CopyFile(filepath.Join(left, "blobs.db"), to); err == nil {
		t.Error("a copy went over another file")
	}
	if err := s.Copy(t.Context(), filepath.Join(t.TempDir(), "x")); !errors.Is(err, blob.ErrStopped) {
		t.Errorf("got %v from a store that stopped, want %v", err, blob.ErrStopped)
	}
}
