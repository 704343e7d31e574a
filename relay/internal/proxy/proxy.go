// Package proxy reads what a program in front of the relay says about whom it
// speaks for: the header of the PROXY protocol, version 1 and 2, before
// everything else on a connection; and X-Forwarded-For, where that program ends
// TLS. A Trust says whose word is taken.
//
// It is strict: who must send a header and does not is cut off, and one that is
// not well-formed is no header. It dials nowhere, and keeps no address but the
// one a connection carries.
//
// Spec: docs/spec/relay-api.md#proxies-in-front; the PROXY protocol's own
// specification is doc/proxy-protocol.txt of HAProxy.
package proxy

import (
	"errors"
	"net"
	"net/netip"
	"strings"
)

// Trust is a set of networks whose programs are believed. A peer without a
// network address, on a unix socket, is always in it: the file's mode says who
// may connect there.
type Trust []netip.Prefix

// ErrTrust is returned for what is neither an address nor a network.
var ErrTrust = errors.New("this is neither an address nor a network, such as 192.0.2.7 or 192.0.2.0/24")

// ParseTrust reads addresses and networks.
func ParseTrust(list []string) (Trust, error) {
	var t Trust
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, err := netip.ParseAddr(s)
			if err != nil || a.Zone() != "" {
				return nil, ErrTrust
			}
			a = a.Unmap()
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if p != p.Masked() || p.Addr().Is4In6() {
			return nil, ErrTrust
		}
		t = append(t, p)
	}
	return t, nil
}

// Has reports whether the peer at the other end of a connection is in the set.
func (t Trust) Has(peer net.Addr) bool {
	if _, ok := peer.(*net.UnixAddr); ok {
		return true
	}
	at, ok := peer.(*net.TCPAddr)
	return ok && t.has(at.AddrPort().Addr())
}

func (t Trust) has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Forwarded returns the client that a trusted peer named in X-Forwarded-For:
// the last entry, which is the one that this peer wrote. What stands before it
// is somebody else's word. It reports false if that is not an address.
func Forwarded(header []string) (netip.Addr, bool) {
	if len(header) == 0 {
		return netip.Addr{}, false
	}
	last := header[len(header)-1]
	if i := strings.LastIndexByte(last, ','); i >= 0 {
		last = last[i+1:]
	}
	a, err := netip.ParseAddr(strings.TrimSpace(last))
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, false
	}
	return a.Unmap(), true
}
