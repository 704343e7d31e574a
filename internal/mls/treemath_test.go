package mls

import "testing"

func TestBelow(t *testing.T) {
	for a := NodeIndex(0); a < 31; a++ {
		for x := NodeIndex(0); x < 31; x++ {
			want := x == a
			for _, p := range x.directPath(16) {
				want = want || p == a
			}
			if got := x.below(a); got != want {
				t.Errorf("%d below %d: got %v, want %v", x, a, got, want)
			}
		}
	}
}
