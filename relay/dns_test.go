package relay

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestWhereANameLeads(t *testing.T) {
	at := func(all ...string) (out []netip.Addr) {
		for _, s := range all {
			out = append(out, netip.MustParseAddr(s))
		}
		return out
	}
	nowhere := errors.New("no such host")
	const zone4, zone6 = "relay.example.  IN  A     192.0.2.10", "relay.example.  IN  AAAA  2001:db8::10"
	for name, c := range map[string]struct {
		found, own []netip.Addr
		err        error
		level      Level
		says       string
		missing    []string
	}{
		"here":               {at("192.0.2.10"), at("192.0.2.10"), nil, OK, "leads here", nil},
		"here, as mapped":    {at("::ffff:192.0.2.10"), at("192.0.2.10"), nil, OK, "leads here", nil},
		"here by one family": {at("192.0.2.10"), at("192.0.2.10", "2001:db8::10"), nil, OK, "leads here", nil},
		"here and elsewhere": {at("192.0.2.10", "2001:db8::99"), at("192.0.2.10"), nil, Warn, "leads here and to 2001:db8::99", nil},
		"elsewhere":          {at("192.0.2.99"), at("192.0.2.10"), nil, Warn, "leads to 192.0.2.99", nil},
		"nowhere":            {nil, at("192.0.2.10", "2001:db8::10"), nowhere, Warn, "leads nowhere", []string{zone4, zone6}},
		"behind a router":    {nil, at("192.168.1.2", "100.64.0.9"), nowhere, Warn, "leads nowhere", []string{"relay.example.  IN  A     THE-ADDRESS-OF-YOUR-ROUTER"}},
		"in the hosts file":  {at("127.0.1.1"), at("192.0.2.10"), nil, Warn, "hosts file", []string{zone4}},
	} {
		t.Run(name, func(t *testing.T) {
			got := whereLeads(t.Context(), "relay.example", func(context.Context, string, string) ([]netip.Addr, error) { return c.found, c.err }, c.own)
			if got.Level != c.level || !strings.Contains(got.Says, c.says) || strings.Join(got.Missing, "|") != strings.Join(c.missing, "|") || (got.Level != OK) != (got.Hint != "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
