//go:build unix

package lab

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay"
)

// recipes is where the configurations are that operators copy. What is tested
// is those files, with other ports and folders.
const recipes = "../docs/recipes"

// recipePatience is how long a program may take that somebody else wrote.
const recipePatience = 3 * time.Minute

// recipe reads a file and puts other words in the place of some, each of which
// must be there.
func recipe(t *testing.T, file string, other ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recipes, file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i := 0; i+1 < len(other); i += 2 {
		if !strings.Contains(text, other[i]) {
			t.Fatalf("%s has no %q: the test and the recipe are apart", file, other[i])
		}
		text = strings.ReplaceAll(text, other[i], other[i+1])
	}
	return text
}

// fileOf puts a file into a folder and returns its path.
func fileOf(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// need skips a test where a program is not installed.
func need(t *testing.T, program, from string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/" + program); err != nil {
			t.Skipf("SKIPPED 1 test: no %s here (Debian: %s)", program, from)
		}
	}
	return path
}

// ports returns ports that were free a moment ago.
func ports(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		ln, err := net.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		out = append(out, port)
	}
	return out
}

// outer returns an address of this machine that is not loopback: a client that
// comes from it has a network.
func outer(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("SKIPPED 1 test: this machine has no address beside loopback")
	return ""
}

// run starts a program of somebody else's and ends it with the test.
func run(t *testing.T, env []string, name string, arg ...string) {
	t.Helper()
	var said bytes.Buffer
	var mu sync.Mutex
	cmd := exec.Command(name, arg...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // workers, too
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := out.Read(buf)
			mu.Lock()
			if said.Len() < 64<<10 {
				said.Write(buf[:n])
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-read
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", name, said.String())
		}
	})
}

// hasIPv6 reports whether this machine has IPv6 at all.
func hasIPv6() bool {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		ln.Close()
	}
	return err == nil
}

// listens waits until something accepts connections.
func listens(t *testing.T, addr string) {
	t.Helper()
	end := time.Now().Add(recipePatience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing answers: %v", err)
		}
		<-tick.C
	}
}

// serveRecipe runs a relay with a configuration until stop is called.
func serveRecipe(t *testing.T, text string) (r *relay.Relay, stop func()) {
	t.Helper()
	cfg, err := relay.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = relay.New(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return r, stop
}

// road leads to whatever stands at an address, under any name.
type road struct {
	to      string
	from    string // an address of this machine, or empty
	roots   *x509.CertPool
	proxied bool
}

var _ client.Network = (*road)(nil)

func (r *road) dial(ctx context.Context, proto, _, _ string) (net.Conn, error) {
	d := &net.Dialer{}
	if r.from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(r.from)}
	}
	return d.DialContext(ctx, proto, r.to)
}

func (r *road) options(name string) network.Options {
	return network.Options{Name: name, Dial: r.dial, Roots: r.roots, Proxied: func() bool { return r.proxied }}
}

func (r *road) Open(name string, pin [32]byte) (transport.Transport, error) {
	o := r.options(name)
	o.Pin = &pin
	return network.New(o)
}

func (r *road) Identify(ctx context.Context, name string) ([32]byte, error) {
	return network.Identify(ctx, r.options(name))
}

func (r *road) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	return network.FetchUnpinned(ctx, r.options(name), id)
}

func (r *road) Proxy() string { return "" }

// person makes a profile that reaches its relay over a network, and runs it.
func person(t *testing.T, name, relayName string, n client.Network) *client.Client {
	t.Helper()
	o := client.Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: n, WeakVault: true, AckMean: 50 * time.Millisecond}
	if _, err := client.Create(t.Context(), o, client.NewProfile{Name: name, Relay: relayName}); err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("closing %s: %v", name, err)
		}
	})
	return c
}

// converse has two people meet and each say something to the other.
func converse(t *testing.T, ada, bob *client.Client) {
	t.Helper()
	inv, err := ada.NewInvite(t.Context(), client.InviteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Accept(t.Context(), client.AcceptOptions{Link: inv.Link, Text: "hello Ada"}); err != nil {
		t.Fatal(err)
	}
	first, err := bob.Read(t.Context(), client.Query{})
	if err != nil || len(first) == 0 {
		t.Fatal(err)
	}
	arrives(t, bob, first[0])
	e, err := ada.Send(t.Context(), client.Outgoing{To: "bob", Text: "hello Bob"})
	if err != nil {
		t.Fatal(err)
	}
	arrives(t, ada, e)
}

// arrives fails the test unless a message reaches a device.
func arrives(t *testing.T, c *client.Client, e client.Event) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*recipePatience)
	defer stop()
	if got, err := c.Await(ctx, e.Seq, client.OnDevice); err != nil || got.State != client.OnDevice {
		st, _ := c.Status(t.Context())
		t.Fatalf("message is %s, %v; status %+v", got.State, err, st)
	}
}

