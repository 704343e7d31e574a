package sqlite

import (
	"context"
	"strings"
	"time"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/relay/internal/audit"
)

// sweepGrace is how long after its end a row may still be there: sweeps come
// every five minutes.
const sweepGrace = 10 * time.Minute

// Schemas returns the statements that make each database, by store.
func Schemas() map[string]string {
	return map[string]string{"blobs": schema, "gate": gateSchema, "park": parkSchema}
}

// Facts says what the store keeps, for an audit.
func (s *Store) Facts(ctx context.Context, now time.Time) (f audit.Facts, err error) {
	err = s.ask(ctx, false, func() (err error) {
		if f, err = describe(s.db, "blobs"); err != nil {
			return err
		}
		if f.Sizes, err = sizes(s.db, "SELECT length(body), count(*) FROM content GROUP BY 1 ORDER BY 1"); err != nil {
			return err
		}
		for _, p := range []struct{ says, sql string }{
			{"a content goes at the start of its day", "SELECT count(*), min(until) * 86400 FROM record WHERE until <= ?"},
			{"an id is forgotten at the start of its day", "SELECT count(*), min(forget) * 86400 FROM record WHERE forget <= ?"},
		} {
			late, err := overdue(s.db, p.says, p.sql, now.Unix()/86400, now)
			if err != nil {
				return err
			}
			f.Promises = append(f.Promises, late)
		}
		return nil
	})
	return f, err
}

// Facts says what the store keeps, for an audit.
func (g *Gate) Facts(ctx context.Context, now time.Time) (f audit.Facts, err error) {
	err = g.ask(ctx, false, func() (err error) {
		if f, err = describe(g.db, "gate"); err != nil {
			return err
		}
		for _, p := range []struct{ says, sql string }{
			{"what was spent or issued goes at the start of its day", "SELECT count(*), min(until) * 86400 FROM spent WHERE until <= ?"},
			{"an invite goes after its last day", "SELECT count(*), (min(last) + 1) * 86400 FROM invite WHERE last + 1 <= ?"},
		} {
			late, err := overdue(g.db, p.says, p.sql, now.Unix()/86400, now)
			if err != nil {
				return err
			}
			f.Promises = append(f.Promises, late)
		}
		return nil
	})
	return f, err
}

// describe reads the schema, every column and the number of rows of a database.
func describe(db *sqlite3.Conn, store string) (audit.Facts, error) {
	f := audit.Facts{Store: store, Place: store + ".db", Rows: map[string]int64{}}
	var schema []string
	err := each(db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid", func(q *sqlite3.Stmt) {
		schema = append(schema, q.ColumnText(0)+";")
	})
	if err != nil {
		return f, err
	}
	f.Schema = strings.Join(schema, "\n")
	err = each(db, "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY t.name, c.cid", func(q *sqlite3.Stmt) {
		p := audit.Place{Table: q.ColumnText(0), Column: q.ColumnText(1)}
		f.Columns = append(f.Columns, p)
		f.Rows[p.Table] = 0
	})
	if err != nil {
		return f, err
	}
	for table := range f.Rows {
		err := each(db, `SELECT count(*) FROM "`+strings.ReplaceAll(table, `"`, `""`)+`"`, func(q *sqlite3.Stmt) { f.Rows[table] = q.ColumnInt64(0) })
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// sizes counts by size: sql gives bytes and count.
func sizes(db *sqlite3.Conn, sql string) (all []audit.Size, err error) {
	err = each(db, sql, func(q *sqlite3.Stmt) { all = append(all, audit.Size{Bytes: q.ColumnInt64(0), Count: q.ColumnInt64(1)}) })
	return all, err
}

// overdue makes a promise of a query for the rows that are past their end at
// bound: how many, and the unix second of the earliest end.
func overdue(db *sqlite3.Conn, says, sql string, bound int64, now time.Time) (audit.Promise, error) {
	p := audit.Promise{Says: says, Grace: sweepGrace}
	err := each(db, sql, func(q *sqlite3.Stmt) {
		if p.Rows = q.ColumnInt64(0); p.Rows > 0 {
			p.Late = max(0, now.Sub(time.Unix(q.ColumnInt64(1), 0)))
		}
	}, bound)
	return p, err
}

// each runs a query that is not asked often.
func each(db *sqlite3.Conn, sql string, row func(*sqlite3.Stmt), args ...any) error {
	q, _, err := db.Prepare(sql)
	if err != nil {
		return err
	}
	defer q.Close()
	if err := bind(q, args...); err != nil {
		return err
	}
	for q.Step() {
		row(q)
	}
	return q.Err()
}
