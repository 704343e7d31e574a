package load

import "testing"

// TestRatioIsTakenWithinRounds has a machine that is three times slower in the
// second round: medians of each side would give 1, the truth is 2.
func TestRatioIsTakenWithinRounds(t *testing.T) {
	ours := []run{{PerCPU: 200}, {PerCPU: 60}, {PerCPU: 220}}
	theirs := []run{{PerCPU: 100}, {PerCPU: 30}, {PerCPU: 100}}
	if got, want := ratio(ours, theirs, perCPU), (spread{2, 2, 2.2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := ratio(ours[:2], theirs, perCPU), (spread{2, 2, 2}); got != want {
		t.Errorf("one round less on our side: got %v, want %v", got, want)
	}
	if got := ratio(ours, []run{{}, {}, {}}, perCPU); got != (spread{}) {
		t.Errorf("by nothing: got %v, want nothing", got)
	}
}

func TestOver(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{4, 1}, spread{2.5, 1, 4}},
		{[]float64{9, 1, 2}, spread{2, 1, 9}},
	} {
		if got := over(c.in); got != c.want {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}
