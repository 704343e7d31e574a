package relay_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// socks is a SOCKS5 proxy for tests, on a port of this machine.
type socks struct {
	net.Listener
	t      *testing.T
	method byte                                        // that it chooses
	status byte                                        // of the credentials
	reply  byte                                        // to the request
	reach  func(ctx context.Context) (net.Conn, error) // where streams go
	wrong  []byte                                      // is said in place of everything

	mu   sync.Mutex
	asks []socksAsk
	all  sync.WaitGroup
}

// socksAsk is one request for a stream.
type socksAsk struct {
	credentials string
	kind        byte // of the address
	host        string
	port        uint16
}

// newSocks starts a proxy that is as change makes it.
func newSocks(t *testing.T, f *fake, change func(s *socks)) *socks {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socks{Listener: ln, t: t, method: 2, reach: func(ctx context.Context) (net.Conn, error) { return f.dial(ctx, "", "", "") }}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { c.Close() })
			s.all.Go(func() { s.serve(ctx, c) })
		}
	})
	t.Cleanup(func() { cancel(); ln.Close(); s.all.Wait() })
	return s
}

func (s *socks) url() string { return "socks5://" + s.Addr().String() }

func (s *socks) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	if s.wrong != nil {
		c.Write(s.wrong)
		io.Copy(io.Discard, c)
		return
	}
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	if hello := read(int(read(2)[1])); !bytes.Equal(hello, []byte{2}) {
		s.t.Errorf("got methods % x offered, want credentials and nothing else", hello)
	}
	c.Write([]byte{5, s.method})
	user := read(int(read(2)[1]))
	password := read(int(read(1)[0]))
	c.Write([]byte{1, s.status})
	if s.status != 0 || s.method != 2 {
		return
	}
	head := read(4)
	ask := socksAsk{credentials: string(user) + ":" + string(password), kind: head[3]}
	switch head[3] {
	case 1:
		ask.host = net.IP(read(4)).String()
	case 3:
		ask.host = string(read(int(read(1)[0])))
	case 4:
		ask.host = net.IP(read(16)).String()
	}
	ask.port = binary.BigEndian.Uint16(read(2))
	s.mu.Lock()
	s.asks = append(s.asks, ask)
	s.mu.Unlock()
	c.Write([]byte{5, s.reply, 0, 3, 4, 'h', 'o', 's', 't', 0, 80})
	if s.reply != 0 {
		return
	}
	to, err := s.reach(ctx)
	if err != nil {
		return
	}
	defer to.Close()
	s.all.Go(func() { io.Copy(to, c); to.Close() })
	io.Copy(c, to)
}

// behind returns a client of f behind s.
func behind(t *testing.T, f *fake, s *socks) *relay.Relay {
	n, err := relay.NewNetwork(s.url())
	if err != nil {
		t.Fatal(err)
	}
	if n.Proxy() != s.url() {
		t.Errorf("got proxy %q, want %q", n.Proxy(), s.url())
	}
	r, err := n.Open(f.name, *f.pin())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if !r.Caps().HidesAddress {
		t.Error("got a proxy that hides nothing, want the address hidden")
	}
	return r.(*relay.Relay)
}

// withoutDNS makes every local resolution a failure of the test.
func withoutDNS(t *testing.T) {
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("got a name resolved on this machine, want the proxy to do that")
		return nil, errors.New("no DNS")
	}}
	t.Cleanup(func() { net.DefaultResolver = old })
}

func TestWithoutDNSNotices(t *testing.T) {
	old := net.DefaultResolver
	defer func() { net.DefaultResolver = old }()
	var asked atomic.Bool // both kinds of address are asked for at once
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Store(true)
		return nil, errors.New("no DNS")
	}}
	relay.Direct()(t.Context(), "tcp", "relay.example:443", "")
	if !asked.Load() {
		t.Error("got no resolution by the direct dialer, want one: TestProxy… would see nothing")
	}
}

