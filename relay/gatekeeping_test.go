package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wake"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// gated is a relay that wants tokens, over its real listener, with a clock that is set.
type gated struct {
	*Relay
	t    *testing.T
	url  string
	log  *bytes.Buffer
	unix *atomic.Int64
	stop func()
}

const aDay = 86_400

func startGated(t *testing.T, dir string, unix *atomic.Int64, change func(*Config)) *gated {
	t.Helper()
	cfg := Default()
	log := new(bytes.Buffer)
	cfg.Listen, cfg.Data, cfg.Gate, cfg.Log = "127.0.0.1:0", dir, "invite", log
	cfg.Now = func() time.Time { return time.Unix(unix.Load(), 0) }
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	g := &gated{Relay: r, t: t, url: "http://" + at.String(), log: log, unix: unix}
	stopped := false
	g.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-done; err != nil {
				t.Errorf("running: %v", err)
			}
		}
	}
	t.Cleanup(g.stop)
	return g
}

func (g *gated) call(method, path string, body []byte, headers ...string) (int, []byte) {
	g.t.Helper()
	q, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, b
}

// says returns the descriptor, whose signature is checked.
func (g *gated) says() wire.Descriptor {
	g.t.Helper()
	status, b := g.call(http.MethodGet, "/v1/realm", nil)
	d, sig, body, err := wire.ParseDescriptor(b)
	if status != 200 || err != nil || !key.Verify(g.public, sig, wire.LabelDescriptor, body) {
		g.t.Fatalf("got status %d, %v, want a descriptor of this realm", status, err)
	}
	return d
}

