package sqlite

import (
	"context"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
)

// sweepBatch is how many rows one step of a sweep deletes.
const sweepBatch = 32

// statements are the whole of what is asked of the database while it serves.
type statements struct {
	find, addRecord, addContent, read *sqlite3.Stmt
	dropContent, emptyRecord          *sqlite3.Stmt
	expired, forgotten, forget, count *sqlite3.Stmt
}

func (p *statements) queries() []query {
	return []query{
		{&p.find, "SELECT hash, capability, until FROM record WHERE id = ?"},
		{&p.addRecord, "INSERT INTO record VALUES (?, ?, ?, ?, ?)"},
		{&p.addContent, "INSERT INTO content VALUES (?, ?)"},
		{&p.read, "SELECT body FROM content WHERE id = ?"},
		{&p.dropContent, "DELETE FROM content WHERE id = ?"},
		{&p.emptyRecord, "UPDATE record SET capability = NULL, until = NULL WHERE id = ?"},
		{&p.expired, "SELECT id FROM record WHERE until <= ? LIMIT ?"},
		{&p.forgotten, "SELECT id FROM record WHERE forget <= ? LIMIT ?"},
		{&p.forget, "DELETE FROM record WHERE id = ?"},
		{&p.count, "SELECT count(*) FROM record WHERE until IS NOT NULL"},
	}
}

// record is a row of the table.
type record struct {
	found, gone      bool
	hash, capability [32]byte // capability is zeros where the row has none
}

// lookUp reads the record of id. It runs on the owner's goroutine, as all below.
func (s *Store) lookUp(id wire.BlobID, today blob.Day) (r record, err error) {
	q := s.q.find
	if err := bind(q, id[:]); err != nil {
		return r, err
	}
	if q.Step() {
		r.found = true
		copy(r.hash[:], q.ColumnRawBlob(0))
		copy(r.capability[:], q.ColumnRawBlob(1))
		r.gone = q.ColumnType(2) == sqlite3.NULL || int64(today) >= q.ColumnInt64(2)
	}
	return r, q.Reset()
}

// Create keeps e unless its id is taken, and returns once it is on disk.
func (s *Store) Create(ctx context.Context, e *blob.Entry, today blob.Day) (hash [32]byte, err error) {
	own := *e // the caller may be gone before the call is served
	own.Content = append([]byte(nil), e.Content...)
	var verdict error
	err = s.ask(ctx, true, func() error {
		verdict = nil // a batch that failed is run again
		r, err := s.lookUp(own.ID, today)
		if err != nil {
			return err
		}
		if r.found {
			if hash = r.hash; r.gone {
				verdict = blob.ErrGone
			}
			return nil
		}
		hash = own.Hash
		capability := own.Capability[:]
		if own.Capability == [32]byte{} {
			capability = nil
		}
		if err := exec(s.q.addRecord, own.ID[:], own.Hash[:], capability, int64(own.Until), int64(own.Forget)); err != nil {
			return err
		}
		return exec(s.q.addContent, own.ID[:], own.Content)
	})
	if err != nil {
		return [32]byte{}, err
	}
	return hash, verdict
}

// Get returns the content of a blob and its hash.
func (s *Store) Get(ctx context.Context, id wire.BlobID, today blob.Day) (content []byte, hash [32]byte, err error) {
	var verdict error
	err = s.ask(ctx, false, func() error {
		r, err := s.lookUp(id, today)
		if err != nil {
			return err
		}
		switch hash = r.hash; {
		case !r.found:
			verdict = blob.ErrNotFound
			return nil
		case r.gone:
			verdict = blob.ErrGone
			return nil
		}
		q := s.q.read
		if err := bind(q, id[:]); err != nil {
			return err
		}
		if q.Step() {
			content = q.ColumnBlob(0, nil)
		} else if q.Err() == nil {
			return ErrDamaged // a record says that it lies there
		}
		return q.Reset()
	})
	if err != nil {
		return nil, [32]byte{}, err
	}
	return content, hash, verdict
}

// Delete deletes the content of a blob and keeps its record.
func (s *Store) Delete(ctx context.Context, id wire.BlobID, capability [32]byte, today blob.Day) error {
	var verdict error
	err := s.ask(ctx, true, func() error {
		verdict = nil
		r, err := s.lookUp(id, today)
		switch {
		case err != nil:
			return err
		case !r.found:
			verdict = blob.ErrNotFound
		case r.gone:
			verdict = blob.ErrGone
		case r.capability == [32]byte{} || r.capability != capability:
			verdict = blob.ErrDenied
		default:
			return s.empty(id[:])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return verdict
}

func (s *Store) empty(id []byte) error {
	if err := exec(s.q.dropContent, id); err != nil {
		return err
	}
	return exec(s.q.emptyRecord, id)
}

// Sweep deletes what has reached its end, in small steps so that others get
// their turn, and then empties the log, which still has it.
func (s *Store) Sweep(ctx context.Context, today blob.Day) (left int, err error) {
	if err := s.sweep(ctx, s.q.expired, today, s.empty); err != nil {
		return 0, err
	}
	err = s.sweep(ctx, s.q.forgotten, today, func(id []byte) error {
		if err := exec(s.q.dropContent, id); err != nil {
			return err
		}
		return exec(s.q.forget, id)
	})
	if err != nil {
		return 0, err
	}
	err = s.ask(ctx, false, func() error {
		q := s.q.count
		if q.Step() {
			left = q.ColumnInt(0)
		}
		if err := q.Reset(); err != nil {
			return err
		}
		return s.checkpoint()
	})
	if err != nil {
		return 0, err
	}
	return left, nil
}

// sweep applies drop to the rows that due finds, sweepBatch at a time.
func (s *Store) sweep(ctx context.Context, due *sqlite3.Stmt, today blob.Day, drop func(id []byte) error) error {
	for more := true; more; {
		err := s.ask(ctx, true, func() error {
			var ids [][]byte
			if err := bind(due, int64(today), int64(sweepBatch)); err != nil {
				return err
			}
			for due.Step() {
				ids = append(ids, due.ColumnBlob(0, nil))
			}
			if err := due.Reset(); err != nil {
				return err
			}
			for _, id := range ids {
				if err := drop(id); err != nil {
					return err
				}
			}
			more = len(ids) == sweepBatch
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