// warnings returns what a client's doctor says against its relay.
func warnings(t *testing.T, c *client.Client) (all []string) {
	t.Helper()
	checks, err := c.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range checks {
		if k.Name == "relay" && k.State != "ok" {
			all = append(all, k.Text)
		}
	}
	return all
}

// knocks tries n connections from an address, one after the other and each with
// one request, and returns how many were answered.
func knocks(t *testing.T, r *road, n int) (answered int) {
	t.Helper()
	for range n {
		tr := &http.Transport{
			DialContext:     func(ctx context.Context, p, a string) (net.Conn, error) { return r.dial(ctx, p, a, "") },
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
		}
		c := http.Client{Transport: tr, Timeout: recipePatience}
		resp, err := c.Get("https://relay.example/v1/blob/" + strings.Repeat("0", 64))
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusNotFound {
				answered++
			}
		}
		tr.CloseIdleConnections()
	}
	return answered
}

// TestRecipesForProxies runs the real proxies with the configurations in
// docs/recipes, a relay behind each, and two people in front.
func TestRecipesForProxies(t *testing.T) {
	self := outer(t)
	for name, c := range map[string]struct {
		program, debian string
		relay           string // its recipe
		limit           string // what bounds a client's network, for the test
		proxied         bool   // TLS ends in the proxy
		start           func(t *testing.T, program, dir, port, behind string) (roots *x509.CertPool)
	}{
		"nginx":   {program: "nginx", debian: "nginx-light libnginx-mod-stream", relay: "nginx/relay.toml", limit: "limit_connections", start: startNginx},
		"haproxy": {program: "haproxy", debian: "haproxy", relay: "haproxy/relay.toml", limit: "limit_connections", start: startHAProxy},
		"caddy":   {program: "caddy", debian: "caddy", relay: "caddy/relay.toml", limit: "limit_reads", proxied: true, start: startCaddy},
	} {
		t.Run(name, func(t *testing.T) {
			program := need(t, c.program, c.debian)
			p := ports(t, 2)
			front, behind := p[0], p[1]
			data := t.TempDir()
			if err := os.Chmod(data, 0o700); err != nil {
				t.Fatal(err)
			}
			text := recipe(t, c.relay, "7117", behind, "/var/lib/tacet-relay", data)
			roots := c.start(t, program, t.TempDir(), front, behind)
			listens(t, "127.0.0.1:"+front)

			// A network over its limit is told apart from another, through the proxy.
			_, stop := serveRecipe(t, text+"\n"+c.limit+" = 3\n")
			far := &road{to: net.JoinHostPort(self, front), from: self}
			if got := knocks(t, far, 6); got != 3 {
				t.Errorf("got %d of 6 answered for the network of %s, want 3", got, self)
			}
			near := &road{to: "127.0.0.1:" + front}
			if got := knocks(t, near, 6); got != 6 {
				t.Errorf("got %d of 6 answered for another, want all", got)
			}
			stop()

			r, _ := serveRecipe(t, text)
			far.roots, far.proxied = roots, c.proxied
			name := "relay.example:" + front
			ada, bob := person(t, "Ada", name, far), person(t, "Bob", name, far)
			converse(t, ada, bob)
			if got := warnings(t, ada); c.proxied != (len(got) > 0) {
				t.Errorf("got warnings %q, want some: %t", got, c.proxied)
			}
			refused := &road{to: far.to, from: far.from, roots: roots}
			pin := r.Fingerprint()
			tr, err := refused.Open(name, pin)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			if d, err := tr.(*network.Relay).Descriptor(t.Context()); c.proxied && !errors.Is(err, transport.ErrIdentity) {
				t.Errorf("got %v from a proxy that was not allowed, want a refusal", err)
			} else if !c.proxied && (err != nil || !d.Binding || d.Proxied) {
				t.Errorf("got %+v, %v, want proofs that are bound", d, err)
			}
		})
	}
}

func startNginx(t *testing.T, program, dir, port, behind string) *x509.CertPool {
	six := "listen [::]:" + port + ";"
	if !hasIPv6() {
		six = ""
	}
	text := recipe(t, "nginx/nginx.conf", "listen 443", "listen "+port, "listen [::]:443;", six, "7117", behind, "/run/nginx.pid", filepath.Join(dir, "pid"), "user www-data;", "")
	run(t, nil, program, "-e", "stderr", "-c", fileOf(t, dir, "nginx.conf", text), "-g", "daemon off;")
	return nil
}

