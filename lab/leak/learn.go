package leak

import (
	"math"
	"math/rand/v2"
	"slices"
)

// model is a logistic regression: an attacker who has watched people of whom the
// truth is known, and weighs what told them apart.
type model struct {
	mean, scale, weight []float64
	bias                float64
}

// example is a pair of things that are one person's, or are not.
type example struct {
	x   []float64
	yes bool
}

// ridge keeps weights finite where a feature tells all.
const ridge = 1e-2

// fit trains by Newton's method (iteratively reweighted least squares).
func fit(all []example) *model {
	n := 0
	if len(all) > 0 {
		n = len(all[0].x)
	}
	m := &model{mean: make([]float64, n), scale: make([]float64, n), weight: make([]float64, n)}
	for i := range n {
		var sum, sq float64
		for _, e := range all {
			sum += e.x[i]
			sq += e.x[i] * e.x[i]
		}
		m.mean[i] = sum / float64(len(all))
		if v := sq/float64(len(all)) - m.mean[i]*m.mean[i]; v > 1e-12 {
			m.scale[i] = 1 / math.Sqrt(v)
		}
	}
	z := make([]float64, n+1)
	for range 25 {
		grad := make([]float64, n+1)
		hess := make([][]float64, n+1)
		for i := range hess {
			hess[i] = make([]float64, n+1)
			if i < n {
				hess[i][i], grad[i] = ridge*float64(len(all)), -ridge*float64(len(all))*m.weight[i]
			} else {
				hess[i][i] = 1e-9
			}
		}
		for _, e := range all {
			s := m.bias
			for i := range n {
				z[i] = (e.x[i] - m.mean[i]) * m.scale[i]
				s += z[i] * m.weight[i]
			}
			z[n] = 1
			p := 1 / (1 + math.Exp(-s))
			y := 0.0
			if e.yes {
				y = 1
			}
			for i := range z {
				grad[i] += (y - p) * z[i]
				for j := range z {
					hess[i][j] += p * (1 - p) * z[i] * z[j]
				}
			}
		}
		step := solve(hess, grad)
		most := 0.0
		for i := range n {
			m.weight[i] += step[i]
			most = max(most, math.Abs(step[i]))
		}
		m.bias += step[n]
		if most < 1e-6 {
			break
		}
	}
	return m
}

// score returns the logit of an example, the bias left out. It is rounded: what
// looks the same must be the same, so that a guess among equals is a guess.
func (m *model) score(x []float64) (s float64) {
	for i := range x {
		s += (x[i] - m.mean[i]) * m.scale[i] * m.weight[i]
	}
	return math.Round(s*1e9) / 1e9
}

// solve returns x of a·x = b by elimination with pivots. It uses up both.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for i := range n {
		p := i
		for j := i + 1; j < n; j++ {
			if math.Abs(a[j][i]) > math.Abs(a[p][i]) {
				p = j
			}
		}
		a[i], a[p], b[i], b[p] = a[p], a[i], b[p], b[i]
		if a[i][i] == 0 {
			continue
		}
		for j := i + 1; j < n; j++ {
			f := a[j][i] / a[i][i]
			for k := i; k < n; k++ {
				a[j][k] -= f * a[i][k]
			}
			b[j] -= f * b[i]
		}
	}
	x := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		s := b[i]
		for k := i + 1; k < n; k++ {
			s -= a[i][k] * x[k]
		}
		if a[i][i] != 0 {
			x[i] = s / a[i][i]
		}
	}
	return x
}

// match turns scores of pairs into probabilities that fit together: everything on
// the one side is at most one thing on the other. It scales rows and columns in
// turn (Sinkhorn and Knopp 1967), as in "perfect matching disclosure attacks"
// (Troncoso, Gierlichs, Preneel, Verbauwhede, PETS 2008).
func match(scores [][]float64) [][]float64 {
	p := make([][]float64, len(scores))
	for i, row := range scores {
		p[i] = make([]float64, len(row))
		top := slices.Max(row)
		for j, s := range row {
			p[i][j] = math.Exp(max(s-top, -60))
		}
	}
	for range 40 {
		for j := range p[0] {
			var sum float64
			for i := range p {
				sum += p[i][j]
			}
			if sum > 0 {
				for i := range p {
					p[i][j] /= sum
				}
			}
		}
		for i := range p {
			var sum float64
			for j := range p[i] {
				sum += p[i][j]
			}
			for j := range p[i] {
				p[i][j] /= sum
			}
		}
	}
	return p
}

// credit is what a guess at the largest of some values earns: 1, shared among
// those that are as large.
func credit(values []float64, truth func(int) bool) (c float64) {
	top := slices.Max(values)
	ties := 0
	for i, v := range values {
		if v > top-1e-7*math.Abs(top)-1e-12 {
			ties++
			if truth(i) {
				c++
			}
		}
	}
	return c / float64(ties)
}

// trial is one guess: what it earned, and what guessing blindly would have.
type trial struct {
	got, chance float64
	unit        int64 // trials of one period stand and fall together
}

// Score is how an attack did.
type Score struct {
	Score  float64 `json:"score"`  // mean credit of a guess
	Chance float64 `json:"chance"` // of a blind guess
	Low    float64 `json:"low"`    // the score's interval of 95 %
	High   float64 `json:"high"`
	Floor  float64 `json:"floor"` // the lower end of the interval of 99.8 %: what a check goes by, or it would cry wolf
	Trials int     `json:"trials"`
}

// rate sums trials up. The interval is a percentile bootstrap over the units
// (Efron 1979), since trials of one period are not independent.
func rate(all []trial) Score {
	s := Score{Trials: len(all)}
	if len(all) == 0 {
		return s
	}
	type sum struct{ got, n float64 }
	by := map[int64]*sum{}
	for _, t := range all {
		s.Score += t.got / float64(len(all))
		s.Chance += t.chance / float64(len(all))
		if by[t.unit] == nil {
			by[t.unit] = new(sum)
		}
		by[t.unit].got += t.got
		by[t.unit].n++
	}
	var units []*sum
	for _, u := range by {
		units = append(units, u)
	}
	r := rand.New(rand.NewPCG(1, uint64(len(all))))
	const draws = 2000
	means := make([]float64, draws)
	for i := range means {
		var got, n float64
		for range units {
			u := units[r.IntN(len(units))]
			got, n = got+u.got, n+u.n
		}
		means[i] = got / n
	}
	slices.Sort(means)
	s.Low, s.High, s.Floor = means[draws/40], means[draws-1-draws/40], means[draws/1000]
	return s
}

// Above returns by how much the score lies above chance.
func (s Score) Above() float64 { return s.Score - s.Chance }
