package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/proxy"
)

// through makes the client of s speak through a proxy that says first what
// before gives.
func (s *running) through(before func() string) {
	network, where := "tcp", s.cfg.Listen
	if path, ok := socketPath(where); ok {
		network, where = "unix", path
	} else {
		where = s.ln.Addr().String()
	}
	tr := s.http.Transport.(*http.Transport)
	tr.DisableKeepAlives = true
	tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, where)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(c, before()); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
}

// from is the header of a client.
func from(client string) string {
	a := netip.AddrPortFrom(netip.MustParseAddr(client), 4660)
	server := netip.MustParseAddrPort("192.0.2.1:443")
	if a.Addr().Is6() {
		server = netip.MustParseAddrPort("[2001:db8::1]:443")
	}
	return string(proxy.Header{Client: a, Server: server}.AppendV2(nil))
}

// got reports whether a request is answered.
func (s *running) got(t *testing.T) bool {
	t.Helper()
	resp, err := s.http.Get(s.url + "/v1/realm")
	if err != nil {
		return false
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got status %d", resp.StatusCode)
	}
	return true
}

func TestBehindAProxyThatForwardsTCP(t *testing.T) {
	d := dir(t)
	for _, listen := range []string{"127.0.0.1:0", "unix:" + filepath.Join(d, "relay.sock")} {
		s := start(t, Config{Data: d, Listen: listen, ProxyProtocol: true, LimitConnections: 3})
		s.url = "https://relay.example"
		client := "198.51.100.7"
		s.through(func() string { return from(client) })
		s.carries(t, true) // three connections: realm, watch, put
		if s.got(t) {
			t.Error("got a fourth connection of one network, want it closed")
		}
		for _, other := range []string{"198.51.101.7", "2001:db8:0:100::1", "2001:db8:0:200::1"} {
			if client = other; !s.got(t) {
				t.Errorf("%s: got no answer, want one for another network", other)
			}
		}
		s.through(func() string { return "" })
		if s.got(t) {
			t.Error("got an answer without a header")
		}
		checks := Doctor(t.Context(), s.cfg)
		if c := diagnosis(t, checks, "address"); c.Level != OK {
			t.Errorf("doctor: got %+v, want that it answers", c)
		}
		if c := diagnosis(t, checks, "encryption"); c.Level != OK {
			t.Errorf("doctor: got %+v", c)
		}
		s.stop()
	}
}

func TestOnlyNamedProxiesMayConnect(t *testing.T) {
	for _, mode := range []string{"auto", "proxy"} {
		s := start(t, Config{Data: dir(t), TLS: mode, ProxyProtocol: mode == "auto", ProxyTrust: []string{"192.0.2.77"}})
		s.through(func() string {
			if mode == "auto" {
				return from("198.51.100.7")
			}
			return ""
		})
		if s.got(t) {
			t.Errorf("tls %s: got an answer from 127.0.0.1, which is not in proxy_trust", mode)
		}
		if c := diagnosis(t, Doctor(t.Context(), s.cfg), "address"); c.Level != Warn || c.Hint == "" {
			t.Errorf("doctor: got %+v, want a warning with a hint", c)
		}
		s.stop()
	}
}

// forwarding sets the header of a proxy that ends TLS.
type forwarding struct {
	http.RoundTripper
	client string
}

func (f *forwarding) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if f.client != "" {
		r.Header.Set("X-Forwarded-For", f.client)
	}
	return f.RoundTripper.RoundTrip(r)
}

func TestBehindAProxyThatEndsTLS(t *testing.T) {
	s := start(t, Config{Data: dir(t), TLS: "proxy", LimitReads: 2})
	f := &forwarding{s.http.Transport, "198.51.100.7"}
	s.http.Transport = f
	s.carries(t, false)
	if !s.realm(t).Proxied {
		t.Error("got a descriptor that does not tell of the proxy")
	}
	status := func() int {
		resp, _ := s.do(t, "GET", "/v1/blob/0000000000000000000000000000000000000000000000000000000000000000", nil)
		return resp.StatusCode
	}
	for i, want := range []int{404, 404, 429} {
		f.client = []string{"198.51.100.7", "198.51.100.8", "203.0.113.5, 198.51.100.9"}[i] // one network, whoever else is named
		if got := status(); got != want {
			t.Errorf("read %d: got status %d, want %d", i, got, want)
		}
	}
	if f.client = "198.51.101.1"; status() != 404 {
		t.Error("got a refusal for another network")
	}
	for _, bad := range []string{"", "unknown", "198.51.100.7:80"} {
		if f.client = bad; status() != 400 {
			t.Errorf("%q: got status %d, want 400", bad, status())
		}
	}
	checks := Doctor(t.Context(), s.cfg)
	if c := diagnosis(t, checks, "address"); c.Level != OK {
		t.Errorf("doctor: got %+v, want that it answers", c)
	}
	if c := diagnosis(t, checks, "encryption"); c.Level != Warn || c.Hint == "" {
		t.Errorf("doctor: got %+v, want a warning with a hint", c)
	}
}

func TestTheOnionDoor(t *testing.T) {
	d := dir(t)
	path := filepath.Join(d, "onion.sock")
	s := start(t, Config{Data: d, Onion: "unix:" + path, LimitConnections: 3})
	s.cfg.Listen = "unix:" + path // where this client goes
	line := "PROXY TCP6 fc00:dead:beef:4dad::0:1 ::1 1 443\r\n"
	s.through(func() string { return line })
	s.carries(t, true)
	if s.got(t) {
		t.Error("got a fourth connection of one circuit, want it closed")
	}
	if line = "PROXY TCP6 fc00:dead:beef:4dad::0:2 ::1 2 443\r\n"; !s.got(t) {
		t.Error("got no answer for another circuit")
	}
	if line = from("198.51.100.7"); s.got(t) {
		t.Error("got an answer for what is no circuit")
	}
	c, err := tls.Dial("tcp", s.ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatalf("the front door: %v", err)
	}
	c.Close()
	s.stop()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the socket's file after the end, want none", err)
	}
}

func TestASocketFileThatIsLeftIsReplaced(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	_, err = listenAt("unix:" + path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v while somebody listens, want that it is in use", err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	ln, err := listenAt("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("got mode %v, %v, want 0660", info.Mode(), err)
	}
	if err := os.WriteFile(path+"2", []byte("not a socket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenAt("unix:" + path + "2"); err == nil {
		t.Error("got a listener in place of a file")
	}
	if b, err := os.ReadFile(path + "2"); err != nil || string(b) != "not a socket" {
		t.Errorf("got %q, %v, want the file as it was", b, err)
	}
}

func TestADoorThatIsTakenIsAProblem(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	r, err := New(Config{Listen: "127.0.0.1:0", Onion: ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = r.Run(ctx)
	wantProblem(t, err, syscall.EADDRINUSE)
}
