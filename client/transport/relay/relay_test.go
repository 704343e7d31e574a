package relay_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/client/transport/transporttest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// party is a client that remembers its connections.
type party struct {
	*relay.Relay
	mu    sync.Mutex
	conns []net.Conn
}

func (p *party) links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (p *party) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func TestTransport(t *testing.T) {
	for _, name := range []string{"localhost", "relay.example"} {
		t.Run(name, func(t *testing.T) {
			transporttest.Suite{
				New: func(t *testing.T) *transporttest.World {
					f := newFake(t, name)
					return &transporttest.World{
						Live: 1800 * time.Second,
						Join: func(t *testing.T) transport.Transport {
							p := &party{}
							r, err := relay.New(f.options(func(ctx context.Context, network, addr, isolate string) (net.Conn, error) {
								c, err := f.dial(ctx, network, addr, isolate)
								if err == nil {
									p.mu.Lock()
									defer p.mu.Unlock()
									p.conns = append(p.conns, c)
								}
								return c, err
							}))
							if err != nil {
								t.Fatal(err)
							}
							p.Relay = r
							return p
						},
						Break:    func(tr transport.Transport) { tr.(*party).cut() },
						PutLinks: func(tr transport.Transport) int { return tr.(*party).links() },
					}
				},
				Around: synctest.Test,
				Answer: wire.AnswerAfter,
				Window: wire.WindowSpan,
			}.Run(t)
		})
	}
}
