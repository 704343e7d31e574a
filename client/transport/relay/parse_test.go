package relay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
	"github.com/tacet-chat/tacet/internal/wire"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]struct {
		addr, url string
		plain     bool
	}{
		"relay.example":      {"relay.example:443", "https://relay.example/x", false},
		"relay.example:7117": {"relay.example:7117", "https://relay.example:7117/x", false},
		"192.0.2.1":          {"192.0.2.1:443", "https://192.0.2.1/x", false},
		"[2001:db8::1]:1":    {"[2001:db8::1]:1", "https://[2001:db8::1]:1/x", false},
		"localhost":          {"localhost:80", "http://localhost/x", true},
		"127.0.0.1:7117":     {"127.0.0.1:7117", "http://127.0.0.1:7117/x", true},
		"[::1]:7117":         {"[::1]:7117", "http://[::1]:7117/x", true},
		"127.0.0.2":          {"127.0.0.2:443", "https://127.0.0.2/x", false},
		"localhost.example":  {"localhost.example:443", "https://localhost.example/x", false},
	} {
		e, err := parseName(name)
		if err != nil || e.addr() != want.addr || e.url("/x") != want.url || e.plain != want.plain {
			t.Errorf("got %+v, %v for %q, want %+v", e, err, name, want)
		}
	}
	for _, name := range []string{
		"", ":443", "relay.example:", "relay.example:0", "relay.example:65536", "relay.example:+1", "relay.example:01", "Relay.example",
		"relay..example", ".example", "relay.example/", "http://relay.example", "me@relay.example", "relay.example?", "relay example",
		"[::1", "::1", "[relay.example]", "[127.0.0.1]", "[fe80::1%eth0]", "[::1]x", "[::1]:", "relay%2eexample", "r\u00e9lais.example",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 200) + "a",
	} {
		if e, err := parseName(name); err == nil {
			t.Errorf("got %+v for %q, want an error", e, name)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"relay.example", "127.0.0.1:7117", "[::1]:80", "localhost", "a:1:2", "[::ffff:1.2.3.4]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseName(s)
		if err != nil {
			return
		}
		u, err := url.Parse(e.url("/v1/realm"))
		if err != nil || u.Host != s || u.Hostname() != e.host || u.User != nil || u.Path != "/v1/realm" {
			t.Errorf("got URL %v, %v for %q, want that host and nothing else", u, err, s)
		}
		if ip := net.ParseIP(e.host); e.plain && e.host != "localhost" && !ip.IsLoopback() {
			t.Errorf("got no TLS for %q, want it everywhere but on this machine", s)
		}
		if _, err := appendConnect(nil, e.addr()); err != nil {
			t.Errorf("got error %v for %q, want a name that a proxy takes", err, s)
		}
	})
}

func FuzzProxyURL(f *testing.F) {
	f.Add("socks5://127.0.0.1:9050")
	f.Add("socks5h://[::1]:1/")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := SOCKS5(s)
		if (d == nil) != (err != nil) {
			t.Errorf("got a dialer %v and error %v", d != nil, err)
		}
	})
}

// script is a proxy that says what it says.
type script struct {
	*bytes.Reader
	said bytes.Buffer
}

func (s *script) Write(b []byte) (int, error) { return s.said.Write(b) }

func FuzzProxyAnswers(f *testing.F) {
	f.Add([]byte{5, 2, 1, 0, 5, 0, 0, 1, 1, 2, 3, 4, 0, 80, 'r', 'e', 's', 't'})
	f.Add([]byte{5, 2, 1, 0, 5, 0, 0, 3, 0, 0, 80})
	f.Add([]byte{5, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, s := &proxy{}, &script{Reader: bytes.NewReader(b)}
		request, _ := appendConnect(nil, "relay.example:443")
		if err := p.greet(s, "name", request); err != nil {
			return
		}
		// What follows the reply belongs to whoever is behind the proxy.
		n := 8
		switch b[7] {
		case socksIPv4:
			n += 6
		case socksIPv6:
			n += 18
		case socksName:
			n += 1 + int(b[8]) + 2
		}
		if s.Len() != len(b)-n {
			t.Errorf("got %d bytes left of %d, want %d", s.Len(), len(b), len(b)-n)
		}
		if !bytes.Equal(b[:6], []byte{5, 2, 1, 0, 5, 0}) {
			t.Errorf("got a connection by answers % x", b[:6])
		}
	})
}

func TestConnectKeepsNamesAsTheyAre(t *testing.T) {
	got, err := appendConnect(nil, "relay.example:443")
	want := append([]byte{5, 1, 0, 3, 13}, "relay.example\x01\xbb"...)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got % x, %v, want % x", got, err, want)
	}
	for _, addr := range []string{"relay.example", "relay.example:0", ":443", strings.Repeat("a", 256) + ":443", "relay.example:x"} {
		if _, err := appendConnect(nil, addr); err == nil {
			t.Errorf("got no error for %q, want one", addr)
		}
	}
}

