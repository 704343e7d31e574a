package gate

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func newGate(t *testing.T, l Limits) *Gate {
	t.Helper()
	g, err := New(l, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// allowed asks up to n times and returns how often it was allowed.
func allowed(g *Gate, addr string, what What, n int) (yes int) {
	for range n {
		if release, ok := g.Allow(netip.MustParseAddr(addr), what); ok {
			release()
			yes++
		}
	}
	return yes
}

func TestANetworkIsHeldToItsLimit(t *testing.T) {
	g := newGate(t, Limits{Connections: 3, Watches: 5, Puts: 7, Blobs: 2, Reads: 4, Held: 100})
	for what, want := range map[What]int{Connection: 3, Watch: 5, Put: 7, Blob: 2, Read: 4} {
		if got := allowed(g, "192.0.2.1", what, 20); got != want {
			t.Errorf("kind %d: got %d allowed, want %d", what, got, want)
		}
	}
}

func TestNeighboursShareACountAndStrangersDoNot(t *testing.T) {
	for _, c := range []struct {
		first, second string
		want          int // of 2 by the second, after 2 by the first, at a limit of 3
	}{
		{"192.0.2.1", "192.0.2.250", 1},
		{"192.0.2.1", "192.0.3.1", 2},
		{"192.0.2.1", "::ffff:192.0.2.7", 1},
		{"2001:db8:0:1200::1", "2001:db8:0:12ff:1::9", 1},
		{"2001:db8:0:1200::1", "2001:db8:0:1300::1", 2},
		{"2001:db8::1%eth0", "2001:db8::2", 1},
	} {
		g := newGate(t, Limits{Connections: 3, Watches: 1, Puts: 1, Blobs: 1, Reads: 1, Held: 1})
		if got := allowed(g, c.first, Connection, 2); got != 2 {
			t.Errorf("%s: got %d allowed, want 2", c.first, got)
		}
		if got := allowed(g, c.second, Connection, 2); got != c.want {
			t.Errorf("%s after %s: got %d allowed, want %d", c.second, c.first, got, c.want)
		}
	}
}

func TestLoopbackStandsForManyAndIsOnlyHeld(t *testing.T) {
	g := newGate(t, Limits{Connections: 1, Watches: 1, Puts: 1, Blobs: 1, Reads: 1, Held: 2, Alone: true})
	for _, addr := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		if got := allowed(g, addr, Watch, 5); got != 5 {
			t.Errorf("%s: got %d allowed, want 5", addr, got)
		}
	}
	for _, what := range []What{Connection, Watch, Put} {
		var end func()
		for i, want := range []bool{true, true, false} {
			release, got := g.Allow(netip.Addr{}, what)
			if got != want {
				t.Errorf("kind %d held %d: got %t, want %t", what, i+1, got, want)
			}
			if got {
				end = release
			}
		}
		end()
		if _, ok := g.Allow(netip.Addr{}, what); !ok {
			t.Errorf("kind %d: got none after one had ended, want one", what)
		}
	}
}

func TestARefusedThingIsNotHeld(t *testing.T) {
	g := newGate(t, Limits{Connections: 1, Watches: 1, Puts: 1, Blobs: 1, Reads: 1, Held: 5})
	a := netip.MustParseAddr("192.0.2.1")
	for range 20 {
		g.Allow(a, Watch)
	}
	if got := g.Held(Watch); got != 1 {
		t.Errorf("got %d held, want 1", got)
	}
}

func TestKeyAndCountsGoEveryTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, Limits{Connections: 3, Watches: 1, Puts: 1, Blobs: 1, Reads: 1, Held: 1})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Run(ctx) }()
		if got := allowed(g, "192.0.2.1", Connection, 9); got != 3 {
			t.Fatalf("got %d allowed, want 3", got)
		}
		old := g.key

		time.Sleep(Window - time.Second)
		synctest.Wait()
		if got := allowed(g, "192.0.2.1", Connection, 9); got != 0 {
			t.Errorf("before the turn: got %d allowed, want 0", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if g.key == old {
			t.Error("got the old key after the turn, want a new one")
		}
		if *g.counts[Connection] != (sketch{}) {
			t.Error("got counts from before the turn, want none: they would add up")
		}
		if got := allowed(g, "192.0.2.1", Connection, 9); got != 3 {
			t.Errorf("after the turn: got %d allowed, want 3", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestNoRandomnessStopsTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		g, err := New(Limits{1, 1, 1, 1, 1, 1, 0, false}, &onceThen{bytes.NewReader(make([]byte, 32)), broken})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	})
	if _, err := New(Limits{1, 1, 1, 1, 1, 1, 0, false}, iotest.ErrReader(errors.New("none"))); err == nil {
		t.Error("got a gate without a key, want an error")
	}
}

type onceThen struct {
	r   *bytes.Reader
	err error
}

func (o *onceThen) Read(b []byte) (int, error) {
	if o.r.Len() == 0 {
		return 0, o.err
	}
	return o.r.Read(b)
}

// A crowd of networks, each far below its limit, must not push others over it.
func TestACrowdDoesNotShutOutOthers(t *testing.T) {
	// One key for every run: the outcome depends on which counters meet.
	g, err := New(Limits{Connections: 14, Watches: 1, Puts: 1, Blobs: 1, Reads: 1, Held: 1}, bytes.NewReader(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		allowed(g, fmt.Sprintf("10.%d.%d.1", i>>8, i&255), Connection, 2)
	}
	refused := 0
	for i := range 200 {
		refused += 10 - allowed(g, fmt.Sprintf("172.16.%d.1", i), Connection, 10)
	}
	if refused != 0 {
		t.Errorf("got %d of 2,000 refused, want 0", refused)
	}
}

func TestLimitsOutOfRangeAreRefused(t *testing.T) {
	for _, l := range []Limits{
		{0, 1, 1, 1, 1, 1, 0, false}, {1, -1, 1, 1, 1, 1, 0, false}, {1, 1, MaxLimit + 1, 1, 1, 1, 0, false},
		{1, 1, 1, 1, 0, 1, 0, false}, {1, 1, 1, 1, 1, 0, 0, false},
	} {
		if _, err := New(l, rand.Reader); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%+v: got %v, want an error about a limit", l, err)
		}
	}
}
