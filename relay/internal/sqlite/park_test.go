package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// startPark opens the store in dir and runs it until stop is called.
func startPark(t *testing.T, dir string, rows int) (p *Park, stop func()) {
	t.Helper()
	p, err := OpenPark(Options{Path: filepath.Join(dir, "park.db"), Max: int64(rows) * park.RowCost, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	return p, sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, p.Close()); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
}

func TestPark(t *testing.T) {
	storetest.Park(t, func(t *testing.T, rows int) park.Store {
		p, stop := startPark(t, t.TempDir(), rows)
		t.Cleanup(stop)
		return p
	})
}
