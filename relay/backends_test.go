package relay

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/postgres"
	"github.com/tacet-chat/tacet/relay/internal/redis"
)

// place of two servers that nodes share.
type world struct {
	pg *servers.Postgres
	rd *servers.Redis
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{servers.NewPostgres(t, servers.PostgresOptions{}), servers.NewRedis(t)}
}

// node is the configuration of one that shares them, with the realm key of another.
func (w *world) node(t *testing.T, keyOf string, nodes ...string) Config {
	t.Helper()
	cfg := Default()
	cfg.Data, cfg.Roles = filepath.Join(t.TempDir(), "data"), []string{RoleLive, RoleBlob, RolePark}
	cfg.Listen, cfg.Cluster = "127.0.0.1:0", Cluster{Listen: "127.0.0.1:0", Nodes: nodes, Drain: 1}
	cfg.Store, cfg.Redis = w.pg.URL(""), w.rd.URL(0)
	if keyOf != "" {
		b, err := os.ReadFile(filepath.Join(keyOf, keyFile))
		if err = errors.Join(err, os.Mkdir(cfg.Data, 0o700), os.WriteFile(filepath.Join(cfg.Data, keyFile), b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// post puts a blob and returns the status and the answer.
func (s *running) post(t *testing.T, path string, body []byte) (int, []byte) {
	t.Helper()
	resp, err := s.http.Post(s.url+path, "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b
}

func blobBody(t *testing.T, p *wire.BlobPut) []byte {
	t.Helper()
	b, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newBlob() *wire.BlobPut {
	p := &wire.BlobPut{Kind: wire.BlobFile, Days: 7, Content: make([]byte, 4096)}
	rand.Read(p.ID[:])
	rand.Read(p.Capability[:])
	rand.Read(p.Content)
	return p
}

// Whatever is put at one node is had at another.
func TestNodesShareWhatTheyKeep(t *testing.T) {
	w := newWorld(t)
	a := start(t, w.node(t, ""))
	b := start(t, w.node(t, a.cfg.Data, a.ClusterAddr()))
	p := newBlob()
	status, first := a.post(t, "/v1/blob", blobBody(t, p))
	again, second := b.post(t, "/v1/blob", blobBody(t, p))
	if status != 200 || again != 200 || !bytes.Equal(first, second) {
		t.Errorf("got %d and %d, and one receipt: %v; want the same from both nodes", status, again, bytes.Equal(first, second))
	}
	if a.blobs.ReceiptKey() != b.blobs.ReceiptKey() {
		t.Error("two nodes have two keys for receipts")
	}
	o := newOwner()
	cells := []wire.ParkItem{o.cell(168), o.cell(24)}
	a.park(t, cells[0])
	b.park(t, cells[1])
	b.park(t, cells[0]) // once more, elsewhere
	if d, err := Disclose(t.Context(), a.cfg, hex.EncodeToString(cells[0].Address[:])); err != nil || len(d.Parked) != 2 {
		t.Errorf("disclosing: got %+v, %v, want both cells, wherever they were put", d, err)
	}
	k := b.taker(t)
	rows := k.take(o)
	wantCells(t, rows, cells...)
	k.ack(o, rows[0].ID, rows[1].ID)
	wantCells(t, a.taker(t).take(o))
	s, err := AskStatus(a.cfg.Data)
	if err != nil || s.Store != "postgres" || len(s.Shared) != 2 || !s.Shared[0].Up || !s.Shared[1].Up {
		t.Errorf("got store %q, shared %+v, %v", s.Store, s.Shared, err)
	}
}

// A server that goes is told of and waited for; nothing ends, and what does not
// need it goes on.
func TestServersThatNodesShareMayGo(t *testing.T) {
	w := newWorld(t)
	cfg := w.node(t, "")
	cfg.Cluster = Cluster{Drain: 1}
	s, o := start(t, cfg), newOwner()
	first := o.cell(168)
	s.park(t, first)
	put := func(items ...wire.ParkItem) int {
		t.Helper()
		body, err := wire.AppendPark(nil, [wire.ContextSize]byte{1}, items)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := s.post(t, "/v1/park", body)
		return status
	}
	find := func(name string) Check {
		t.Helper()
		for _, c := range Doctor(t.Context(), cfg) {
			if c.Name == name {
				return c
			}
		}
		return Check{}
	}
	for _, name := range []string{"postgres", "redis"} {
		if c := find(name); c.Level != OK {
			t.Errorf("doctor: got %+v", c)
		}
	}
	next := o.cell(168)
	w.rd.Stop()
	if got := put(next); got != http.StatusServiceUnavailable {
		t.Errorf("without Redis: got status %d, want 503", got)
	}
	if c := find("redis"); c.Level != Fail || !strings.Contains(c.Hint, "nothing is lost") {
		t.Errorf("doctor: got %+v", c)
	}
	p := newBlob()
	if got, _ := s.post(t, "/v1/blob", blobBody(t, p)); got != 200 {
		t.Errorf("without Redis, a blob: got status %d, want 200", got)
	}
	if err := w.rd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "parking works again", func() bool { return put(next) == 200 })
	w.pg.Stop()
	if got, _ := s.post(t, "/v1/blob", blobBody(t, newBlob())); got != http.StatusServiceUnavailable {
		t.Errorf("without PostgreSQL: got status %d, want 503", got)
	}
	if got := put(next); got != http.StatusServiceUnavailable {
		t.Errorf("without PostgreSQL: got status %d, want 503", got)
	}
	if c := find("postgres"); c.Level != Fail || c.Hint == "" {
		t.Errorf("doctor: got %+v", c)
	}
	if resp, err := s.http.Get(s.url + "/v1/realm"); err != nil || resp.StatusCode != 200 {
		t.Errorf("the descriptor: got %v, %v", resp, err)
	}
	if err := w.pg.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "blobs work again", func() bool { got, _ := s.post(t, "/v1/blob", blobBody(t, p)); return got == 200 })
	until(t, "parking works again", func() bool { return put(next) == 200 })
	wantCells(t, s.taker(t).take(o), next) // the keys of the first ended with Redis
	if text := s.log.String(); strings.Contains(text, w.pg.Dir()) || strings.Contains(text, w.rd.Dir()) {
		t.Errorf("the log names a server: %s", text)
	}
}

// What cannot be is refused, with a hint and without the password.
func TestConfigurationsOfSharedServers(t *testing.T) {
	const password = "hunter2hunter2"
	secret := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(secret, []byte("postgres://tacet:"+password+"@127.0.0.1:1/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.WriteFile(open, []byte("x"), 0o644), os.Chmod(open, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TACET_TEST_REDIS", "redis://:"+password+"@127.0.0.1:1/0")
	data := filepath.Join(t.TempDir(), "data")
	blob, all := []string{RoleLive, RoleBlob}, []string{RoleLive, RoleBlob, RolePark}
	for name, c := range map[string]struct {
		cfg  Config
		want error
		hint string
	}{
		"no URL":            {Config{Store: "db.example " + password, Data: data}, nil, "store is such as"},
		"no redis URL":      {Config{Store: "postgres:///x", Redis: "http://" + password, Data: data}, nil, "redis is such as"},
		"redis alone":       {Config{Redis: "redis://127.0.0.1", Data: data}, nil, "needs both"},
		"no data directory": {Config{Store: "postgres:///x"}, nil, "realm key"},
		"park without":      {Config{Store: "postgres:///x", Roles: all, Data: data}, nil, "set redis"},
		"a cluster without": {Config{Roles: all, Data: data, Cluster: Cluster{Listen: "127.0.0.1:0", Blobs: true}}, nil, "docs/scale.md"},
		"blobs of one":      {Config{Store: "postgres:///x", Roles: blob, Data: data, Cluster: Cluster{Listen: "127.0.0.1:0", Blobs: true}}, nil, "leave cluster.blobs out"},
		"no file":           {Config{Store: "file:/nowhere/url", Roles: blob, Data: data}, os.ErrNotExist, "able to read"},
		"an open file":      {Config{Store: "file:" + open, Roles: blob, Data: data}, ErrOpen, "chmod 600"},
		"no variable":       {Config{Store: "env:TACET_TEST_NOTHING", Roles: blob, Data: data}, nil, "set it"},
		"not there":         {Config{Store: "file:" + secret, Roles: blob, Data: data}, postgres.ErrUnreachable, "nothing is lost"},
		"plain":             {Config{Store: "postgres://tacet:" + password + "@192.0.2.1/x?sslmode=prefer", Roles: blob, Data: data}, postgres.ErrPlain, "verify-full"},
	} {
		_, err := New(c.cfg)
		var p *Problem
		if !errors.As(err, &p) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(p.Hint, c.hint) {
			t.Errorf("%s: got %v, %+v, want %v with a hint about %q", name, err, p, c.want, c.hint)
		}
		if err != nil && strings.Contains(err.Error()+p.Hint, password[:7]) {
			t.Errorf("%s: the password is in %q", name, err)
		}
	}
	w := &world{pg: servers.NewPostgres(t, servers.PostgresOptions{})}
	_, err := New(Config{Store: w.pg.URL(""), Redis: "env:TACET_TEST_REDIS", Roles: all, Data: data})
	if !errors.Is(err, redis.ErrUnreachable) || !errors.Is(err, gate.ErrAway) || strings.Contains(err.Error(), password) {
		t.Errorf("got %v, want %v", err, redis.ErrUnreachable)
	}
	other, err := New(Config{Store: w.pg.URL(""), Roles: blob, Data: filepath.Join(t.TempDir(), "data")})
	if err == nil {
		other.Close()
	}
	if !errors.Is(err, postgres.ErrForeign) {
		t.Errorf("another realm: got %v, want %v", err, postgres.ErrForeign)
	}
	if err := w.pg.SQL("UPDATE tacet SET version = version + 1"); err != nil {
		t.Fatal(err)
	}
	_, err = New(Config{Store: w.pg.URL(""), Roles: blob, Data: data})
	if p := (*Problem)(nil); !errors.Is(err, postgres.ErrNewer) || !errors.As(err, &p) || !strings.Contains(p.Hint, "install that version") {
		t.Errorf("a newer database: got %v, want %v", err, postgres.ErrNewer)
	}
}

// A database that is put back from a copy under a running relay ends it: it would
// sign with a key that is not the database's any more.
func TestAReplacedDatabaseEndsTheRelay(t *testing.T) {
	pg := servers.NewPostgres(t, servers.PostgresOptions{})
	r, err := New(Config{Store: pg.URL(""), Roles: []string{RoleLive, RoleBlob}, Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := pg.SQL("CREATE TABLE copied AS TABLE tacet", "DROP TABLE tacet", "ALTER TABLE copied RENAME TO tacet"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	select {
	case err := <-done:
		if p := (*Problem)(nil); !errors.Is(err, postgres.ErrReplaced) || !errors.As(err, &p) {
			t.Errorf("got %v, want %v", err, postgres.ErrReplaced)
		}
	case <-time.After(time.Minute):
		t.Error("the relay runs on")
	}
}

// blocks returns the fenced blocks of a sort on a page.
func blocks(t *testing.T, page, sort string) (all []string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(b), "```"+sort+"\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		all = append(all, text)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no block of %s", page, sort)
	}
	return all
}

// What docs/scale.md says to write is taken by the programs it is for.
func TestThePageOfScaleIsRight(t *testing.T) {
	const page = "../docs/scale.md"
	dir := t.TempDir()
	for _, text := range blocks(t, page, "toml") {
		cfg, err := ParseConfig([]byte(text))
		if err != nil || cfg.Store == "" || cfg.Redis == "" || !cfg.clustered() || !slices.Contains(cfg.Roles, RoleToken) {
			t.Errorf("got %v for\n%s", err, text)
		}
	}
	urls := strings.Fields(blocks(t, page, "text")[0])
	if len(urls) != 2 || !isPlace(urls[0], "postgres") || !isPlace(urls[1], "rediss") {
		t.Errorf("got URLs %q", urls)
	}
	pg := servers.NewPostgres(t, servers.PostgresOptions{})
	for _, text := range blocks(t, page, "sql") {
		for s := range strings.SplitAfterSeq(text, ";") {
			if s = strings.TrimSpace(s); s == "" {
				continue
			}
			s = strings.ReplaceAll(s, "tacet", "realm") // the server of tests has one of that name
			if err := pg.SQL(s); err != nil {
				t.Error(err)
			}
		}
	}
	var args []string
	for line := range strings.Lines(blocks(t, page, "conf")[0]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		args = append(args, "--"+name, strings.Trim(value, `"`))
	}
	rd := servers.NewRedis(t, args...)
	at := strings.Replace(pg.URL(""), "tacet@/postgres", "realm@/realm", 1)
	r, err := New(Config{Store: at, Redis: rd.URL(0), Roles: []string{RoleLive, RoleBlob, RolePark}, Gate: "invite", Data: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}
