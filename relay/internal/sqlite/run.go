package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/blob"
)

const (
	checkpointEvery = time.Minute
	maxBatch        = 16 // calls in one transaction: at most 4 MiB of content
)

// call is one request to the goroutine that owns the connection.
type call struct {
	write bool
	do    func() error // an error means that the database failed
	done  chan error   // room for one
}

// Run answers calls until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	defer close(s.ended)
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-s.calls:
			s.serve(s.gather(c))
		case <-tick.C:
			// What fails here fails at the next sweep, too, and is told there.
			_ = s.checkpoint()
		}
	}
}

// Close empties the log and closes the file. Run must have returned, or never
// have been called.
func (s *Store) Close() error {
	err := s.checkpoint()
	s.stmts.close()
	s.sign.Wipe()
	if cerr := s.db.Close(); err == nil {
		err = cerr
	}
	return s.explain(err)
}

// gather adds to c the calls that wait just now.
func (s *Store) gather(c *call) []*call {
	batch := []*call{c}
	for len(batch) < maxBatch {
		select {
		case c := <-s.calls:
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
func (s *Store) serve(batch []*call) {
	var writes []*call
	for _, c := range batch {
		if c.write {
			writes = append(writes, c)
		} else {
			c.done <- c.do()
		}
	}
	err := s.commit(writes)
	for _, c := range writes {
		if err != nil && len(writes) > 1 {
			c.done <- s.commit([]*call{c})
		} else {
			c.done <- err
		}
	}
}

// commit runs calls in one transaction and returns once it is on disk.
func (s *Store) commit(calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	return s.inTransaction(func() error {
		before := s.db.TotalChanges()
		for _, c := range calls {
			if err := c.do(); err != nil {
				return err
			}
		}
		if s.db.TotalChanges() == before {
			return nil
		}
		return s.stamp()
	})
}

func (s *Store) inTransaction(do func() error) error {
	s.mark.written = nil
	if err := s.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		err = s.db.Exec("COMMIT")
	}
	if err != nil {
		if !s.db.GetAutocommit() { // some errors have rolled back already
			err = errors.Join(err, s.db.Exec("ROLLBACK"))
		}
		return err
	}
	return s.file()
}

// checkpoint moves the log into the file and cuts the log to nothing.
func (s *Store) checkpoint() error {
	busy, err := s.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("checkpoint found the store busy")
	}
	s.mark.fresh = false
	return nil
}

// ask hands a call to Run and waits for its answer.
func (s *Store) ask(ctx context.Context, write bool, do func() error) error {
	c := &call{write: write, do: do, done: make(chan error, 1)}
	select {
	case s.calls <- c:
	case <-s.ended:
		return blob.ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.explain(<-c.done) // Run answers every call that it took
}
