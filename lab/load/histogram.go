package load

import (
	"math"
	"math/bits"
	"time"
)

// A bucket of a histogram is 1/128 of its value wide or less, so a figure is
// within 0.8 % of the truth. The last bucket takes all from 18 minutes on.
const (
	bucketBits = 7
	buckets    = (40-bucketBits)<<bucketBits + 1<<bucketBits
)

// histogram counts times without keeping them: 33 KiB however many there are.
// Its zero value is empty. It is for one goroutine.
type histogram struct {
	count [buckets]int64
	n     int64
	most  time.Duration
}

func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-bucketBits-1, 0)
	return min(shift<<bucketBits+int(v>>shift), buckets-1)
}

// top is the largest time that a bucket holds.
func top(i int) time.Duration {
	shift := max(i>>bucketBits-1, 0)
	low := uint64(i - shift<<bucketBits)
	return time.Duration((low+1)<<shift - 1)
}

func (h *histogram) add(d time.Duration) {
	h.count[bucket(d)]++
	h.n++
	h.most = max(h.most, d)
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.count {
		h.count[i] += n
	}
	h.n += o.n
	h.most = max(h.most, o.most)
}

// quantile is the time within which the share q of all happened, 0 for none.
func (h *histogram) quantile(q float64) time.Duration {
	rank := max(int64(math.Ceil(q*float64(h.n))), 1)
	for i, n := range h.count {
		if rank -= n; rank <= 0 {
			return min(top(i), h.most)
		}
	}
	return h.most
}
