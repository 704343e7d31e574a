package relay

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Where a name leads, seen from this machine: what the system's resolver says
// against the addresses of the interfaces. Nobody else is asked.

// Lead is where a name leads.
type Lead struct {
	Level   Level
	Says    string
	Hint    string
	Missing []string // lines of a zone that would lead it here
}

// lookup is net.Resolver's LookupNetIP.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

// WhereLeads looks a name up with the system's resolver.
func WhereLeads(ctx context.Context, name string) Lead {
	return whereLeads(ctx, name, net.DefaultResolver.LookupNetIP, Addresses())
}

func whereLeads(ctx context.Context, name string, look lookup, own []netip.Addr) Lead {
	ctx, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	found, err := look(ctx, "ip", name)
	var here, elsewhere []string
	hosts := false // the answer is the hosts file's, as Debian writes one for the machine's own name
	for _, a := range found {
		switch a = a.Unmap(); {
		case a.IsLoopback():
			hosts = true
		case slices.Contains(own, a):
			here = append(here, a.String())
		default:
			elsewhere = append(elsewhere, a.String())
		}
	}
	switch lines := zone(name, own); {
	case len(here) > 0 && len(elsewhere) == 0:
		return Lead{Level: OK, Says: name + " leads here"}
	case len(here) > 0:
		return Lead{Level: Warn, Says: fmt.Sprintf("%s leads here and to %s", name, strings.Join(elsewhere, ", ")), Hint: "take out what is not this machine's"}
	case len(elsewhere) > 0:
		return Lead{
			Level: Warn, Says: fmt.Sprintf("%s leads to %s, which is not this machine's", name, strings.Join(elsewhere, ", ")),
			Hint: "right where a router or proxy there sends its port here; else change the record", Missing: nil,
		}
	case hosts:
		return Lead{Level: Warn, Says: name + " stands in the hosts file, so DNS cannot be seen from here", Hint: "look from elsewhere whether the zone has these lines", Missing: lines}
	case err != nil && ctx.Err() != nil:
		return Lead{Level: Warn, Says: name + ": the resolver does not answer", Hint: "look at /etc/resolv.conf; the zone needs the lines below", Missing: lines}
	default:
		return Lead{Level: Warn, Says: name + " leads nowhere yet", Hint: "add the lines below to its zone", Missing: lines}
	}
}

// zone returns the lines that lead a name to this machine: one of each family.
func zone(name string, own []netip.Addr) (lines []string) {
	var four, six bool
	for _, a := range own {
		switch {
		case !Public(a):
		case a.Is4() && !four:
			four, lines = true, append(lines, fmt.Sprintf("%s.  IN  A     %s", name, a))
		case a.Is6() && !six:
			six, lines = true, append(lines, fmt.Sprintf("%s.  IN  AAAA  %s", name, a))
		}
	}
	if lines == nil {
		lines = []string{name + ".  IN  A     THE-ADDRESS-OF-YOUR-ROUTER"}
	}
	return lines
}

// Public reports whether the internet can know an address.
func Public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !shared.Contains(a)
}

// shared is what a provider's own translation uses (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// Addresses returns the addresses of this machine, public ones first, IPv4
// before IPv6, and none of loopback or of one link.
func Addresses() (own []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap().IsGlobalUnicast() {
				own = append(own, ip.Unmap())
			}
		}
	}
	rank := func(a netip.Addr) (n int) {
		if !Public(a) {
			n += 2
		}
		if a.Is6() {
			n++
		}
		return n
	}
	slices.SortStableFunc(own, func(a, b netip.Addr) int { return rank(a) - rank(b) })
	return own
}
