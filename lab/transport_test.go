package lab

import (
	"bytes"
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/client/transport/transporttest"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay"
)

// node is a real relay on a port of this machine.
type node struct {
	addr string
	name string // as clients call it
	pin  [32]byte
}

// startNode runs a relay, with TLS or without.
func startNode(t *testing.T, tls string) *node {
	r, err := relay.New(relay.Config{Listen: "127.0.0.1:0", TLS: tls})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	n := &node{addr: a.String(), name: a.String(), pin: r.Fingerprint()}
	if tls == "on" {
		n.name = "relay.example" // a client speaks TLS to all but loopback names
	}
	return n
}

// guest is a client's transport that remembers its connections.
type guest struct {
	*network.Relay
	mu    sync.Mutex
	conns []net.Conn
}

// join returns a client of the node, which is dialled whatever its name.
func (n *node) join(t *testing.T) *guest {
	g := &guest{}
	r, err := network.New(network.Options{
		Name: n.name, Pin: &n.pin,
		Dial: func(ctx context.Context, proto, _, isolate string) (net.Conn, error) {
			c, err := network.Direct()(ctx, proto, n.addr, isolate)
			if err == nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.conns = append(g.conns, c)
			}
			return c, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Relay = r
	return g
}

func (g *guest) links() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

func (g *guest) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
}

// TestTransportOverARelay holds the client's transport and the relay to the
// contract, together and over the network of this machine.
func TestTransportOverARelay(t *testing.T) {
	t.Run("", func(t *testing.T) {
		for _, tls := range []string{"off", "on"} {
			t.Run("TLS "+tls, func(t *testing.T) {
				t.Parallel()
				n := startNode(t, tls)
				transporttest.Suite{
					New: func(*testing.T) *transporttest.World {
						return &transporttest.World{
							Live:     1800 * time.Second,
							Join:     func(t *testing.T) transport.Transport { return n.join(t) },
							Break:    func(tr transport.Transport) { tr.(*guest).cut() },
							PutLinks: func(tr transport.Transport) int { return tr.(*guest).links() },
						}
					},
					Parallel: 8,
					Answer:   wire.AnswerAfter,
					Window:   wire.WindowSpan,
				}.Run(t)
			})
		}
	})
	nothingRuns(t)
}

// nothingRuns waits until no goroutine runs code of the transport any more.
func nothingRuns(t *testing.T) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		b := make([]byte, 4<<20)
		b = b[:runtime.Stack(b, true)]
		if !bytes.Contains(b, []byte("client/transport/relay.(")) && !bytes.Contains(b, []byte("coder/websocket.")) {
			return
		}
		<-tick.C
	}
	t.Error("got goroutines of the transport left after everything was closed, want none")
}
