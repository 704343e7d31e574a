package postgres

import (
	"context"
	"errors"
	"time"
)

// lookEvery is how often Run asks the server for a sign of life.
const lookEvery = 10 * time.Second

// Run looks after the database until ctx ends: Up says what it saw last. It
// fails with ErrReplaced once the database is another, since what this node
// signs with is then no longer the database's.
func (d *DB) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := d.look(ctx)
		if errors.Is(err, ErrReplaced) {
			return err
		}
		if ctx.Err() == nil {
			d.down.Store(err != nil)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Up reports whether the server answered when it was last asked.
func (d *DB) Up() bool { return !d.down.Load() }

// look asks who the database is, on a connection that may be an old one.
func (d *DB) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	now, err := identity(ctx, d.pool)
	if err == nil && now != d.self {
		err = ErrReplaced
	}
	return explain(err)
}
