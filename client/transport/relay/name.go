package relay

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// errName is returned for what cannot be the name of a relay.
var errName = errors.New("this is not the name of a relay: host or host:port")

// maxName bounds a name, in bytes: a DNS name has at most 253.
const maxName = 253 + len(":65535")

// endpoint is where a relay is.
type endpoint struct {
	name  string // as given: host[:port]
	host  string // without port and brackets
	port  string
	plain bool // on this machine: no TLS
}

// addr is what is dialled.
func (e endpoint) addr() string { return net.JoinHostPort(e.host, e.port) }

// url returns the address of a call.
func (e endpoint) url(path string) string {
	if e.plain {
		return "http://" + e.name + path
	}
	return "https://" + e.name + path
}

// parseName reads the name of a relay, in lower case: a DNS name, an IPv4
// address or an IPv6 address in brackets, with a port or without.
//
// spec: invite.md#relay-name
func parseName(s string) (endpoint, error) {
	if s == "" || len(s) > maxName {
		return endpoint{}, errName
	}
	e := endpoint{name: s, host: s}
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		e.host, e.port = s[:i], s[i+1:]
		n, err := strconv.ParseUint(e.port, 10, 16)
		if err != nil || n == 0 || e.port[0] == '0' || e.port[0] == '+' {
			return endpoint{}, errName
		}
	}
	switch e.host {
	case "localhost", "127.0.0.1", "[::1]":
		e.plain = true
	}
	if inner, ok := strings.CutPrefix(e.host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return endpoint{}, errName
		}
		e.host = inner
	} else if !hostName(e.host) {
		return endpoint{}, errName
	}
	if e.port == "" {
		e.port = "443"
		if e.plain {
			e.port = "80"
		}
	}
	return e, nil
}

// hostName takes DNS names and IPv4 addresses. It is not strict about DNS: it
// keeps out what would mean something else in a URL.
func hostName(h string) bool {
	for _, label := range strings.Split(h, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
		}
	}
	return true
}
