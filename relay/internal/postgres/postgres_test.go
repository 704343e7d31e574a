package postgres

import (
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/blob"
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
