package vault

import (
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// Query selects rows of a table. The zero value selects all. Rows come in the
// order of their ids, with Desc the other way round. With A an index is used;
// B alone makes the whole table be read.
type Query struct {
	A          *int64 // this A only
	BFrom, BTo *int64 // B within these bounds, both included
	AfterID    int64  // greater ids only
	BeforeID   int64  // smaller ids only; 0: no bound
	Limit      int    // at most so many rows; 0: all
	Desc       bool   // greatest id first
}

// chunk is how many rows are read before fn sees them.
const chunk = 32

// Each calls fn for the rows that q selects. No statement is open while fn
// runs, so in an Update fn may write, also to the rows it is called for; a row
// that it adds further on comes too. An error of fn ends it and is returned.
func (tx *Tx) Each(t Table, q Query, fn func(Row) error) error {
	if err := q.check(t); err != nil {
		return err
	}
	left := q.Limit
	for {
		if err := tx.readable(); err != nil {
			return err
		}
		if err := tx.ctx.Err(); err != nil {
			return err
		}
		n := chunk
		if q.Limit > 0 {
			n = min(n, left)
		}
		rows, err := tx.rows(t, &q, n)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := fn(r.Row); err != nil {
				return err
			}
		}
		if left -= n; len(rows) < n || q.Limit > 0 && left == 0 {
			return nil
		}
		if q.Desc {
			q.BeforeID = rows[n-1].ID
		} else {
			q.AfterID = rows[n-1].ID
		}
	}
}

// Count returns how many rows q selects. It goes by the index alone: rows are
// checked when they are read.
func (tx *Tx) Count(t Table, q Query) (int, error) {
	if err := tx.readable(); err != nil {
		return 0, err
	}
	if err := q.check(t); err != nil {
		return 0, err
	}
	where, args := q.where()
	n, _, err := tx.v.db.number("SELECT count(*) FROM "+string(t)+" AS t"+where, args...)
	if q.Limit > 0 {
		n = min(n, int64(q.Limit))
	}
	return int(n), err
}

func (q *Query) check(t Table) error {
	if _, err := t.number(); err != nil {
		return err
	}
	if q.Limit < 0 || q.AfterID < 0 || q.BeforeID < 0 {
		return ErrRow
	}
	return nil
}

// where returns the condition and its parameters.
func (q *Query) where() (string, []any) {
	var cond []string
	var args []any
	add := func(c string, n int64) {
		cond = append(cond, c)
		args = append(args, n)
	}
	if q.A != nil {
		add("t.a = ?", *q.A)
	}
	if q.BFrom != nil {
		add("t.b >= ?", *q.BFrom)
	}
	if q.BTo != nil {
		add("t.b <= ?", *q.BTo)
	}
	if q.AfterID != 0 {
		add("t.id > ?", q.AfterID)
	}
	if q.BeforeID != 0 {
		add("t.id < ?", q.BeforeID)
	}
	if len(cond) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(cond, " AND "), args
}

// selects says whether r is what q asked for: an index that was put back to an
// older state names rows that are not.
func (q *Query) selects(r *Row) bool {
	return (q.A == nil || r.A == *q.A) && (q.BFrom == nil || r.B >= *q.BFrom) && (q.BTo == nil || r.B <= *q.BTo)
}

// rows returns the first n rows that q selects, opened and checked.
func (tx *Tx) rows(t Table, q *Query, n int) ([]versioned, error) {
	where, args := q.where()
	order := " ORDER BY t.id"
	if q.Desc {
		order = " ORDER BY t.id DESC"
	}
	rows, err := tx.read(t, where+order+" LIMIT ?", append(args, int64(n))...)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if !q.selects(&rows[i].Row) {
			return nil, ErrDamaged
		}
	}
	return rows, nil
}

// versioned is a row that was checked, with its version.
type versioned struct {
	Row
	version uint64
}

// read returns the rows that "SELECT … FROM t" with tail gives, opened, each
// checked against the ledger.
func (tx *Tx) read(t Table, tail string, args ...any) ([]versioned, error) {
	first, err := t.ledgerID(1)
	if err != nil {
		return nil, err
	}
	s, err := tx.v.db.bind("SELECT t.id, t.a, t.b, t.h, t.v, (SELECT n FROM ledger AS l WHERE l.id = ? + t.id)"+
		" FROM "+string(t)+" AS t"+tail, append([]any{first - 1}, args...)...)
	if err != nil {
		return nil, err
	}
	var rows []versioned
	for s.Step() {
		r, err := tx.row(t, s)
		if err != nil {
			s.Reset()
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, storageError(s.Reset())
}

// row opens the row that s stands on.
func (tx *Tx) row(t Table, s *sqlite3.Stmt) (versioned, error) {
	r := versioned{
		Row:     Row{ID: s.ColumnInt64(0), A: s.ColumnInt64(1), B: s.ColumnInt64(2), H: s.ColumnBlob(3, nil)},
		version: uint64(s.ColumnInt64(5)),
	}
	if s.ColumnType(5) != sqlite3.INTEGER {
		return r, ErrDamaged // no such row, says the ledger
	}
	return r, tx.v.keys.openRow(t, &r.Row, s.ColumnRawBlob(4), r.version)
}
