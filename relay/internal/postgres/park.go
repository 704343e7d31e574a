package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

// Park is a park.Store. Its tables are UNLOGGED, one for each epoch: no log ever
// has a cell, PostgreSQL empties them after a crash of its own, and an epoch that
// is over is dropped whole.
type Park struct {
	*DB
	keys  park.Keys
	bound int64

	rows   atomic.Int64 // as last counted, and what this node did since
	since  atomic.Int64 // rows that this node added since then
	count  sync.Mutex   // held while rows are counted
	counts atomic.Int64 // how often they were
}

// Park returns the store of parked cells, which takes max bytes. All nodes say
// the same.
func (d *DB) Park(max int64, keys park.Keys) *Park {
	p := &Park{DB: d, keys: keys, bound: max / park.RowCost}
	p.since.Store(p.bound) // to count before the first row
	return p
}

// Put keeps rows.
func (p *Park) Put(ctx context.Context, rows []park.Row, now time.Time) ([]wire.ParkVerdict, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	epochs := make([]park.Epoch, len(rows))
	for i := range rows {
		epochs[i] = park.EpochOf(rows[i].Until)
	}
	ids, keys, err := p.keys.ParkKeys(ctx, epochs, true)
	if errors.Is(err, park.ErrNoKeys) {
		if err = p.begin(ctx); err == nil {
			ids, keys, err = p.keys.ParkKeys(ctx, epochs, true)
		}
	}
	if err != nil {
		return nil, err
	}
	defer wipe(ids, keys)
	room, err := p.room(ctx)
	if err != nil {
		return nil, err
	}
	args := putArgs(rows, ids, keys, now, room)
	var said []int16
	for range tries {
		err = p.pool.QueryRow(ctx, "SELECT park_put($1, $2, $3, $4, $5, $6, $7)", args...).Scan(&said)
		if !noPartition(err) {
			break
		}
		if err = p.partitions(ctx, epochs); err != nil {
			break
		}
	}
	if err != nil {
		return nil, explain(err)
	}
	verdicts := make([]wire.ParkVerdict, len(rows))
	added := int64(0)
	for i := range verdicts {
		if said[i] == keptNow {
			added++
		} else {
			verdicts[i] = wire.ParkVerdict(said[i])
		}
	}
	p.rows.Add(added)
	p.since.Add(added)
	return verdicts, nil
}

// putArgs seals the cells and lays out what park_put takes.
func putArgs(rows []park.Row, ids *park.Key, keys []*park.Key, now time.Time, room int64) []any {
	addresses, names, bodies := make([][]byte, len(rows)), make([][]byte, len(rows)), make([][]byte, len(rows))
	untils, turns := make([]int64, len(rows)), make([]int32, len(rows))
	for i := range rows {
		r := &rows[i]
		id := park.RowID(ids, &r.Address, &r.Cell)
		addresses[i], names[i], untils[i] = bytes.Clone(r.Address[:]), id[:], r.Until
		bodies[i] = park.AppendBody(nil, keys[i], &id, &r.Address, &r.Cell)
		turns[i] = int32(binary.BigEndian.Uint32(r.Address[:]))
	}
	return []any{addresses, names, untils, bodies, turns, now.Unix(), room}
}

func wipe(ids *park.Key, keys []*park.Key) {
	if ids != nil {
		ids.Wipe()
	}
	for _, k := range keys {
		if k != nil {
			k.Wipe()
		}
	}
}

// noPartition reports whether an epoch has no table yet.
func noPartition(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "23514"
}

// begin is called where the keys were lost: what lies here can be read by nobody
// any more, and goes.
func (p *Park) begin(ctx context.Context) error {
	return p.alone(ctx, func(c *pgx.Conn) error {
		if _, _, err := p.keys.ParkKeys(ctx, nil, false); !errors.Is(err, park.ErrNoKeys) {
			return err // another node was first
		}
		if _, err := c.Exec(ctx, "TRUNCATE parked"); err != nil {
			return err
		}
		p.since.Store(p.bound)
		return p.keys.BeginParkKeys(ctx)
	})
}

// partitions makes the tables of epochs.
func (p *Park) partitions(ctx context.Context, epochs []park.Epoch) error {
	return p.alone(ctx, func(c *pgx.Conn) error {
		for _, e := range epochs {
			// Dead rows are cleared away soon, and without pauses.
			if _, err := c.Exec(ctx, fmt.Sprintf(`CREATE UNLOGGED TABLE IF NOT EXISTS %s PARTITION OF parked (PRIMARY KEY (address, id))
				FOR VALUES IN (%d) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0)`, tableOf(e), e)); err != nil {
				return err
			}
		}
		return nil
	})
}

func tableOf(e park.Epoch) string { return fmt.Sprintf("parked_%d", e) }

// room returns how many rows are free, as far as this node knows: it counts anew
// when it added a sixteenth of all, and before it says that there is none.
func (p *Park) room(ctx context.Context) (int64, error) {
	full := func() bool { return p.since.Load() > p.bound/16 || p.rows.Load()+wire.MaxParkItems > p.bound }
	if full() {
		before := p.counts.Load()
		p.count.Lock()
		defer p.count.Unlock()
		if p.counts.Load() == before { // else somebody counted while we waited
			if err := p.recount(ctx); err != nil {
				return 0, explain(err)
			}
		}
	}
	return p.bound - p.rows.Load(), nil
}

func (p *Park) recount(ctx context.Context) error {
	var n int64
	if err := p.pool.QueryRow(ctx, "SELECT count(*) FROM parked").Scan(&n); err != nil {
		return err
	}
	p.rows.Store(n)
	p.since.Store(0)
	p.counts.Add(1)
	return nil
}

