package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	network "github.com/tacet-chat/tacet/client/transport/relay"
)

// linkedMessages is how long the history is that is linked: 20,000 with TACET_LONG=1.
func linkedMessages() int {
	if os.Getenv("TACET_LONG") != "" {
		return 20_000
	}
	return 1200
}

// TestHistoryIsLinked links a device with a long history through a relay over TCP, by
// the relay's blobs and by the local network, and by the relay with the new device
// cut off again and again on the way. All of it is there afterwards, once.
func TestHistoryIsLinked(t *testing.T) {
	name := startRelay(t)
	ada, bob := startPerson(t, "Ada", name), startPerson(t, "Bob", name)
	inv, err := ada.NewInvite(t.Context(), client.InviteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Accept(t.Context(), client.AcceptOptions{Link: inv.Link, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	first, err := bob.Read(t.Context(), client.Query{Limit: 1})
	if err != nil || len(first) == 0 {
		t.Fatal(err)
	}
	if _, err := bob.Await(t.Context(), first[0].Seq, client.OnDevice); err != nil {
		t.Fatal(err)
	}
	n := linkedMessages()
	began := time.Now()
	var senders sync.WaitGroup
	for w := range 32 { // so that many share a commit
		senders.Go(func() {
			for i := w; i < n; i += 32 {
				if _, err := ada.Send(t.Context(), client.Outgoing{To: "Bob", Text: fmt.Sprintf("message %d of a long history, with some words in it", i)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	senders.Wait()
	t.Logf("%d messages were written in %.1f s", n, time.Since(began).Seconds())
	want := history(t, ada)
	if len(want) < n {
		t.Fatalf("got %d lines of history, want %d", len(want), n)
	}
	t.Run("relay", func(t *testing.T) { linkOne(t, ada, want, linking{relayOnly: true}) })
	t.Run("network", func(t *testing.T) {
		if !onPrivateNetwork() {
			t.Skip("SKIPPED 1 test: this machine has no address on a private network")
		}
		linkOne(t, ada, want, linking{})
	})
	t.Run("cut", func(t *testing.T) { linkOne(t, ada, want, linking{relayOnly: true, cut: true}) })
}

func onPrivateNetwork() bool {
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		return ok && ip.Unmap().IsPrivate()
	})
}

// history is what a profile shows, without what differs between devices.
func history(t *testing.T, c *client.Client) (lines []string) {
	t.Helper()
	all, err := c.Read(t.Context(), client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		lines = append(lines, e.Contact+" "+e.ID+" "+e.Text)
	}
	return lines
}

type linking struct {
	relayOnly bool
	cut       bool // the new device is cut off in the middle, and begins again
}

func linkOne(t *testing.T, ada *client.Client, want []string, o linking) {
	l, err := ada.StartLink(t.Context(), client.LinkOptions{RelayOnly: o.relayOnly})
	if err != nil {
		t.Fatal(err)
	}
	l = awaitLink(t, ada, func(l client.Link) bool { return l.Online })
	net, err := network.NewNetwork("")
	if err != nil {
		t.Fatal(err)
	}
	opt := client.Options{Dir: t.TempDir() + "/n", Passphrase: []byte("y"), Network: net, WeakVault: true}
	digits, cuts := make(chan string, 1000), 0
	var stop context.CancelFunc
	join := client.JoinOptions{Code: l.Code, Name: "telephone", RelayOnly: o.relayOnly, Progress: func(p client.JoinProgress) {
		switch {
		case p.Stage == client.JoinDigits:
			digits <- p.Digits
		case o.cut && p.Stage == client.JoinReceiving && p.Rows > uint64(cuts)*p.Total/4:
			cuts++
			stop()
		}
	}}
	ended := make(chan error, 1)
	go func() {
		for {
			var ctx context.Context
			ctx, stop = context.WithCancel(t.Context())
			err := client.Join(ctx, opt, join)
			if o.cut && errors.Is(err, context.Canceled) && t.Context().Err() == nil {
				continue
			}
			ended <- err
			return
		}
	}()
	awaitLink(t, ada, func(l client.Link) bool { return l.Stage == client.LinkCompare })
	began := time.Now()
	if _, err := ada.ConfirmLink(t.Context(), <-digits); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	c, err := client.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := history(t, c); !slices.Equal(got, want) {
		t.Errorf("got %d lines on the new device, want the %d of the old one", len(got), len(want))
	}
	if o.cut && cuts < 2 {
		t.Errorf("it was cut off %d times, want more", cuts)
	}
	t.Logf("%d lines in %.1f s from the digits to a profile that works; cut off %d times", len(want), took.Seconds(), cuts)
	awaitLink(t, ada, func(l client.Link) bool { return l.Stage == client.LinkDone })
}

func awaitLink(t *testing.T, c *client.Client, good func(client.Link) bool) client.Link {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	for seen := int64(-1); ; {
		l, err := c.AwaitLink(ctx, seen)
		if err != nil || l.Stage == client.LinkEnded {
			t.Fatalf("the link is %+v, %v", l, err)
		}
		if good(l) {
			return l
		}
		seen = l.Version
	}
}
