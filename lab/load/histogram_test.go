package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestHistogramQuantiles compares with the sorted samples, over all sizes of time.
func TestHistogramQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []int64{100, 50_000, 3_000_000, 2_000_000_000} {
		var whole, half histogram
		var all []time.Duration
		for i := range 20_000 {
			d := time.Duration(r.Int64N(scale) * r.Int64N(scale) / scale)
			all = append(all, d)
			if i%2 == 0 {
				whole.add(d)
			} else {
				half.add(d)
			}
		}
		whole.merge(&half)
		slices.Sort(all)
		for _, q := range []float64{0, .001, .5, .99, .999, 1} {
			rank := max(int(q*float64(len(all))+.9999), 1) - 1
			got, want := whole.quantile(q), all[rank]
			if got < want || float64(got-want) > float64(want)/128+1 {
				t.Errorf("scale %d, quantile %v: got %d, want %d or 1/128 more", scale, q, got, want)
			}
		}
	}
}

func TestHistogramEdges(t *testing.T) {
	var h histogram
	if got := h.quantile(.5); got != 0 {
		t.Errorf("of nothing: got %v, want 0", got)
	}
	h.add(-time.Second)
	h.add(1000 * time.Hour)
	if got := h.quantile(0); got != 0 {
		t.Errorf("of a negative time: got %v, want 0", got)
	}
	if got := h.quantile(1); got != 1000*time.Hour && got != top(buckets-1) {
		t.Errorf("of a huge time: got %v", got)
	}
	for i := range buckets {
		if b := bucket(top(i)); b != i {
			t.Fatalf("top of bucket %d is in bucket %d", i, b)
		}
		if b := bucket(top(i) + 1); b != min(i+1, buckets-1) {
			t.Fatalf("after the top of bucket %d comes %d", i, b)
		}
	}
}
