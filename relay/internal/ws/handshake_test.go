package ws

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"
)

func request(t *testing.T, text string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n"))))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const good = `GET /v1/watch HTTP/1.1
Host: relay
Upgrade: websocket
Connection: Upgrade
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
Sec-WebSocket-Version: 13

`

func TestHandshakeOfRFC6455(t *testing.T) {
	const want = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" // RFC 6455, Section 1.3
	for name, text := range map[string]string{
		"as it stands":           good,
		"any case, lists":        strings.NewReplacer("Upgrade: websocket", "upgrade: h2c, WebSocket", "Connection: Upgrade", "Connection: keep-alive\nConnection: foo, UPGRADE").Replace(good),
		"with what we pass over": strings.Replace(good, "\n\n", "\nSec-WebSocket-Extensions: permessage-deflate\nSec-WebSocket-Protocol: chat\n\n", 1),
	} {
		if got, err := Accept(request(t, text)); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	text := string(AppendSwitching(nil, want))
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 101 || r.Header.Get("Sec-Websocket-Accept") != want || r.Header.Get("Sec-Websocket-Extensions") != "" {
		t.Errorf("got answer %q", text)
	}
}

func TestBadHandshakes(t *testing.T) {
	for name, change := range map[string][2]string{
		"another method":        {"GET", "POST"},
		"HTTP/1.0":              {"HTTP/1.1", "HTTP/1.0"},
		"no upgrade":            {"Upgrade: websocket\n", ""},
		"another upgrade":       {"websocket\n", "websockets\n"},
		"no connection":         {"Connection: Upgrade\n", ""},
		"another connection":    {"Connection: Upgrade", "Connection: keep-alive"},
		"no key":                {"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n", ""},
		"two keys":              {"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n"},
		"a key of 15":           {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j"},
		"a key of other base":   {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZ_=="},
		"stray bits in the key": {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZR=="},
		"version 8":             {"Version: 13", "Version: 8"},
		"two versions":          {"Version: 13", "Version: 13\nSec-WebSocket-Version: 13"},
		"no version":            {"Sec-WebSocket-Version: 13\n", ""},
		"a body":                {"\n\n", "\nContent-Length: 3\n\nabc"},
		"a body in chunks":      {"\n\n", "\nTransfer-Encoding: chunked\n\n0\n\n"},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s: nothing was changed", name)
		}
		if got, err := Accept(request(t, text)); !errors.Is(err, ErrHandshake) || got != "" {
			t.Errorf("%s: got %q, %v, want ErrHandshake", name, got, err)
		}
	}
}
