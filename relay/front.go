package relay

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/tacet-chat/tacet/relay/internal/hub"
	"github.com/tacet-chat/tacet/relay/internal/proxy"
)

// What stands between the relay and its clients: nothing, a program that
// forwards TCP, Tor, or a program that ends TLS.
//
// spec: relay-api.md#proxies-in-front

// checkFront says what is wrong with where and behind what the relay listens.
func (c *Config) checkFront(bad func(keyName, hint string) error) error {
	if !address(c.Listen) {
		return bad("listen", `listen is host:port or unix:/path, such as "127.0.0.1:7117" or ":7117"`)
	}
	if !slices.Contains([]string{"auto", "on", "off", "proxy"}, c.TLS) {
		return bad("tls", `tls is "auto", "on", "off" or "proxy"`)
	}
	trust, err := proxy.ParseTrust(c.ProxyTrust)
	if err != nil || slices.ContainsFunc(trust, func(p netip.Prefix) bool { return p.Bits() == 0 }) {
		return bad("proxy_trust", `proxy_trust lists addresses or networks, such as "192.0.2.7" or "192.0.2.0/24", and never everybody`)
	}
	if c.Onion != "" && (!address(c.Onion) || !local(c.Onion)) {
		return bad("onion", "onion is unix:/path or a loopback host:port: nobody but Tor is to connect there")
	}
	if c.Metrics != "" && (!address(c.Metrics) || !local(c.Metrics) || c.Metrics == c.Listen || c.Metrics == c.Onion) {
		return bad("metrics", "metrics is unix:/path or a loopback host:port of its own: what it tells is for this machine's operator")
	}
	ends := c.TLS == "auto" || c.TLS == "on" // where TLS ends in this relay
	switch {
	case c.TLS == "off" && !c.loopback():
		return errPlain()
	case c.TLS == "proxy" && !c.loopback() && !slices.ContainsFunc(trust, func(p netip.Prefix) bool { return !p.Addr().IsLoopback() }):
		return &Problem{
			Err:  errors.New("plain HTTP beyond loopback is for a proxy that is named"),
			Hint: "list the proxy's address in proxy_trust, or listen on 127.0.0.1",
		}
	case c.ProxyProtocol && !ends:
		return bad("proxy_protocol", `it is for proxies that forward TCP: set tls = "auto", or name the client in X-Forwarded-For`)
	case c.Onion != "" && !ends:
		return bad("onion", `clients speak TLS to an onion service, too: set tls = "auto"`)
	case len(c.Domain) > 0 && !ends:
		return bad("domain", `certificates are for TLS that ends in the relay: set tls = "auto"`)
	}
	return c.checkDomain(bad)
}

// checkDomain says what is wrong with the names and who vouches for them.
func (c *Config) checkDomain(bad func(keyName, hint string) error) error {
	if u, err := url.Parse(c.ACMECA); err != nil || u.Scheme != "https" || u.Host == "" {
		return bad("acme_ca", "acme_ca is the https URL of an ACME directory")
	}
	if strings.ContainsFunc(c.ACMEEmail, func(r rune) bool { return r <= ' ' || r > '~' }) || c.ACMEEmail != "" && !strings.Contains(c.ACMEEmail, "@") {
		return bad("acme_email", "acme_email is one address, name@domain")
	}
	if len(c.Domain) > maxNames || slices.ContainsFunc(c.Domain, func(n string) bool { return !domainName(n) }) {
		return bad("domain", fmt.Sprintf("domain lists up to %d DNS names in lower case, such as \"relay.example\"", maxNames))
	}
	if len(c.Domain) == 0 {
		return nil
	}
	if c.Data == "" {
		return bad("domain", "certificates are kept in the data directory: name one, or each start would ask for new ones")
	}
	if _, ok := socketPath(c.Listen); ok {
		return bad("domain", "with names, listen is host:port: the authority's question comes in there")
	}
	return nil
}

