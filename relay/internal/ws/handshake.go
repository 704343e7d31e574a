package ws

import (
	"crypto/sha1" // RFC 6455 asks for it; nothing rests on its strength
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
)

// ErrHandshake is returned for a request that does not open a WebSocket of
// version 13 as RFC 6455, Section 4.2.1 wants it.
var ErrHandshake = errors.New("not the opening of a WebSocket of version 13 over HTTP/1.1")

// guid is the constant of RFC 6455, Section 1.3.
const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Accept checks an opening handshake and returns the value of
// Sec-WebSocket-Accept. Extensions and subprotocols that the client offers are
// passed over: agreeing to none is an answer. It does not look at Origin.
func Accept(r *http.Request) (string, error) {
	keys := r.Header.Values("Sec-Websocket-Key")
	versions := r.Header.Values("Sec-Websocket-Version")
	switch {
	case r.Method != http.MethodGet, r.ProtoMajor != 1, r.ProtoMinor < 1, r.ContentLength != 0,
		!hasToken(r.Header, "Upgrade", "websocket"), !hasToken(r.Header, "Connection", "upgrade"),
		len(versions) != 1, versions[0] != "13", len(keys) != 1:
		return "", ErrHandshake
	}
	if nonce, err := base64.StdEncoding.Strict().DecodeString(keys[0]); err != nil || len(nonce) != 16 {
		return "", ErrHandshake
	}
	sum := sha1.Sum([]byte(keys[0] + guid))
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}

// AppendSwitching appends the server's answer to a handshake.
func AppendSwitching(b []byte, accept string) []byte {
	b = append(b, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nCache-Control: no-store\r\nSec-WebSocket-Accept: "...)
	return append(append(b, accept...), "\r\n\r\n"...)
}

// hasToken reports whether a header that is a list of tokens has the one asked
// for, in any case.
func hasToken(h http.Header, name, want string) bool {
	for _, line := range h.Values(name) {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), want) {
				return true
			}
		}
	}
	return false
}
