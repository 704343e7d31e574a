package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tacet-chat/tacet/lab/servers"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

const today blob.Day = 20_000

func sql(t *testing.T, at string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, s := range statements {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func wantOpenErr(t *testing.T, o Options, want error) error {
	t.Helper()
	o.Random = rand.Reader
	d, err := Open(t.Context(), o)
	if err == nil {
		d.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("opening: got %v, want %v", err, want)
	}
	return err
}

// create puts a blob and returns it.
func create(t *testing.T, s blob.Store, n byte) *blob.Entry {
	t.Helper()
	e := storetest.NewEntry(n, 16<<10)
	if hash, err := s.Create(t.Context(), e, today); err != nil || hash != e.Hash {
		t.Fatalf("creating: got hash %x, %v", hash[:4], err)
	}
	return e
}

func TestNodesThatStartTogetherMakeOneDatabase(t *testing.T) {
	at := fresh(t)
	var nodes [6]*DB
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() {
			var err error
			if nodes[i], err = Open(t.Context(), Options{URL: at, Realm: [32]byte{1}, Random: rand.Reader}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	e := create(t, nodes[0].Blobs(1<<20), 1)
	for i, d := range nodes {
		defer d.Close()
		if !d.sign.Equal(nodes[0].sign) || d.Renewed() {
			t.Errorf("node %d: got a receipt key of its own", i)
		}
		if _, hash, err := d.Blobs(1<<20).Get(t.Context(), e.ID, today); err != nil || hash != e.Hash {
			t.Errorf("node %d: got %v, want the blob of node 0", i, err)
		}
	}
}

func TestWhatIsNotOursIsRefused(t *testing.T) {
	at := fresh(t)
	open(t, at)
	wantOpenErr(t, Options{URL: at, Realm: [32]byte{2}}, ErrForeign)
	sql(t, at, "UPDATE tacet SET version = version + 1")
	wantOpenErr(t, Options{URL: at, Realm: [32]byte{1}}, ErrNewer)
	at = fresh(t)
	sql(t, at, "CREATE TABLE tacet (n integer)")
	wantOpenErr(t, Options{URL: at, Realm: [32]byte{1}}, ErrForeign)
	wantOpenErr(t, Options{URL: strings.Replace(at, "tacet@", "stranger@", 1)}, ErrRefused)
}

// A password must not be read in an error, wherever the fault is.
func TestErrorsKeepThePassword(t *testing.T) {
	const password = "hunter2hunter2"
	for text, want := range map[string]error{
		"postgres://tacet:" + password + "@127.0.0.1:1/x?connect_timeout=2":        ErrUnreachable,
		"postgres://tacet:" + password + "@nowhere.invalid/x?connect_timeout=2":    ErrUnreachable,
		"postgres://tacet:" + password + "@/x?host=/nowhere&connect_timeout=2":     ErrUnreachable,
		"postgres://tacet:" + password + "@127.0.0.1:port/x":                       ErrURL,
		"postgres://tacet:" + password + "@127.0.0.1/x?sslmode=" + password:        ErrURL,
		"postgres://tacet:" + password + "@127.0.0.1/x?pool_max_conns=" + password: ErrURL,
		"mysql://tacet:" + password + "@127.0.0.1/x":                               ErrURL,
		"host=127.0.0.1 password=" + password:                                      ErrURL,
		"postgres://tacet:%" + password + "@127.0.0.1/x":                           ErrURL,
	} {
		if err := wantOpenErr(t, Options{URL: text}, want); err != nil && strings.Contains(err.Error(), password[:7]) {
			t.Errorf("the password is in %q", err)
		}
	}
}

// A user that may make tables in one place, and nothing else, is enough.
func TestAPlainUserIsEnough(t *testing.T) {
	at := fresh(t)
	u, _ := url.Parse(at)
	sql(t, at, "CREATE ROLE plain LOGIN", "ALTER SCHEMA "+u.Query().Get("search_path")+" OWNER TO plain", "CREATE ROLE nobody LOGIN",
		"GRANT USAGE ON SCHEMA "+u.Query().Get("search_path")+" TO nobody")
	wantOpenErr(t, Options{URL: strings.Replace(at, "tacet@", "nobody@", 1)}, ErrRefused)
	b := open(t, strings.Replace(at, "tacet@", "plain@", 1)).Blobs(1 << 20)
	create(t, b, 1)
	if left, err := b.Sweep(t.Context(), today+1000); left != 0 || err != nil {
		t.Errorf("got %d left, %v, want none", left, err)
	}
}

// A dump that is read back is another database: it may lack what came since.
func TestACopyGetsANewReceiptKey(t *testing.T) {
	dump, err := exec.LookPath("pg_dump")
	if err != nil {
		t.Skip("SKIPPED 1 test: pg_dump is not installed")
	}
	at := fresh(t)
	u, _ := url.Parse(at)
	name := u.Query().Get("search_path")
	d := open(t, at)
	sign := d.sign.Clone()
	e := create(t, d.Blobs(1<<20), 1)
	again := open(t, at)
	if again.Renewed() || !again.sign.Equal(sign) {
		t.Error("got another key after a restart, want the same")
	}
	copied, err := exec.Command(dump, "-d", shared.p.URL(""), "-n", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := d.look(ctx); err != nil {
		t.Errorf("before: got %v, want nothing", err)
	}
	sql(t, at, "DROP SCHEMA "+name+" CASCADE")
	back := exec.Command("psql", "-X", "-q", "-d", shared.p.URL(""))
	back.Stdin = strings.NewReader(string(copied))
	if out, err := back.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := d.Run(ctx); !errors.Is(err, ErrReplaced) {
		t.Errorf("a node that runs: got %v, want %v", err, ErrReplaced)
	}
	d = open(t, at)
	if !d.Renewed() || d.sign.Equal(sign) {
		t.Error("got the same key for a copy, want a new one")
	}
	if _, hash, err := d.Blobs(1<<20).Get(t.Context(), e.ID, today); err != nil || hash != e.Hash {
		t.Errorf("got %v, want the blob of the copy", err)
	}
	sign = d.sign.Clone()
	if d = open(t, at); d.Renewed() || !d.sign.Equal(sign) {
		t.Error("got another key after a restart of the copy, want the same")
	}
}

// What was answered survives a server that is killed, and its coming back is no
// work for anybody.
func TestTheServerMayGoAndComeBack(t *testing.T) {
	p := servers.NewPostgres(t, servers.PostgresOptions{})
	d := open(t, p.URL(""))
	b := d.Blobs(1 << 20)
	for i, end := range []func(){p.Stop, p.Kill} {
		e := create(t, b, byte(i))
		end()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, _, err := b.Get(ctx, e.ID, today)
		cancel()
		if !errors.Is(err, ErrUnreachable) {
			t.Errorf("without a server: got %v, want %v", err, ErrUnreachable)
		}
		wantOpenErr(t, Options{URL: p.URL("")}, ErrUnreachable)
		if err := d.look(t.Context()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("looking: got %v, want %v", err, ErrUnreachable)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		for try := 0; ; try++ { // an old connection may fail once each
			_, hash, err := b.Get(t.Context(), e.ID, today)
			if err == nil && hash == e.Hash {
				break
			}
			if !errors.Is(err, ErrUnreachable) || try > 2*mostConns {
				t.Fatalf("after it came back: got %v", err)
			}
		}
	}
}
