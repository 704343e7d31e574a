package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

const today gate.Day = 20_000

// shared is the one server of these tests, made when it is first wanted.
var shared struct {
	once sync.Once
	r    *servers.Redis
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.r != nil {
		shared.r.Close()
	}
	os.Exit(code)
}

// emptied returns the URL of that server, with nothing in it.
func emptied(t *testing.T) string {
	t.Helper()
	shared.once.Do(func() { shared.r, shared.err = servers.StartRedis() })
	servers.Given(t, shared.err, "redis-server")
	s := open(t, shared.r.URL(0), &raise{})
	if err := s.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return shared.r.URL(0)
}

// raise counts days as the database of a realm does.
type raise struct {
	mu   sync.Mutex
	last gate.Day
}

func (r *raise) run(_ context.Context, at gate.Day, make func(gate.Day) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last+1, at)
	return make(r.last)
}

func open(t *testing.T, at string, r *raise) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: at, Random: rand.Reader, Raise: r.run})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func root(t *testing.T, s *Store) gate.Root {
	t.Helper()
	r, err := s.Root(t.Context(), today, today)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSpent(t *testing.T) {
	storetest.Spent(t, func(t *testing.T) gate.Spent {
		s := open(t, emptied(t), &raise{})
		return clocked{s, setClock(t, s)}
	})
}

// clocked is a store at a server whose clock is set.
type clocked struct {
	gate.Spent
	setDay func(gate.Day)
}

func (c clocked) SetDay(day gate.Day) { c.setDay(day) }

// setClock has the scripts of some nodes take for the server's clock what is set.
func setClock(t *testing.T, nodes ...*Store) (set func(gate.Day)) {
	const at = "{test}:clock"
	for _, s := range nodes {
		s.scripts = newScripts(`tonumber(redis.call('GET', '` + at + `'))`)
	}
	set = func(day gate.Day) {
		t.Helper()
		if err := nodes[0].client.Set(t.Context(), at, uint64(day)*86_400+5, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set(today)
	return set
}

// round is several nodes, asked one after the other.
type round struct {
	nodes []*Store
	n     atomic.Uint32
}

func (r *round) next() *Store { return r.nodes[int(r.n.Add(1))%len(r.nodes)] }

func (r *round) Root(ctx context.Context, began, now gate.Day) (got gate.Root, err error) {
	for range r.nodes { // each must have asked before it spends
		if got, err = r.next().Root(ctx, began, now); err != nil {
			return got, err
		}
	}
	return got, nil
}

func (r *round) Spend(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	return r.next().Spend(ctx, m)
}

func (r *round) Issue(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	return r.next().Issue(ctx, m)
}

func (r *round) Sweep(ctx context.Context, day gate.Day) error { return r.next().Sweep(ctx, day) }

func TestSpentOfThreeNodes(t *testing.T) {
	storetest.Spent(t, func(t *testing.T) gate.Spent {
		at, days, r := emptied(t), &raise{}, &round{}
		for range 3 {
			r.nodes = append(r.nodes, open(t, at, days))
		}
		return clocked{r, setClock(t, r.nodes...)}
	})
}

func TestAnIdenticalRequestIsKnownForAWhile(t *testing.T) {
	s := open(t, emptied(t), &raise{})
	root(t, s)
	m := gate.Mark{Until: today + 2, Hash: 1, Request: 2}
	for _, want := range []gate.Verdict{gate.First, gate.Again, gate.Again} {
		if v, err := s.Spend(t.Context(), m); v != want || err != nil {
			t.Errorf("got verdict %d, %v, want %d", v, err, want)
		}
	}
	keys, err := s.client.Keys(t.Context(), keyOnce+"*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("got %d keys, %v, want one", len(keys), err)
	}
	if left, err := s.client.TTL(t.Context(), keys[0]).Result(); err != nil || left <= 0 || left > 120*time.Second {
		t.Errorf("got %v left, %v, want at most 120 s", left, err)
	}
	if err := s.client.Del(t.Context(), keys[0]).Err(); err != nil { // as time does
		t.Fatal(err)
	}
	if v, err := s.Spend(t.Context(), m); v != gate.Other || err != nil {
		t.Errorf("after that: got verdict %d, %v, want %d", v, err, gate.Other)
	}
}

// One clock that is wrong, a node's or the server's, takes no mark from anybody, and
// no root. Only if both are wrong are all tokens given up.
func TestOneWrongClockCostsNobodyElse(t *testing.T) {
	at, days := emptied(t), &raise{}
	a, b := open(t, at, days), open(t, at, days)
	setDay := setClock(t, a, b)
	r := root(t, a)
	root(t, b)
	var n uint64
	want := func(what string, s *Store, until, now gate.Day, hash uint64, want gate.Verdict, wantErr error) {
		t.Helper()
		if v, err := s.Spend(t.Context(), gate.Mark{Until: until, Today: now, Hash: hash, Request: n}); v != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: got verdict %d, %v, want %d, %v", what, v, err, want, wantErr)
		}
		n++ // no request comes again
	}
	sweep := func(s *Store, now gate.Day) {
		t.Helper()
		if err := s.Sweep(t.Context(), now); err != nil {
			t.Error(err)
		}
	}
	same := func(what string, s *Store, now gate.Day) {
		t.Helper()
		if got, err := s.Root(t.Context(), now, now); err != nil || got != r {
			t.Errorf("%s: got another root, %v", what, err)
		}
	}
	want("a token", a, today+2, today, 1, gate.First, nil)
	sweep(a, today+9)
	want("spent, after a node swept nine days ahead", b, today+2, today, 1, gate.Other, nil)
	want("not spent, after that", b, today+2, today, 2, gate.First, nil)
	same("a node that is ahead", a, today+9)

	sweep(b, today)
	want("at a node that is behind: its tokens are over", a, today-1, today-9, 3, gate.Other, nil)
	want("at a node that is behind: tokens of others", a, today+2, today-9, 4, gate.First, nil)
	same("a node that is behind", a, today-9)

	setDay(today + 9)
	sweep(b, today)
	want("spent, after the server was ahead", b, today+2, today, 1, gate.Other, nil)
	want("not spent, after that", b, today+2, today, 5, gate.First, nil)
	setDay(today - 9)
	sweep(b, today)
	want("spent, while the server is behind", b, today+2, today, 1, gate.Other, nil)
	want("not spent, while the server is behind", b, today+2, today, 6, gate.First, nil)
	want("over, while the server is behind", b, today, today, 7, gate.Other, nil)
	same("a server that is behind", b, today)

	setDay(today + 9)
	sweep(a, today+9)
	want("after both were ahead, at a node that was not", b, today+2, today, 1, gate.Other, nil)
	same("a server that is still ahead", b, today)
	setDay(today)
	want("when both went back", b, today+2, today, 1, 0, gate.ErrLost)
	if got, err := b.Root(t.Context(), today, today); err != nil || got.Seed == r.Seed || got.Began <= r.Began {
		t.Errorf("got a root of day %d after one of %d, %v, want a new one", got.Began, r.Began, err)
	}
	want("bought anew", b, today+2, today, 1, gate.First, nil)
	want("at a node that has not heard of it", a, today+2, today, 1, 0, gate.ErrLost)
}

// Whatever becomes of the server, a mark that may be lost takes the root with it.
func TestALostServerIsANewRoot(t *testing.T) {
	r := servers.NewRedis(t)
	days := &raise{}
	a, b := open(t, r.URL(0), days), open(t, r.URL(0), days)
	m := gate.Mark{Until: today + 2, Hash: 1, Request: 2}
	first := root(t, a)
	restart := func(end func()) func() error {
		return func() error { end(); return r.Start() }
	}
	for name, lose := range map[string]func() error{
		"stopped": restart(r.Stop), "killed": restart(r.Kill),
		"emptied": func() error { return a.client.FlushAll(t.Context()).Err() },
		// A server that comes back with what it had may lack the last of it.
		"put back from a copy": func() error {
			had := a.client.HGetAll(t.Context(), keyRoot).Val()
			r.Kill()
			if err := r.Start(); err != nil {
				return err
			}
			return a.client.HSet(t.Context(), keyRoot, had).Err()
		},
	} {
		before := root(t, a)
		if again := root(t, b); again != before {
			t.Fatalf("%s: two nodes have two roots", name)
		}
		if v, err := b.Spend(t.Context(), m); err != nil || v != gate.First {
			t.Fatalf("%s: got verdict %d, %v", name, v, err)
		}
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Store{a, b} {
			if v, err := s.Spend(t.Context(), m); !errors.Is(err, gate.ErrLost) {
				t.Errorf("%s: got verdict %d, %v, want %v", name, v, err, gate.ErrLost)
			}
			if v, err := s.Issue(t.Context(), m); !errors.Is(err, gate.ErrLost) {
				t.Errorf("%s: issuing: got verdict %d, %v, want %v", name, v, err, gate.ErrLost)
			}
		}
		after := root(t, b)
		if after.Seed == before.Seed || after.Key == before.Key || after.Began <= before.Began {
			t.Errorf("%s: got the seed or the key again, or day %d after day %d", name, after.Began, before.Began)
		}
		if _, err := a.Spend(t.Context(), m); !errors.Is(err, gate.ErrLost) {
			t.Errorf("%s: a node that did not ask for the new root: got %v, want %v", name, err, gate.ErrLost)
		}
		// A token can have been checked just before another call read the new root.
		late := m
		late.Root = before.Began
		for _, do := range []func(context.Context, gate.Mark) (gate.Verdict, error){b.Spend, b.Issue} {
			if v, err := do(t.Context(), late); !errors.Is(err, gate.ErrLost) {
				t.Errorf("%s: a mark of the root before: got verdict %d, %v, want %v", name, v, err, gate.ErrLost)
			}
		}
	}
	if first == root(t, a) {
		t.Error("got the first root at the end")
	}
}

func TestAServerThatIsNotThereIsTold(t *testing.T) {
	r := servers.NewRedis(t)
	s := open(t, r.URL(0), &raise{})
	root(t, s)
	r.Stop()
	if _, err := s.Spend(t.Context(), gate.Mark{Until: today + 1, Hash: 1, Request: 1}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want %v", err, ErrUnreachable)
	}
	if _, err := s.Root(t.Context(), today, today); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want %v", err, ErrUnreachable)
	}
}

func wantOpenErr(t *testing.T, at string, want error) error {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: at, Random: rand.Reader, Raise: new(raise).run})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("opening: got %v, want %v", err, want)
	}
	return err
}

func TestAServerThatKeepsOrForgetsIsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want error
	}{
		{[]string{"--save", "60 1"}, ErrPersists},
		{[]string{"--appendonly", "yes"}, ErrPersists},
		{[]string{"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"}, ErrEvicts},
		{[]string{"--maxmemory-policy", "allkeys-lru"}, nil}, // it has no bound
	} {
		wantOpenErr(t, servers.NewRedis(t, c.args...).URL(0), c.want)
	}
	silent := servers.NewRedis(t, "--rename-command", "CONFIG", "")
	if s := open(t, silent.URL(0), &raise{}); !s.Blind() {
		t.Error("got a server that tells, want one that does not")
	}
}

// A full server must say so and forget nothing.
func TestAFullServerSpendsNothingAndForgetsNothing(t *testing.T) {
	r := servers.NewRedis(t, "--maxmemory", "3mb")
	s := open(t, r.URL(0), &raise{})
	root(t, s)
	spent := uint64(0)
	for ; spent < 1<<20; spent++ {
		v, err := s.Spend(t.Context(), gate.Mark{Until: today + 1, Hash: spent, Request: 1})
		if errors.Is(err, gate.ErrFull) {
			break
		}
		if err != nil || v != gate.First {
			t.Fatalf("mark %d: got verdict %d, %v", spent, v, err)
		}
	}
	t.Logf("%d tokens in 3 MiB", spent)
	if spent == 0 || spent == 1<<20 {
		t.Fatalf("got %d tokens in 3 MiB", spent)
	}
	if err := s.Sweep(t.Context(), today); err != nil {
		t.Errorf("sweeping a full server: %v", err)
	}
	if swept, err := s.client.HGet(t.Context(), keyRoot, "swept").Int(); err != nil || gate.Day(swept) != today {
		t.Errorf("got %d as the day that was swept, %v, want %d", swept, err, today)
	}
	if err := s.client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{0, spent / 2, spent - 1} {
		if v, err := s.Spend(t.Context(), gate.Mark{Until: today + 1, Hash: n, Request: 9}); err != nil || v != gate.Other {
			t.Errorf("mark %d: got verdict %d, %v, want %d", n, v, err, gate.Other)
		}
	}
	if v, err := s.Spend(t.Context(), gate.Mark{Until: today + 1, Hash: spent, Request: 9}); err != nil || v != gate.First {
		t.Errorf("the refused one: got verdict %d, %v, want %d", v, err, gate.First)
	}
}

// A password must not be read in an error, wherever the fault is.
func TestErrorsKeepThePassword(t *testing.T) {
	const password = "hunter2hunter2"
	r := servers.NewRedis(t, "--requirepass", "another")
	for at, want := range map[string]error{
		"redis://tacet:" + password + "@127.0.0.1:1/0":                        ErrUnreachable,
		"redis://:" + password + "@nowhere.invalid:6379/0":                    ErrUnreachable,
		"redis://:" + password + "@127.0.0.1:port/0":                          ErrURL,
		"redis://:" + password + "@127.0.0.1/" + password:                     ErrURL,
		"http://:" + password + "@127.0.0.1/0":                                ErrURL,
		"redis://:%" + password + "@127.0.0.1/0":                              ErrURL,
		"127.0.0.1:6379," + password:                                          ErrURL,
		"redis://127.0.0.1/0?read_timeout=" + password:                        ErrURL,
		strings.Replace(r.URL(0), "unix://", "unix://tacet:"+password+"@", 1): ErrRefused,
		r.URL(0): ErrRefused,
	} {
		if err := wantOpenErr(t, at, want); err != nil && strings.Contains(err.Error(), password[:7]) {
			t.Errorf("the password is in %q", err)
		}
	}
}
