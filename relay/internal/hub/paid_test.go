package hub

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// purse makes a keeper and buys tokens of today from it.
func purse(t *testing.T, live time.Duration) (*gate.Keeper, func(p token.Purpose, id []byte) string) {
	t.Helper()
	store := memory.NewGate(10_000, rand.Reader)
	k, err := gate.NewKeeper(t.Context(), gate.KeeperConfig{
		Members: store, Spent: store, Access: gate.ByInvite, Class: 1024, Live: live, Now: time.Now, Random: rand.Reader, Failed: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	credential := [32]byte{1}
	if err := store.AddInvite(t.Context(), gate.Invite{Uses: 1, Last: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if err := store.Join(t.Context(), [32]byte{}, gate.CredentialHash(credential[:]), 0); err != nil {
		t.Fatal(err)
	}
	epoch := token.MemberEpoch(time.Now().Unix())
	b, err := token.NewBatch(&[32]byte{2}, token.Member, epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	body, err := (&wire.TokenRequest{How: wire.ByCredential, Kind: byte(token.Member), Epoch: epoch, Right: credential[:], Blinded: b.Blinded()}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	k.ServeToken(w, httptest.NewRequest(http.MethodPost, "/v1/token", bytes.NewReader(body)))
	issuers, _, err := k.Announced()
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("buying: got status %d, %v", w.Code, err)
	}
	list, err := b.Finish(issuers[min(1, epoch)].Key, w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return k, func(p token.Purpose, id []byte) string {
		x := list[0].Present(token.Member, epoch, token.RequestHash(p, id))
		list = list[1:]
		return x.Header()
	}
}

// bearing is a path with headers behind it, for open and do.
func bearing(path string, id []byte, token string) string {
	path += " HTTP/1.1\r\nTacet-Context: " + base64.RawURLEncoding.EncodeToString(id)
	if token != "" {
		path += "\r\nTacet-Token: " + token
	}
	return path + "\r\nRest:"
}

// paid runs a test of a hub that wants tokens, in a bubble of its own time.
func paid(t *testing.T, cfg Config, test func(t *testing.T, w *world, pay func(token.Purpose, []byte) string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var pay func(token.Purpose, []byte) string
		cfg.Keeper, pay = purse(t, cfg.Live)
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		test(t, newWorld(t, cfg, p, p.dial), pay)
	})
}

func idOf(n byte) []byte { return bytes.Repeat([]byte{n}, wire.ContextSize) }

// A context is paid once and has 128 cells, over as many connections as it takes,
// by POST too; then, and after its period, whoever goes on is sent away.
func TestAPaidContextHasSoManyCells(t *testing.T) {
	const live = 30 * time.Minute
	paid(t, Config{WindowBytes: 1 << 20, Live: live}, func(t *testing.T, w *world, pay func(token.Purpose, []byte) string) {
		k := owner(t)
		if got := w.get("/v1/put", upgradeHeaders).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("nothing: got status %d, want 401", got)
		}
		if got := w.get(bearing("/v1/put", idOf(1), ""), upgradeHeaders).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("a context that was not paid: got status %d, want 401", got)
		}
		p := w.open(bearing("/v1/put", idOf(1), pay(token.PutContext, idOf(1))))
		for n := range uint64(100) {
			p.send(putFrame(k, n))
		}
		p.answers(100)
		p.nc.Close()
		p = w.open(bearing("/v1/put", idOf(1), ""))
		for n := range uint64(20) {
			p.send(putFrame(k, n))
		}
		p.answers(20)
		body := append(idOf(1), putFrame(k, 7)...)
		for n, want := range []int{200, 200, 200, 200, 200, 200, 200, 200, 429} { // eight are left
			if got := w.post(body).StatusCode; got != want {
				t.Fatalf("POST %d: got status %d, want %d", n, got, want)
			}
		}
		p.send(putFrame(k, 21))
		if code, _ := p.end(); code != ws.Policy {
			t.Errorf("one cell more: got close code %d, want %d", code, ws.Policy)
		}
		if got := w.post(append(idOf(2), putFrame(k, 1)...)).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("POST of a context that was not paid: got status %d, want 401", got)
		}

		p = w.open(bearing("/v1/put", idOf(3), pay(token.PutContext, idOf(3))))
		p.pong.Store(true)
		p.send(putFrame(k, 0))
		p.answers(1)
		time.Sleep(live) // its client's clock may be slow
		p.send(putFrame(k, 1))
		p.answers(1)
		time.Sleep(live)
		p.send(putFrame(k, 2))
		if code, _ := p.end(); code != ws.Policy {
			t.Errorf("after its period: got close code %d, want %d", code, ws.Policy)
		}
		if got := w.get(bearing("/v1/put", idOf(3), ""), upgradeHeaders).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("resumed in the next period: got status %d, want 401", got)
		}
	})
}

func TestAWatchIsPaid(t *testing.T) {
	paid(t, Config{Live: time.Hour}, func(t *testing.T, w *world, pay func(token.Purpose, []byte) string) {
		if got := w.get("/v1/watch", upgradeHeaders).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("nothing: got status %d, want 401", got)
		}
		if got := w.get(bearing("/v1/watch", idOf(1), pay(token.PutContext, idOf(1))), upgradeHeaders).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("a token of a put: got status %d, want 401", got)
		}
		p := w.open(bearing("/v1/watch", idOf(1), pay(token.Watch, idOf(1))))
		p.want(ws.Binary) // the greeting
	})
}
