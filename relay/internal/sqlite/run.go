package sqlite

import (
	"context"
	"errors"
	"time"
)

const checkpointEvery = time.Minute

// call is one request to the goroutine that owns the connection.
type call struct {
	write bool
	do    func() error // an error means that the database failed
	done  chan error   // room for one
}

// Run answers calls until ctx ends.
func (f *file) Run(ctx context.Context) error {
	defer close(f.ended)
	around := f.around
	if around == nil {
		around = func() {}
	}
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-f.calls:
			around()
			f.serve(f.gather(c))
			around()
		case <-tick.C:
			// What fails here fails at the next sweep, too, and is told there.
			_ = f.checkpoint()
		}
	}
}

// Close empties the log and closes the file. Run must have returned, or never
// have been called.
func (f *file) Close() error {
	err := f.checkpoint()
	if serr := f.shut(); err == nil {
		err = serr
	}
	return f.explain(err)
}

// gather adds to c the calls that wait just now.
func (f *file) gather(c *call) []*call {
	batch := []*call{c}
	for len(batch) < f.batch {
		select {
		case c := <-f.calls:
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

// serve answers a batch: reads first, before anything is changed that might
// not last, then all writes in one transaction. If that fails each write is
// tried alone, so that one which does not fit takes no other down.
func (f *file) serve(batch []*call) {
	var writes []*call
	for _, c := range batch {
		if c.write {
			writes = append(writes, c)
		} else if err := f.ready(); err != nil { // one that was to be opened anew and could not
			c.done <- err
		} else {
			c.done <- c.do()
		}
	}
	if len(writes) == 0 {
		return
	}
	if err := f.ready(); err != nil { // it may just have been tried
		for _, c := range writes {
			c.done <- err
		}
		return
	}
	err := f.commit(writes)
	for _, c := range writes {
		if err != nil && len(writes) > 1 {
			c.done <- f.commit([]*call{c})
		} else {
			c.done <- err
		}
	}
}

// commit runs calls in one transaction and returns once it is on disk.
func (f *file) commit(calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	return f.inTransaction(func() error {
		before := f.db.TotalChanges()
		for _, c := range calls {
			if err := c.do(); err != nil {
				return err
			}
		}
		if f.db.TotalChanges() == before {
			return nil
		}
		return f.stamp()
	})
}

func (f *file) inTransaction(do func() error) error {
	f.mark.written = nil
	if f.begun != nil {
		f.begun()
	}
	if err := f.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = f.db.Exec("COMMIT")
	}
	if err != nil {
		if !f.db.GetAutocommit() { // some errors have rolled back already
			err = errors.Join(err, f.db.Exec("ROLLBACK"))
		}
		if f.undone != nil {
			f.undone()
		}
		return err
	}
	return f.fileMark()
}

// checkpoint moves the log into the file and cuts the log to nothing.
func (f *file) checkpoint() error {
	if f.db == nil {
		return nil
	}
	busy, err := f.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("checkpoint found the store busy")
	}
	f.mark.fresh = false
	return nil
}

// ask hands a call to Run and waits for its answer.
func (f *file) ask(ctx context.Context, write bool, do func() error) error {
	c := &call{write: write, do: do, done: make(chan error, 1)}
	select {
	case f.calls <- c:
	case <-f.ended:
		return f.stopped
	case <-ctx.Done():
		return ctx.Err()
	}
	return f.explain(<-c.done) // Run answers every call that it took
}
