package redis

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/postgres"
)

// gates is three nodes of one realm whose clock is set.
type gates struct {
	t     *testing.T
	nodes []*gate.Keeper
	unix  atomic.Int64
	right [32]byte // the credential of the one device there is
}

func newGates(t *testing.T, rd *servers.Redis) *gates {
	t.Helper()
	g := &gates{t: t}
	g.unix.Store(int64(today)*86_400 + 43_200)
	pg := servers.NewPostgres(t, servers.PostgresOptions{})
	for range 3 {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: pg.URL(""), Realm: [32]byte{1}, Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		s, err := Open(t.Context(), Options{URL: rd.URL(0), Random: rand.Reader, Raise: db.Raise})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		k, err := gate.NewKeeper(t.Context(), gate.KeeperConfig{
			Members: db.Members(), Spent: s, Access: gate.ByInvite, Class: 1024, Live: time.Hour, Random: rand.Reader,
			Now: func() time.Time { return time.Unix(g.unix.Load(), 0) }, Failed: func(err error) { t.Logf("a store failed: %v", err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		g.nodes = append(g.nodes, k)
		if len(g.nodes) > 1 {
			continue
		}
		secret, _, err := gate.NewInvite(t.Context(), db.Members(), rand.Reader, 1, today+30)
		if err != nil {
			t.Fatal(err)
		}
		rand.Read(g.right[:])
		hash := gate.CredentialHash(g.right[:])
		if status, _ := call(k.ServeJoin, append(secret[:], hash[:]...)); status != http.StatusNoContent {
			t.Fatalf("joining: got status %d", status)
		}
	}
	return g
}

func call(serve http.HandlerFunc, body []byte) (int, []byte) {
	q := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	w := httptest.NewRecorder()
	serve(w, q)
	return w.Code, w.Body.Bytes()
}

// buy buys today's batch at a node, and returns the status where it is not 200.
func (g *gates) buy(node int) ([]token.Raw, uint32, int) {
	g.t.Helper()
	var seed [32]byte
	rand.Read(seed[:])
	epoch := token.MemberEpoch(g.unix.Load())
	b, err := token.NewBatch(&seed, token.Member, epoch, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	body, err := (&wire.TokenRequest{How: wire.ByCredential, Kind: byte(token.Member), Epoch: epoch, Right: g.right[:], Blinded: b.Blinded()}).Append(nil)
	if err != nil {
		g.t.Fatal(err)
	}
	status, answer := call(g.nodes[node].ServeToken, body)
	if status != http.StatusOK {
		return nil, epoch, status
	}
	issuers, _, err := g.nodes[node].Announced()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, i := range issuers {
		if i.Kind == uint64(token.Member) && i.Epoch == uint64(epoch) {
			all, err := b.Finish(i.Key, answer)
			if err != nil {
				g.t.Fatal(err)
			}
			return all, epoch, status
		}
	}
	g.t.Fatal("the epoch is not announced")
	return nil, 0, 0
}

// spend presents a token at a node for a blob, and returns the status; 0 is good.
func (g *gates) spend(node int, raw token.Raw, epoch uint32, blob byte) int {
	g.t.Helper()
	binding := bytes.Repeat([]byte{blob}, 32)
	p := raw.Present(token.Member, epoch, token.RequestHash(token.Blob, binding))
	q := httptest.NewRequest(http.MethodPost, "/v1/blob", nil)
	q.Header.Set(wire.HeaderToken, p.Header())
	return g.nodes[node].Admit(q, token.Blob, binding)
}

func (g *gates) want(what string, got, want int) {
	g.t.Helper()
	if got != want {
		g.t.Errorf("%s: got status %d, want %d", what, got, want)
	}
}

// A token is honoured once, whichever node it comes to: at once, the day after,
// and after the server that keeps the marks began anew.
func TestNoTokenIsSpentTwiceAtAnyNode(t *testing.T) {
	rd := servers.NewRedis(t)
	g := newGates(t, rd)
	all, epoch, status := g.buy(0)
	g.want("buying", status, 200)
	_, _, status = g.buy(1)
	g.want("buying once more elsewhere", status, http.StatusTooManyRequests)
	g.want("the first spend", g.spend(0, all[0], epoch, 1), 0)
	g.want("the same request elsewhere", g.spend(1, all[0], epoch, 1), 0)
	for node := range 3 {
		g.want("another request", g.spend(node, all[0], epoch, 2), 401)
	}
	g.unix.Add(86_400)
	for node := range 3 {
		g.want("another request the day after", g.spend(node, all[0], epoch, 3), 401)
	}
	g.want("another token the day after", g.spend(2, all[1], epoch, 3), 0)

	rd.Stop()
	g.want("without Redis", g.spend(0, all[2], epoch, 4), http.StatusServiceUnavailable)
	_, _, status = g.buy(0)
	g.want("buying without Redis", status, http.StatusServiceUnavailable)
	if err := rd.Start(); err != nil {
		t.Fatal(err)
	}
	// All that was issued ends: who knows which of it was spent.
	for node := range 3 {
		for i := range 4 {
			g.want("a token of before", g.spend(node, all[i], epoch, byte(10+node)), 401)
		}
	}
	fresh, epoch, status := g.buy(2)
	g.want("buying afterwards", status, 200)
	g.want("a new token", g.spend(1, fresh[0], epoch, 5), 0)
	g.want("the same for another blob", g.spend(0, fresh[0], epoch, 6), 401)
	g.unix.Add(86_400)
	g.want("another the day after", g.spend(0, fresh[1], epoch, 6), 0)
	g.unix.Add(86_400)
	g.want("another when its time is over", g.spend(0, fresh[2], epoch, 6), 401)

	// Of many at once at all nodes one is honoured.
	fresh, epoch, status = g.buy(1)
	g.want("buying", status, 200)
	var good atomic.Int32
	done := make(chan struct{})
	for i := range 30 {
		go func() {
			if g.spend(i%3, fresh[0], epoch, byte(i)) == 0 {
				good.Add(1)
			}
			done <- struct{}{}
		}()
	}
	for range 30 {
		<-done
	}
	if good.Load() != 1 {
		t.Errorf("got %d spends of one token honoured, want 1", good.Load())
	}
}
