package wake

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Errors of a dialler. They name nobody.
var (
	// ErrForbidden is returned for what a relay does not connect to.
	ErrForbidden = errors.New("this address is not allowed")
	errResolve   = errors.New("the name was not found")
)

const (
	connectWithin = 5 * time.Second
	maxTries      = 4 // addresses of one name
)

// Dialer connects to what strangers name. It looks every name up itself, refuses
// one that has any address that is not public, and dials the very address that
// it looked at: whoever answers a second look-up with another gains nothing.
//
// spec: wake.md#where-a-relay-connects-to
type Dialer struct {
	Ports []uint16 // that may be connected to; empty: any
	// Private lets addresses of this machine and its own networks be connected
	// to, and any port, for tests and for those who run everything at home.
	Private bool
	// Resolve looks a name up, nil: as the system does.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dialed  func(netip.AddrPort) // for tests
}

// DialContext connects to host:port over TCP.
func (d *Dialer) DialContext(ctx context.Context, _, hostport string) (net.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, connectWithin)
	defer stop()
	all, port, err := d.look(ctx, hostport)
	if err != nil {
		return nil, err
	}
	for _, a := range all[:min(len(all), maxTries)] {
		var c net.Conn
		if c, err = d.dial(ctx, netip.AddrPortFrom(a, port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// Allowed reports whether a host and port would be connected to, as far as can
// be said without looking a name up.
func (d *Dialer) Allowed(host string, port uint16) bool {
	if !d.Private && len(d.Ports) > 0 && !slices.Contains(d.Ports, port) {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err != nil || d.public(a)
}

// look returns the addresses of a host, all of them allowed.
func (d *Dialer) look(ctx context.Context, hostport string) ([]netip.Addr, uint16, error) {
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, 0, ErrForbidden
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || port == 0 || !d.Allowed(host, uint16(port)) {
		return nil, 0, ErrForbidden
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, uint16(port), nil // Allowed has looked
	}
	resolve := d.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	all, err := resolve(ctx, host)
	if err != nil || len(all) == 0 {
		return nil, 0, errResolve
	}
	for i, a := range all {
		if all[i] = a.Unmap(); !d.public(all[i]) {
			return nil, 0, ErrForbidden
		}
	}
	return all, uint16(port), nil
}

// dial connects to one address. The system is about to connect when it is looked
// at for the last time.
func (d *Dialer) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if d.dialed != nil {
		d.dialed(to)
	}
	nd := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || at.Addr().Unmap() != to.Addr() || at.Port() != to.Port() {
			return ErrForbidden
		}
		return nil
	}}
	return nd.DialContext(ctx, "tcp", to.String())
}

func (d *Dialer) public(a netip.Addr) bool {
	if d.Private && a.Zone() == "" && (a.IsLoopback() || a.IsPrivate()) {
		return true
	}
	return public(a)
}

// special lists what in IPv4, and in 2000::/3 of IPv6, is no host of the
// internet: the registries of RFC 6890 and what is kept in them.
var special = func() (out []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

var unicast6 = netip.MustParsePrefix("2000::/3")

// public reports whether an address is one of the internet. IPv4 in IPv6, in
// whatever way, is not: those who mean IPv4 write it so.
func public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !unicast6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
