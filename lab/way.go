package lab

import (
	"context"
	"net"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

// way reaches relays from a network address of its own, so that the people
// of one machine are told apart as those of several would be.
type way struct{ dial relay.Dialer }

var _ client.Network = way{}

// wayFrom returns the network of somebody whose address is from, an IP
// address of this machine; empty: whichever the system takes.
func wayFrom(from string) way {
	if from == "" {
		return way{relay.Direct()}
	}
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, KeepAlive: -1}
	return way{func(ctx context.Context, proto, addr, _ string) (net.Conn, error) {
		return d.DialContext(ctx, proto, addr)
	}}
}

func (w way) Open(name string, pin [32]byte) (transport.Transport, error) {
	return relay.New(relay.Options{Name: name, Pin: &pin, Dial: w.dial})
}

func (w way) Identify(ctx context.Context, name string) ([32]byte, error) {
	return relay.Identify(ctx, relay.Options{Name: name, Dial: w.dial})
}

func (w way) FetchUnpinned(ctx context.Context, name string, id wire.BlobID) ([]byte, [32]byte, error) {
	return relay.FetchUnpinned(ctx, relay.Options{Name: name, Dial: w.dial}, id)
}

func (w way) Proxy() string { return "" }
