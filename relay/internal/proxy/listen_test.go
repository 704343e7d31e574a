package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func listenTCP(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func dial(t *testing.T, ln net.Listener, first string) net.Conn {
	t.Helper()
	c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, first); err != nil {
		t.Fatal(err)
	}
	return c
}

var loopback = Trust{netip.MustParsePrefix("127.0.0.1/32")}

// ended waits until the other side has hung up.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := io.Copy(io.Discard, c); n != 0 || errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("got %d bytes, %v, want the end", n, err)
	} else if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		t.Error("got nothing for a minute, want the end")
	}
}

func TestAConnectionHasTheAddressOfItsClient(t *testing.T) {
	ln := Listen(listenTCP(t), loopback)
	defer ln.Close()
	silent := dial(t, ln, "") // holds nobody up
	defer silent.Close()
	dial(t, ln, v2(0x21, 0x11, four)+"hello")
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != "192.0.2.7:4660" {
		t.Errorf("got %s, want the client's", got)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Errorf("got %q, %v after the header", b, err)
	}
	// The hub reads and writes without waiting, and closes as TCP does.
	if _, ok := c.(syscall.Conn); !ok {
		t.Error("got a connection that hides the system's way to it")
	}
	if _, ok := c.(interface{ CloseWrite() error }); !ok {
		t.Error("got a connection that cannot be closed halfway")
	}
}

func TestAProxyThatSpeaksForItself(t *testing.T) {
	ln := Listen(listenTCP(t), loopback)
	defer ln.Close()
	near := dial(t, ln, v2(0x20, 0, ""))
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.RemoteAddr().String(); got != near.LocalAddr().String() {
		t.Errorf("got %s, want its own %s", got, near.LocalAddr())
	}
}

func TestWhoSendsNoHeaderIsCutOff(t *testing.T) {
	ln := Listen(listenTCP(t), loopback)
	defer ln.Close()
	ended(t, dial(t, ln, "GET / HTTP/1.1\r\nHost: relay\r\n\r\n"))
}

func TestAStrangerIsCutOffWhateverHeSays(t *testing.T) {
	trust, err := ParseTrust([]string{"192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	ln := Listen(listenTCP(t), trust)
	defer ln.Close()
	ended(t, dial(t, ln, v2(0x21, 0x11, four)))
}

func TestClosingEndsWhatWaits(t *testing.T) {
	ln := Listen(listenTCP(t), loopback)
	silent := dial(t, ln, "PROXY")
	dial(t, ln, v2(0x21, 0x11, four))
	c, err := ln.Accept() // so both were accepted by now
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	ln.Close()
	ended(t, silent)
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want the end", err)
	}
}

// Tor numbers the circuits of an onion service; each is a network of its own.
func TestCircuitsAreNetworks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	raw, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ln := ListenOnion(raw, nil)
	defer ln.Close()
	networks := map[netip.Prefix]bool{}
	for _, line := range []string{
		"PROXY TCP6 fc00:dead:beef:4dad::0:1 ::1 1 443\r\n",
		"PROXY TCP6 fc00:dead:beef:4dad::0:2 ::1 2 443\r\n",
		"PROXY TCP6 fc00:dead:beef:4dad::ffff:ffff ::1 65535 443\r\n",
		"PROXY TCP6 fc00:dead:beef:4dad::ffff:ffff ::1 65535 443\r\n",
	} {
		dial(t, raw, line)
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		a := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		if a.IsLoopback() || !a.Is6() {
			t.Errorf("%q: got %s, want what a limit counts", line, a)
		}
		p, _ := a.Prefix(56)
		networks[p] = true
		if _, ok := c.(syscall.Conn); !ok {
			t.Error("got a connection that hides the system's way to it")
		}
	}
	if len(networks) != 3 {
		t.Errorf("got %d networks for three circuits", len(networks))
	}
	ended(t, dial(t, raw, "PROXY TCP4 192.0.2.7 203.0.113.1 4660 443\r\n"))
	ended(t, dial(t, raw, "PROXY UNKNOWN\r\n"))
}