// Take returns a page of what waits.
func (p *Park) Take(ctx context.Context, addresses []wire.Address, after park.Mark, now time.Time) (page []wire.Parked, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		for len(addresses) > 0 && bytes.Compare(addresses[0][:], after.Address[:]) < 0 {
			addresses = addresses[1:]
		}
		if len(addresses) == 0 {
			return page, nil
		}
		var from []byte
		if addresses[0] == after.Address {
			from = after.ID[:]
		}
		rows, err := p.read(ctx, addresses, from, now, park.PageRows-len(page))
		if err != nil {
			return nil, explain(err)
		}
		full := len(rows) == park.PageRows-len(page)
		opened, err := p.openRows(ctx, rows)
		if err != nil {
			return nil, err
		}
		page = append(page, opened...)
		if len(opened) == len(rows) || !full {
			return page, nil
		}
		last := rows[len(rows)-1]
		after = park.Mark{Address: last.address, ID: last.id}
	}
}

// sealedRow is a row as it lies.
type sealedRow struct {
	address wire.Address
	id      wire.RowID
	until   int64
	body    []byte
}

func (p *Park) read(ctx context.Context, addresses []wire.Address, from []byte, now time.Time, most int) (all []sealedRow, err error) {
	at := make([][]byte, len(addresses))
	for i := range addresses {
		at[i] = addresses[i][:]
	}
	rows, err := p.pool.Query(ctx, "SELECT a, i, u, b FROM park_take($1, $2, $3, $4)", at, from, now.Unix(), most)
	if err != nil {
		return nil, err
	}
	var r sealedRow
	var address, id []byte
	_, err = pgx.ForEachRow(rows, []any{&address, &id, &r.until, &r.body}, func() error {
		copy(r.address[:], address)
		copy(r.id[:], id)
		r.body = bytes.Clone(r.body)
		all = append(all, r)
		return nil
	})
	return all, err
}

// openRows opens what lies here, and deletes what nobody can open any more: its
// key was lost.
func (p *Park) openRows(ctx context.Context, rows []sealedRow) ([]wire.Parked, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	index := map[park.Epoch]int{}
	var epochs []park.Epoch
	for i := range rows {
		e := park.EpochOf(rows[i].until)
		if _, ok := index[e]; !ok {
			index[e] = len(epochs)
			epochs = append(epochs, e)
		}
	}
	ids, keys, err := p.keys.ParkKeys(ctx, epochs, false)
	if errors.Is(err, park.ErrNoKeys) {
		keys = make([]*park.Key, len(epochs))
	} else if err != nil {
		return nil, err
	}
	defer wipe(ids, keys)
	var page []wire.Parked
	for i := range rows {
		r := &rows[i]
		w := wire.Parked{ID: r.id, Address: r.address}
		if k := keys[index[park.EpochOf(r.until)]]; k != nil && park.OpenBody(&w.Cell, r.body, k, &r.id, &r.address) {
			page = append(page, w)
		} else if _, err := p.Ack(ctx, r.address, []wire.RowID{r.id}); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// Ack deletes rows of an address.
func (p *Park) Ack(ctx context.Context, address wire.Address, ids []wire.RowID) (gone int, err error) {
	names := make([][]byte, len(ids))
	for i := range ids {
		names[i] = ids[i][:]
	}
	n, err := p.exec(ctx, "DELETE FROM parked WHERE address = $1 AND id = ANY($2)", address[:], names)
	p.rows.Add(-n)
	return int(n), err
}

// Sweep deletes what is over or would last too long: epochs as a whole, and rows
// of the first and the last that stay. Then it destroys the keys of those epochs.
func (p *Park) Sweep(ctx context.Context, now, last time.Time) (left int, err error) {
	first, end := park.EpochOf(now.Unix()+1), park.EpochOf(last.Unix())
	if err := p.dropEpochs(ctx, first, end); err != nil {
		return 0, errors.Join(explain(err), p.keys.DropParkKeys(ctx, first, end))
	}
	n, err := p.exec(ctx, "DELETE FROM parked WHERE epoch = $1 AND until <= $2 OR epoch = $3 AND until > $4", int32(first), now.Unix(), int32(end), last.Unix())
	if err == nil && n > 0 {
		_, err = p.exec(ctx, "VACUUM (SKIP_LOCKED) parked")
	}
	if err := errors.Join(err, p.keys.DropParkKeys(ctx, first, end)); err != nil {
		return 0, err
	}
	p.count.Lock()
	defer p.count.Unlock()
	if err := p.recount(ctx); err != nil {
		return 0, explain(err)
	}
	return int(p.rows.Load()), nil
}

// dropEpochs drops the tables of epochs before first and after end.
func (p *Park) dropEpochs(ctx context.Context, first, end park.Epoch) error {
	const list = `SELECT c.relname FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid WHERE h.inhparent = 'parked'::regclass`
	return p.alone(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, list)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range names {
			var e park.Epoch
			if _, err := fmt.Sscanf(name, "parked_%d", &e); err != nil || tableOf(e) != name || first <= e && e <= end {
				continue
			}
			if _, err := c.Exec(ctx, "DROP TABLE "+name); err != nil {
				return err
			}
		}
		return nil
	})
}

var _ park.Store = (*Park)(nil)

// Held lists what waits at an address.
func (p *Park) Held(ctx context.Context, a wire.Address) (all []park.Held, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	rows, err := p.pool.Query(ctx, "SELECT id, until FROM parked WHERE address = $1", a[:])
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id []byte
		var h park.Held
		if err := rows.Scan(&id, &h.Until); err != nil {
			return nil, explain(err)
		}
		copy(h.ID[:], id)
		all = append(all, h)
	}
	return all, explain(rows.Err())
}
