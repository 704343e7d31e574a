package relay

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// framed speaks HTTP/2 by hand.
type framed struct {
	*http2.Framer
	c        *tls.Conn
	settings map[http2.SettingID]uint32 // the relay's
}

func (s *running) framed(t *testing.T) *framed {
	t.Helper()
	c, err := tls.Dial("tcp", s.ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if got := c.ConnectionState().NegotiatedProtocol; got != "h2" {
		t.Fatalf("got protocol %q, want h2", got)
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	f := &framed{http2.NewFramer(c, c), c, map[http2.SettingID]uint32{}}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	io.WriteString(c, http2.ClientPreface)
	f.WriteSettings()
	frame, err := f.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	frame.(*http2.SettingsFrame).ForeachSetting(func(s http2.Setting) error {
		f.settings[s.ID] = s.Val
		return nil
	})
	f.WriteSettingsAck()
	return f
}

// ask opens a stream with header fields, "name value" each.
func (f *framed) ask(stream uint32, end bool, fields ...string) error {
	var block bytes.Buffer
	h := hpack.NewEncoder(&block)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, " ")
		h.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	b := block.Bytes()
	first := min(len(b), 16<<10)
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b[:first], EndStream: end, EndHeaders: first == len(b)})
	for b = b[first:]; err == nil && len(b) > 0; b = b[first:] {
		first = min(len(b), 16<<10)
		err = f.WriteContinuation(stream, first == len(b), b[:first])
	}
	return err
}

var get = []string{":method GET", ":scheme https", ":authority relay", ":path /v1/realm"}

// answer reads until a stream is answered, refused or the connection ends.
func (f *framed) answer(stream uint32) (status string, refused bool) {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return "", true
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if frame.StreamID == stream {
				return frame.PseudoValue("status"), false
			}
		case *http2.RSTStreamFrame:
			if frame.StreamID == stream {
				return "", true
			}
		case *http2.GoAwayFrame:
			return "", true
		}
	}
}

func TestBoundsOfHTTP2(t *testing.T) {
	s := start(t, Config{TLS: "on"})
	f := s.framed(t)
	if got := f.settings[http2.SettingMaxConcurrentStreams]; got != maxStreams {
		t.Errorf("got %d streams at a time, want %d", got, maxStreams)
	}
	if got := f.settings[http2.SettingMaxHeaderListSize]; got == 0 || got > 2*maxHeader {
		t.Errorf("got headers of %d bytes, want about %d", got, maxHeader)
	}
	if got, there := f.settings[http2.SettingEnableConnectProtocol]; there && got != 0 {
		t.Error("got WebSockets over HTTP/2 offered, want them on HTTP/1.1 alone")
	}
	if err := f.ask(1, true, get...); err != nil {
		t.Fatal(err)
	}
	if status, _ := f.answer(1); status != "200" {
		t.Errorf("got status %q, want 200", status)
	}
	// RFC 8441 without having been offered.
	if err := f.ask(3, false, ":method CONNECT", ":protocol websocket", ":scheme https", ":authority relay", ":path /v1/watch", "sec-websocket-version 13"); err != nil {
		t.Fatal(err)
	}
	if status, refused := f.answer(3); !refused && status < "400" {
		t.Errorf("got status %q for a WebSocket over HTTP/2, want a refusal", status)
	}

	large := s.framed(t)
	if err := large.ask(1, true, append(get, "x-filler "+strings.Repeat("~", 4*maxHeader))...); err != nil {
		t.Fatal(err)
	}
	if status, refused := large.answer(1); !refused && status != "431" {
		t.Errorf("got status %q for headers of %d bytes, want 431 or the end", status, 4*maxHeader)
	}
}

// Streams that are opened and taken back at once (CVE-2023-44487) end a
// connection, and hold nobody else up.
func TestStreamsThatAreTakenBackEndTheConnection(t *testing.T) {
	s := start(t, Config{TLS: "on"})
	f := s.framed(t)
	ended := make(chan http2.ErrCode, 1)
	go func() {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				ended <- http2.ErrCodeNo
				return
			}
			if g, ok := frame.(*http2.GoAwayFrame); ok {
				ended <- g.ErrCode
				return
			}
		}
	}()
	const most = 100_000
	opened := 0
	for ; opened < most; opened++ {
		id := uint32(2*opened + 1)
		if err := errors.Join(f.ask(id, true, get...), f.WriteRSTStream(id, http2.ErrCodeCancel)); err != nil {
			break
		}
		select {
		case code := <-ended:
			ended <- code
		default:
			continue
		}
		break
	}
	if opened == most {
		t.Errorf("got %d streams taken back on one connection, want its end", opened)
	}
	t.Logf("the connection was ended by %d after about %d streams", <-ended, opened)
	other := s.framed(t)
	if err := other.ask(1, true, get...); err != nil {
		t.Fatal(err)
	}
	if status, _ := other.answer(1); status != "200" {
		t.Errorf("got status %q on another connection, want 200", status)
	}
}

func TestWebSocketsAreNegotiatedOnHTTP1(t *testing.T) {
	s := start(t, Config{TLS: "on"})
	c, err := tls.Dial("tcp", s.ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("got protocol %q", got)
	}
	s.carries(t, true)
}
