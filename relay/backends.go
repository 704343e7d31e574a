package relay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/postgres"
	"github.com/tacet-chat/tacet/relay/internal/redis"
)

// backends is what the nodes of a realm share. The zero value is none.
type backends struct {
	db    *postgres.DB
	redis *redis.Store
}

// maxSecret is the largest file with a URL, in bytes.
const maxSecret = 4096

// checkShared says what is wrong with store and redis.
func (c *Config) checkShared(bad func(keyName, hint string) error) error {
	needs := ""
	for _, role := range []string{RolePark, RoleToken} {
		if slices.Contains(c.Roles, role) {
			needs = role
		}
	}
	switch {
	case c.Store != "" && !isPlace(c.Store, "postgres", "postgresql"):
		return bad("store", `store is such as "postgres://tacet@db.example/tacet", or "file:/path" or "env:NAME" where that stands`)
	case c.Redis != "" && !isPlace(c.Redis, "redis", "rediss", "unix"):
		return bad("redis", `redis is such as "rediss://:password@redis.example:6379/0", or "file:/path" or "env:NAME" where that stands`)
	case c.Redis != "" && c.Store == "":
		return &Problem{errors.New("redis is set, and store is not"), "a realm of several nodes needs both; one node needs neither"}
	case c.Store != "" && c.Data == "":
		return &Problem{errors.New("store needs a data directory"), "the realm key lies in it: without one every start is another realm, and the database is one realm's"}
	case c.Store != "" && c.Redis == "" && needs != "":
		return &Problem{fmt.Errorf("roles: %q with store needs redis", needs), "set redis: spent tokens and the keys of parked cells live there"}
	case c.clustered() && c.Store == "" && needs != "":
		return &Problem{fmt.Errorf("roles: nodes of a cluster share %q only through store and redis", needs), fmt.Sprintf("set store and redis on every node (docs/scale.md), or take %q out of the roles of every node", needs)}
	}
	return nil
}

// isPlace reports whether text is a URL of one of the schemes, or says where one stands.
func isPlace(text string, schemes ...string) bool {
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		return strings.HasPrefix(path, "/")
	}
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		return name != ""
	}
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme)
}

