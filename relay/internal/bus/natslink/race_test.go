package natslink

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/bus"
)

func testRealm(t testing.TB) bus.Realm {
	t.Helper()
	k, err := key.New[key.SignRole](bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return bus.NewRealm(k)
}

func start(t *testing.T, nodes ...string) *Link {
	t.Helper()
	l, err := Embedded(Options{Realm: testRealm(t), Listen: "127.0.0.1:0", Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// TestInterestIsNotLost closes one subscription while another to the same
// subject opens on the same server, again and again, as nodes that restart do:
// servers before the fix of nats-server#8233 could lose the interest of the
// second at remote servers for good.
func TestInterestIsNotLost(t *testing.T) {
	a := start(t)
	b := start(t, a.Addr())
	until(t, "the servers have met", func() bool { return a.local.server.NumRoutes() > 0 && b.local.server.NumRoutes() > 0 })
	connect := func(l *Link) *nats.Conn {
		nc, err := nats.Connect("", l.options()...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	far, one, two := connect(a), connect(b), connect(b)
	answer := func(m *nats.Msg) { m.Respond(nil) }
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for i := range rounds {
		name := fmt.Sprint("race.", i)
		s, err := one.Subscribe(name, answer)
		if err != nil {
			t.Fatal(err)
		}
		one.Flush()
		var both sync.WaitGroup
		var s2 atomic.Pointer[nats.Subscription]
		both.Go(func() {
			s.Unsubscribe()
			one.Flush()
		})
		both.Go(func() {
			x, err := two.Subscribe(name, answer)
			if err != nil {
				t.Error(err)
				return
			}
			two.Flush()
			s2.Store(x)
		})
		both.Wait()
		until(t, "the far server finds "+name, func() bool {
			_, err := far.Request(name, nil, time.Second)
			return err == nil
		})
		s2.Load().Unsubscribe()
	}
}

// TestSubjectsAreRandomNames looks at every subject and every queue name
// that the servers know of while messages go.
func TestSubjectsAreRandomNames(t *testing.T) {
	a := start(t)
	b := start(t, a.Addr())
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	var came atomic.Int32
	for i, l := range []*Link{a, b} {
		all.Go(func() {
			if err := l.Run(ctx, bus.ID{byte(i + 1)}, func([]byte) { came.Add(1) }); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "messages arrive", func() bool {
		a.Send(bus.ID{2}, []byte("one"))
		b.Send(bus.All, []byte("two"))
		return came.Load() > 4
	})
	z, err := a.local.server.Subsz(nil)
	if err != nil {
		t.Fatal(err)
	}
	if z.NumSubs == 0 || z.NumSubs > 8 {
		t.Errorf("got %d subscriptions at a server, want those of the nodes", z.NumSubs)
	}
	if name := a.subject(bus.ID{2}); name != "tacet."+testRealm(t).Name()+".0200000000000000" {
		t.Errorf("got subject %s", name)
	}
	if o := a.local.server; o.MonitorAddr() != nil || o.JetStreamEnabled() || o.SystemAccount() != nil {
		t.Error("the server has monitoring, JetStream or a system account")
	}
}

// TestErrorsNameNoPassword: what goes wrong with an address does not print it.
func TestErrorsNameNoPassword(t *testing.T) {
	l, err := External(testRealm(t), "nats://name:secret@host:port:port")
	if err == nil {
		err = l.Run(context.Background(), bus.ID{1}, nil)
	}
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "host") {
		t.Errorf("got %v, want an error without the address", err)
	}
	if _, err := Embedded(Options{Realm: testRealm(t), Listen: "nowhere"}); err == nil {
		t.Error("got no error for a strange place to listen")
	}
	a := start(t)
	if _, err := Embedded(Options{Realm: testRealm(t), Listen: a.Addr()}); err == nil {
		t.Error("got no error for an address that is taken")
	}
}
