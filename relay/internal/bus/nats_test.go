package bus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/bus/natslink"
)

// embedded returns links whose servers are joined by routes on loopback.
func embedded(t *testing.T) func(int) bus.Link {
	var nodes []string
	return func(int) bus.Link {
		l, err := natslink.Embedded(natslink.Options{Realm: testRealm(t), Listen: "127.0.0.1:0", Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		nodes = append(nodes, l.Addr())
		return l
	}
}

// external returns links through one NATS server of somebody else's.
func external(t *testing.T) func(int) bus.Link {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Username: "tacet", Password: "of the operator",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not listen")
	}
	return func(int) bus.Link {
		l, err := natslink.External(testRealm(t), "nats://tacet:of%20the%20operator@"+s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// TestSuiteOverNATS runs the suite over the real thing, in real time.
func TestSuiteOverNATS(t *testing.T) {
	for _, carrier := range []struct {
		name string
		link func(*testing.T) func(int) bus.Link
	}{{"embedded", embedded}, {"external", external}} {
		for _, mode := range modes {
			for i, s := range suite {
				if testing.Short() && (i > 0 || carrier.name == "external") {
					continue // they take a while, and run over wires in memory as well
				}
				t.Run(carrier.name+"/"+mode.name+"/"+s.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, newWorld(t, mode.broadcast, carrier.link(t)), 3)
				})
			}
		}
	}
}

// TestAloneAsksNobody: with one node, nobody else is asked.
func TestAloneAsksNobody(t *testing.T) {
	var b bus.Bus = bus.Alone{}
	n := new(tally)
	b.Publish(nil, n)
	if n.asked.Load() != 0 {
		t.Error("a relay of one node asks somebody")
	}
}
