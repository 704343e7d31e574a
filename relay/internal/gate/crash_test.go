package gate_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// dying is a store whose process is killed once it has done something, before
// anybody hears of it.
type dying struct {
	gate.Spent
	armed atomic.Bool
}

func (d *dying) Spend(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	defer d.die()
	return d.Spent.Spend(ctx, m)
}

func (d *dying) Issue(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	defer d.die()
	return d.Spent.Issue(ctx, m)
}

func (d *dying) die() {
	if d.armed.Load() {
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	}
}

// TestCrashChild is the process that is killed: a keeper over a store on disk.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv("TACET_GATE_CRASH")
	if dir == "" {
		return // it is run by TestACrashBetweenSpendingAndAnswering alone
	}
	store, err := sqlite.OpenGate(filepath.Join(dir, "gate.db"), today, today, seeded())
	if err != nil {
		t.Fatal(err)
	}
	go store.Run(context.Background())
	spent := &dying{Spent: store}
	r := open(t, func(c *gate.KeeperConfig) { c.Members, c.Spent = store, spent })
	r.mux.HandleFunc("GET /watch", func(w http.ResponseWriter, q *http.Request) {
		if status := r.Admit(q, token.Watch, nil); status != 0 {
			gate.Refuse(w, status)
		}
	})
	r.mux.HandleFunc("POST /arm", func(http.ResponseWriter, *http.Request) { spent.armed.Store(true) })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := gate.NewInvite(t.Context(), store, rand.Reader, 1, today+300)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nready %s %x\n", ln.Addr(), secret)
	http.Serve(ln, r.mux)
}

// child is such a process.
type child struct {
	t      *testing.T
	url    string
	secret [32]byte // of an invite
	cmd    *exec.Cmd
}

func born(t *testing.T, dir string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(exe, "-test.run", "^TestCrashChild$")}
	c.cmd.Env = append(os.Environ(), "TACET_GATE_CRASH="+dir)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var at string
		var secret []byte
		if n, _ := fmt.Sscanf(lines.Text(), "ready %s %x", &at, &secret); n == 2 {
			c.url, c.secret = "http://"+at, [32]byte(secret)
			return c
		}
	}
	t.Fatal("the process did not come up")
	return nil
}

// do makes a request and returns its status, or 0 if the process died of it.
func (c *child) do(method, path string, body []byte, from *http.Request) int {
	c.t.Helper()
	q, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if from != nil {
		q.Header = from.Header
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// What was spent or issued is on disk before anybody hears of it: whoever asks
// again after a crash finds it so, and neither buys nor pays twice.
func TestACrashBetweenSpendingAndAnswering(t *testing.T) {
	if testing.Short() {
		t.Skip("four processes are killed")
	}
	dir, list := t.TempDir(), todays(t, 4)
	c := born(t, dir)
	credential := [32]byte{5}
	hash := gate.CredentialHash(credential[:])
	want(t, "joining", c.do("POST", "/v1/member", append(c.secret[:], hash[:]...), nil), 204)
	for i := range 3 {
		want(t, "arming", c.do("POST", "/arm", nil, nil), 200)
		want(t, "a token that is spent while the relay dies", c.do("GET", "/watch", nil, watch(&list[i], 1)), 0)
		c.cmd.Wait()
		c = born(t, dir)
		for j := range i + 1 {
			want(t, "the same afterwards", c.do("GET", "/watch", nil, watch(&list[j], 1)), 401)
			want(t, "for something else", c.do("GET", "/watch", nil, watch(&list[j], 2)), 401)
		}
	}
	want(t, "a token that was not spent", c.do("GET", "/watch", nil, watch(&list[3], 1)), 200)

	part := func(n uint64) []byte {
		return ask(wire.ByCredential, token.Member, uint32(today), 0, credential[:], elements(n))
	}
	want(t, "arming", c.do("POST", "/arm", nil, nil), 200)
	want(t, "a part that is issued while the relay dies", c.do("POST", "/v1/token", part(1), nil), 0)
	c.cmd.Wait()
	c = born(t, dir)
	want(t, "other elements", c.do("POST", "/v1/token", part(2), nil), 429)
	want(t, "the same request", c.do("POST", "/v1/token", part(1), nil), 400) // it is answered; and these are no elements
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || !strings.Contains(strings.Join(left, " "), "gate.db") {
		t.Errorf("got %v, %v: nothing was kept on disk", left, err)
	}
}
