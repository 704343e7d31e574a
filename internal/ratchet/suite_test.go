package ratchet

import (
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// TestSuitesDoNotMix: a state of one suite opens nothing of the other, though all
// else is the same.
func TestSuitesDoNotMix(t *testing.T) {
	sk, signed := secretOf[key.SharedRole](t, stream("mix")), secretOf[key.DHRole](t, stream("mix signed"))
	a1, b1 := ends(t, stateVersion1, stream("mix a"), sk, signed)
	a2, b2 := ends(t, stateVersion2, stream("mix a"), sk, signed)
	r := stream("mix")
	m1, m2 := encrypt(t, a1, r, 1), encrypt(t, a2, r, 2)
	refuses(t, "suite 1 in suite 2", b2, r, start, ad, m1)
	refuses(t, "suite 2 in suite 1", b1, r, start, ad, m2)
	opens(t, b1, r, start, m1, 1)
	opens(t, b2, r, start, m2, 2)
}

// TestEachRatchetIsNeeded: whoever has all of one ratchet and not the other's
// secret opens nothing.
func TestEachRatchetIsNeeded(t *testing.T) {
	a, b := pair(t, "needed")
	r := stream("needed")
	for n := range 5 {
		opens(t, b, r, start, encrypt(t, a, r, n), n)
		opens(t, a, r, start, encrypt(t, b, r, n), n)
	}
	other, _ := pair(t, "another secret")
	_, otherB := pair(t, "another secret")
	opens(t, otherB, r, start, encrypt(t, other, r, 0), 0)
	m := encrypt(t, a, r, 9)
	noBraid := b.Clone()
	noBraid.braid = otherB.braid
	refuses(t, "with another braid", noBraid, r, start, ad, m)
	noEC := b.Clone()
	noEC.recv, noEC.root = otherB.recv, otherB.root
	refuses(t, "with another EC ratchet", noEC, r, start, ad, m)
	opens(t, b, r, start, m, 9)
}

// TestEpochsCompleteWhileMessagesFlow counts what an epoch takes, and that both
// ends agree on it, states written and read after every step.
func TestEpochsCompleteWhileMessagesFlow(t *testing.T) {
	for name, burst := range map[string]int{"one for one": 1, "five for five": 5} {
		a, b := pair(t, "epochs")
		r := stream("epochs")
		opens(t, b, r, start, encrypt(t, a, r, 0), 0)
		n := 0
		for ; a.Epoch() < 4 || b.Epoch() < 4; n++ {
			if n > 3000 {
				t.Fatalf("%s: got epochs %d and %d after %d messages, want 4", name, a.Epoch(), b.Epoch(), n)
			}
			from, to := b, a
			if n/burst%2 == 1 {
				from, to = a, b
			}
			opens(t, to, r, start, encrypt(t, from, r, n), n)
			if x, y := a.Epoch(), b.Epoch(); x > y+1 || y > x+1 {
				t.Fatalf("%s: got epochs %d and %d, want at most one apart", name, x, y)
			}
			if n%7 == 0 {
				a, b = again(t, a), again(t, b)
			}
		}
		t.Logf("%s: %d messages for each epoch", name, n/4)
	}
}

// TestALateMessageOpensEpochsLater: its two keys lie in two stores, and what a
// ratchet did since does not take either away.
func TestALateMessageOpensEpochsLater(t *testing.T) {
	a, b := pair(t, "late")
	r := stream("late")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	opens(t, a, r, start, encrypt(t, b, r, 0), 0)
	overtaken := encrypt(t, a, r, 1)
	opens(t, b, r, start, encrypt(t, a, r, 2), 2)
	last := encrypt(t, a, r, 3) // of its chain: only the next one tells of it
	for n := 0; b.Epoch() < 3; n++ {
		opens(t, a, r, start, encrypt(t, b, r, n), n)
		opens(t, b, r, start, encrypt(t, a, r, n), n)
	}
	b = again(t, b)
	if ec, bk := b.Skipped(), b.braid.Skipped(); ec != 2 || bk != 2 {
		t.Fatalf("got %d EC keys and %d of the braid, want 2 and 2", ec, bk)
	}
	refuses(t, "a damaged one", b, r, start, ad, append(append([]byte{}, last[:Size-1]...), last[Size-1]^1))
	opens(t, b, r, start, last, 3)
	opens(t, b, r, start, overtaken, 1)
	refuses(t, "once more", b, r, start, ad, last)
	if ec, bk := b.Skipped(), b.braid.Skipped(); ec != 0 || bk != 0 {
		t.Errorf("got %d EC keys and %d of the braid, want none: each is used once", ec, bk)
	}
}
