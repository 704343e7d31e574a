package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

const (
	gateApplicationID = 0x7ace7b11
	gateVersion       = 2
	gateMax           = 2 << 30 // bytes: some 80 million spent tokens
	gateSweepBatch    = 2048    // rows that one step of a sweep deletes
)

// Every column, and who may read it: who holds the disk. Nothing joins a member
// to an invite, a token or a day.
const gateSchema = `
` + rootSchema + `;
CREATE TABLE invite (
	hash BLOB PRIMARY KEY,           -- 32, of the secret
	uses INTEGER NOT NULL,           -- that are left
	last INTEGER NOT NULL            -- day on which it can be used
) WITHOUT ROWID;
CREATE TABLE member (
	credential BLOB PRIMARY KEY      -- 32, hash
) WITHOUT ROWID;
CREATE TABLE spent (
	until   INTEGER NOT NULL,        -- day the row goes
	hash    INTEGER NOT NULL,        -- 8 bytes, keyed: of a token, or of who was issued what
	request INTEGER,                 -- 8 bytes, keyed: what was issued; NULL for tokens
	PRIMARY KEY (until, hash)
) WITHOUT ROWID;`

const rootSchema = `CREATE TABLE root (
	seed     BLOB NOT NULL,          -- 32, issuer keys are derived from it
	key      BLOB NOT NULL,          -- 32, keys of keyed hashes are
	began    INTEGER NOT NULL,       -- day; 0 or less: not yet, and then after the day without its sign
	swept    INTEGER NOT NULL,       -- the latest day by which spent was swept
	mark     BLOB NOT NULL,          -- 16, see mark.go
	previous BLOB NOT NULL           -- 16
)`

// Gate is a gate.Members and a gate.Spent. Its methods answer while Run runs.
type Gate struct {
	file
	q gateStatements

	mu    sync.Mutex // guards the below
	root  gate.Root
	swept gate.Day // as in the file, or what it was there
}

type gateStatements struct {
	addInvite, findInvite, use, drop, listed *sqlite3.Stmt
	addMember, findMember                    *sqlite3.Stmt
	mark, request, days                      *sqlite3.Stmt
	sweepInvites, sweepSpent, swept          *sqlite3.Stmt
}

func (p *gateStatements) queries() []query {
	return []query{
		{&p.addInvite, "INSERT OR IGNORE INTO invite VALUES (?, ?, ?)"},
		{&p.findInvite, "SELECT uses FROM invite WHERE hash = ? AND last >= ?"},
		{&p.use, "UPDATE invite SET uses = uses - 1 WHERE hash = ?"},
		{&p.drop, "DELETE FROM invite WHERE hash = ?"},
		{&p.listed, "SELECT hash, uses, last FROM invite WHERE last >= ? ORDER BY hash"},
		{&p.addMember, "INSERT OR IGNORE INTO member VALUES (?)"},
		{&p.findMember, "SELECT 1 FROM member WHERE credential = ?"},
		{&p.mark, "INSERT OR IGNORE INTO spent SELECT ?1, ?2, ?3 FROM root WHERE swept < ?1 AND ?4 IN (began, 0)"},
		{&p.request, "SELECT request FROM spent WHERE until = ? AND hash = ?"},
		{&p.days, "SELECT began, swept FROM root"},
		{&p.sweepInvites, "DELETE FROM invite WHERE last < ?"},
		{&p.sweepSpent, "DELETE FROM spent WHERE (until, hash) IN (SELECT until, hash FROM spent WHERE until <= ? LIMIT ?)"},
		{&p.swept, "UPDATE root SET swept = ?1 WHERE swept < ?1"},
	}
}

// OpenGate opens or makes a gate's store. A root that is made now, or must be
// replaced, begins at the earliest on the day began.
func OpenGate(path string, began, today gate.Day, random io.Reader) (*Gate, error) {
	g := &Gate{}
	g.file = file{path: path, max: gateMax, random: random, layout: layout{
		name: "gate store", schema: gateSchema, app: gateApplicationID, version: gateVersion, cacheKiB: 8 << 10, batch: 512,
		fresh: g.fill, renew: g.renewRoot, marks: "root", full: gate.ErrFull, stopped: gate.ErrStopped,
	}}
	if err := g.open(g.q.queries()); err != nil {
		return nil, err
	}
	err := g.inTransaction(func() (err error) { g.root, g.swept, err = g.settleRoot(began, today); return err })
	if err != nil {
		g.unprepare()
		g.db.Close()
		return nil, fmt.Errorf("opening %s: %w", g.name, g.explain(err))
	}
	return g, nil
}