func TestProxyKeepsNamesApartAndResolvesThem(t *testing.T) {
	withoutDNS(t)
	f := newFake(t, "relay.example:7117")
	s := newSocks(t, f, nil)
	r := behind(t, f, s)
	w := start(t, r, transport.Watch{Set: owns(1), Isolate: "a"})
	<-w.ready
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "a"} {
		all.Go(func() {
			if _, err := put(t, r, name); err != nil {
				t.Errorf("got error %v, want a receipt", err)
			}
		})
	}
	for range 2 {
		all.Go(func() { r.GetBlob(t.Context(), wire.BlobID{}) })
	}
	all.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	streams := map[string]int{}
	for _, ask := range s.asks {
		streams[ask.credentials]++
		if ask.kind != 3 || ask.host != "relay.example" || ask.port != 7117 {
			t.Errorf("got a request for %v %q:%d, want the name relay.example:7117", ask.kind, ask.host, ask.port)
		}
		if strings.Contains(ask.credentials, "a:") && len(ask.credentials) != 65 {
			t.Errorf("got credentials %q, want 32 and 32 random digits", ask.credentials)
		}
	}
	// The watch a, with the descriptor; the puts a, both; the puts b; two blobs.
	if len(streams) != 5 || len(s.asks) != 6 {
		t.Errorf("got %d credentials for %d streams, want 5 for 6", len(streams), len(s.asks))
	}

	// Another process has other credentials for the same names.
	before := len(s.asks)
	other := behind(t, f, s)
	s.mu.Unlock()
	put(t, other, "a")
	s.mu.Lock()
	for _, ask := range s.asks[before:] {
		if streams[ask.credentials] > 0 {
			t.Error("got credentials of another network again, want fresh ones")
		}
	}
}

func TestProxyIsGivenAddressesAsTheyAre(t *testing.T) {
	for name, want := range map[string]socksAsk{
		"192.0.2.1":                        {kind: 1, host: "192.0.2.1", port: 443},
		"[2001:db8::1]:7117":               {kind: 4, host: "2001:db8::1", port: 7117},
		strings.Repeat("a", 56) + ".onion": {kind: 3, host: strings.Repeat("a", 56) + ".onion", port: 443},
	} {
		f := newFake(t, name)
		s := newSocks(t, f, nil)
		if _, err := behind(t, f, s).Descriptor(t.Context()); err != nil {
			t.Errorf("got error %v for %s, want the descriptor", err, name)
		}
		s.mu.Lock()
		got := s.asks[0]
		s.mu.Unlock()
		if got.credentials = ""; got != want {
			t.Errorf("got request %+v, want %+v", got, want)
		}
	}
}

func TestProxyThatFailsIsNeverGoneAround(t *testing.T) {
	withoutDNS(t)
	for name, change := range map[string]func(s *socks){
		"takes no credentials":  func(s *socks) { s.method = 0 },
		"takes no method":       func(s *socks) { s.method = 0xff },
		"refuses credentials":   func(s *socks) { s.status = 1 },
		"cannot reach the host": func(s *socks) { s.reply = 4 },
		"refuses oddly":         func(s *socks) { s.reply = 99 },
		"speaks HTTP":           func(s *socks) { s.wrong = []byte("HTTP/1.1 400 Bad Request\r\n\r\n") },
		"is SOCKS4":             func(s *socks) { s.wrong = []byte{4, 90, 0, 0, 0, 0, 0, 0} },
		"is gone":               func(s *socks) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, "relay.example")
			s := newSocks(t, f, change)
			for call, err := range calls(t, behind(t, f, s)) {
				mustBeTemporary(t, err)
				if err != nil && !strings.Contains(err.Error(), "proxy") {
					t.Errorf("got error %q from %s, want the proxy named as the cause", err, call)
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.requests) != 0 {
				t.Errorf("got requests %v, want none", f.requests)
			}
		})
	}
}

func TestProxyThatSaysNothingEndsWithTheContext(t *testing.T) {
	f := newFake(t, "relay.example")
	s := newSocks(t, f, func(s *socks) { s.wrong = []byte{} })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := behind(t, f, s).Descriptor(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want the context's", err)
	}
}

func TestProxyURL(t *testing.T) {
	for url, good := range map[string]bool{
		"socks5://127.0.0.1:9050": true, "socks5h://localhost:9050": true, "socks5://[::1]:9050/": true,
		"": false, "127.0.0.1:9050": false, "socks5://127.0.0.1": false, "socks5://:9050": false, "socks4://127.0.0.1:9050": false,
		"http://127.0.0.1:9050": false, "socks5://me:secret@127.0.0.1:9050": false, "socks5://127.0.0.1:0": false,
		"socks5://127.0.0.1:99999": false, "socks5://127.0.0.1:9050/x": false, "socks5://127.0.0.1:9050?x": false, "socks5:127.0.0.1:9050": false,
	} {
		if _, err := relay.SOCKS5(url); (err == nil) != good {
			t.Errorf("got error %v for %q, want good to be %v", err, url, good)
		}
	}
}