// appendFrame is the relay's half: parse and append give back the same bytes.
func appendFrame(kind wire.FrameKind, b []byte) (out []byte) {
	out = append(out, byte(kind))
	switch kind {
	case wire.FrameGreeting:
		g := parseGreeting(b)
		out = append(append(out, g.nonce[:]...), g.second[:]...)
	case wire.FrameDeliver:
		d := parseDeliver(b)
		out = binary.BigEndian.AppendUint64(out, d.nonce)
		out = append(append(out, d.address[:]...), d.cell[:]...)
	case wire.FrameWatched:
		w := parseWatched(b)
		out = binary.BigEndian.AppendUint16(out, uint16(w.addresses))
		out = binary.BigEndian.AppendUint32(out, uint32(w.reach/time.Second))
	case wire.FrameRefused:
		out = append(out, b[1])
	}
	return out
}

func FuzzFrame(f *testing.F) {
	for kind, n := range map[wire.FrameKind]int{
		wire.FrameGreeting: wire.GreetingSize, wire.FrameDeliver: wire.DeliverSize, wire.FrameWatched: wire.WatchedSize, wire.FrameRefused: wire.RefusedSize,
	} {
		f.Add(append([]byte{byte(kind)}, bytes.Repeat([]byte{0xa5}, n-1)...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, err := kindOf(b)
		if err != nil {
			return
		}
		if got := appendFrame(kind, b); !bytes.Equal(got, b) {
			t.Errorf("got % x, want % x", got, b)
		}
		if kind == wire.FrameRefused && parseRefused(b) == nil {
			t.Errorf("got no error for % x, want one", b)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add(vectortest.Example(f, "relay-api.md", "answer"))
	f.Fuzz(func(t *testing.T, b []byte) {
		answers, err := parseAnswers(b)
		if err != nil {
			return
		}
		var again []byte
		for _, a := range answers {
			again = a.Append(again)
		}
		if !bytes.Equal(again, b) {
			t.Errorf("got % x, want % x", again, b)
		}
	})
}

func FuzzDescriptor(f *testing.F) {
	b := vectortest.Example(f, "relay-api.md", "descriptor")
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		// Only the realm key can make one, whatever the bytes.
		if d, err := readDescriptor(b, nil); err == nil {
			if _, err := readDescriptor(b, &[32]byte{}); !errors.Is(err, transport.ErrIdentity) {
				t.Errorf("got error %v for another pin, want ErrIdentity", err)
			}
			b[len(b)-1] ^= 1
			if _, err := readDescriptor(b, nil); err == nil {
				t.Errorf("got %+v with a flipped bit, want an error", d)
			}
		}
	})
}

func FuzzSecond(f *testing.F) {
	by := [32]byte{}
	f.Add(vectortest.Example(f, "relay-api.md", "second"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if unix, err := readSecond(b, by); err == nil {
			t.Errorf("got %d by a key that signed nothing, want an error", unix)
		} else if !errors.Is(err, transport.ErrTime) {
			t.Errorf("got error %v, want ErrTime", err)
		}
	})
}

func TestSecondIsSpecExample(t *testing.T) {
	b := vectortest.Example(t, "relay-api.md", "second")
	seed := bytes.Repeat([]byte{2}, 32)
	if unix, err := readSecond(b, publicOf(t, seed)); err != nil || unix != 1_780_000_000 {
		t.Errorf("got %d, %v, want 1,780,000,000", unix, err)
	}
}

func TestReceiptIsSpecExample(t *testing.T) {
	b := vectortest.Example(t, "relay-api.md", "receipt")
	by := publicOf(t, bytes.Repeat([]byte{3}, 32))
	id := wire.BlobID(bytes.Repeat([]byte{0x55}, 32))
	if _, err := readReceipt(b, id, by); err != nil {
		t.Errorf("got error %v, want the example", err)
	}
	if _, err := readReceipt(b, wire.BlobID{}, by); err == nil {
		t.Error("got no error for another id, want one")
	}
	for i := range b {
		b[i] ^= 1
		if _, err := readReceipt(b, id, by); err == nil {
			t.Errorf("got no error with byte %d changed, want one", i)
		}
		b[i] ^= 1
	}
}

func TestPause(t *testing.T) {
	if got := pause(0); got != 0 {
		t.Errorf("got %v after a connection that worked, want 0", got)
	}
	for failed, mean := range map[int]time.Duration{1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 7: 15 * time.Second, 1000: 15 * time.Second} {
		for range 100 {
			if got := pause(failed); got < mean/2 || got > mean*3/2 {
				t.Errorf("got %v after %d failures, want %v × U(0.5, 1.5)", got, failed, mean)
			}
		}
	}
}

func TestEchoesBeyondTheBoundLoseTheOldest(t *testing.T) {
	e := &echoes{some: make(chan struct{}, 1)}
	for i := range uint64(maxEchoes + 1) {
		e.seen(i)()
	}
	if got := e.take(1 << 20); len(got) > maxEchoes || got[len(got)-1] != maxEchoes || got[0] != wire.MaxEchoes {
		t.Errorf("got %d echoes from %d on, want at most %d and the newest", len(got), got[0], maxEchoes)
	}
}

func publicOf(t *testing.T, seed []byte) [32]byte {
	s, err := key.New[key.SignRole](seed)
	if err != nil {
		t.Fatal(err)
	}
	return key.SignPublicOf(s)
}
