// Package postgres keeps what the nodes of a realm share in one PostgreSQL
// database. It implements blob.Store, gate.Members and park.Store; blobs and members
// are durable, the key for receipts beside them.
//
// It makes its tables at the first start, whichever node comes first, and
// refuses those of a newer version or of another realm. A server that restarts
// is found again without a word; one that was put back from a copy gets a new
// key for receipts, and nodes that still run with the old one end.
//
// PostgreSQL is no shredder: what was deleted can stay in free parts of its
// files and in its log until they are used again. What must be gone when it is
// deleted is encrypted before it comes here, under keys that are elsewhere.
// Times of arrival are not kept.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Errors that callers branch on. The cause is wrapped beside them where there is one.
var (
	// ErrURL: the address is none. It is not repeated: it can hold a password.
	ErrURL = errors.New("not a postgres:// URL")
	// ErrPlain: the URL allows a connection to another machine without TLS.
	ErrPlain = errors.New("sslmode may fall back to a connection without TLS")
	// ErrUnreachable: no PostgreSQL server answers.
	ErrUnreachable = fmt.Errorf("PostgreSQL %w", gate.ErrAway)
	// ErrRefused: the server does not let us in, or not make tables.
	ErrRefused = errors.New("PostgreSQL refuses")
	// ErrNewer: a newer version of the relay made the tables.
	ErrNewer = errors.New("database is of a newer version")
	// ErrForeign: the tables are of another realm or of another program.
	ErrForeign = errors.New("database is not of this realm")
	// ErrReplaced: the database is not the one that was opened.
	ErrReplaced = errors.New("database was put back from a copy")
)

const (
	within    = 10 * time.Second // one call, its wait for a connection included
	dialling  = 5 * time.Second
	mostConns = 8 // unless the URL says pool_max_conns
)

// Options say where and how much.
type Options struct {
	URL    string    // postgres://, as libpq takes it
	Realm  [32]byte  // fingerprint of the realm key: whose database it is
	Random io.Reader // for the receipt key
	// Away, if not nil, is told when the server stops answering. It must not block.
	Away func(error)
}

// DB is the database. Its stores may be used from any goroutine.
type DB struct {
	pool    *pgxpool.Pool
	opt     Options
	sign    key.Sign
	self    string // what identity said when it was opened
	renewed bool
	down    atomic.Bool // the server did not answer when it was last asked
}

// Open connects, and makes or checks the tables.
func Open(ctx context.Context, opt Options) (*DB, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*within)
	defer cancel()
	d := &DB{opt: opt}
	if err := d.open(ctx); err != nil {
		d.Close()
		return nil, fmt.Errorf("opening the database: %w", explain(err))
	}
	return d, nil
}

// config reads the URL. Its own errors could show a password.
func config(text string) (*pgxpool.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, ErrURL
	}
	// The usual mode takes no TLS for an answer. It is for this machine alone.
	q := u.Query()
	switch mode := q.Get("sslmode"); {
	case Local(u):
	case mode == "":
		q.Set("sslmode", "verify-full")
		u.RawQuery = q.Encode()
		text = u.String()
	case mode == "prefer" || mode == "allow":
		return nil, ErrPlain
	}
	cfg, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, ErrURL
	}
	if !u.Query().Has("pool_max_conns") {
		cfg.MaxConns = mostConns
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = dialling
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = "tacet-relay"
	return cfg, nil
}

// Local reports whether a URL leads to this machine.
func Local(u *url.URL) bool {
	host := u.Hostname()
	if h := u.Query().Get("host"); h != "" {
		host = h
	}
	ip := net.ParseIP(host)
	return host == "" || host[0] == '/' || host == "localhost" || ip != nil && ip.IsLoopback()
}

func (d *DB) open(ctx context.Context) error {
	cfg, err := config(d.opt.URL)
	if err != nil {
		return err
	}
	first, err := pgx.ConnectConfig(ctx, cfg.ConnConfig.Copy())
	if err != nil {
		return err
	}
	err = errors.Join(d.prepare(ctx, first), first.Close(ctx))
	if err != nil {
		return err
	}
	cfg.AfterConnect = d.same
	d.pool, err = pgxpool.NewWithConfig(ctx, cfg)
	return err
}

// same looks at every new connection, as a server that came back may have come
// back with something else.
func (d *DB) same(ctx context.Context, c *pgx.Conn) error {
	now, err := identity(ctx, c)
	if err != nil {
		return err
	}
	if now != d.self {
		return ErrReplaced
	}
	return nil
}

// Renewed reports that Open found a database which was put back from a copy,
// and gave it a new receipt key.
func (d *DB) Renewed() bool { return d.renewed }

// Close ends all connections.
func (d *DB) Close() {
	if d.pool != nil {
		d.pool.Close()
	}
	d.sign.Wipe()
}

// one runs a query of one row within the time of a call.
func (d *DB) one(ctx context.Context, to []any, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return explain(d.pool.QueryRow(ctx, sql, args...).Scan(to...))
}

// exec runs a statement within the time of a call and returns how many rows it touched.
func (d *DB) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tag, err := d.pool.Exec(ctx, sql, args...)
	return tag.RowsAffected(), explain(err)
}

// alone runs do while no other node runs it, or looks at the tables.
func (d *DB) alone(ctx context.Context, do func(c *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 3*within)
	defer cancel()
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return explain(err)
	}
	defer c.Release()
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", turn); err != nil {
		return explain(errors.Join(err, c.Conn().Close(ctx))) // it may have it all the same
	}
	err = do(c.Conn())
	// Where the lock cannot be given back the connection goes, and the lock with it.
	if _, uerr := c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", turn); uerr != nil {
		c.Conn().Close(context.WithoutCancel(ctx))
	}
	return explain(err)
}
