//go:build unix

package lab

import (
	"net"
	"os"
	"testing"

	network "github.com/tacet-chat/tacet/client/transport/relay"
)

// TestTwoPeopleThroughTor has two people talk to a relay behind an onion service
// of a Tor that runs already, with docs/recipes/tor: on the real network, or a
// private one. It runs where these are set:
//
//	TACET_TOR_SOCKS    host:port of a SOCKS port
//	TACET_TOR_ONION    name of the service, without a port
//	TACET_TOR_SOCKET   the socket file that HiddenServicePort 443 leads to
func TestTwoPeopleThroughTor(t *testing.T) {
	socks, onion, socket := os.Getenv("TACET_TOR_SOCKS"), os.Getenv("TACET_TOR_ONION"), os.Getenv("TACET_TOR_SOCKET")
	if socks == "" || onion == "" || socket == "" {
		t.Skip("SKIPPED 1 test: no Tor is named (TACET_TOR_SOCKS, TACET_TOR_ONION, TACET_TOR_SOCKET)")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, _ := serveRecipe(t, recipe(t, "tor/relay.toml", "/run/tacet-relay/onion.sock", socket, "/var/lib/tacet-relay", dir, "127.0.0.1:7117", "127.0.0.1:0"))
	n, err := network.NewNetwork("socks5://" + socks)
	if err != nil {
		t.Fatal(err)
	}
	ada, bob := person(t, "Ada", onion, n), person(t, "Bob", onion, n)
	converse(t, ada, bob)
	for _, w := range warnings(t, ada) {
		t.Errorf("got a warning: %s", w)
	}
	a, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if host, _, _ := net.SplitHostPort(a.String()); host != "127.0.0.1" {
		t.Errorf("the relay also listens on %s", a)
	}
}
