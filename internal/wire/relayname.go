package wire

import (
	"errors"
	"net/netip"
	"strings"
)

// ErrRelayName is returned for what is no relay's name, or too long.
var ErrRelayName = errors.New("relay name is not acceptable")

// MaxRelayName is the longest name of a relay, in bytes: a v3 onion name with a
// port of two digits.
const MaxRelayName = 65

// Default ports: they are not written. A relay on loopback speaks plain HTTP.
const (
	portTLS      = "443"
	portLoopback = "80"
)

// RelayName returns the one way to write a relay's name, host or host:port, at
// most MaxRelayName bytes. Keys are derived from it, so both ends must agree. It
// fails with ErrRelayName.
//
// spec: invite.md#relay-name
func RelayName(s string) (string, error) {
	host, port, ok := splitPort(lower(s))
	if !ok {
		return "", ErrRelayName
	}
	host, ok = normalHost(host)
	if !ok {
		return "", ErrRelayName
	}
	standard := portTLS
	if host == "localhost" || host == "127.0.0.1" || host == "[::1]" {
		standard = portLoopback
	}
	if port != "" && port != standard {
		host += ":" + port
	}
	if len(host) > MaxRelayName {
		return "", ErrRelayName
	}
	return host, nil
}

// lower is ASCII only: what else looks like a letter stays, and is refused.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// splitPort cuts off ":port", a number from 1 to 65,535 without leading zeros.
func splitPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return s, "", true
	}
	host, port = s[:i], s[i+1:]
	if port == "" || len(port) > 5 || port[0] == '0' {
		return "", "", false
	}
	n := 0
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return "", "", false
		}
		n = 10*n + int(c-'0')
	}
	return host, port, n <= 65_535
}

// normalHost takes a DNS name, an IPv4 address or an IPv6 address in brackets.
func normalHost(h string) (string, bool) {
	if inner, ok := strings.CutPrefix(h, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		// An IPv4 address in IPv6 dress would be a second name for one relay.
		if !ok || err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" {
			return "", false
		}
		return "[" + a.String() + "]", true
	}
	labels := strings.Split(h, ".")
	for _, l := range labels {
		if !validLabel(l) {
			return "", false
		}
	}
	// What ends in a number is an IPv4 address or nothing: some resolvers read
	// 1.2.3, 0x7f.1 and the like as addresses too.
	if last := labels[len(labels)-1]; isNumber(last) {
		a, err := netip.ParseAddr(h)
		return h, err == nil && a.Is4()
	}
	return h, true
}

func validLabel(l string) bool {
	if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
		return false
	}
	for _, c := range []byte(l) {
		if c != '-' && !isDigit(c) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNumber reports whether a label is a decimal number, or a hexadecimal one
// with 0x in front.
func isNumber(l string) bool {
	if rest, ok := strings.CutPrefix(l, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(l, "0123456789") == ""
}

// LinkCheck is the last byte of the code in a link: CRC-8/SMBUS over relay ‖ 0 ‖
// code. It sees every single wrong character, in the code and in the relay's
// name, which a cut hash would not. It protects from typing errors only.
//
// spec: invite.md#link
func LinkCheck(relay string, code []byte) (crc byte) {
	for _, c := range append(append([]byte(relay), 0), code...) {
		crc ^= c
		for range 8 {
			carry := crc >> 7
			crc = crc<<1 ^ carry*0x07
		}
	}
	return crc
}
