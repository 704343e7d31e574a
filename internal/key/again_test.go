package key

import (
	"encoding/binary"
	"testing"
)

// TestVerifyAgain: a good signature stays good, and nothing becomes good by having
// been asked for, or beside one that is: another key, signature, label or text.
func TestVerifyAgain(t *testing.T) {
	s := testSign(t, 1)
	p, other := SignPublicOf(s), SignPublicOf(testSign(t, 2))
	sig := SignMessage(s, "label", []byte("a"), []byte("b"))
	bad := sig
	bad[3] ^= 1
	for range 3 {
		if !VerifyAgain(p, sig, "label", []byte("a"), []byte("b")) {
			t.Fatal("a good signature is refused")
		}
		if VerifyAgain(p, bad, "label", []byte("a"), []byte("b")) || VerifyAgain(other, sig, "label", []byte("a"), []byte("b")) ||
			VerifyAgain(p, sig, "labe", []byte("a"), []byte("b")) || VerifyAgain(p, sig, "label", []byte("ab")) || VerifyAgain(p, sig, "label", []byte("a"), []byte("c")) {
			t.Fatal("a bad signature is taken")
		}
	}
	for i := range uint64(2*againMost + 10) { // what is remembered is bounded
		m := binary.BigEndian.AppendUint64(nil, i)
		if i%64 == 0 && !VerifyAgain(p, SignMessage(s, "label", m), "label", m) {
			t.Fatal("refused")
		}
		again.Lock()
		if len(again.young) < againMost && i%64 != 0 {
			again.young[[32]byte(append(m, make([]byte, 24)...))] = struct{}{}
		}
		if len(again.young) > againMost || len(again.old) > againMost {
			t.Fatalf("%d and %d remembered", len(again.young), len(again.old))
		}
		again.Unlock()
	}
}

func testSign(t *testing.T, n byte) Sign {
	s, err := New[SignRole](append(make([]byte, 31), n))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
