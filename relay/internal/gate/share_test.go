package gate

import (
	"fmt"
	"net/netip"
	"testing"
)

// grab takes all that a network can get of what, and returns how much that is.
func grab(g *Gate, addr string, what What) (got []func()) {
	for {
		release, ok := g.Allow(netip.MustParseAddr(addr), what)
		if !ok {
			return got
		}
		got = append(got, release)
	}
}

func shared(t *testing.T, held, sockets int) *Gate {
	return newGate(t, Limits{
		Connections: MaxLimit, Watches: MaxLimit, Puts: MaxLimit, Blobs: MaxLimit, Reads: MaxLimit, Held: held, Sockets: sockets,
	})
}

// One network holds an eighth of what is free at the most, loopback half, and
// newcomers find a place behind as many greedy networks as there are places.
func TestNobodyTakesAllThePlaces(t *testing.T) {
	g := shared(t, 900, 0)
	if got := len(grab(g, "192.0.2.1", Watch)); got < 80 || got > 112 {
		t.Errorf("one network: got %d places, want about an eighth of 900 or less", got)
	}
	if got := len(grab(g, "192.0.2.200", Watch)); got != 0 {
		t.Errorf("another peer of it: got %d places, want none", got)
	}
	free := 900 - g.Held(Watch)
	if got := len(grab(g, "127.0.0.1", Watch)); got != (free+1)/2 {
		t.Errorf("loopback: got %d places, want half of the %d that are free", got, free)
	}
	if got := len(grab(g, "192.0.2.1", Put)); got < 80 {
		t.Errorf("another kind: got %d places, want about an eighth of 900", got)
	}
	for i := range 70 {
		if got := len(grab(g, fmt.Sprintf("10.0.%d.1", i), Watch)); got == 0 {
			t.Fatalf("network %d got no place", i)
		}
	}
	if got := g.Held(Watch); got > 900 {
		t.Errorf("got %d held, want at most 900", got)
	}
}

func TestSocketsAreSharedOverTheKinds(t *testing.T) {
	g := shared(t, 900, 90)
	got := 0
	for _, what := range []What{Connection, Watch, Put} {
		got += len(grab(g, "192.0.2.1", what))
	}
	if got < 8 || got > 11 {
		t.Errorf("one network: got %d sockets, want about an eighth of 90", got)
	}
	for i := range 256 {
		got += len(grab(g, fmt.Sprintf("10.0.%d.1", i), Watch))
	}
	if got != 90 {
		t.Errorf("all: got %d sockets, want 90", got)
	}
}

// What is held is still held after the key changed, and nothing is left of it
// when it has ended.
func TestSharesMoveToTheNextKey(t *testing.T) {
	g := shared(t, 900, 0)
	got := grab(g, "192.0.2.1", Watch)
	before := map[id]bool{}
	var s *share
	for i, x := range g.shares {
		before[i], s = true, x
	}
	if err := g.turn(); err != nil {
		t.Fatal(err)
	}
	for i := range g.shares {
		if before[i] {
			t.Error("got the same id under another key")
		}
	}
	if n := len(grab(g, "192.0.2.1", Watch)); n != 0 {
		t.Errorf("got %d more places after the turn, want none", n)
	}
	for _, release := range got {
		release()
	}
	if len(g.shares) != 0 || *s != (share{}) || g.total != (share{}) {
		t.Errorf("got %d shares, %+v and %+v at the end, want nothing", len(g.shares), *s, g.total)
	}
	if n := len(grab(g, "192.0.2.1", Watch)); n != len(got) {
		t.Errorf("got %d places in the end, want %d", n, len(got))
	}
}

// TestSharesOfManyPlaces: the square of a million places is more than 32 bits hold.
func TestSharesOfManyPlaces(t *testing.T) {
	g := shared(t, 1<<20, 0)
	for _, c := range []struct {
		some, all int
		want      bool
	}{{1<<17 - 1, 1<<17 - 1, false}, {100_000, 100_000, true}, {100_000, 1 << 19, false}, {30_000, 1 << 19, true}, {1, 1<<20 - 1, false}} {
		if got := g.fits(c.some, c.all, 1<<20, false); got != c.want {
			t.Errorf("a network with %d of %d held: got another %v, want %v", c.some, c.all, got, c.want)
		}
	}
}