// member joins with a fresh invite and gets a batch for today.
func (g *gated) member() (epoch uint32, list []token.Raw) {
	g.t.Helper()
	secret, _, err := gate.NewInvite(g.t.Context(), g.keeps.members, rand.Reader, 1, gate.Day(g.unix.Load()/aDay))
	if err != nil {
		g.t.Fatal(err)
	}
	credential := make([]byte, 32)
	rand.Read(credential)
	hash := gate.CredentialHash(credential)
	if status, _ := g.call(http.MethodPost, "/v1/member", append(secret[:], hash[:]...)); status != 204 {
		g.t.Fatalf("joining: got status %d", status)
	}
	epoch = token.MemberEpoch(g.unix.Load())
	b, err := token.NewBatch((*[32]byte)(credential), token.Member, epoch, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	body, err := (&wire.TokenRequest{How: wire.ByCredential, Kind: byte(token.Member), Epoch: epoch, Right: credential, Blinded: b.Blinded()}).Append(nil)
	if err != nil {
		g.t.Fatal(err)
	}
	status, answer := g.call(http.MethodPost, "/v1/token", body)
	if status != 200 {
		g.t.Fatalf("buying: got status %d %s", status, answer)
	}
	for _, i := range g.says().Issuers {
		if i.Kind == uint64(token.Member) && i.Epoch == uint64(epoch) {
			if list, err = b.Finish(i.Key, answer); err != nil {
				g.t.Fatal(err)
			}
			return epoch, list
		}
	}
	g.t.Fatal("today's key is not announced")
	return 0, nil
}

func pays(raw *token.Raw, epoch uint32, p token.Purpose, binding []byte) string {
	x := raw.Present(token.Member, epoch, token.RequestHash(p, binding))
	return x.Header()
}

// puts puts a cell by POST in a context, with a token if it is not nil.
func (g *gated) puts(raw *token.Raw, epoch uint32, context byte) int {
	body := make([]byte, wire.PostPutSize)
	rand.Read(body)
	copy(body, bytes.Repeat([]byte{context}, wire.ContextSize))
	var headers []string
	if raw != nil {
		headers = []string{wire.HeaderToken, pays(raw, epoch, token.PutContext, body[:wire.ContextSize])}
	}
	status, _ := g.call(http.MethodPost, "/v1/put", body, headers...)
	return status
}

// stores puts a slot.
func (g *gated) stores(raw *token.Raw, epoch uint32, id byte) int {
	p := wire.BlobPut{Kind: wire.BlobSlot, ID: wire.BlobID(bytes.Repeat([]byte{id}, 32)), Content: make([]byte, 4096)}
	body, err := p.Append(nil)
	if err != nil {
		g.t.Fatal(err)
	}
	var headers []string
	if raw != nil {
		headers = []string{wire.HeaderToken, pays(raw, epoch, token.Blob, p.ID[:])}
	}
	status, _ := g.call(http.MethodPost, "/v1/blob", body, headers...)
	return status
}

// wakes has a wake ticket passed on, with a token that is bound to one.
func (g *gated) wakes(ticket []byte, raw *token.Raw, epoch uint32, bound []byte) int {
	var headers []string
	if raw != nil {
		sum := sha256.Sum256(bound)
		headers = []string{wire.HeaderToken, pays(raw, epoch, token.Wake, sum[:])}
	}
	status, _ := g.call(http.MethodPost, "/v1/wake", ticket, headers...)
	return status
}

// opens asks for a WebSocket and returns the status.
func (g *gated) opens(path, header string, id []byte) int {
	h := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	if header != "" {
		h = append(h, wire.HeaderToken, header)
	}
	if id != nil {
		h = append(h, wire.HeaderContext, base64.RawURLEncoding.EncodeToString(id))
	}
	g.t.Helper()
	q, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.url+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(h); i += 2 {
		q.Header.Set(h[i], h[i+1])
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		g.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func expect(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got status %d, want %d", what, got, want)
	}
}

// From an invite to a cell, over two restarts and two days: what is spent stays
// spent, what is bought stays good, and what the relay says of its keys holds.
func TestTokensOverRestartsAndDays(t *testing.T) {
	t.Parallel()
	dir, unix := filepath.Join(t.TempDir(), "data"), new(atomic.Int64)
	unix.Store(20_000*aDay + 3600)
	g := startGated(t, dir, unix, nil)
	d := g.says()
	if !d.Has(wire.RoleToken) || d.Gate != "invite" || d.Class != 4096 || d.IssuedDay != 20_000 || len(d.Issuers) != 9 {
		t.Errorf("got roles %v, gate %s, class %d, day %d, %d keys", d.Roles, d.Gate, d.Class, d.IssuedDay, len(d.Issuers))
	}
	epoch, list := g.member()
	expect(t, "a cell without a token", g.puts(nil, 0, 1), 401)
	expect(t, "a cell with one", g.puts(&list[0], epoch, 1), 200)
	expect(t, "the next one of the context", g.puts(nil, 0, 1), 200)
	expect(t, "a blob without a token", g.stores(nil, 0, 1), 401)
	expect(t, "a blob with a token for another", g.stores(&list[0], epoch, 1), 401)
	expect(t, "a blob with one", g.stores(&list[1], epoch, 1), 200)
	id := bytes.Repeat([]byte{3}, 16)
	for path, p := range map[string]token.Purpose{"/v1/put": token.PutContext, "/v1/watch": token.Watch} {
		expect(t, path+" without a token", g.opens(path, "", id), 401)
		expect(t, path+" without an id", g.opens(path, pays(&list[2+p], epoch, p, id), nil), 401)
		expect(t, path+" with both", g.opens(path, pays(&list[2+p], epoch, p, id), id), 101)
	}
	expect(t, "a put connection of an open context", g.opens("/v1/put", "", id), 101)
	expect(t, "a watch with a token of a put", g.opens("/v1/watch", pays(&list[10], epoch, token.PutContext, id), id), 401)

	ticket := make([]byte, wake.TicketSize) // for a gateway that is not there
	copy(ticket, "\x01\x0fgateway.invalid")
	another := append(bytes.Clone(ticket[:wake.TicketSize-1]), 1)
	expect(t, "a wake ticket without a token", g.wakes(ticket, nil, 0, nil), 401)
	expect(t, "a wake ticket with a token for another", g.wakes(ticket, &list[11], epoch, another), 401)
	expect(t, "a wake ticket with one", g.wakes(ticket, &list[12], epoch, ticket), 202)
	expect(t, "another with its token", g.wakes(another, &list[12], epoch, another), 401)

	for day := range 2 {
		g.stop()
		g = startGated(t, dir, unix, nil)
		expect(t, "a context after a restart", g.puts(nil, 0, 1), 401)
		expect(t, "a token that is spent", g.puts(&list[0], epoch, 1), 401)
		expect(t, "the blob's, for the very same blob", g.stores(&list[1], epoch, 1), 401)
		expect(t, "one that is not spent", g.puts(&list[20+day], epoch, 1), 200)
		again := g.says()
		if again.IssuedDay != d.IssuedDay {
			t.Errorf("got a seed of day %d, want the one of %d", again.IssuedDay, d.IssuedDay)
		}
		known := map[[2]uint64][32]byte{}
		for _, i := range d.Issuers {
			known[[2]uint64{i.Kind, i.Epoch}] = i.Key
		}
		fresh := 0
		for _, i := range again.Issuers {
			if k, ok := known[[2]uint64{i.Kind, i.Epoch}]; !ok {
				fresh++
			} else if k != i.Key {
				t.Errorf("kind %d, epoch %d: got another key", i.Kind, i.Epoch)
			}
		}
		if fresh != day {
			t.Errorf("day %d: got %d keys that are new, want %d", day, fresh, day)
		}
		unix.Add(aDay)
	}
	// Without a restart the descriptor turns as well.
	before := g.says()
	unix.Add(aDay)
	if after := g.says(); after.Issuers[0] == before.Issuers[0] || after.Issuers[1].Epoch != before.Issuers[1].Epoch+1 {
		t.Errorf("got the keys of epoch %d on the next day, want those of the next", after.Issuers[1].Epoch)
	}
	expect(t, "a token of three days ago", g.puts(&list[30], epoch, 1), 401)
	g.stop()
	if strings.Contains(g.log.String(), eventSeed) || strings.Contains(g.log.String(), "127.0.0.1") {
		t.Errorf("got log\n%s", g.log)
	}
}

// A relay that lost what was spent begins a new seed and says so, though it is the same day.
func TestALostGateIsANewSeed(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(dir string) error{
		"all of it is gone": func(dir string) error {
			for _, f := range []string{"", "-wal", "-mark"} {
				if err := os.Remove(filepath.Join(dir, gateFile+f)); err != nil && !os.IsNotExist(err) {
					return err
				}
			}
			return nil
		},
		"it was put back without its mark": func(dir string) error { return os.Remove(filepath.Join(dir, gateFile+"-mark")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, unix := filepath.Join(t.TempDir(), "data"), new(atomic.Int64)
			unix.Store(20_000*aDay + 3600)
			g := startGated(t, dir, unix, nil)
			epoch, list := g.member()
			expect(t, "a blob", g.stores(&list[0], epoch, 1), 200)
			before := g.says()
			g.stop()
			if err := lose(dir); err != nil {
				t.Fatal(err)
			}
			g = startGated(t, dir, unix, nil)
			after := g.says()
			if after.IssuedDay <= before.IssuedDay || after.Issuers[1].Key == before.Issuers[1].Key {
				t.Errorf("got a seed of day %d after one of %d, want a later one with other keys", after.IssuedDay, before.IssuedDay)
			}
			expect(t, "the token that was spent", g.stores(&list[0], epoch, 2), 401)
			expect(t, "one that was not", g.stores(&list[1], epoch, 2), 401)
			g.stop()
			if !strings.Contains(g.log.String(), eventSeed) {
				t.Errorf("got log\n%s", g.log)
			}
			g = startGated(t, dir, unix, nil)
			if again := g.says(); again.IssuedDay != after.IssuedDay || again.Issuers[0] != after.Issuers[0] {
				t.Error("got yet another seed at the next start")
			}
		})
	}
}

// Without the role nothing of this is there, and nobody is asked for anything.
// A store of an older version is for `migrate`, which the error says, and its seed stays.
func TestAGateOfAnOlderVersionIsMigrated(t *testing.T) {
	t.Parallel()
	dir, unix := filepath.Join(t.TempDir(), "data"), new(atomic.Int64)
	unix.Store(20_000*aDay + 3600)
	g := startGated(t, dir, unix, nil)
	g.stop()
	for _, file := range []string{"", "-mark"} {
		b, err := os.ReadFile(filepath.Join("internal", "sqlite", "testdata", "gate-1.db"+file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, gateFile+file), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := Default()
	cfg.Listen, cfg.Data, cfg.Gate, cfg.Log = "127.0.0.1:0", dir, "invite", io.Discard
	var p *Problem
	if r, err := New(cfg); err == nil {
		r.Close()
		t.Error("an older store was opened")
	} else if !errors.As(err, &p) || !errors.Is(err, ErrOlder) || !strings.Contains(p.Hint, "migrate") {
		t.Errorf("got %v, want it to name `migrate`", err)
	}
	all, err := Migrate(dir)
	if err != nil || !slices.Contains(all, Migrated{gateFile, 1, 2}) {
		t.Errorf("got %v, %v, want %s from version 1 to 2", all, err, gateFile)
	}
	g = startGated(t, dir, unix, nil)
	g.stop()
	if strings.Contains(g.log.String(), eventSeed) {
		t.Error("the seed is new after an upgrade")
	}
}

func TestARelayWithoutTokensIgnoresThem(t *testing.T) {
	t.Parallel()
	unix := new(atomic.Int64)
	unix.Store(20_000 * aDay)
	dir := filepath.Join(t.TempDir(), "data")
	g := startGated(t, dir, unix, func(c *Config) { c.Gate = "open" })
	if d := g.says(); d.Has(wire.RoleToken) || len(d.Issuers) != 0 || d.IssuedDay != 0 || d.Class != 0 {
		t.Errorf("got %v, %d keys", d.Roles, len(d.Issuers))
	}
	for _, path := range []string{"/v1/member", "/v1/member/invite", "/v1/token", "/v1/puzzle"} {
		status, _ := g.call(http.MethodPost, path, make([]byte, 64))
		expect(t, path, status, 404)
	}
	expect(t, "a cell", g.puts(nil, 0, 1), 200)
	expect(t, "a cell with a token that is none of ours", g.puts(new(token.Raw), 20_000, 1), 200)
	expect(t, "a blob", g.stores(nil, 0, 1), 200)
	expect(t, "a watch", g.opens("/v1/watch", "nonsense", nil), 101)
	if _, err := os.Stat(filepath.Join(dir, gateFile)); !os.IsNotExist(err) {
		t.Errorf("got %v, want no store of the gate", err)
	}
}

func TestTheGateInMemory(t *testing.T) {
	t.Parallel()
	unix := new(atomic.Int64)
	unix.Store(20_000 * aDay)
	g := startGated(t, "", unix, nil)
	epoch, list := g.member()
	expect(t, "a blob", g.stores(&list[0], epoch, 1), 200)
	expect(t, "another with its token", g.stores(&list[0], epoch, 2), 401)
}

func TestConfigurationsOfTheGate(t *testing.T) {
	for text, want := range map[string]string{
		`gate = "invite"`: "", `gate = "closed"`: "", `roles = ["live", "token"]`: "", "member_invites = -1": "",
		`gate = "everyone"`: "gate", "class = 2048": "class", "member_invites = 5000": "member_invites",
		"gate = \"invite\"\n[cluster]\nlisten = \"127.0.0.1:0\"\nblobs = true": "cluster",
	} {
		cfg, err := ParseConfig([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if on := strings.Contains(text, "invite\"") || strings.Contains(text, "closed") || strings.Contains(text, "token"); err == nil && on != (&Relay{cfg: cfg}).has(RoleToken) {
			t.Errorf("%s: got roles %v", text, cfg.Roles)
		}
	}
}
