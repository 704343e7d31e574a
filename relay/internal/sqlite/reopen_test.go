package sqlite

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
)

// A store that is opened anew between two calls of one batch, and cannot be,
// fails those behind and the next ones until it can.
func TestAStoreThatCannotBeOpenedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gate.db")
	g, err := OpenGate(path, gateToday, gateToday, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	away := func() error {
		if err := g.shut(); err != nil {
			return err
		}
		if err := os.Rename(path, path+"-away"); err != nil {
			return err
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		return g.ready()
	}
	one := func(write bool, do func() error) *call { return &call{write: write, do: do, done: make(chan error, 1)} }
	add := func() error { return exec(g.q.addInvite, make([]byte, 32), int64(1), int64(1)) }
	find := func() error { _, _, err := row(g.q.findMember, make([]byte, 32)); return err }
	batch := []*call{one(false, away), one(false, find), one(true, add), one(true, add)}
	g.serve(batch)
	for i, c := range batch {
		if err := <-c.done; err == nil {
			t.Errorf("call %d of the batch: got no error", i)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"-away", path); err != nil {
		t.Fatal(err)
	}
	c := one(true, add)
	g.serve([]*call{c})
	if err := <-c.done; err != nil {
		t.Errorf("once it can be opened: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
