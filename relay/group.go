package relay

import (
	"context"
	"errors"
	"sync"
)

// group runs goroutines that end together: when one fails or the context ends.
type group struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex // guards errs
	errs   []error
}

func newGroup(parent context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancel(parent)
	return g
}

func (g *group) run(f func(context.Context) error) {
	g.wg.Go(func() {
		defer g.cancel()
		if err := f(g.ctx); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
		}
	})
}

func (g *group) wait() error {
	g.wg.Wait()
	return errors.Join(g.errs...)
}
