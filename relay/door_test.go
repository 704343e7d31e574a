package relay

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A connection that asks again and again is told to go, so that the limit of
// connections is one of requests.
func TestAConnectionHasSoManyRequests(t *testing.T) {
	for _, mode := range []string{"off", "on"} {
		s := start(t, Config{TLS: mode})
		_, addr, _ := strings.Cut(s.url, "://")
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if mode == "on" {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		}
		t.Cleanup(func() { c.Close() })
		r := bufio.NewReader(c)
		for n := 1; n <= maxRequests; n++ {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: relay\r\n\r\n"); err != nil {
				t.Fatalf("TLS %s: request %d: %v", mode, n, err)
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("TLS %s: answer %d: %v", mode, n, err)
			}
			io.Copy(io.Discard, resp.Body)
			if resp.Close != (n == maxRequests) {
				t.Fatalf("TLS %s: got Connection: close %t on answer %d", mode, resp.Close, n)
			}
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("TLS %s: got %v after the last answer, want the end", mode, err)
		}
	}
}

// A handshake that is under way does not hold up the relay when it stops.
func TestStoppingEndsHandshakes(t *testing.T) {
	s := start(t, Config{TLS: "on"})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write([]byte{22, 3, 1})
	if resp, _ := s.do(t, "GET", "/", nil); resp.StatusCode != 200 {
		t.Fatalf("got status %d beside a handshake that has begun, want 200", resp.StatusCode)
	}
	s.stop()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("got a byte, want the end")
	}
}
