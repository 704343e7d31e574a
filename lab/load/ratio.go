package load

import "slices"

// spread is a figure over rounds.
type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// over is the spread of some figures. The zero spread is of none.
func over(v []float64) spread {
	if len(v) == 0 {
		return spread{}
	}
	v = slices.Sorted(slices.Values(v))
	return spread{(v[len(v)/2] + v[(len(v)-1)/2]) / 2, v[0], v[len(v)-1]}
}

// ratio divides within each round and looks at the spread of what comes out:
// what a busy machine does to a whole round cancels. A round in which one of the
// two has no figure is left out.
func ratio(of, by []run, figure func(*run) float64) spread {
	var all []float64
	for i := range min(len(of), len(by)) {
		if a, b := figure(&of[i]), figure(&by[i]); a > 0 && b > 0 {
			all = append(all, a/b)
		}
	}
	return over(all)
}

func figures(runs []run, figure func(*run) float64) []float64 {
	var all []float64
	for i := range runs {
		all = append(all, figure(&runs[i]))
	}
	return all
}

func perCPU(r *run) float64    { return r.PerCPU }
func perSecond(r *run) float64 { return r.PerSecond }
func p50(r *run) float64       { return r.P50 }
func p99(r *run) float64       { return r.P99 }
func p999(r *run) float64      { return r.P999 }
func cores(r *run) float64     { return r.Cores }
