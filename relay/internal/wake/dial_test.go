package wake

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
)

func TestAddressesThatAreNotPublic(t *testing.T) {
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "fc00::1", "fd12:3456::1",
		"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:db8::1", "2002:7f00:1::1", "2002:0a00:1::1", "3fff::1", "4000::1", "5f00::1",
	} {
		if a := netip.MustParseAddr(s); public(a) {
			t.Errorf("%s: got public", s)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address: got public")
	}
	for _, s := range []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1", "192.167.255.255", "198.17.255.255", "198.20.0.1", "223.255.255.255",
		"2001:4860:4860::8888", "2606:4700::1111", "2a00:1450:4001::1", "2003::1"} {
		if a := netip.MustParseAddr(s); !public(a) {
			t.Errorf("%s: got not public", s)
		}
	}
}

// names answers look-ups in turn: the second of a name may differ.
type names struct {
	mu    sync.Mutex
	says  map[string][][]string
	asked int
}

func (n *names) resolve(_ context.Context, host string) (out []netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	all := n.says[host]
	if len(all) == 0 {
		return nil, errors.New("unknown")
	}
	for _, s := range all[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	if len(all) > 1 {
		n.says[host] = all[1:]
	}
	return out, nil
}

func TestHostsThatAreRefused(t *testing.T) {
	n := &names{says: map[string][][]string{
		"inside.example": {{"10.0.0.7"}}, "mixed.example": {{"8.8.8.8", "127.0.0.1"}}, "mapped.example": {{"::ffff:127.0.0.1"}}, "ula.example": {{"fd00::1"}},
		"metadata.example": {{"169.254.169.254"}}, "localhost": {{"127.0.0.1"}}, "2130706433": {{"127.0.0.1"}}, "nat64.example": {{"64:ff9b::a00:1"}},
	}}
	d := &Dialer{Ports: []uint16{443}, Resolve: n.resolve, dialed: func(a netip.AddrPort) { t.Errorf("%v was dialled", a) }}
	for _, at := range []string{
		"127.0.0.1:443", "[::1]:443", "[::ffff:127.0.0.1]:443", "[fe80::1%25lo]:443", "10.1.2.3:443", "0.0.0.0:443", "[::]:443", "169.254.169.254:443",
		"inside.example:443", "mixed.example:443", "mapped.example:443", "ula.example:443", "metadata.example:443", "localhost:443", "2130706433:443", "nat64.example:443",
		"8.8.8.8:80", "8.8.8.8:22", "8.8.8.8:0", "8.8.8.8:65536", "8.8.8.8:https", "8.8.8.8", "",
	} {
		if c, err := d.DialContext(t.Context(), "tcp", at); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v, %v, want ErrForbidden", at, c, err)
		}
	}
	if _, err := d.DialContext(t.Context(), "tcp", "nobody.example:443"); !errors.Is(err, errResolve) {
		t.Errorf("got %v, want errResolve", err)
	}
}

// TestTheAddressThatWasLookedAtIsDialled: a name that says another address at the
// second look-up is dialled at the first one, and looked up once.
func TestTheAddressThatWasLookedAtIsDialled(t *testing.T) {
	n := &names{says: map[string][][]string{"rebind.example": {{"8.8.8.8"}, {"127.0.0.1"}}}}
	var dialled []netip.AddrPort
	d := &Dialer{Ports: []uint16{443}, Resolve: n.resolve, dialed: func(a netip.AddrPort) { dialled = append(dialled, a) }}
	ctx, stop := context.WithCancel(t.Context())
	stop() // nothing leaves this machine
	d.DialContext(ctx, "tcp", "rebind.example:443")
	if n.asked != 1 || len(dialled) != 1 || dialled[0] != netip.MustParseAddrPort("8.8.8.8:443") {
		t.Errorf("got %d look-ups and %v dialled, want one, and the address of the first", n.asked, dialled)
	}
	// And the next connection, with a look-up of its own, is refused.
	if _, err := d.DialContext(t.Context(), "tcp", "rebind.example:443"); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v, want ErrForbidden", err)
	}
}

func TestPrivateIsForThoseWhoSaySo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := &Dialer{Ports: []uint16{443}}
	if _, err := d.DialContext(t.Context(), "tcp", ln.Addr().String()); !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v, want ErrForbidden", err)
	}
	d.Private = true
	c, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, at := range []string{"169.254.169.254:443", "224.0.0.1:443", "[fe80::1]:443", "0.0.0.0:443"} {
		if _, err := d.DialContext(t.Context(), "tcp", at); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: got %v, want ErrForbidden even so", at, err)
		}
	}
}
