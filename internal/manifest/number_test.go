package manifest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

func TestSafetyNumberIsTheSameAtBothEnds(t *testing.T) {
	a, b, c := key.SignPublicOf(signKey(t, "a")), key.SignPublicOf(signKey(t, "b")), key.SignPublicOf(signKey(t, "c"))
	ab := SafetyNumber(a, b)
	if got := SafetyNumber(b, a); got != ab {
		t.Errorf("got %s, want %s", got, ab)
	}
	if !regexp.MustCompile(`^([0-9]{5} ){11}[0-9]{5}$`).MatchString(ab) {
		t.Errorf("got %q, want 12 groups of 5 digits", ab)
	}
	for name, other := range map[string]string{"a with c": SafetyNumber(a, c), "c with b": SafetyNumber(c, b)} {
		if other == ab {
			t.Errorf("%s: got the number of a with b", name)
		}
	}
}

func TestEveryRootChangesItsHalf(t *testing.T) {
	a := key.SignPublicOf(signKey(t, "a"))
	seen := map[string]bool{half(a): true}
	for i := range 256 {
		b := a
		b[i/8] ^= 1 << (i % 8)
		h := half(b)
		if seen[h] {
			t.Fatalf("bit %d: got a half that another root has", i)
		}
		seen[h] = true
	}
	if n := SafetyNumber(a, a); n != strings.Repeat(half(a)+" ", 2)[:71] {
		t.Errorf("got %q, want the same half twice", n)
	}
}
