// Package redis keeps what the nodes of a realm must agree on at once, and what
// must die with the power: spent tokens with the root that all tokens hang on,
// and the keys of parked cells. It implements gate.Spent.
//
// All of it is in the memory of one Redis server. A server that writes to disk,
// or that may throw keys away when it is full, is refused where it says so. One
// that lost anything, because it was started again, emptied, put back from a
// copy or replaced by its replica, is noticed within the very call that spends:
// the root names the run of the server that made it, and another run is another
// root. So no token is ever spent twice, at the price that all tokens end with
// the server's run.
//
// Keys and values name nobody: keyed hashes of 8 bytes, days, and random keys.
package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Errors that callers branch on. The cause is wrapped beside them where there is one.
var (
	// ErrURL: the address is none. It is not repeated: it can hold a password.
	ErrURL = errors.New("not a redis:// URL")
	// ErrUnreachable: no Redis server answers.
	ErrUnreachable = fmt.Errorf("the Redis server %w", gate.ErrAway)
	// ErrRefused: the server does not let us in, or not do what we need.
	ErrRefused = errors.New("the Redis server refuses")
	// ErrPersists: the server writes to disk what must die with its memory.
	ErrPersists = errors.New("the Redis server writes to disk")
	// ErrEvicts: the server throws away what it has no memory for: spent tokens.
	ErrEvicts = errors.New("the Redis server forgets what it has no memory for")
)

const (
	dialling  = 3 * time.Second
	within    = 5 * time.Second  // one call
	lookEvery = 10 * time.Second // how often Run asks for a sign of life
	mostConns = 32               // unless the URL says pool_size
)

// All keys stand in one slot, so that a script may use any of them.
const (
	keyRoot = "{tacet}:root"   // hash: seed, key, began, run, swept
	keyDays = "{tacet}:days"   // set: days that have marks
	keyMark = "{tacet}:spent:" // ‖ day: set of hash 8
	keyPart = "{tacet}:part:"  // ‖ day: hash, hash 8 to request 8
	keyOnce = "{tacet}:once:"  // ‖ day ‖ hash 8: request 8, for 120 s
	keyPark = "{tacet}:park"   // hash: epoch to key 32
)

// Options say where, and what the store needs of its surroundings.
type Options struct {
	URL    string    // redis://, rediss:// or unix://
	Random io.Reader // for root and keys
	// Raise is called where there is no root: it runs make with a day that is at
	// least at, and above every day that it ran make with before, whichever node
	// asked and whatever was lost here. No two calls overlap, on any node.
	Raise func(ctx context.Context, at gate.Day, make func(gate.Day) error) error
	// Away, if not nil, is told when the server stops answering, and Lost when it
	// is not the one of the root any more. They must not block.
	Away func(error)
	Lost func(context.Context)
}

// Store is the server. It may be used from any goroutine.
type Store struct {
	opt     Options
	client  *redis.Client
	scripts *scripts
	root    atomic.Pointer[gate.Day] // day of the root that was spoken of last
	down    atomic.Bool
	blind   bool // the server does not say how it is set up
}

// Open connects, and looks how the server is set up.
func Open(ctx context.Context, opt Options) (*Store, error) {
	o, err := config(opt.URL)
	if err != nil {
		return nil, fmt.Errorf("opening Redis: %w", err)
	}
	silence()
	s := &Store{opt: opt, client: redis.NewClient(o), scripts: newScripts(serverClock)}
	if err := s.inspect(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("opening Redis: %w", explain(err))
	}
	return s, nil
}

// silence stops the client's own log, which names addresses and writes to
// standard error for all that use it.
var silence = sync.OnceFunc(func() { redis.SetLogger(nowhere{}) })

type nowhere struct{}

func (nowhere) Printf(context.Context, string, ...any) {}

// config reads the URL. Its own errors could show a password.
func config(text string) (*redis.Options, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return nil, ErrURL
	}
	o, err := redis.ParseURL(text)
	if err != nil {
		return nil, ErrURL
	}
	if !u.Query().Has("pool_size") {
		o.PoolSize = mostConns
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = dialling, within, within, within
	o.MaxRetries = 2    // a call that is made twice says the same: the second time it is Again
	o.DialerRetries = 1 // for the next call to try again
	o.DisableIdentity = true
	return o, nil
}

// inspect refuses a server that would keep or forget what it must not.
func (s *Store) inspect(ctx context.Context) error {
	if err := s.client.Ping(ctx).Err(); err != nil {
		return err
	}
	for name, c := range map[string]struct {
		want string
		err  error
	}{"save": {"", ErrPersists}, "appendonly": {"no", ErrPersists}, "maxmemory-policy": {"noeviction", ErrEvicts}} {
		got, err := s.client.ConfigGet(ctx, name).Result()
		if reply := redis.Error(nil); errors.As(err, &reply) {
			s.blind = true // a rented server does not tell
			continue
		} else if err != nil {
			return err
		}
		// Without a bound of memory nothing is thrown away.
		if c.err == ErrEvicts && got[name] != c.want {
			if most, err := s.client.ConfigGet(ctx, "maxmemory").Result(); err == nil && most["maxmemory"] == "0" {
				continue
			}
		}
		if got[name] != c.want {
			return c.err
		}
	}
	return nil
}

// Blind reports that the server does not say how it is set up: whether it writes
// to disk or forgets is for the operator to know.
func (s *Store) Blind() bool { return s.blind }

// Up reports whether the server answered when it was last asked.
func (s *Store) Up() bool { return !s.down.Load() }

// Run looks after the server until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		lost, err := s.look(ctx)
		if ctx.Err() == nil {
			if down := err != nil; s.down.Swap(down) != down && down && s.opt.Away != nil {
				s.opt.Away(err)
			}
			if lost && s.opt.Lost != nil {
				s.opt.Lost(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look asks for a sign of life, and whether the root is the one spoken of last.
func (s *Store) look(ctx context.Context) (lost bool, err error) {
	began := s.root.Load()
	if began == nil {
		return false, explain(s.client.Ping(ctx).Err())
	}
	got, err := s.scripts.root.Run(ctx, s.client, []string{keyRoot}, uint32(anyDay)).StringSlice()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	return err == nil && (len(got) != 3 || got[2] != fmt.Sprint(*began)), explain(err)
}

// Close ends all connections.
func (s *Store) Close() error { return s.client.Close() }

// explain joins the client's reasons with the errors that callers branch on.
func explain(err error) error {
	var reply redis.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, gate.ErrLost),
		errors.Is(err, ErrPersists), errors.Is(err, ErrEvicts), errors.Is(err, ErrURL):
		return err
	case !errors.As(err, &reply):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	switch word, _, _ := strings.Cut(err.Error(), " "); word {
	case "OOM":
		return fmt.Errorf("%w: %w", gate.ErrFull, err)
	case "NOAUTH", "WRONGPASS", "NOPERM", "ERR":
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case "LOADING", "BUSY", "MASTERDOWN", "READONLY", "TRYAGAIN", "CLUSTERDOWN":
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}