// place returns the URL that a key of the configuration says or leads to.
func place(keyName, text string) (string, error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		if text = os.Getenv(name); text == "" {
			return "", &Problem{fmt.Errorf("%s: the environment has no %s", keyName, name), "set it for the relay, to a URL"}
		}
		return text, nil
	}
	path, ok := strings.CutPrefix(text, "file:")
	if !ok {
		return text, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", &Problem{fmt.Errorf("%s: %w", keyName, err), "the relay must be able to read the file with the URL"}
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if info.Mode().Perm()&0o007 != 0 {
		return "", &Problem{fmt.Errorf("%s: %s %w", keyName, path, ErrOpen), "chmod 600 " + path}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	defer clear(b)
	if err != nil {
		return "", fmt.Errorf("%s: %w", keyName, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// openShared connects to what nodes share, if they do.
func (r *Relay) openShared() error {
	if r.cfg.Store == "" {
		return nil
	}
	at, err := place("store", r.cfg.Store)
	if err != nil {
		return err
	}
	r.shared.db, err = postgres.Open(context.Background(), postgres.Options{URL: at, Realm: r.Fingerprint(), Random: rand.Reader, Away: r.sharedAway("postgres")})
	if err != nil {
		return adviseShared(err)
	}
	if r.shared.db.Renewed() {
		r.log.Warn(eventRenewed)
	}
	if r.cfg.Redis == "" {
		return nil
	}
	if at, err = place("redis", r.cfg.Redis); err != nil {
		return err
	}
	r.shared.redis, err = redis.Open(context.Background(), redis.Options{
		URL: at, Random: rand.Reader, Raise: r.shared.db.Raise, Away: r.sharedAway("redis"), Lost: r.rootLost,
	})
	return adviseShared(err)
}

// sharedAway writes down that a server does not answer.
func (r *Relay) sharedAway(which string) func(error) {
	return func(error) {
		if r.seldom.allow(eventAway+which, time.Now()) {
			r.log.Error(eventAway, "store", which)
		}
	}
}

// rootLost has the keeper read the new root: else this node would announce the
// keys of the old one until somebody pays here.
func (r *Relay) rootLost(ctx context.Context) {
	if r.keeper == nil {
		return
	}
	if err := r.keeper.Reload(ctx); err != nil {
		r.gateFailed(err)
	}
}

// runShared looks after what nodes share, below everything that uses it.
func (r *Relay) runShared(parts *group) {
	if r.shared.db != nil {
		parts.run(func(ctx context.Context) error { return adviseShared(r.shared.db.Run(ctx)) })
	}
	if r.shared.redis != nil {
		parts.run(r.shared.redis.Run)
	}
}

func (r *Relay) closeShared() error {
	var err error
	if r.shared.redis != nil {
		err = r.shared.redis.Close()
	}
	if r.shared.db != nil {
		r.shared.db.Close()
	}
	r.shared = backends{}
	return err
}

// adviseShared says what to do about a server that nodes share.
func adviseShared(err error) error {
	var p *Problem
	hint := ""
	switch {
	case err == nil || errors.As(err, &p):
		return err
	case errors.Is(err, postgres.ErrURL):
		hint = `store is such as "postgres://tacet@db.example/tacet"`
	case errors.Is(err, redis.ErrURL):
		hint = `redis is such as "rediss://:password@redis.example:6379/0"`
	case errors.Is(err, postgres.ErrPlain):
		hint = "say sslmode=verify-full in store; sslmode=disable if the way to the server is protected otherwise"
	case errors.Is(err, postgres.ErrNewer):
		hint = "a newer tacet-relay made this database: install that version on every node"
	case errors.Is(err, postgres.ErrForeign):
		hint = "this database belongs to another realm or program: all nodes have one realm.key, and each realm a database of its own"
	case errors.Is(err, postgres.ErrReplaced):
		hint = "start every node again: each then signs with the key of the database that is there"
	case errors.Is(err, postgres.ErrRefused):
		hint = "look at user, password and database in store; the user must own the database, or its schema (docs/scale.md)"
	case errors.Is(err, redis.ErrRefused):
		hint = "look at user and password in redis; the relay needs scripts, INFO, and keys that begin with {tacet}: (docs/scale.md)"
	case errors.Is(err, redis.ErrPersists):
		hint = `set save "" and appendonly no in redis.conf: what must be forgotten would stay on its disk`
	case errors.Is(err, redis.ErrEvicts):
		hint = "set maxmemory-policy noeviction in redis.conf: a spent token that is forgotten could be spent again"
	case errors.Is(err, gate.ErrAway):
		hint = "start the server, or correct its address; nothing is lost meanwhile: senders keep what is not delivered"
	default:
		return err
	}
	return &Problem{err, hint}
}

// SharedStatus is how a server that nodes share was found last.
type SharedStatus struct {
	Name string `json:"name"` // postgres or redis
	Up   bool   `json:"up"`
}

// sharedStatus is nil where nodes share nothing.
func (r *Relay) sharedStatus() (all []SharedStatus) {
	if r.shared.db != nil {
		all = append(all, SharedStatus{"postgres", r.shared.db.Up()})
	}
	if r.shared.redis != nil {
		all = append(all, SharedStatus{"redis", r.shared.redis.Up()})
	}
	return all
}

// checkBackends looks at the servers that nodes share.
func checkBackends(ctx context.Context, cfg *Config, s Status, running bool) (checks []Check) {
	for _, c := range []struct {
		name, keyName, text string
		look                func(at string) error
		plain               func(u *url.URL) bool
	}{
		{"postgres", "store", cfg.Store, func(at string) error {
			realm, err := fingerprint(cfg.Data)
			if err != nil {
				return err
			}
			return postgres.Check(ctx, postgres.Options{URL: at, Realm: realm})
		}, func(u *url.URL) bool { return !postgres.Local(u) && u.Query().Get("sslmode") == "disable" }},
		{"redis", "redis", cfg.Redis, func(at string) error {
			store, err := redis.Open(ctx, redis.Options{URL: at, Random: rand.Reader})
			if err != nil {
				return err
			}
			defer store.Close()
			if store.Blind() {
				return errBlind
			}
			return nil
		}, func(u *url.URL) bool { return u.Scheme == "redis" && !postgres.Local(u) }},
	} {
		if c.text == "" {
			continue
		}
		at, err := place(c.keyName, c.text)
		if err == nil {
			err = c.look(at)
		}
		u, _ := url.Parse(at)
		switch {
		case errors.Is(err, errBlind):
			checks = append(checks, Check{c.name, Warn, "it answers, and does not say how it is set up", `see to it that save is "", appendonly no, and maxmemory-policy noeviction`})
		case err != nil:
			checks = append(checks, problem(c.name, adviseShared(err)))
		case running && slices.ContainsFunc(s.Shared, func(x SharedStatus) bool { return x.Name == c.name && !x.Up }):
			checks = append(checks, Check{c.name, Warn, "it answers, and the running relay did not reach it a moment ago", "ask again in half a minute; if it is still so, look at firewalls between"})
		case u != nil && c.plain(u):
			checks = append(checks, Check{c.name, Warn, "it answers, without TLS", "let the way to it be a private network or a tunnel, or use TLS"})
		default:
			checks = append(checks, Check{c.name, OK, "it answers, and is set up as it must be", ""})
		}
	}
	return checks
}

// fingerprint reads that of the realm key. It is zeros where there is no key yet.
func fingerprint(data string) (f [32]byte, err error) {
	b, err := os.ReadFile(filepath.Join(data, keyFile))
	defer clear(b)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	} else if err != nil {
		return f, advise(err, data)
	}
	k, err := parseRealmKey(b)
	if err != nil {
		return f, err
	}
	defer k.Wipe()
	public := key.SignPublicOf(k)
	return sha256.Sum256(public[:]), nil
}

// errBlind: a Redis server does not say how it is set up.
var errBlind = errors.New("the server does not say how it is set up")