// secrets makes a seed and a key.
func (g *Gate) secrets() (seed, key []byte, err error) {
	b := make([]byte, 64)
	_, err = io.ReadFull(g.random, b)
	return b[:32], b[32:], err
}

func (g *Gate) fill() error {
	seed, key, err := g.secrets()
	if err != nil {
		return err
	}
	return g.once("INSERT INTO root VALUES (?, ?, 0, 0, zeroblob(16), zeroblob(16))", seed, key)
}

// renewRoot is what happens to a store that was put back from a copy, or swept
// before it was time: tokens that were spent could be spent again, so all of them
// are no good any more. Members and invites stay as they were.
func (g *Gate) renewRoot() error {
	seed, key, err := g.secrets()
	if err != nil {
		return err
	}
	if err := g.once("UPDATE root SET seed = ?, key = ?, began = -abs(began), swept = 0", seed, key); err != nil {
		return err
	}
	return g.once("DELETE FROM spent")
}

// settleRoot reads the root, within a transaction. It replaces one whose marks were
// swept before it was time, and has one begin that has not.
func (g *Gate) settleRoot(began, today gate.Day) (r gate.Root, swept gate.Day, err error) {
	r, day, swept, err := g.readRoot()
	if err == nil && day > 0 && gate.Ahead(swept, today) {
		if err = g.renewRoot(); err == nil {
			r, day, swept, err = g.readRoot()
		}
	}
	if r.Began = gate.Day(day); err == nil && day <= 0 {
		r.Began = max(began, gate.Day(-day)+1)
		err = cmp.Or(g.once("UPDATE root SET began = ?", int64(r.Began)), g.stamp())
	}
	return r, swept, err
}

// readRoot reads the root as it stands there; day is the column began.
func (g *Gate) readRoot() (r gate.Root, day int64, swept gate.Day, err error) {
	err = each(g.db, "SELECT seed, key, began, swept FROM root", func(q *sqlite3.Stmt) {
		copy(r.Seed[:], q.ColumnRawBlob(0))
		copy(r.Key[:], q.ColumnRawBlob(1))
		day, swept = q.ColumnInt64(2), gate.Day(q.ColumnInt64(3))
	})
	if err == nil && (r.Seed == [32]byte{} || r.Key == [32]byte{}) {
		err = ErrDamaged
	}
	return r, day, swept, err
}

