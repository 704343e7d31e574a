package load

import "time"

// growth is what a process's memory did over a time.
type growth struct {
	Judged  bool    `json:"judged"` // there was enough of it
	Seconds float64 `json:"seconds"`
	Mean    float64 `json:"mean_mib"`
	MiB     float64 `json:"grew_mib"` // by the straight line nearest to all samples
	Bound   float64 `json:"bound_mib"`
}

// What may be called flat: collections and their pace make a straight line
// through some dozens of samples lean by a few percent.
const (
	flatShare   = 0.05 // of the mean
	flatSamples = 10   // fewer are not judged
)

// judge looks at resident memory from a time on.
func judge(all []Sample, from time.Duration) (g growth) {
	var t, m []float64
	for _, s := range all {
		if s.Seconds >= from.Seconds() {
			t, m = append(t, s.Seconds), append(m, s.RSS)
		}
	}
	if len(t) < flatSamples {
		return g
	}
	n := float64(len(t))
	var meanT, meanM float64
	for i := range t {
		meanT += t[i] / n
		meanM += m[i] / n
	}
	var up, down float64
	for i := range t {
		up += (t[i] - meanT) * (m[i] - meanM)
		down += (t[i] - meanT) * (t[i] - meanT)
	}
	g = growth{Judged: true, Seconds: t[len(t)-1] - t[0], Mean: meanM, Bound: flatShare * meanM}
	g.MiB = up / down * g.Seconds
	return g
}
