package relay

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// placed is a listener whose peers come from where the test says.
type placed struct {
	net.Listener
	from atomic.Pointer[string]
}

type placedConn struct {
	net.Conn
	from string
}

func (p *placed) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &placedConn{c, *p.from.Load()}, nil
}

func (c *placedConn) RemoteAddr() net.Addr {
	port := c.Conn.RemoteAddr().(*net.TCPAddr).AddrPort().Port()
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.from), port))
}

// startPlaced is start over TLS, with peers from one network until move.
func startPlaced(t *testing.T, from string) (s *running, move func(from string)) {
	t.Helper()
	p := &placed{}
	p.from.Store(&from)
	s = startOn(t, Config{TLS: "on"}, func(ln net.Listener) net.Listener {
		p.Listener = ln
		return p
	})
	return s, func(from string) {
		s.http.CloseIdleConnections()
		p.from.Store(&from)
	}
}

// stallAll opens an HTTP/2 connection that takes no byte of a body and asks
// for path so many times. It returns, once each was answered or its stream
// refused, how many were answered, and how many of those with 200: all their bodies
// wait at the server.
func stallAll(t *testing.T, addr, path string, times int) (answers, whole int) {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	var block bytes.Buffer
	h := hpack.NewEncoder(&block)
	for n := range times {
		block.Reset()
		for _, field := range []string{":method=GET", ":scheme=https", ":authority=" + addr, ":path=" + path} {
			name, value, _ := strings.Cut(field, "=")
			h.WriteField(hpack.HeaderField{Name: name, Value: value})
		}
		if err := f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*n + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	for refused := 0; answers+refused < times; {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("after %d of %d answers: %v", answers, times, err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			if answers++; frame.PseudoValue("status") == "200" {
				whole++
			}
		case *http2.RSTStreamFrame:
			refused++
		}
	}
	return answers, whole
}

// largest is a request that stores a blob of the largest size.
func largest(t *testing.T) (path string, body []byte) {
	t.Helper()
	p := wire.BlobPut{
		Kind: wire.BlobFile, Days: 1, Capability: key.Hash(wire.LabelCapability, make([]byte, 32)),
		ID: wire.BlobID{1}, Content: make([]byte, wire.MaxBlob),
	}
	body, err := p.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/v1/blob/%x", p.ID), body
}

// Peers that ask for much and take nothing hold up no other network, and make
// the relay keep no more than their part of its memory.
func TestWhoTakesNoAnswersHoldsUpNobodyElse(t *testing.T) {
	s, move := startPlaced(t, "192.0.2.1")
	s.http.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	at, body := largest(t)
	if resp, _ := s.do(t, "POST", "/v1/blob", body); resp.StatusCode != 200 {
		t.Fatalf("got status %d, want 200", resp.StatusCode)
	}
	addr := strings.TrimPrefix(s.url, "https://")
	waiting := 0
	for n := range 24 {
		answers, whole := stallAll(t, addr, at, 64)
		if waiting += whole; n == 0 && whole == 0 {
			t.Fatal("got no answer that waits: the attack is none")
		}
		if answers > 8 {
			t.Errorf("got %d answers that wait on one connection, want at most 8", answers)
		}
	}
	if got, most := waiting*wire.MaxBlob, 32<<20/9; got > most {
		t.Errorf("got %d bytes waiting, want at most %d", got, most)
	}
	if resp, _ := s.do(t, "GET", at, nil); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("their own network: got status %d, Retry-After %q, want 503 and some", resp.StatusCode, resp.Header.Get("Retry-After"))
	}

	move("198.51.100.1")
	if resp, got := s.do(t, "GET", at, nil); resp.StatusCode != 200 || len(got) != wire.MaxBlob {
		t.Errorf("reading: got status %d and %d bytes, want 200 and all", resp.StatusCode, len(got))
	}
	id, invite, _ := blobPut(t, 2)
	if resp, b := s.do(t, "POST", "/v1/blob", invite); resp.StatusCode != 200 {
		t.Errorf("storing: got status %d %q, want 200", resp.StatusCode, b)
	}
	if resp, _ := s.do(t, "GET", fmt.Sprintf("/v1/blob/%x", id), nil); resp.StatusCode != 200 {
		t.Errorf("reading what was stored: got status %d, want 200", resp.StatusCode)
	}
}

// The attack above is real: it starves a server that holds one of 128 places
// until an answer is taken, with 64 requests on a connection.
func TestTheStallStarvesAServerWithPlacesAlone(t *testing.T) {
	places := make(chan struct{}, 128)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			w.Write(make([]byte, wire.MaxBlob))
		default:
			http.Error(w, "too busy", http.StatusServiceUnavailable)
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 64}
	srv.StartTLS()
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	for range 2 {
		stallAll(t, srv.Listener.Addr().String(), "/", 64)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 503 {
		t.Errorf("got status %d, want 503: the attack does not work", resp.StatusCode)
	}
}

// A body that comes with a read would wait in memory, unread.
func TestAReadHasNoBody(t *testing.T) {
	s := start(t, Config{})
	if resp, _ := s.do(t, "GET", "/v1/realm", []byte("x")); resp.StatusCode != 400 {
		t.Errorf("got status %d, want 400", resp.StatusCode)
	}
}
