package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// lookEvery is how often Run asks the server for a sign of life.
const lookEvery = 10 * time.Second

// Check looks at a database and changes nothing. A database without tables is good.
func Check(ctx context.Context, opt Options) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cfg, err := config(opt.URL)
	if err != nil {
		return err
	}
	c, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return explain(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	var made, may bool
	err = c.QueryRow(ctx, "SELECT to_regclass('tacet') IS NOT NULL, coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)").Scan(&made, &may)
	switch {
	case err != nil:
		return explain(err)
	case !may:
		return fmt.Errorf("%w: the user may not make tables", ErrRefused)
	case made:
		return explain(compare(ctx, c, opt.Realm))
	}
	return nil
}

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
			if down := err != nil; d.down.Swap(down) != down && down && d.opt.Away != nil {
				d.opt.Away(err)
			}
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
