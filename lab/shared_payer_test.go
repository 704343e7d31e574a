//go:build unix

package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/lab/servers"
)

// sharedWorld is three nodes for members alone, with one PostgreSQL and one Redis.
type sharedWorld struct {
	*cluster
	pg   *servers.Postgres
	rd   *servers.Redis
	name string // that leads to any node
	http *http.Client
}

func newSharedWorld(t *testing.T, config string) *sharedWorld {
	t.Helper()
	w := &sharedWorld{pg: servers.NewPostgres(t, servers.PostgresOptions{}), rd: servers.NewRedis(t)}
	w.cluster = newCluster(t, 3, func(int) string {
		return fmt.Sprintf("roles = ['live', 'blob', 'park']\nstore = '%s'\nredis = '%s'\n%s\n", w.pg.URL(""), w.rd.URL(0), config)
	}, nil)
	w.name = w.lobby.ln.Addr().String()
	w.http = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}} // each call to any node
	return w
}

// post makes a call to some node, or to this one.
func (w *sharedWorld) post(ctx context.Context, at, path string, body []byte, headers ...string) (int, []byte, error) {
	if at == "" {
		at = w.name
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.http.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// payer is a member with a purse in memory. It implements transport.Payer.
type payer struct {
	w     *sharedWorld
	right [32]byte

	mu     sync.Mutex // guards all below
	said   transport.Announcement
	tokens []held
	part   byte         // of the next purchase
	batch  *token.Batch // of the purchase under way: it is asked for until there is an answer
	epoch  uint32
	lost   int // tokens that ended with their seed
}

type held struct {
	raw   token.Raw
	epoch uint32
}

// join makes a member by an invite that the operator made.
func (w *sharedWorld) join(t testing.TB) *payer {
	t.Helper()
	var secret [32]byte
	p := &payer{w: w}
	rand.Read(secret[:])
	rand.Read(p.right[:])
	invite, credential := key.Hash("tacet/v1/gate/invite", secret[:]), key.Hash("tacet/v1/gate/credential", p.right[:])
	if err := w.pg.SQL(fmt.Sprintf("INSERT INTO invite VALUES ('\\x%x', 1, 100000)", invite)); err != nil {
		t.Fatal(err)
	}
	if status, _, err := w.post(w.ctx, "", "/v1/member", append(secret[:], credential[:]...)); err != nil || status != http.StatusNoContent {
		t.Fatalf("joining: got status %d, %v", status, err)
	}
	return p
}

// Announced notes the keys. A node that has not heard of a new seed is not paid.
func (p *payer) Announced(_ context.Context, a transport.Announcement) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.Since < p.said.Since {
		return transport.ErrBusy
	}
	if a.Since > p.said.Since {
		p.lost += len(p.tokens)
		p.tokens, p.part, p.batch = nil, 0, nil
	}
	p.said = a
	return nil
}

func (p *payer) Ready(context.Context, transport.Purpose) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tokens) == 0 {
		return transport.ErrEmpty
	}
	return nil
}

func (p *payer) Pay(_ context.Context, for_ transport.Purpose, binding []byte) ([]byte, error) {
	h, ok := p.take()
	if !ok {
		return nil, transport.ErrEmpty
	}
	presented := h.raw.Present(token.Member, h.epoch, token.RequestHash(token.Purpose(for_), binding))
	return presented.Append(nil), nil
}

func (p *payer) take() (h held, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tokens) == 0 {
		return h, false
	}
	h = p.tokens[len(p.tokens)-1]
	p.tokens = p.tokens[:len(p.tokens)-1]
	return h, true
}

// shop buys a part whenever few tokens are left, until ctx ends.
func (p *payer) shop(ctx context.Context, look func(context.Context)) {
	for ctx.Err() == nil {
		if p.buy(ctx) {
			look(ctx) // perhaps there are new keys
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// buy reports whether it wanted something and did not get it.
func (p *payer) buy(ctx context.Context) (failed bool) {
	p.mu.Lock()
	if len(p.tokens) > 100 {
		p.mu.Unlock()
		return false
	}
	if p.batch == nil {
		var seed [32]byte
		rand.Read(seed[:])
		p.epoch = token.MemberEpoch(time.Now().Unix())
		p.batch, _ = token.NewBatch(&seed, token.Member, p.epoch, p.part)
	}
	batch, epoch, said := p.batch, p.epoch, p.said
	body, err := (&wire.TokenRequest{How: wire.ByCredential, Kind: byte(token.Member), Epoch: epoch, Part: p.part, Right: p.right[:], Blinded: batch.Blinded()}).Append(nil)
	p.mu.Unlock()
	i := slices.IndexFunc(said.Issuers, func(i transport.Issuer) bool { return i.Kind == byte(token.Member) && i.Epoch == epoch })
	if err != nil || i < 0 {
		return true
	}
	status, answer, err := p.w.post(ctx, "", "/v1/token", body)
	if err != nil || status != http.StatusOK {
		return true
	}
	all, err := batch.Finish(said.Issuers[i].Key, answer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.batch != batch || said.Since != p.said.Since {
		return true
	}
	if err != nil { // made under a seed that we have not heard of yet
		return true
	}
	for _, raw := range all {
		p.tokens = append(p.tokens, held{raw, epoch})
	}
	p.part++
	p.batch = nil
	return false
}

// cheat spends tokens, and then presents each again and again for something
// else, at all nodes, whatever happens to these meanwhile.
type cheat struct {
	w    *sharedWorld
	pay  *payer
	look func(context.Context) // for new keys
	mine []held                // that were honoured

	honoured, refused, unsure int
}

// run cheats until ctx ends.
func (c *cheat) run(ctx context.Context, t testing.TB) {
	for n := 0; ctx.Err() == nil; n++ {
		if h, ok := c.pay.take(); ok && n%4 == 0 {
			switch status, _ := c.present(ctx, h); status {
			case http.StatusOK:
				c.mine = append(c.mine, h)
				c.honoured++
			case http.StatusUnauthorized:
				c.look(ctx) // it is of a seed that ended
			}
		}
		if len(c.mine) > 0 {
			h := c.mine[(n*7)%len(c.mine)]
			switch status, err := c.present(ctx, h); {
			case err != nil || status == http.StatusServiceUnavailable:
				c.unsure++
			case status == http.StatusUnauthorized:
				c.refused++
			case status == http.StatusOK:
				t.Error("a token that was spent was honoured for something else")
			default:
				t.Errorf("a token that was spent: got status %d", status)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(60 * time.Millisecond):
		}
	}
}

// present opens a new put context with a token, to park a cell for nobody.
func (c *cheat) present(ctx context.Context, h held) (status int, err error) {
	var id [wire.ContextSize]byte
	var item wire.ParkItem
	rand.Read(id[:])
	rand.Read(item.Address[:])
	rand.Read(item.Cell[:])
	item.Hours = 1
	body, err := wire.AppendPark(nil, id, []wire.ParkItem{item})
	if err != nil {
		return 0, err
	}
	presented := h.raw.Present(token.Member, h.epoch, token.RequestHash(token.PutContext, id[:]))
	status, _, err = c.w.post(ctx, "", "/v1/park", body, wire.HeaderToken, presented.Header())
	return status, err
}
