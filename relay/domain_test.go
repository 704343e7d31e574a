package relay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/relay/internal/acme"
	"github.com/tacet-chat/tacet/relay/internal/acme/acmetest"
)

const named = "relay.example"

// startNamed runs a relay with a name and an authority that vouches for it.
func startNamed(t *testing.T, cfg Config) (*running, *acmetest.Authority) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := acmetest.Start(t, ln.Addr().(*net.TCPAddr).Port, 1, 0)
	cfg.Listener, cfg.Listen = ln, ln.Addr().String()
	cfg.Domain, cfg.ACMECA, cfg.ACMERoot = Names{named}, a.Directory, a.OwnFile
	if cfg.Data == "" {
		cfg.Data = dir(t)
	}
	return start(t, cfg), a
}

// shown returns the chain that a client is shown who asks for a name at addr.
func shown(t *testing.T, addr net.Addr, name string) []*x509.Certificate {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", addr.String(), &tls.Config{InsecureSkipVerify: true, ServerName: name})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates
}

// certified waits until the relay shows its certificate at addr.
func (s *running) certified(t *testing.T, addr net.Addr) {
	t.Helper()
	end := time.Now().Add(5 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for len(shown(t, addr, named)) == 2 {
		if time.Now().After(end) {
			t.Fatalf("no certificate after a minute: %+v", s.nameStatuses())
		}
		<-tick.C
	}
}

func TestANameThatAnAuthorityVouchesFor(t *testing.T) {
	s, a := startNamed(t, Config{})
	if st := s.nameStatuses(); len(st) != 1 || st[0].Level == Fail {
		t.Errorf("at the start: got %+v", st)
	}
	s.certified(t, s.cfg.Listener.Addr())

	chain := shown(t, s.cfg.Listener.Addr(), named)
	n := len(chain)
	if n < 3 || !bytes.Equal(chain[0].RawSubjectPublicKeyInfo, chain[n-2].RawSubjectPublicKeyInfo) || verify(chain[n-2], chain[n-1], time.Now()) != nil {
		t.Fatalf("got a chain of %d that does not end in the realm's word for its first key", n)
	}
	for _, other := range []string{"", "other.example", "127.0.0.1"} {
		if chain := shown(t, s.cfg.Listener.Addr(), other); len(chain) != 2 || verify(chain[0], chain[1], time.Now()) != nil {
			t.Errorf("asked for %q: got a chain of %d, want the realm's", other, len(chain))
		}
	}

	// A program that asks authorities, over HTTP/1.1 and HTTP/2, and whose proofs are bound.
	tr := s.http.Transport.(*http.Transport)
	tr.TLSClientConfig = &tls.Config{RootCAs: a.Issued}
	tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.ln.Addr().String())
	}
	s.url = "https://" + named
	s.carries(t, true)

	// A client that pins the realm key, by name and by bare address, and one that does not know it yet.
	pin := s.Fingerprint()
	_, port, _ := net.SplitHostPort(s.ln.Addr().String())
	for _, name := range []string{named + ":" + port, "127.0.0.1.example:" + port} {
		dial := func(ctx context.Context, _, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", s.ln.Addr().String())
		}
		r, err := network.New(network.Options{Name: name, Pin: &pin, Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if d, err := r.Descriptor(t.Context()); err != nil || sha256.Sum256(d.Realm[:]) != pin || !d.Binding || len(r.Warnings()) != 0 {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
		other := sha256.Sum256([]byte("another realm"))
		wrong, err := network.New(network.Options{Name: name, Pin: &other, Dial: dial, Roots: a.Issued, Proxied: func() bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		defer wrong.Close()
		if _, err := wrong.Descriptor(t.Context()); err == nil {
			t.Errorf("%s: got a descriptor of another realm because an authority vouches for the name", name)
		}
	}

	// What the operator is told, and the log is not.
	if st := s.nameStatuses(); len(st) != 1 || st[0].Level != OK || st[0].Days < 80 || st[0].Days > 91 {
		t.Errorf("got %+v, want about 90 days", st)
	}
	if c := diagnosis(t, Doctor(t.Context(), s.cfg), "name"); c.Level != OK || !strings.Contains(c.Says, "more days") {
		t.Errorf("doctor: got %+v", c)
	}
	s.stop()
	cfg := s.cfg
	cfg.Listener, cfg.Listen = nil, "127.0.0.1:0"
	if c := diagnosis(t, Doctor(t.Context(), cfg), "name"); c.Level != OK || !strings.Contains(c.Says, "more days") {
		t.Errorf("doctor, from the disk: got %+v", c)
	}
	if log := s.log.String(); strings.Contains(log, "example") || strings.Contains(log, "127.0.0.1") || strings.Contains(log, "acme") {
		t.Errorf("got a log that names somebody: %s", log)
	}
	err := filepath.WalkDir(filepath.Join(cfg.Data, acmeDir), func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			if info, e := d.Info(); e != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACertificateBehindAProxyThatForwardsTCP(t *testing.T) {
	// The authority's question comes as the proxy forwards it, header first.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go forward(c, inner.Addr().String())
		}
	}()
	defer ln.Close()
	a := acmetest.Start(t, ln.Addr().(*net.TCPAddr).Port, 1, 0)
	s := start(t, Config{
		Data: dir(t), Listener: inner, Listen: inner.Addr().String(), ProxyProtocol: true,
		Domain: Names{named}, ACMECA: a.Directory, ACMERoot: a.OwnFile,
	})
	s.certified(t, ln.Addr())
}

// forward copies between a connection and the relay, with a header first.
func forward(c net.Conn, to string) {
	defer c.Close()
	r, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer r.Close()
	r.Write([]byte(from("198.51.100.7")))
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(c, r)
		c.Close()
	}()
	io.Copy(r, c)
	r.Close()
	<-done
}

func TestNamesThatFailAreToldAndTheRealmIsServed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := start(t, Config{
		Data: dir(t), Listener: ln, Listen: ln.Addr().String(), Domain: Names{named}, ACMECA: "https://127.0.0.1:1/directory",
	})
	end := time.Now().Add(5 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for broken.nameStatuses()[0].Level != Fail {
		if time.Now().After(end) {
			t.Fatalf("got %+v after a minute, want a failure", broken.nameStatuses())
		}
		<-tick.C
	}
	if st := broken.nameStatuses()[0]; st.Hint == "" {
		t.Errorf("got %+v, want a hint", st)
	}
	for !strings.Contains(broken.log.String(), eventName) { // the state is told first, and the log after it
		if time.Now().After(end) {
			t.Fatalf("got log %q, want a line about it", broken.log)
		}
		<-tick.C
	}
	if chain := shown(t, ln.Addr(), named); len(chain) != 2 || verify(chain[0], chain[1], time.Now()) != nil {
		t.Error("got something else than the realm's chain, want that: clients who pin need no authority")
	}
	broken.realm(t)
}

func TestWhatIsSaidOfAName(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		state   acme.State
		running bool
		want    Level
		says    string
	}{
		{acme.State{}, false, OK, "first start"},
		{acme.State{}, true, Warn, "not yet|no certificate yet"},
		{acme.State{Trouble: "x", Hint: "y"}, true, Fail, "no certificate, x"},
		{acme.State{Until: now.Add(-time.Hour)}, false, Fail, "has ended"},
		{acme.State{Until: now.Add(80 * 24 * time.Hour)}, true, OK, "81 more days"},
		{acme.State{Until: now.Add(5 * 24 * time.Hour), Late: true}, true, Warn, "should have been renewed"},
		{acme.State{Until: now.Add(5 * 24 * time.Hour), Trouble: "x", Hint: "y"}, true, Warn, "renewing failed: x"},
	} {
		c.state.Name = named
		got := nameStatus(c.state, now, c.running)
		if got.Level != c.want || !slices.ContainsFunc(strings.Split(c.says, "|"), func(s string) bool { return strings.Contains(got.Says, s) }) || got.Level != OK && got.Hint == "" {
			t.Errorf("%+v: got %+v, want %s about %q with a hint", c.state, got, c.want, c.says)
		}
	}
}

func TestAnAuthorityFileThatIsNone(t *testing.T) {
	d := dir(t)
	path := filepath.Join(d, "root.pem")
	for _, text := range []string{"", "not a certificate"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{Data: d, Listen: "127.0.0.1:0", Domain: Names{named}, ACMERoot: path})
		wantProblem(t, err, err)
	}
	_, err := New(Config{Data: d, Listen: "127.0.0.1:0", Domain: Names{named}, ACMERoot: path + "x"})
	wantProblem(t, err, fs.ErrNotExist)
}

// A vouched chain is made anew before the realm's part ends, and when the
// authority's is another; not for each handshake.
func TestAVouchedChainIsMadeAnewInTime(t *testing.T) {
	now := time.Date(2027, 3, 4, 17, 5, 6, 0, time.UTC)
	c := newCerts(t, newRealm(t), func() time.Time { return now })
	one, err := newCertificates(newRealm(t), time.Now) // stands for an authority's
	if err != nil {
		t.Fatal(err)
	}
	public := one.chain.Load()
	first, err := c.vouch(public)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.vouch(public); again != first {
		t.Error("got another chain at once")
	}
	now = now.Add(leafLife - leafRenew)
	later, err := c.vouch(public)
	if err != nil || later == first {
		t.Fatalf("got the same chain when the realm's part has half its life left, %v", err)
	}
	n := len(later.Certificate)
	leaf, _ := x509.ParseCertificate(later.Certificate[n-2])
	ca, _ := x509.ParseCertificate(later.Certificate[n-1])
	if err := verify(leaf, ca, now.Add(24*time.Hour)); err != nil {
		t.Error(err)
	}
	if err := one.renew(); err != nil {
		t.Fatal(err)
	}
	if other, _ := c.vouch(one.chain.Load()); other == later || bytes.Equal(other.Certificate[0], later.Certificate[0]) {
		t.Error("got the old chain for a new certificate")
	}
}

func TestStatusTellsOfNames(t *testing.T) {
	b, err := json.Marshal(Status{Names: []NameStatus{{Name: named, Days: 3, Level: Warn, Says: "x", Hint: "y"}}})
	if err != nil || !strings.Contains(string(b), `"names":[{"name":"relay.example","days":3,"level":"WARN","says":"x","hint":"y"}]`) {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestNamesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"data = 'd'\ndomain = 'relay'":                        "domain",
		"data = 'd'\ndomain = 'Relay.example'":                "domain",
		"data = 'd'\ndomain = '*.example'":                    "domain",
		"data = 'd'\ndomain = '192.0.2.1'":                    "domain",
		"data = 'd'\ndomain = ['relay.example', 'abc.onion']": "domain",
		"data = 'd'\ndomain = 3":                              "domain",
		"data = ''\ndomain = 'relay.example'":                 "domain",
		"tls = 'off'\ndomain = 'relay.example'":               "domain",
		"tls = 'proxy'\ndomain = 'relay.example'":             "domain",
		"listen = 'unix:/s'\ndomain = 'relay.example'":        "domain",
		"acme_ca = 'http://192.0.2.1/directory'":              "acme_ca",
		"acme_email = 'a b@c'":                                "acme_email",
	} {
		_, err := ParseConfig([]byte(text))
		var p *Problem
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%q: got %v, want an error about %q with a hint", text, err, want)
		}
	}
}