func startHAProxy(t *testing.T, program, dir, port, behind string) *x509.CertPool {
	at := ":::" + port + " v4v6"
	if !hasIPv6() {
		at = "0.0.0.0:" + port
	}
	text := recipe(t, "haproxy/haproxy.cfg", ":::443 v4v6", at, "127.0.0.1:7117", "127.0.0.1:"+behind)
	run(t, nil, program, "-db", "-f", fileOf(t, dir, "haproxy.cfg", text))
	return nil
}

// startCaddy has Caddy make a certificate authority of its own: the public ones
// know no relay.example.
func startCaddy(t *testing.T, program, dir, port, behind string) *x509.CertPool {
	text := recipe(t, "caddy/Caddyfile", "127.0.0.1:7117", "127.0.0.1:"+behind,
		"admin off", fmt.Sprintf("admin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttp_port %s\n\thttps_port %s", ports(t, 1)[0], port))
	run(t, []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir}, program, "run", "--adapter", "caddyfile", "--config", fileOf(t, dir, "Caddyfile", text))
	end := time.Now().Add(recipePatience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := os.ReadFile(filepath.Join(dir, "caddy", "pki", "authorities", "local", "root.crt"))
		roots := x509.NewCertPool()
		if err == nil && roots.AppendCertsFromPEM(b) {
			return roots
		}
		if time.Now().After(end) {
			t.Fatalf("Caddy made no authority: %v", err)
		}
		<-tick.C
	}
}

// TestRecipeForTor has Tor read its configuration, and plays Tor for the relay.
func TestRecipeForTor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(dir, "onion.sock")
	relayText := recipe(t, "tor/relay.toml", "/run/tacet-relay/onion.sock", sock, "/var/lib/tacet-relay", dir, "127.0.0.1:7117", "127.0.0.1:0")
	torText := recipe(t, "tor/torrc", "/var/lib/tor/tacet-relay", filepath.Join(dir, "hs"), "/run/tacet-relay/onion.sock", sock)
	serveRecipe(t, relayText)
	// As Tor would: a circuit for each connection.
	n := &circuits{sock: sock}
	name := strings.Repeat("a", 56) + ".onion"
	converse(t, person(t, "Ada", name, n), person(t, "Bob", name, n))

	tor := need(t, "tor", "tor")
	if err := os.Mkdir(filepath.Join(dir, "tor"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tor, "--verify-config", "-f", fileOf(t, dir, "torrc", torText), "--DataDirectory", filepath.Join(dir, "tor")).CombinedOutput()
	if os.Geteuid() == 0 {
		out = bytes.ReplaceAll(out, []byte("[warn] You are running Tor as root"), nil)
	}
	if err != nil || bytes.Contains(out, []byte("[warn]")) {
		t.Errorf("got %v from tor --verify-config:\n%s", err, out)
	}
}

// TestRecipeForSystemd has systemd read the unit.
func TestRecipeForSystemd(t *testing.T) {
	analyze := need(t, "systemd-analyze", "systemd")
	text := recipe(t, "systemd/tacet-relay.service", "ExecStart=/usr/local/bin/tacet-relay", "ExecStart=/bin/true")
	out, err := exec.Command(analyze, "verify", fileOf(t, t.TempDir(), "tacet-relay.service", text)).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("tacet-relay.service")) {
		t.Errorf("got %v from systemd-analyze verify:\n%s", err, out)
	}
}

// circuits reaches an onion service's socket as Tor does.
type circuits struct {
	road
	sock string
	mu   sync.Mutex // guards next
	next int
}

func (n *circuits) dial(ctx context.Context, _, _, _ string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", n.sock)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.next++
	line := fmt.Sprintf("PROXY TCP6 fc00:dead:beef:4dad::0:%x ::1 %d 443\r\n", n.next, n.next)
	n.mu.Unlock()
	if _, err := io.WriteString(c, line); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (n *circuits) options(name string) network.Options {
	return network.Options{Name: name, Dial: n.dial, HidesAddress: true}
}

func (n *circuits) Open(name string, pin [32]byte) (transport.Transport, error) {
	o := n.options(name)
	o.Pin = &pin
	return network.New(o)
}

func (n *circuits) Identify(ctx context.Context, name string) ([32]byte, error) {
	return network.Identify(ctx, n.options(name))
}

func (n *circuits) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	return network.FetchUnpinned(ctx, n.options(name), id)
}
