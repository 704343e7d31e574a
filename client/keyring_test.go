package client

import (
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/inbox"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Two people may live on relays whose periods differ. Numbers of short periods
// are larger than those of long ones at the same moment; sealing for one must
// not take the keys of the other away.
func TestARouteWithAnotherPeriodTakesNothingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyring(&Client{})
		route := func(id int64, l uint16, mine bool) *contact.RouteRecord {
			r, o, err := contact.NewRoute(rand.Reader, time.Now(), contact.Realm{Name: "relay.example"}, l)
			if err != nil {
				t.Fatal(err)
			}
			if !mine {
				r = contact.TheirRoute(time.Now().Unix(), 1, o, r.Realm)
			}
			r.ID = id
			return r
		}
		home, theirs := route(1, 1800, true), route(2, 600, false)
		owned, err := k.owned(home, k.now(1800))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, _, err := k.period(theirs, k.now(600)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
		}
		if len(k.mine) != 1 {
			t.Errorf("%d addresses of ours are left, want 1", len(k.mine))
		}
		if _, err := owned.Owned.Sign([]byte("proof")); err != nil {
			t.Errorf("signing for an address of ours: %v", err)
		}
		// And in the end all of it goes: nothing keeps growing.
		time.Sleep(24 * time.Hour)
		if _, _, err := k.period(home, addr.PeriodAt(time.Now().Unix(), 1800)); err != nil {
			t.Fatal(err)
		}
		if len(k.mine) != 0 || len(k.periods) != 1 {
			t.Errorf("%d addresses and %d periods are kept a day later, want 0 and 1", len(k.mine), len(k.periods))
		}
	})
}

// Connections are named so that nobody gets what is meant for another, and so
// that nothing of one period is on the connection of the next.
func TestConnectionsAreOfOneRelayAndOnePeriod(t *testing.T) {
	direct, proxied := newRealms(nil), newRealms(proxyOnly{})
	pin := [32]byte{1, 2, 3, 4, 5, 6, 7, 8}
	other := pin
	other[31] = 9
	a, evil, long := contact.Realm{Name: "a.example", Pin: pin}, contact.Realm{Name: "evil.example", Pin: pin}, contact.Realm{Name: "a.example", Pin: other}
	for _, r := range []*realms{direct, proxied} {
		names := map[string]bool{}
		for _, realm := range []contact.Realm{a, evil, long} {
			for _, period := range []uint64{7, 8} {
				names[r.isolate(realm, 1, period)] = true
			}
		}
		if len(names) != 6 {
			t.Errorf("got %d names for 3 relays and 2 periods, want 6", len(names))
		}
	}
	if direct.isolate(a, 1, 7) != direct.isolate(a, 2, 7) {
		t.Error("two routes have two connections without a proxy, which hides nothing")
	}
	if proxied.isolate(a, 1, 7) == proxied.isolate(a, 2, 7) {
		t.Error("two routes share a connection behind a proxy")
	}
	for i := range int64(3 * maxNames) {
		proxied.isolate(a, i, 9)
	}
	if n := len(proxied.of); n > maxNames {
		t.Errorf("%d names are kept, want at most %d", n, maxNames)
	}
}

// proxyOnly is a network that says it is reached through a proxy.
type proxyOnly struct{ Network }

func (proxyOnly) Proxy() string { return "socks5://127.0.0.1:9050" }

// What left, or may have, is not taken back.
func TestNothingThatMayHaveLeftIsUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		sent := ada.send("bob", "goes at once")
		if _, err := ada.Unsend(t.Context(), sent.Seq); !errors.Is(err, ErrSent) {
			t.Errorf("unsending what is on its way: got %v, want ErrSent", err)
		}
		ada.stop()
		r.lie(func() { r.watch = func(by string, _ *transport.Watch) error { return errors.New("away") } })
		ada.start()
		c := ada.send("bob", "waits")
		time.Sleep(5 * time.Minute) // tries do not count: nothing can have left
		if _, err := ada.Unsend(t.Context(), c.Seq); err != nil {
			t.Errorf("unsending what waits while the relay is away: %v", err)
		}
		r.lie(func() { r.watch = nil })
		time.Sleep(time.Hour)
		for _, text := range bob.texts(Received) {
			if text == "waits" {
				t.Error("what was unsent arrived")
			}
		}
	})
}

// An ack that does not leave goes again as it is: sealing another for every try
// would run through the ratchet in a day, and with it every message after it.
func TestAnAckThatDoesNotLeaveIsSealedOnce(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		time.Sleep(time.Hour)
		var mu sync.Mutex
		tries, payloads := 0, map[string]bool{}
		r.lie(func() {
			r.fail = func(by string, p *transport.Put) error {
				if by != "Bob" {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				if b, ok := ada.opened(p.Address, p.Cell); ok {
					tries++
					payloads[string(b.Payload)] = true
				}
				return errors.New("does not leave")
			}
		})
		e := ada.send("bob", "is answered by an ack that does not leave")
		time.Sleep(6 * time.Hour)
		mu.Lock()
		if tries < 20 || len(payloads) != 1 {
			t.Errorf("%d tries of %d acks, want many of one", tries, len(payloads))
		}
		mu.Unlock()
		r.lie(func() { r.fail = nil })
		time.Sleep(time.Hour)
		if got := ada.state(e); got != OnDevice {
			t.Errorf("got %s once puts leave again, want %s", got, OnDevice)
		}
	})
}

// A fragment shows nothing until the whole is there: a contact who sends one
// after another must not read our presence from each without our seeing it.
func TestFragmentsOfAHelloShowNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.join(t, "Ada"), r.join(t, "Bob")
		meet(t, ada, bob)
		addresses, err := ada.keys.Addresses(t.Context(), ada.keys.now(600))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(addresses, func(a inbox.Address) bool { return !a.Alone })
		a := addresses[i]
		k := ada.keys.mine[wire.Address(a.Owned.Address)]
		for n := range 12 {
			body := wire.Body{Kind: wire.KindHello, ID: wire.MessageID{byte(n)}, Count: wire.HelloCells, Payload: make([]byte, wire.PayloadSize)}
			cell, err := sealed.SealCell(k.seal, wire.Address(a.Owned.Address), &body, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ada.keys.Open(t.Context(), a.Route, a.Owned.Address, (*transport.Cell)(cell))
			want := inbox.Nothing
			if n >= sealed.MaxOpen {
				want = inbox.Rejected
			}
			if err != nil || got != want {
				t.Errorf("fragment of whole %d: got %v, %v, want %v", n, got, err, want)
			}
		}
	})
}
