package ratchet

import (
	"bytes"
	"crypto/rand"
	"testing"
)

// restore reads a state from bytes that an old disk kept.
func restore(t *testing.T, disk []byte) *State {
	t.Helper()
	s, err := ParseState(disk)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRestoredStateNeverRepeatsANonce encrypts twice from one disk with the
// machine's randomness: the same keys, never the same nonces.
func TestRestoredStateNeverRepeatsANonce(t *testing.T) {
	a, b := pair(t, "restored")
	opens(t, b, rand.Reader, start, encrypt(t, a, rand.Reader, 0), 0)
	opens(t, a, rand.Reader, start, encrypt(t, b, rand.Reader, 1), 1)
	disk := a.Append(nil)
	heads, bodies := make(map[string]bool), make(map[string]bool)
	const runs = 64
	for range runs {
		m := encrypt(t, restore(t, disk), rand.Reader, 2) // the same block, the same N
		heads[string(m[:nonceSize])] = true
		bodies[string(m[sealedHead:][:nonceSize])] = true
		if bytes.Equal(m[:nonceSize], m[sealedHead:][:nonceSize]) {
			t.Error("got one nonce for header and block, want two")
		}
	}
	if len(heads) != runs || len(bodies) != runs {
		t.Errorf("got %d header nonces and %d block nonces from %d runs, want as many", len(heads), len(bodies), runs)
	}
}

// TestPeerOutlivesRollbackWithinAChain: of two messages with one N the first to
// arrive opens, the other does not, and the session goes on.
func TestPeerOutlivesRollbackWithinAChain(t *testing.T) {
	a, b := pair(t, "rollback")
	r := stream("rollback")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	opens(t, a, r, start, encrypt(t, b, r, 1), 1)
	disk := a.Append(nil)
	before := [][]byte{encrypt(t, a, r, 10), encrypt(t, a, r, 11), encrypt(t, a, r, 12)}
	opens(t, b, r, start, before[0], 10) // 11 and 12 are on their way
	if got, sent := b.Highest(), a.Sent(); got > sent {
		t.Fatalf("got highest %d, want at most %d", got, sent)
	}

	a = restore(t, disk)
	if got, sent := b.Highest(), a.Sent(); got <= sent {
		t.Errorf("got highest %d, want above the %d of a disk that went back", got, sent)
	}
	after := [][]byte{encrypt(t, a, r, 20), encrypt(t, a, r, 21), encrypt(t, a, r, 22), encrypt(t, a, r, 23)}
	refuses(t, "a number that was used up", b, r, start, ad, after[0])
	opens(t, b, r, start, after[1], 21) // came before its twin
	refuses(t, "the twin", b, r, start, ad, before[1])
	opens(t, b, r, start, before[2], 12)
	refuses(t, "the other twin", b, r, start, ad, after[2])
	opens(t, b, r, start, after[3], 23)
	opens(t, a, r, start, encrypt(t, b, r, 30), 30)
	opens(t, b, r, start, encrypt(t, a, r, 31), 31)
}

// TestCountNeverFalls: a restored state ends its chain with a smaller number than
// the peer has seen of it.
func TestCountNeverFalls(t *testing.T) {
	a, b := pair1(t, "falls") // numbers of a braid's chain do not begin anew with the other chain: see below
	r := stream("falls")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	answer := encrypt(t, b, r, 1)
	disk := a.Append(nil)
	for n := range 5 {
		opens(t, b, r, start, encrypt(t, a, r, n), n)
	}
	a = restore(t, disk)
	opens(t, a, r, start, answer, 1)
	opens(t, b, r, start, encrypt(t, a, r, 2), 2) // its PN is 1
	if got := b.Highest(); got != 7 {
		t.Errorf("got highest %d, want 7: six of the chain before and one", got)
	}
}

// TestNumbersOfTheBraidGoBackToo: a restored state numbers its messages in the
// braid's chain as before, whatever other chain they are in. Those whose numbers
// were used up do not open, the first that is new does.
func TestNumbersOfTheBraidGoBackToo(t *testing.T) {
	a, b := pair(t, "numbers")
	r := stream("numbers")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	answer := encrypt(t, b, r, 1)
	disk := a.Append(nil)
	for n := range 3 {
		opens(t, b, r, start, encrypt(t, a, r, n), n)
	}
	a = restore(t, disk)
	opens(t, a, r, start, answer, 1)
	for n := range 3 {
		refuses(t, "a number of the braid that was used up", b, r, start, ad, encrypt(t, a, r, n))
	}
	opens(t, b, r, start, encrypt(t, a, r, 9), 9)
	opens(t, a, r, start, encrypt(t, b, r, 10), 10)
}

// TestPeerOutlivesRollbackOverAnUnheardChain: the lost future began a new chain
// of which the peer heard nothing, so the restored state begins it once more.
func TestPeerOutlivesRollbackOverAnUnheardChain(t *testing.T) {
	a, b := pair(t, "unheard")
	r := stream("unheard")
	opens(t, b, r, start, encrypt(t, a, r, 0), 0)
	answer := encrypt(t, b, r, 1)
	disk := a.Append(nil)
	opens(t, a, r, start, answer, 1)
	lost := encrypt(t, a, r, 2)

	a = restore(t, disk)
	opens(t, a, r, start, answer, 1)
	opens(t, b, r, start, encrypt(t, a, r, 3), 3)
	refuses(t, "a message of the chain that was begun before", b, r, start, ad, lost)
	opens(t, a, r, start, encrypt(t, b, r, 4), 4)
}

// TestRollbackOverAHeardChainNeedsANewSession: the peer has gone where the
// restored state cannot follow. Neither end is harmed, and the peer's count says
// what happened once they meet again.
func TestRollbackOverAHeardChainNeedsANewSession(t *testing.T) {
	a, b := pair(t, "heard")
	r := stream("heard")
	disk := a.Append(nil)
	for n := range 3 {
		opens(t, b, r, start, encrypt(t, a, r, n), n)
		opens(t, a, r, start, encrypt(t, b, r, n), n)
	}
	a = restore(t, disk)
	refuses(t, "a message of an old chain", b, r, start, ad, encrypt(t, a, r, 10))
	refuses(t, "a message of a chain not heard of", a, r, start, ad, encrypt(t, b, r, 11))
	if got, sent := b.Highest(), a.Sent(); got <= sent {
		t.Errorf("got highest %d, want above %d", got, sent)
	}
}
