package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

// shared is the one server of these tests, made when it is first wanted.
var shared struct {
	once sync.Once
	p    *servers.Postgres
	err  error
	n    atomic.Int32
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.p != nil {
		shared.p.Close()
	}
	os.Exit(code)
}

// fresh returns the URL of an empty place in that server.
func fresh(t *testing.T) string {
	t.Helper()
	shared.once.Do(func() { shared.p, shared.err = servers.StartPostgres(servers.PostgresOptions{}) })
	servers.Given(t, shared.err, "postgresql")
	u, err := shared.p.Schema(fmt.Sprintf("s%d", shared.n.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func open(t *testing.T, url string) *DB {
	t.Helper()
	d, err := Open(t.Context(), Options{URL: url, Realm: [32]byte{1}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestBlobs(t *testing.T) {
	storetest.Blobs(t, func(t *testing.T, max int64) blob.Store { return open(t, fresh(t)).Blobs(max) })
}

// Each call goes to another of three nodes.
func TestBlobsOfThreeNodes(t *testing.T) {
	storetest.Blobs(t, func(t *testing.T, max int64) blob.Store {
		at := fresh(t)
		r := &round{}
		for range 3 {
			r.nodes = append(r.nodes, open(t, at).Blobs(max))
		}
		return r
	})
}

func TestPark(t *testing.T) {
	storetest.Park(t, func(t *testing.T, rows int) park.Store {
		return open(t, fresh(t)).Park(int64(rows)*park.RowCost, &mapKeys{})
	})
}

func TestParkOfThreeNodes(t *testing.T) {
	storetest.Park(t, func(t *testing.T, rows int) park.Store {
		at, keys := fresh(t), &mapKeys{}
		r := &parkRound{}
		for range 3 {
			r.nodes = append(r.nodes, open(t, at).Park(int64(rows)*park.RowCost, keys))
		}
		return r
	})
}

func TestMembers(t *testing.T) {
	storetest.Members(t, func(t *testing.T) gate.Members { return open(t, fresh(t)).Members() })
}

func TestMembersOfThreeNodes(t *testing.T) {
	storetest.Members(t, func(t *testing.T) gate.Members {
		at := fresh(t)
		r := &memberRound{}
		for range 3 {
			r.nodes = append(r.nodes, open(t, at).Members())
		}
		return r
	})
}

// Days of roots rise whoever asks, one at a time.
func TestDaysOfRootsRise(t *testing.T) {
	at := fresh(t)
	var all sync.WaitGroup
	var under atomic.Int32
	var mu sync.Mutex
	days := map[gate.Day]bool{}
	for range 3 {
		d := open(t, at)
		for range 4 {
			all.Go(func() {
				err := d.Raise(t.Context(), 20_000, func(day gate.Day) error {
					if under.Add(1) != 1 {
						t.Error("two are under way at once")
					}
					defer under.Add(-1)
					mu.Lock()
					defer mu.Unlock()
					if days[day] || day < 20_000 {
						t.Errorf("got day %d twice, or too early", day)
					}
					days[day] = true
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if len(days) != 12 {
		t.Errorf("got %d days, want 12", len(days))
	}
	fault := errors.New("fault")
	d := open(t, at)
	if err := d.Raise(t.Context(), 30_000, func(gate.Day) error { return fault }); !errors.Is(err, fault) {
		t.Errorf("got %v, want %v", err, fault)
	}
	if err := d.Raise(t.Context(), 30_000, func(day gate.Day) error {
		if day != 30_001 {
			t.Errorf("got day %d after one that came to nothing, want 30001", day)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
