package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tacet-chat/tacet/relay/internal/audit"
)

// sweepGrace is how long after its end a row may still be there: sweeps come
// every five minutes.
const sweepGrace = 10 * time.Minute

// Facts says what the database keeps, for an audit. A table that is divided is
// counted as one.
func (d *DB) Facts(ctx context.Context, now time.Time) (audit.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f := audit.Facts{Store: "PostgreSQL", Place: "PostgreSQL", Schema: schema + parkSchema, Rows: map[string]int64{}}
	// Every table of our schema of the database, ours or not, but for partitions.
	const columns = `SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
		AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`
	var p audit.Place
	err := d.each(ctx, columns, nil, []any{&p.Table, &p.Column}, func() {
		f.Columns = append(f.Columns, p)
		f.Rows[p.Table] = 0
	})
	if err != nil {
		return f, explain(err)
	}
	for table := range f.Rows {
		var n int64
		if err := d.each(ctx, "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize(), nil, []any{&n}, func() { f.Rows[table] = n }); err != nil {
			return f, explain(err)
		}
	}
	var s audit.Size
	err = d.each(ctx, "SELECT length(body)::bigint, count(*) FROM content GROUP BY 1 UNION ALL SELECT length(body)::bigint, count(*) FROM parked GROUP BY 1 ORDER BY 1", nil,
		[]any{&s.Bytes, &s.Count}, func() { f.Sizes = append(f.Sizes, s) })
	if err != nil {
		return f, explain(err)
	}
	day := now.Unix() / 86_400
	for _, q := range []struct {
		says, sql string
		bound     int64
	}{
		{"a content goes at the start of its day", "SELECT count(*), coalesce(min(until), 0)::bigint * 86400 FROM record WHERE until <= $1", day},
		{"an id is forgotten at the start of its day", "SELECT count(*), coalesce(min(forget), 0)::bigint * 86400 FROM record WHERE forget <= $1", day},
		{"a realm invite goes after its last day", "SELECT count(*), (coalesce(min(last), 0)::bigint + 1) * 86400 FROM invite WHERE last + 1 <= $1", day},
		{"a parked cell goes at its expiry", "SELECT count(*), coalesce(min(until), 0) FROM parked WHERE until <= $1", now.Unix()},
	} {
		p := audit.Promise{Says: q.says, Grace: sweepGrace}
		var end int64
		err := d.each(ctx, q.sql, []any{q.bound}, []any{&p.Rows, &end}, func() {
			if p.Rows > 0 {
				p.Late = max(0, now.Sub(time.Unix(end, 0)))
			}
		})
		if err != nil {
			return f, explain(err)
		}
		f.Promises = append(f.Promises, p)
	}
	return f, nil
}

// each runs a query that is not asked often.
func (d *DB) each(ctx context.Context, sql string, args, to []any, row func()) error {
	rows, err := d.pool.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		row()
	}
	return rows.Err()
}
