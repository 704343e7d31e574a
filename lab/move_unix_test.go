//go:build unix

package lab

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay"
)

// turning is a road that can be turned to another place, as a name can.
type turning struct {
	mu   sync.Mutex // guards road
	road road
}

func (n *turning) turn(to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.road.to = to
}

// options dial whatever place the road leads to at that moment.
func (n *turning) options(name string) network.Options {
	o := n.road.options(name)
	o.Dial = func(ctx context.Context, proto, address, isolation string) (net.Conn, error) {
		n.mu.Lock()
		now := n.road
		n.mu.Unlock()
		return now.dial(ctx, proto, address, isolation)
	}
	return o
}

func (n *turning) Open(name string, pin [32]byte) (transport.Transport, error) {
	o := n.options(name)
	o.Pin = &pin
	return network.New(o)
}

func (n *turning) Identify(ctx context.Context, name string) ([32]byte, error) {
	return network.Identify(ctx, n.options(name))
}

func (n *turning) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	return network.FetchUnpinned(ctx, n.options(name), id)
}

func (n *turning) Proxy() string { return "" }

// runRelay runs the program on a folder and returns where it listens.
func runRelay(t *testing.T, programs, data string) (c *exec.Cmd, listen string) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "relay.toml")
	if err := os.WriteFile(conf, []byte("listen = \"127.0.0.1:0\"\ntls = \"on\"\nroles = [\"live\", \"blob\", \"park\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &screen{}
	c = exec.Command(filepath.Join(programs, "tacet-relay"), "serve", "--config", conf, "--data", data)
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	launch(t, c)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the relay on %s said:\n%s", filepath.Base(data), log)
		}
	})
	patiently(t, "the relay to run", func() bool {
		st, err := relay.AskStatus(data)
		listen = st.Listen
		return err == nil
	})
	return c, listen
}

// TestARealmMoves runs a realm on one machine, copies its folder to another, and
// restores it from a backup on a third. Two people go on through all of it, with
// what was written while there was no relay.
func TestARealmMoves(t *testing.T) {
	programs := buildPrograms(t)
	dir, err := os.MkdirTemp("", "realm") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	first, second, third := filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	program := filepath.Join(programs, "tacet-relay")
	stop := func(c *exec.Cmd) {
		t.Helper()
		c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
	at, listen := runRelay(t, programs, first)
	n := &turning{road: road{to: listen}}
	ada, bob := person(t, "Ada", "relay.example", n), person(t, "Bob", "relay.example", n)
	converse(t, ada, bob)
	before, err := relay.AskStatus(first)
	if err != nil {
		t.Fatal(err)
	}

	between := func(text string) (sent client.Event) {
		t.Helper()
		sent, err := ada.Send(t.Context(), client.Outgoing{To: "bob", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return sent
	}
	stop(at)
	waits := between("while the folder is copied")
	run("cp", "-a", first, second)
	at, listen = runRelay(t, programs, second)
	n.turn(listen)
	arrives(t, ada, waits)

	secret := filepath.Join(dir, "pass")
	if err := os.WriteFile(secret, []byte("correct horse battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "realm.age")
	run(program, "backup", file, "--data", second, "--passphrase-file", secret)
	stop(at)
	waits = between("while the backup is carried")
	run(program, "restore", file, "--data", third, "--passphrase-file", secret)
	_, listen = runRelay(t, programs, third)
	n.turn(listen)
	arrives(t, ada, waits)
	back, err := bob.Send(t.Context(), client.Outgoing{To: "ada", Text: "I noticed nothing"})
	if err != nil {
		t.Fatal(err)
	}
	arrives(t, bob, back)

	after, err := relay.AskStatus(third)
	if err != nil || after.Fingerprint != before.Fingerprint {
		t.Errorf("got the realm %s, %v, want %s", after.Fingerprint, err, before.Fingerprint)
	}
	for _, c := range []struct {
		who  *client.Client
		want int
	}{{ada, 4}, {bob, 4}} {
		said, err := c.who.Read(t.Context(), client.Query{})
		texts := map[string]int{}
		for _, e := range said {
			if e.Text != "" {
				texts[e.Text]++
			}
		}
		if err != nil || len(texts) < c.want {
			t.Errorf("got %v, %v", texts, err)
		}
		for text, n := range texts {
			if n != 1 {
				t.Errorf("%q is shown %d times", text, n)
			}
		}
	}
}
