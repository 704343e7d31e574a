package ratchet

import (
	"errors"
	"testing"
	"time"
)

const day = 24 * time.Hour

// ahead encrypts n messages, returns all of them and lets the other side open
// the last one only.
func ahead(t *testing.T, from, to *State, n int, now time.Time) [][]byte {
	t.Helper()
	r := stream("ahead")
	ms := make([][]byte, n)
	for i := range ms {
		ms[i] = encrypt(t, from, r, i)
	}
	opens(t, to, r, now, ms[n-1], n-1)
	return ms
}

// turnAround makes both ends begin new chains.
func turnAround(t *testing.T, a, b *State, now time.Time) {
	t.Helper()
	r := stream("turn around")
	opens(t, a, r, now, encrypt(t, b, r, 900), 900)
	opens(t, b, r, now, encrypt(t, a, r, 901), 901)
}

func TestChainKeepsItsLastThousandKeys(t *testing.T) {
	a, b := pair(t, "chain bound")
	r := stream("x")
	ms := ahead(t, a, b, 1201, start) // 1,200 skipped
	if got := b.Skipped(); got != MaxSkippedChain {
		t.Fatalf("got %d keys, want %d", got, MaxSkippedChain)
	}
	refuses(t, "message 199, whose key was not kept", b, r, start, ad, ms[199])
	opens(t, b, r, start, ms[200], 200)
	opens(t, b, r, start, ms[1199], 1199)
	// The bound is the chain's, not one jump's.
	more := ahead(t, a, b, 11, start)
	if got := b.Skipped(); got != MaxSkippedChain {
		t.Fatalf("got %d keys, want %d", got, MaxSkippedChain)
	}
	refuses(t, "message 208, pushed out by later ones", b, r, start, ad, ms[208])
	opens(t, b, r, start, ms[209], 209)
	opens(t, b, r, start, more[0], 0)
}

// TestBothStoresKeepTheKeysOfAMessage: late messages of two chains lie in one
// epoch of the braid, whose store drops no key while that of the EC keys has its.
func TestBothStoresKeepTheKeysOfAMessage(t *testing.T) {
	a, b := pair(t, "both stores")
	r := stream("x")
	first := ahead(t, a, b, MaxSkippedChain+1, start)
	turnAround(t, a, b, start)
	second := ahead(t, a, b, MaxSkippedChain+1, start)
	if got, epoch := b.Skipped(), b.Epoch(); got != MaxSkipped || epoch != 0 {
		t.Fatalf("got %d keys in epoch %d, want %d in epoch 0", got, epoch, MaxSkipped)
	}
	b = again(t, b)
	for n := range MaxSkippedChain {
		opens(t, b, r, start, first[n], n)
		opens(t, b, r, start, second[n], n)
	}
}

func TestStoreKeepsTwoThousandKeysInAll(t *testing.T) {
	a, b := pair(t, "store bound")
	r := stream("x")
	first := ahead(t, a, b, 901, start)
	turnAround(t, a, b, start)
	second := ahead(t, a, b, 901, start)
	turnAround(t, a, b, start)
	third := ahead(t, a, b, 301, start)
	if got := b.Skipped(); got != MaxSkipped {
		t.Fatalf("got %d keys, want %d", got, MaxSkipped)
	}
	refuses(t, "message 99 of the oldest chain", b, r, start, ad, first[99])
	b = again(t, b)
	for n, m := range map[int][]byte{100: first[100], 899: first[899], 0: second[0], 299: third[299]} {
		opens(t, b, r, start, m, n)
	}
}

