package natslink

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tacet-chat/tacet/relay/internal/bus"
)

// door is a NATS server's look at passwords: it takes everybody, or nobody.
type door struct {
	shut    atomic.Bool
	refused atomic.Int32
}

func (d *door) Check(server.ClientAuthentication) bool {
	if d.shut.Load() {
		d.refused.Add(1)
		return false
	}
	return true
}

// TestARefusalIsNotTheEnd: a server that refuses a password again and again, and
// then takes it, has the node back without a restart.
func TestARefusalIsNotTheEnd(t *testing.T) {
	d := new(door)
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, CustomClientAuthentication: d})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	if !s.ReadyForConnections(startWithin) {
		t.Fatal("the server does not listen")
	}
	l, err := External(testRealm(t), "nats://name:password@"+s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer func() { stop(); all.Wait() }()
	all.Go(func() {
		if err := l.Run(ctx, bus.ID{1}, func([]byte) {}); err != nil {
			t.Error(err)
		}
	})
	until(t, "it is up", func() bool { return l.Up() && !l.Cut() })
	d.shut.Store(true)
	z, err := s.Connz(nil)
	if err != nil || len(z.Conns) != 1 {
		t.Fatalf("got %+v, %v", z, err)
	}
	if err := s.DisconnectClientByID(z.Conns[0].Cid); err != nil {
		t.Fatal(err)
	}
	until(t, "it was refused several times", func() bool { return d.refused.Load() >= 4 })
	if !l.Cut() {
		t.Error("a node that is refused does not say that it is cut off")
	}
	d.shut.Store(false)
	until(t, "it is up again", func() bool { return l.Up() && !l.Cut() })
}
