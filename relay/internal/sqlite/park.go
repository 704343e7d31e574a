package sqlite

import (
	"context"
	"fmt"
	"io"
	"time"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/audit"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

const (
	parkID      = 0x7ace7b12 // application id
	parkVersion = 1
	parkPage    = 8192 // a row and its like: six to a page, none cut
	parkCache   = 8192 // KiB
	parkBatch   = 64   // calls in one transaction, at most
)

// Every column, and who may read it: who holds the disk. The order of rows is
// that of addresses and ids, which are as good as random.
//
// spec: park.md#what-a-relay-keeps
const parkSchema = `
CREATE TABLE parked (
	address BLOB NOT NULL,    -- 32
	id      BLOB NOT NULL,    -- 16, keyed hash of address and cell
	until   INTEGER NOT NULL, -- unix second of the expiry: a minute, an hour or a day
	body    BLOB NOT NULL,    -- 1,296, the cell under the key of its epoch
	PRIMARY KEY (address, id)
) WITHOUT ROWID;
CREATE INDEX parked_until ON parked (until);
CREATE TABLE epoch (
	day    INTEGER PRIMARY KEY, -- the last on which its rows are read; 0: the key of ids, which stays
	secret BLOB NOT NULL        -- 32
);`

// idKey is the row of epoch that holds the key of ids: a day long over.
const idKey park.Epoch = 0

// Park is a park.Store in a file of its own. Its methods answer while Run runs.
//
// A commit survives the end of the process; a power cut can take the last ones
// back (synchronous = NORMAL), which loses no message and shows none twice. A
// sweep gives back all memory in which SQLite had what was deleted.
type Park struct {
	file
	q parkStatements

	// Owned by Run, and before it by OpenPark, after it by Close.
	ids   park.Key
	keys  map[park.Epoch]*park.Key
	bound int64
	rows  int64
	trace bool // something was deleted since memory was given back

	before int64        // rows when the transaction under way began
	fresh  []park.Epoch // keys that it made
}

// parkStatements are the whole of what is asked of the database while it serves.
type parkStatements struct {
	find, countAt, add, read, drop *sqlite3.Stmt
	over, tooLong                  *sqlite3.Stmt
	addKey, dropKeys               *sqlite3.Stmt
}

func (s *parkStatements) queries() []query {
	return []query{
		{&s.find, "SELECT until FROM parked WHERE address = ? AND id = ?"},
		{&s.countAt, "SELECT count(*) FROM parked WHERE address = ?"},
		{&s.add, "INSERT INTO parked VALUES (?, ?, ?, ?)"},
		{&s.read, "SELECT id, until, body FROM parked WHERE address = ? AND id > ? ORDER BY id"},
		{&s.drop, "DELETE FROM parked WHERE address = ? AND id = ?"},
		{&s.over, "SELECT address, id FROM parked WHERE until <= ? LIMIT ?"},
		{&s.tooLong, "SELECT address, id FROM parked WHERE until > ? LIMIT ?"},
		{&s.addKey, "INSERT INTO epoch VALUES (?, ?)"},
		{&s.dropKeys, "DELETE FROM epoch WHERE day <> 0 AND (day < ? OR day > ?)"},
	}
}

// OpenPark opens or makes a store.
func OpenPark(opt Options) (*Park, error) {
	p := &Park{keys: map[park.Epoch]*park.Key{}, bound: opt.Max / park.RowCost}
	// The bound of rows comes before that of the file.
	p.file = file{path: opt.Path, max: opt.Max, random: opt.Random, layout: layout{
		name: "park store", schema: parkSchema, app: parkID, version: parkVersion, cacheKiB: parkCache, pageSize: parkPage, lossy: true, batch: parkBatch,
		fresh: p.fill, around: park.Scour, begun: p.begin, undone: p.undo, full: park.ErrFull, stopped: park.ErrStopped,
	}}
	p.file.max += p.file.max/4 + 64*parkPage
	if err := p.open(p.q.queries()); err != nil {
		return nil, err
	}
	err := p.readKeys()
	if err == nil {
		err = p.recount()
	}
	if err != nil {
		p.shut()
		return nil, fmt.Errorf("opening park store: %w", p.explain(err))
	}
	return p, nil
}

// fill makes the key of ids of a new store.
func (p *Park) fill() error {
	if _, err := io.ReadFull(p.random, p.ids[:]); err != nil {
		return err
	}
	return p.once("INSERT INTO epoch VALUES (?, ?)", int64(idKey), p.ids[:])
}

// readKeys reads every key.
func (p *Park) readKeys() error {
	found, bad := false, false
	err := each(p.db, "SELECT day, secret FROM epoch", func(q *sqlite3.Stmt) {
		epoch, secret := park.Epoch(q.ColumnInt64(0)), q.ColumnRawBlob(1)
		switch {
		case len(secret) != park.KeySize:
			bad = true
		case epoch == idKey:
			found = true
			copy(p.ids[:], secret)
		default:
			k := park.Key(secret)
			p.keys[epoch] = &k
		}
	})
	if err == nil && (bad || !found) {
		return ErrDamaged
	}
	return err
}

func (p *Park) recount() (err error) {
	p.rows, err = p.number("SELECT count(*) FROM parked")
	return err
}

// begin remembers what undo puts back.
func (p *Park) begin() { p.before, p.fresh = p.rows, p.fresh[:0] }

func (p *Park) undo() {
	p.rows = p.before
	for _, e := range p.fresh {
		p.keys[e].Wipe()
		delete(p.keys, e)
	}
}

// Close empties the log, closes the file and wipes the keys. Run must have
// returned, or never have been called.
func (p *Park) Close() error {
	err := p.file.Close()
	for _, k := range p.keys {
		k.Wipe()
	}
	p.ids.Wipe()
	return err
}

// Put keeps rows.
func (p *Park) Put(ctx context.Context, rows []park.Row, now time.Time) ([]wire.ParkVerdict, error) {
	verdicts := make([]wire.ParkVerdict, len(rows))
	err := p.ask(ctx, true, func() error {
		for i := range rows {
			var err error
			if verdicts[i], err = p.put(&rows[i], now.Unix()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return verdicts, nil
}

// put keeps one row. It runs on the owner's goroutine, as all below.
func (p *Park) put(r *park.Row, now int64) (wire.ParkVerdict, error) {
	id := park.RowID(&p.ids, &r.Address, &r.Cell)
	until, found, err := ask1(p.q.find, r.Address[:], id[:])
	switch {
	case err != nil:
		return 0, err
	case found && now < until:
		return wire.ParkKept, nil
	case found:
		if _, err := p.remove(r.Address[:], id[:]); err != nil {
			return 0, err
		}
	default:
		n, _, err := ask1(p.q.countAt, r.Address[:])
		if err != nil {
			return 0, err
		}
		if n >= wire.MaxParkRows {
			return wire.ParkFull, nil
		}
		if p.rows >= p.bound {
			return wire.ParkNoRoom, nil
		}
	}
	key, err := p.keyOf(park.EpochOf(r.Until))
	if err != nil {
		return 0, err
	}
	var body [park.BodySize]byte
	park.AppendBody(body[:0], key, &id, &r.Address, &r.Cell)
	err = exec(p.q.add, r.Address[:], id[:], r.Until, body[:])
	clear(body[:])
	park.Scour()
	p.rows++
	return wire.ParkKept, err
}

// ask1 runs a query of at most one row of one number.
func ask1(q *sqlite3.Stmt, args ...any) (n int64, found bool, err error) {
	if err := bind(q, args...); err != nil {
		return 0, false, err
	}
	if found = q.Step(); found {
		n = q.ColumnInt64(0)
	}
	return n, found, q.Reset()
}

// keyOf returns the key of an epoch, and makes it within the transaction under
// way if there is none.
func (p *Park) keyOf(e park.Epoch) (*park.Key, error) {
	if k := p.keys[e]; k != nil {
		return k, nil
	}
	k, err := park.NewKey(p.random)
	if err != nil {
		return nil, err
	}
	if err := exec(p.q.addKey, int64(e), k[:]); err != nil {
		return nil, err
	}
	p.keys[e] = k
	p.fresh = append(p.fresh, e)
	return k, nil
}

// remove deletes a row and returns whether it was there.
func (p *Park) remove(address, id []byte) (bool, error) {
	before := p.db.TotalChanges()
	if err := exec(p.q.drop, address, id); err != nil {
		return false, err
	}
	if p.db.TotalChanges() == before {
		return false, nil
	}
	p.rows--
	p.trace = true
	return true, nil
}

// Take returns a page of what waits.
func (p *Park) Take(ctx context.Context, addresses []wire.Address, after park.Mark, now time.Time) ([]wire.Parked, error) {
	var page []wire.Parked
	err := p.ask(ctx, false, func() error {
		for i := range addresses {
			a := &addresses[i]
			var from [wire.RowIDSize]byte
			switch {
			case string(a[:]) < string(after.Address[:]):
				continue
			case *a == after.Address:
				from = after.ID
			}
			var err error
			if page, err = p.read(page, a, from[:], now.Unix()); err != nil {
				return err
			}
			if len(page) == park.PageRows {
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// read appends what waits at one address behind an id, until the page is full.
func (p *Park) read(page []wire.Parked, a *wire.Address, from []byte, now int64) ([]wire.Parked, error) {
	q := p.q.read
	if err := bind(q, a[:], from); err != nil {
		return page, err
	}
	for len(page) < park.PageRows && q.Step() {
		until := q.ColumnInt64(1)
		if until <= now {
			continue
		}
		if page == nil { // at once: what grows leaves copies of cells behind
			page = make([]wire.Parked, 0, park.PageRows)
		}
		page = page[:len(page)+1]
		w := &page[len(page)-1]
		w.Address = *a
		copy(w.ID[:], q.ColumnRawBlob(0))
		key := p.keys[park.EpochOf(until)]
		if key == nil || !park.OpenBody(&w.Cell, q.ColumnRawBlob(2), key, &w.ID, a) {
			q.Reset()
			return page, ErrDamaged
		}
	}
	return page, q.Reset()
}

// Ack deletes rows of an address.
func (p *Park) Ack(ctx context.Context, a wire.Address, ids []wire.RowID) (gone int, err error) {
	err = p.ask(ctx, true, func() error {
		gone = 0 // a batch that failed is run again
		for i := range ids {
			was, err := p.remove(a[:], ids[i][:])
			if err != nil {
				return err
			}
			if was {
				gone++
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return gone, nil
}

// Sweep deletes what is over or would last too long, in small steps so that
// others get their turn, then keys that no row needs, and then what the log and
// memory still have of them.
func (p *Park) Sweep(ctx context.Context, now, last time.Time) (left int, err error) {
	for _, s := range []struct {
		q     **sqlite3.Stmt
		bound int64
	}{{&p.q.over, now.Unix()}, {&p.q.tooLong, last.Unix()}} {
		for more := true; more; {
			err := p.ask(ctx, true, func() (err error) {
				more, err = p.sweepSome(*s.q, s.bound)
				return err
			})
			if err != nil {
				return 0, err
			}
		}
	}
	// The first epoch that is not over, and the last in which a row can be.
	first, end := park.EpochOf(now.Unix()+1), park.EpochOf(last.Unix())
	if err := p.ask(ctx, true, func() error { return exec(p.q.dropKeys, int64(first), int64(end)) }); err != nil {
		return 0, err
	}
	err = p.ask(ctx, false, func() error {
		for e, k := range p.keys {
			if e < first || e > end {
				k.Wipe()
				delete(p.keys, e)
				p.trace = true
			}
		}
		if err := p.recount(); err != nil {
			return err
		}
		left = int(p.rows)
		return p.forget()
	})
	if err != nil {
		return 0, err
	}
	return left, nil
}

// sweepSome deletes up to sweepBatch rows that a query finds, and reports
// whether there may be more.
func (p *Park) sweepSome(q *sqlite3.Stmt, bound int64) (more bool, err error) {
	if err := bind(q, bound, int64(sweepBatch)); err != nil {
		return false, err
	}
	var found []park.Mark
	for q.Step() {
		var m park.Mark
		copy(m.Address[:], q.ColumnRawBlob(0))
		copy(m.ID[:], q.ColumnRawBlob(1))
		found = append(found, m)
	}
	if err := q.Reset(); err != nil {
		return false, err
	}
	for i := range found {
		if _, err := p.remove(found[i].Address[:], found[i].ID[:]); err != nil {
			return false, err
		}
	}
	return len(found) == sweepBatch, nil
}

// forget empties the log, and where anything was deleted gives back all memory
// in which SQLite may still have it: its caches and buffers are those of the
// connection, and go with it.
func (p *Park) forget() error {
	if err := p.checkpoint(); err != nil || !p.trace {
		return err
	}
	if err := p.shut(); err != nil {
		return err
	}
	if err := p.ready(); err != nil {
		return err // the next call tries again
	}
	p.trace = false
	return nil
}

// Facts says what the store keeps, for an audit.
func (p *Park) Facts(ctx context.Context, now time.Time) (f audit.Facts, err error) {
	err = p.ask(ctx, false, func() (err error) {
		if f, err = describe(p.db, "park"); err != nil {
			return err
		}
		if f.Sizes, err = sizes(p.db, "SELECT length(body), count(*) FROM parked GROUP BY 1 ORDER BY 1"); err != nil {
			return err
		}
		rows, err := overdue(p.db, "a parked cell goes at its expiry", "SELECT count(*), min(until) FROM parked WHERE until <= ?", now.Unix(), now)
		if err != nil {
			return err
		}
		keys, err := overdue(p.db, "the key of an epoch goes when its day has ended",
			"SELECT count(*), (min(day) + 1) * 86400 FROM epoch WHERE day <> 0 AND (day + 1) * 86400 <= ?", now.Unix(), now)
		f.Promises = append(f.Promises, rows, keys)
		return err
	})
	return f, err
}

var _ park.Store = (*Park)(nil)

// Held lists what waits at an address.
func (p *Park) Held(ctx context.Context, a wire.Address) (all []park.Held, err error) {
	err = p.ask(ctx, false, func() error {
		return each(p.db, "SELECT id, until FROM parked WHERE address = ?", func(q *sqlite3.Stmt) {
			h := park.Held{Until: q.ColumnInt64(1)}
			copy(h.ID[:], q.ColumnRawBlob(0))
			all = append(all, h)
		}, a[:])
	})
	return all, err
}