func TestSkippedKeysLiveThirtyDays(t *testing.T) {
	a, b := pair(t, "expiry")
	r := stream("x")
	old := ahead(t, a, b, 3, start)
	turnAround(t, a, b, start.Add(day))
	young := ahead(t, a, b, 3, start.Add(10*day))
	edge := start.Add(30*day - time.Second)
	opens(t, b.Clone(), r, edge, old[0], 0)
	over := start.Add(30 * day)
	// Expired is expired even before anything cleared it away.
	refuses(t, "a key of 30 days", b, r, over, ad, old[0])
	opens(t, b, r, over, young[0], 0)
	if got := b.Skipped(); got != 1 {
		t.Errorf("got %d keys, want 1: opening clears expired ones away", got)
	}
	refuses(t, "a key that was cleared away", b, r, start, ad, old[1])
	opens(t, b, r, over, young[1], 1)
	if got := b.Skipped(); got != 0 || len(b.skipped.chains) != 0 {
		t.Errorf("got %d keys in %d chains, want none", got, len(b.skipped.chains))
	}
}

func TestClockThatStoodWrongKeepsNoKeyForYears(t *testing.T) {
	a, b := pair(t, "clock")
	r := stream("x")
	ms := ahead(t, a, b, 5, start.Add(3650*day)) // ten years ahead
	opens(t, b, r, start, ms[0], 0)              // set right: the times are, too
	b = again(t, b)
	refuses(t, "a key 30 days after the clock was set right", b, r, start.Add(30*day), ad, ms[1])
	opens(t, b, r, start.Add(30*day-time.Second), ms[1], 1)
	opens(t, b, r, time.Unix(-5, 0), ms[2], 2) // before 1970: nothing is older than that
	opens(t, b, r, time.Unix(0, 0), ms[3], 3)
}

func TestSenderStopsWhereReceiverCouldNotFollow(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test: it encrypts 32,768 messages")
	}
	a, b := pair(t, "full")
	r := stream("full")
	var last []byte
	for n := range MaxChain {
		if got := a.Room(); got != MaxChain-n {
			t.Fatalf("got room for %d, want %d", got, MaxChain-n)
		}
		last = encrypt(t, a, r, n)
	}
	a = again(t, a)
	if _, err := a.Encrypt(r, ad, block(0)); !errors.Is(err, ErrFull) {
		t.Fatalf("got %v, want %v", err, ErrFull)
	}
	// All others are lost: the last one still opens, and an answer makes room.
	opens(t, b, r, start, last, MaxChain-1)
	b = again(t, b)
	opens(t, a, r, start, encrypt(t, b, r, 1), 1)
	if got := a.Room(); got != MaxChain {
		t.Errorf("got room for %d, want %d", got, MaxChain)
	}
	opens(t, b, r, start, encrypt(t, a, r, 2), 2)
	if got, want := b.Highest(), uint32(MaxChain+1); got != want || a.Sent() != want {
		t.Errorf("got highest %d and sent %d, want %d", got, a.Sent(), want)
	}
}

// TestJumpHoldsOnlyWhatIsKept: the keys of a long jump that will not be kept are
// not collected either.
func TestJumpHoldsOnlyWhatIsKept(t *testing.T) {
	a, b := pair(t, "jump")
	r := stream("jump")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	d := draft{core: b.core.clone(), was: b, at: start}
	d.skip(5000)
	if got := len(d.fresh[0].keys); got != MaxSkippedChain {
		t.Errorf("got %d keys, want %d", got, MaxSkippedChain)
	}
	d.wipe()
}

// TestEndOfChainIsSkippedToo: messages lost at the end of a chain are known by
// the next chain's header.
func TestEndOfChainIsSkippedToo(t *testing.T) {
	a, b := pair(t, "end")
	r := stream("end")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	lost := [][]byte{encrypt(t, a, r, 1), encrypt(t, a, r, 2)}
	turnAround(t, a, b, start)
	turnAround(t, a, b, start)
	if got := b.Skipped(); got != 2 {
		t.Fatalf("got %d keys, want 2", got)
	}
	opens(t, b, r, start, lost[1], 2)
	opens(t, b, r, start, lost[0], 1)
	if len(b.skipped.chains) != 0 {
		t.Errorf("got %d chains, want none: their header keys are not needed", len(b.skipped.chains))
	}
}
