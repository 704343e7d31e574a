package braid

import (
	"fmt"
	"testing"
)

// exchanges lets both send n messages in turns, of which one in keep arrives. What
// does not fit is refused, as after a disk went back.
func exchanges(t *testing.T, a, b *State, n, keep int, until func() bool) int {
	t.Helper()
	r, d := stream("exchanges"), dice(5)
	for i := range n {
		for _, x := range [][2]*State{{a, b}, {b, a}} {
			p := send(t, x[0], r)
			if d.IntN(keep) != 0 {
				continue
			}
			c := x[1].Clone()
			if _, err := c.Receive(start, p.field[:]); err == nil {
				x[1].Wipe()
				*x[1] = *c
			}
		}
		if until() {
			return i
		}
	}
	return n
}

// TestLossStallsNothing: with 19 of 20 messages lost an epoch is complete long
// before it would be given up.
func TestLossStallsNothing(t *testing.T) {
	a, b := pair(t, "lossy")
	longest := 0
	for epoch := uint64(1); epoch <= 6; epoch++ {
		longest = max(longest, exchanges(t, a, b, StallAfter, 20, func() bool {
			if a.Stalled() || b.Stalled() {
				t.Fatalf("epoch %d: got a stall, want patience", epoch)
			}
			return a.Epoch() >= epoch && b.Epoch() >= epoch
		}))
	}
	t.Logf("longest epoch: %d messages each way", longest)
	if min(a.Epoch(), b.Epoch()) < 6 {
		t.Errorf("got epochs %d and %d, want 6", a.Epoch(), b.Epoch())
	}
}

// TestASpoiledCiphertextIsSeen: nothing else tells of it.
func TestASpoiledCiphertextIsSeen(t *testing.T) {
	a, b, _ := poison(t, kindCt1)
	if a.Stalled() || b.Stalled() {
		t.Fatal("got a stall after 500 messages each way, want patience")
	}
	never := func() bool { return false }
	exchanges(t, a, b, 600, 1, never)
	if a, b = again(t, a), again(t, b); !a.Stalled() || !b.Stalled() || a.Epoch() != 0 {
		t.Errorf("got stalled %v and %v in epoch %d, want both in 0", a.Stalled(), b.Stalled(), a.Epoch())
	}
	one, _ := pair(t, "one end") // who alone talks has no epoch, and is not stalled
	for range StallAfter + 10 {
		send(t, one, stream("one end"))
	}
	if one.Stalled() {
		t.Error("one end alone: got a stall, want none")
	}
}

// TestADiskThatWentBackWithinAnEpoch: at whichever moment and end, epochs are
// completed afterwards or the stall is seen. Both happen.
func TestADiskThatWentBackWithinAnEpoch(t *testing.T) {
	goes, stalls := 0, 0
	for at := 0; at < 44; at += 3 {
		for _, back := range []int{1, 5, 12} {
			for _, second := range []bool{false, true} {
				a, b := pair(t, fmt.Sprint("disk", at))
				exchanges(t, a, b, at, 1, func() bool { return false })
				s := a
				if second {
					s = b
				}
				disk := s.Append(nil)
				exchanges(t, a, b, back, 1, func() bool { return false })
				if a.Epoch() != 0 || b.Epoch() != 0 {
					continue
				}
				old, err := Parse(disk)
				if err != nil {
					t.Fatal(err)
				}
				*s = *old
				exchanges(t, a, b, StallAfter+back+3, 1, func() bool { return min(a.Epoch(), b.Epoch()) >= 2 })
				switch healed, stalled := min(a.Epoch(), b.Epoch()) >= 2, a.Stalled() && b.Stalled(); {
				case healed && !stalled:
					goes++
				case stalled && !healed:
					stalls++
				default:
					t.Errorf("back from %d by %d, second end %v: got epochs %d and %d, stalled %v and %v",
						at+back, back, second, a.Epoch(), b.Epoch(), a.Stalled(), b.Stalled())
				}
			}
		}
	}
	t.Logf("%d went on, %d stood still", goes, stalls)
	if goes == 0 || stalls == 0 {
		t.Errorf("got %d that went on and %d that stood still, want some of both", goes, stalls)
	}
}
