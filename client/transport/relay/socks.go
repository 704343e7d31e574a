package relay

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// errProxyURL is returned for what is not the address of a SOCKS5 proxy.
var errProxyURL = errors.New("a proxy is given as socks5://host:port, without credentials")

// SOCKS5 returns a dialer through the proxy at address, socks5://host:port, for
// Options.Dial together with Options.HidesAddress. Names are resolved by the
// proxy, never here. A proxy that fails is an error, never a direct connection.
//
// Every isolate name has credentials of its own, random in each process: Tor
// never carries streams with different credentials over one circuit. That is
// why this is not golang.org/x/net/proxy: it also offers to go without
// credentials, and a proxy that took that up would join all streams unnoticed.
func SOCKS5(address string) (Dialer, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "socks5" && u.Scheme != "socks5h") || u.User != nil || u.Opaque != "" ||
		(u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Hostname() == "" {
		return nil, errProxyURL
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || n == 0 {
		return nil, errProxyURL
	}
	p := &proxy{addr: net.JoinHostPort(u.Hostname(), u.Port())}
	rand.Read(p.key[:])
	return p.dial, nil
}

// proxy is a SOCKS5 proxy (RFC 1928) that takes credentials (RFC 1929).
type proxy struct {
	addr string
	key  [32]byte // credentials are derived from it, so that none are kept
}

// Bytes of the protocol.
const (
	socksVersion   = 5
	socksPassword  = 2 // method: username and password
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	passwordFormat = 1
)

// credentials returns username and password for a name, 32 hex digits each.
func (p *proxy) credentials(isolate string) (user, password string) {
	m := hmac.New(sha256.New, p.key[:])
	m.Write([]byte(isolate))
	s := hex.EncodeToString(m.Sum(nil))
	return s[:32], s[32:]
}

func (p *proxy) dial(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
	request, err := appendConnect(nil, addr)
	if err != nil {
		return nil, err
	}
	d := &net.Dialer{KeepAlive: -1}
	c, err := d.DialContext(ctx, network, p.addr)
	if err != nil {
		return nil, &fault{text: "the proxy cannot be reached"}
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	err = p.greet(c, isolate, request)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet speaks SOCKS5 until the connection is through.
func (p *proxy) greet(c io.ReadWriter, isolate string, request []byte) error {
	// One method is offered: without credentials nothing would be isolated.
	if _, err := c.Write([]byte{socksVersion, 1, socksPassword}); err != nil {
		return err
	}
	var b [2]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if b != [2]byte{socksVersion, socksPassword} {
		return &fault{text: "the proxy does not take credentials, so it cannot keep connections apart"}
	}
	user, password := p.credentials(isolate)
	m := append([]byte{passwordFormat, byte(len(user))}, user...)
	m = append(append(m, byte(len(password))), password...)
	if _, err := c.Write(m); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if b != [2]byte{passwordFormat, 0} {
		return &fault{text: "the proxy refused the credentials"}
	}
	if _, err := c.Write(request); err != nil {
		return err
	}
	return readReply(c)
}

// appendConnect appends a request for a connection: version 1 ‖ command 1 ‖
// 0 ‖ address type 1 ‖ address ‖ port 2. A name stays a name.
func appendConnect(b []byte, addr string) ([]byte, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, errName
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || host == "" || len(host) > 255 {
		return nil, errName
	}
	b = append(b, socksVersion, socksConnect, 0)
	if a, err := netip.ParseAddr(host); err != nil {
		b = append(b, socksName, byte(len(host)))
		b = append(b, host...)
	} else if a.Is4() {
		b = append(append(b, socksIPv4), a.AsSlice()...)
	} else {
		b = append(append(b, socksIPv6), a.AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(b, uint16(n)), nil
}

// readReply reads a reply to its last byte and no further: version 1 ‖ reply 1 ‖
// 0 ‖ address type 1 ‖ address ‖ port 2.
func readReply(r io.Reader) error {
	var b [4 + 1 + 255 + 2]byte
	if _, err := io.ReadFull(r, b[:4]); err != nil {
		return err
	}
	if b[0] != socksVersion {
		return &fault{text: "the proxy does not speak SOCKS5"}
	}
	if b[1] != 0 {
		return &fault{text: "the proxy: " + replyText(b[1])}
	}
	rest := 0
	switch b[3] {
	case socksIPv4:
		rest = 4 + 2
	case socksIPv6:
		rest = 16 + 2
	case socksName:
		if _, err := io.ReadFull(r, b[4:5]); err != nil {
			return err
		}
		rest = int(b[4]) + 2
	default:
		return &fault{text: "the proxy does not speak SOCKS5"}
	}
	_, err := io.ReadFull(r, b[5:5+rest])
	return err
}

// replyText says what a reply means (RFC 1928, Section 6).
func replyText(code byte) string {
	switch code {
	case 1:
		return "general failure"
	case 2:
		return "connection not allowed"
	case 3:
		return "network unreachable"
	case 4:
		return "host unreachable"
	case 5:
		return "connection refused"
	case 6:
		return "time to live expired"
	case 7:
		return "command not supported"
	case 8:
		return "address type not supported"
	}
	return "unknown failure"
}
