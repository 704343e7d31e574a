package lab

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	network "github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/relay"
)

// startRelay runs a relay on a loopback port and returns its name.
func startRelay(t *testing.T) string {
	t.Helper()
	r, err := relay.New(relay.Config{Listen: "127.0.0.1:0"})
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
	return a.String()
}

// startPerson makes a profile, runs it, and returns it.
func startPerson(t *testing.T, name, relayName string) *client.Client {
	t.Helper()
	net, err := network.NewNetwork("")
	if err != nil {
		t.Fatal(err)
	}
	o := client.Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: net, WeakVault: true, AckMean: 50 * time.Millisecond}
	if _, err := client.Create(t.Context(), o, client.NewProfile{Name: name, Relay: relayName}); err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("closing %s: %v", name, err)
		}
	})
	return c
}

// reach fails the test unless a message reaches a state.
func reach(t *testing.T, c *client.Client, e client.Event, s client.State) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if got, err := c.Await(ctx, e.Seq, s); err != nil || got.State != s {
		st, _ := c.Status(t.Context())
		t.Fatalf("message is %s, %v, want %s; status %+v", got.State, err, s, st)
	}
}

func TestTwoPeopleTalkThroughARelay(t *testing.T) {
	name := startRelay(t)
	ada, bob := startPerson(t, "Ada", name), startPerson(t, "Bob", name)
	inv, err := ada.NewInvite(t.Context(), client.InviteOptions{})
	if err != nil || !inv.Online {
		t.Fatalf("invite: %+v, %v", inv, err)
	}
	p, err := bob.Preview(t.Context(), inv.Link)
	if err != nil || p.Name != "Ada" || p.Relay != name {
		t.Fatalf("preview: %+v, %v", p, err)
	}
	if _, err := bob.Accept(t.Context(), client.AcceptOptions{Link: inv.Link, Text: "hello Ada"}); err != nil {
		t.Fatal(err)
	}
	first, err := bob.Read(t.Context(), client.Query{})
	if err != nil || len(first) == 0 {
		t.Fatal(err)
	}
	reach(t, bob, first[0], client.OnDevice)
	for i := range 5 {
		e, err := ada.Send(t.Context(), client.Outgoing{To: "bob", Text: fmt.Sprint("message ", i)})
		if err != nil {
			t.Fatal(err)
		}
		reach(t, ada, e, client.OnDevice)
	}
	got, err := bob.Read(t.Context(), client.Query{Contact: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range got {
		if e.State == client.Received {
			texts = append(texts, e.Text)
		}
	}
	if want := []string{"message 0", "message 1", "message 2", "message 3", "message 4"}; !slices.Equal(texts, want) {
		t.Errorf("Bob reads %q, want %q", texts, want)
	}
	n1, err1 := ada.SafetyNumber(t.Context(), "bob")
	n2, err2 := bob.SafetyNumber(t.Context(), "ada")
	if err1 != nil || err2 != nil || n1 != n2 || len(n1) < 60 {
		t.Errorf("safety numbers %q and %q, %v, %v", n1, n2, err1, err2)
	}
}