// Root returns the root. Nobody else can change it, and it changes only where
// marks were swept before it was time.
func (g *Gate) Root(ctx context.Context, began, today gate.Day) (r gate.Root, err error) {
	g.mu.Lock()
	r, swept := g.root, g.swept
	g.mu.Unlock()
	if !gate.Ahead(swept, today) {
		return r, nil
	}
	err = g.ask(ctx, true, func() (err error) { r, swept, err = g.settleRoot(began, today); return err })
	if err != nil {
		return gate.Root{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.root, g.swept = r, swept
	return r, nil
}

// AddInvite adds an invite.
func (g *Gate) AddInvite(ctx context.Context, i gate.Invite) error {
	return g.ask(ctx, true, func() error { return exec(g.q.addInvite, i.Hash[:], int64(i.Uses), int64(i.Last)) })
}

// Join takes a use of an invite and adds a credential.
func (g *Gate) Join(ctx context.Context, invite, credential [32]byte, today gate.Day) error {
	var verdict error
	err := g.ask(ctx, true, func() error {
		verdict = nil
		if known, _, err := row(g.q.findMember, credential[:]); err != nil || known {
			return err
		}
		found, uses, err := row(g.q.findInvite, invite[:], int64(today))
		if err != nil {
			return err
		}
		if !found {
			verdict = gate.ErrNoInvite
			return nil
		}
		take := g.q.use
		if uses <= 1 {
			take = g.q.drop
		}
		if err := exec(take, invite[:]); err != nil {
			return err
		}
		return exec(g.q.addMember, credential[:])
	})
	if err != nil {
		return err
	}
	return verdict
}

// Member reports whether a credential is there.
func (g *Gate) Member(ctx context.Context, credential [32]byte) (known bool, err error) {
	err = g.ask(ctx, false, func() (err error) {
		known, _, err = row(g.q.findMember, credential[:])
		return err
	})
	return known, err
}

// Invites lists the invites that can be used.
func (g *Gate) Invites(ctx context.Context, today gate.Day) (list []gate.Invite, err error) {
	err = g.ask(ctx, false, func() error {
		q := g.q.listed
		if err := bind(q, int64(today)); err != nil {
			return err
		}
		for q.Step() {
			i := gate.Invite{Uses: uint16(q.ColumnInt64(1)), Last: gate.Day(q.ColumnInt64(2))}
			copy(i.Hash[:], q.ColumnRawBlob(0))
			list = append(list, i)
		}
		return q.Reset()
	})
	return list, err
}

// Revoke deletes an invite.
func (g *Gate) Revoke(ctx context.Context, hash [32]byte) error {
	var verdict error
	err := g.ask(ctx, true, func() error {
		err := exec(g.q.drop, hash[:])
		if verdict = nil; g.db.Changes() == 0 {
			verdict = gate.ErrNoInvite
		}
		return err
	})
	if err != nil {
		return err
	}
	return verdict
}

// Spend keeps the mark of a token.
func (g *Gate) Spend(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	return g.keep(ctx, m, []byte(nil))
}

// Issue keeps the mark of an issued part and knows its request again.
func (g *Gate) Issue(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	return g.keep(ctx, m, int64(m.Request))
}

// keep keeps a mark, with the request if it is to be known again.
func (g *Gate) keep(ctx context.Context, m gate.Mark, request any) (v gate.Verdict, err error) {
	var lost error
	err = g.ask(ctx, true, func() error {
		v, lost = gate.First, nil
		if err := exec(g.q.mark, int64(m.Until), int64(m.Hash), request, int64(m.Root)); err != nil || g.db.Changes() > 0 {
			return err
		}
		began, swept, err := g.days()
		switch {
		case err != nil:
			return err
		case m.Root != 0 && m.Root != began, m.Until <= swept && gate.Ahead(swept, m.Today):
			lost = gate.ErrLost
			return nil
		}
		found, was, err := row(g.q.request, int64(m.Until), int64(m.Hash))
		if v = gate.Other; found && request == was {
			v = gate.Again
		}
		return err
	})
	if err = cmp.Or(err, lost); err != nil {
		return 0, err
	}
	return v, nil
}

// days returns when the root began and by which day marks were swept.
func (g *Gate) days() (began, swept gate.Day, err error) {
	q := g.q.days
	if q.Step() {
		began, swept = gate.Day(q.ColumnInt64(0)), gate.Day(q.ColumnInt64(1))
	}
	return began, swept, q.Reset()
}

// row asks for one number of one row.
func row(q *sqlite3.Stmt, args ...any) (found bool, n int64, err error) {
	if err := bind(q, args...); err != nil {
		return false, 0, err
	}
	if found = q.Step(); found {
		n = q.ColumnInt64(0)
	}
	return found, n, q.Reset()
}

// Sweep deletes what is over, in small steps so that others get their turn, and
// then empties the log, which still has it.
func (g *Gate) Sweep(ctx context.Context, today gate.Day) error {
	for more := true; more; {
		err := g.ask(ctx, true, func() error {
			if err := exec(g.q.swept, int64(today)); err != nil {
				return err
			}
			err := exec(g.q.sweepSpent, int64(today), int64(gateSweepBatch))
			more = g.db.Changes() == gateSweepBatch
			return err
		})
		if err != nil {
			return err
		}
	}
	g.mu.Lock()
	g.swept = max(g.swept, today)
	g.mu.Unlock()
	if err := g.ask(ctx, true, func() error { return exec(g.q.sweepInvites, int64(today)) }); err != nil {
		return err
	}
	return g.ask(ctx, false, g.checkpoint)
}

var (
	_ gate.Members = (*Gate)(nil)
	_ gate.Spent   = (*Gate)(nil)
)
