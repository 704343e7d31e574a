package lab

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/waketest"
	"github.com/tacet-chat/tacet/relay"
)

// said is a log.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

// wakeRelay runs a relay with TLS that may connect to this machine.
func wakeRelay(t *testing.T, dir string, log io.Writer, roots *x509.CertPool, roles ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(relay.Config{Listen: "127.0.0.2:0", TLS: "on", Data: dir, Roles: roles, Log: log, WakeAllowPrivate: true, WakeRoots: roots, WakeContact: "mailto:op@gateway.example"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := r.Listen()
	if err != nil {
		t.Skipf("SKIPPED 1 test: this system has no second loopback address: %v", err)
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
	return a.String()
}

// TestSleeperIsWokenThroughRelayGatewayAndPushService is the whole way: a sender,
// a relay, a gateway of another realm, a push service, and a process that is
// started for one push, fetches and ends. Nothing of the endpoint is left.
func TestSleeperIsWokenThroughRelayGatewayAndPushService(t *testing.T) {
	const marker = "EndpointMarker7f3a"
	var log said
	push := waketest.New(t)
	bodies := make(chan []byte, 16)
	push.Got = func(p waketest.Push) { bodies <- p.Body }
	dirs := []string{t.TempDir() + "/relay", t.TempDir() + "/gateway"}
	home := wakeRelay(t, dirs[0], &log, nil, "live", "blob")
	gateway := wakeRelay(t, dirs[1], &log, push.Roots(), "wake")
	ada := startPerson(t, "Ada", home)
	way, err := network.NewNetwork("")
	if err != nil {
		t.Fatal(err)
	}
	o := client.Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: way, WeakVault: true, AckMean: 50 * time.Millisecond}
	if _, err := client.Create(t.Context(), o, client.NewProfile{Name: "Bob", Relay: home}); err != nil {
		t.Fatal(err)
	}
	bob, err := client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- bob.Run(ctx) }()
	inv, err := ada.NewInvite(t.Context(), client.InviteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Accept(t.Context(), client.AcceptOptions{Link: inv.Link, Text: "hello Ada"}); err != nil {
		t.Fatal(err)
	}
	pushed := func() []byte {
		t.Helper()
		select {
		case b := <-bodies:
			return b
		case <-time.After(time.Minute):
			t.Fatal("nothing was pushed")
			return nil
		}
	}
	if _, err := bob.SetWake(t.Context(), client.WakeOptions{URL: push.Endpoint("/p/" + marker), Gateway: gateway}); err != nil {
		t.Fatal(err)
	}
	if got, err := bob.ReceivePush(t.Context(), pushed()); err != nil || got.Kind != client.PushedChallenge {
		t.Fatalf("got %+v, %v, want a challenge", got, err)
	}
	eventually(t, "Ada has tickets and has acked all", func() bool {
		st, err := bob.Status(t.Context())
		return err == nil && st.Wake != nil && st.Wake.Given == 4 && st.Waiting == 0
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := bob.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := ada.Send(t.Context(), client.Outgoing{To: "bob", Text: "wake up"})
	if err != nil {
		t.Fatal(err)
	}
	body := pushed() // no process of Bob's runs
	if bob, err = client.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	got, err := bob.ReceivePush(t.Context(), body)
	if err != nil || got.Kind != client.PushedWake {
		t.Fatalf("got %+v, %v, want a wake", got, err)
	}
	// On a slow machine the ten seconds may be over before the message is here.
	eventually(t, "the message is shown and acked", func() bool {
		if _, err := bob.FetchOnce(t.Context()); err != nil {
			return false
		}
		now, err := ada.Await(t.Context(), e.Seq, client.Queued)
		return err == nil && now.State == client.OnDevice
	})
	events, err := bob.Read(t.Context(), client.Query{})
	if err != nil || events[len(events)-1].Text != "wake up" {
		t.Errorf("Bob reads %+v, %v", events, err)
	}
	if err := bob.Close(); err != nil {
		t.Error(err)
	}
	for i, p := range push.Pushes() {
		if len(p.Body) != len(body) {
			t.Errorf("push %d has %d bytes, the others %d", i, len(p.Body), len(body))
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if bytes.Contains(log.b.Bytes(), []byte(marker)) || !bytes.Contains(log.b.Bytes(), []byte("ready")) {
		t.Errorf("the log has an endpoint, or nothing: %s", log.b.String())
	}
	for _, dir := range dirs {
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			if bytes.Contains(b, []byte(marker)) {
				t.Errorf("%s has an endpoint", d.Name())
			}
			return err
		})
		if err != nil || files == 0 {
			t.Errorf("got %d files, %v", files, err)
		}
	}
}

// eventually waits until something is so, with the patience for a busy machine.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(2 * time.Minute); ; <-tick.C {
		if so() {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("never: %s", what)
		}
	}
}