// maxNames is how many names a relay can have.
const maxNames = 16

// domainName reports whether n is a DNS name that an authority could vouch for.
func domainName(n string) bool {
	labels := strings.Split(n, ".")
	if len(n) > 253 || len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && last != "onion"
}

// Names is a list of names that may be written as a single one.
type Names []string

// UnmarshalTOML reads a name or a list of them.
func (n *Names) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	*n = nil
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return errors.New("domain is a name or a list of names")
		}
		*n = append(*n, s)
	}
	return nil
}

func errPlain() error {
	return &Problem{
		Err:  errors.New("plain HTTP is for loopback addresses only"),
		Hint: `set tls = "auto", or listen on 127.0.0.1`,
	}
}

// socketPath returns the path of unix:/path.
func socketPath(at string) (string, bool) { return strings.CutPrefix(at, "unix:") }

// at writes an address as the configuration has it.
func at(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return a.String()
}

// address reports whether at is host:port or unix:/path.
func address(at string) bool {
	if path, ok := socketPath(at); ok {
		return path != "" && len(path) <= maxSocketPath && !strings.ContainsRune(path, 0)
	}
	_, port, err := net.SplitHostPort(at)
	return err == nil && port != ""
}

// local reports whether only this machine reaches at.
func local(at string) bool {
	if _, ok := socketPath(at); ok {
		return true
	}
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

// loopback reports whether Listen is an address that only this machine reaches.
func (c *Config) loopback() bool { return local(c.Listen) }

// secure reports whether TLS ends in this relay.
func (c *Config) secure() bool {
	return c.TLS == "on" || c.TLS == "auto" && (!c.loopback() || c.ProxyProtocol || c.Onion != "" || len(c.Domain) > 0)
}

// front says in a word what stands in front.
func (c *Config) front() string {
	switch {
	case c.TLS == "proxy":
		return frontTLS
	case c.ProxyProtocol:
		return frontTCP
	}
	return frontNone
}

// Words for what stands in front, in Status.
const (
	frontNone = "none"
	frontTCP  = "PROXY protocol"
	frontTLS  = "TLS"
)

// listenAt takes host:port or unix:/path. A socket file that nobody listens on
// is a dead program's, and replaced.
func listenAt(at string) (net.Listener, error) {
	path, ok := socketPath(at)
	if !ok {
		return net.Listen("tcp", at)
	}
	if c, err := net.Dial("unix", path); err == nil {
		c.Close()
		return nil, &net.OpError{Op: "listen", Net: "unix", Addr: &net.UnixAddr{Name: path, Net: "unix"}, Err: syscall.EADDRINUSE}
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			os.Remove(path)
		}
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// doors returns what requests come in by.
func (r *Relay) doors() []*door {
	var secure *tls.Config
	if r.certs != nil {
		secure = r.certs.config()
	}
	ln := r.ln
	switch r.cfg.front() {
	case frontTCP:
		ln = proxy.Listen(ln, r.trust)
	case frontTLS:
		ln = proxy.Only(ln, r.trust)
	}
	doors := []*door{newDoor(hub.Listen(ln, secure), r.gate)}
	if r.onion != nil {
		tor := proxy.Trust{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		doors = append(doors, newDoor(hub.Listen(proxy.ListenOnion(r.onion, tor), secure), r.gate))
	}
	return doors
}

// forwarded puts the client that the proxy names where the proxy's own address
// stood. A proxy that names none is set up wrongly: without a name there would
// be no limits.
func (r *Relay) forwarded(w http.ResponseWriter, req *http.Request) bool {
	a, ok := proxy.Forwarded(req.Header["X-Forwarded-For"])
	if !ok {
		http.Error(w, "the proxy does not say in X-Forwarded-For for whom it asks", http.StatusBadRequest)
		return false
	}
	req.RemoteAddr = netip.AddrPortFrom(a, 0).String()
	return true
}
