package leak

import (
	"math"
	"slices"
	"sort"
	"time"
)

// The second attack pairs sender and receiver: whose watch session is that of
// whoever put a cell? A device that was written to answers: with an ack, by the
// product's own clock, or with words. So whoever wrote receives something soon
// after, and that gives them away where nothing else does.
//
//   - Network address: the put connection and a watch session have the same.
//   - Ack timing: Martiny, Kaptchuk, Aviv, Roche and Wustrow, "Improving Signal's
//     Sealed Sender" (NDSS 2021): delivery receipts undo a hidden sender within a
//     few messages. Here as a likelihood ratio with the clock's known distribution.
//   - Statistical disclosure: Danezis, "Statistical disclosure attacks" (SEC 2003),
//     and Mathewson and Dingledine, "Practical traffic analysis" (PET 2004): who
//     receives after this one received, less who receives anyway. Addresses last
//     one period behind a proxy, so rounds are those of one period.
var pairFeatures = []string{
	"same network address",
	"receives soon after", "received shortly before",
	"does so all through the period", "did so all through the period",
	"statistical disclosure",
	"connections opened at one moment",
}

// pairing is what the attack works with in one period.
type pairing struct {
	sessions []*Session
	mean     time.Duration // of the ack clock
	after    [][]float64   // by receiver and candidate: sum of likelihood ratios over the receiver's cells
	before   [][]float64
	disclose [][]float64
	index    map[*Session]int
}

const (
	answerShare = 0.7              // of cells that are followed by an answer before anything else
	round       = 20 * time.Second // of statistical disclosure
	chatter     = 20 * time.Second // mean of an answer in words; half of the mixture
)

// ratio is how much likelier a delay to the next (or last) cell is if it belongs to
// an answer than if cells just come at a rate. none says that there was no cell.
func (p *pairing) ratio(delay time.Duration, none bool, rate float64) float64 {
	if none {
		return math.Log(1 - answerShare)
	}
	d, ack, talk := delay.Seconds(), p.mean.Seconds(), chatter.Seconds()
	soon := 0.7/ack*math.Exp(-d/ack) + 0.3/talk*math.Exp(-d/talk)
	return math.Log(1 - answerShare + answerShare*soon/(rate*math.Exp(-rate*d)))
}

// nextAfter returns the delay to the first of sorted times after a moment, and
// lastBefore from the last before it.
func nextAfter(times []time.Duration, at time.Duration) (time.Duration, bool) {
	i := sort.Search(len(times), func(i int) bool { return times[i] > at })
	if i == len(times) {
		return 0, false
	}
	return times[i] - at, true
}

func lastBefore(times []time.Duration, at time.Duration) (time.Duration, bool) {
	i := sort.Search(len(times), func(i int) bool { return times[i] >= at })
	if i == 0 {
		return 0, false
	}
	return at - times[i-1], true
}

func (p *pairing) local(x *Session, at time.Duration) (after, before float64) {
	rate := (float64(len(x.Cells)) + 0.5) / period.Seconds()
	d, ok := nextAfter(x.Cells, at)
	after = p.ratio(d, !ok, rate)
	d, ok = lastBefore(x.Cells, at)
	return after, p.ratio(d, !ok, rate)
}

// newPairing prepares a period.
func newPairing(sessions []*Session, mean time.Duration) *pairing {
	p := &pairing{sessions: sessions, mean: mean, index: map[*Session]int{}}
	for i, s := range sessions {
		p.index[s] = i
	}
	anyway := make([]float64, len(sessions)) // share of rounds of this length in which one receives
	for i, s := range sessions {
		anyway[i] = 1 - math.Exp(-float64(len(s.Cells))*round.Seconds()/period.Seconds())
	}
	for _, b := range sessions {
		after, before, disclose := make([]float64, len(sessions)), make([]float64, len(sessions)), make([]float64, len(sessions))
		for i, x := range sessions {
			seen := 0.0
			for _, at := range b.Cells {
				a, c := p.local(x, at)
				after[i] += a
				before[i] += c
				if d, ok := nextAfter(x.Cells, at); ok && d < round {
					seen++
				}
			}
			if len(b.Cells) > 0 {
				disclose[i] = seen/float64(len(b.Cells)) - anyway[i]
			}
		}
		p.after, p.before, p.disclose = append(p.after, after), append(p.before, before), append(p.disclose, disclose)
	}
	return p
}

// features looks at a cell and a candidate for its sender.
func (p *pairing) features(c *Cell, x *Session) []float64 {
	b, i := p.index[c.To], p.index[x]
	f := make([]float64, len(pairFeatures))
	if c.From.From == x.From {
		f[0] = 1
	}
	f[1], f[2] = p.local(x, c.At)
	f[3], f[4] = p.after[b][i], p.before[b][i]
	f[5] = p.disclose[b][i]
	for _, k := range x.Conns {
		if (k.Opened - c.From.Opened).Abs() < 3*time.Second {
			f[6] = 1
		}
	}
	return f
}

// Pairs is what came of the second attack.
type Pairs struct {
	All     Score `json:"all"`     // by everything
	Address Score `json:"address"` // by network address alone
	Acks    Score `json:"acks"`    // by the timing of answers alone
	SDA     Score `json:"sda"`     // by statistical disclosure alone
}

// guess is one cell with its candidates.
type guess struct {
	period int64
	x      [][]float64
	mine   []bool
}

// Pair runs the second attack on a trace of clients whose acks have a mean delay.
func Pair(t *Trace, mean time.Duration) Pairs {
	sessions := t.Sessions()
	cells := t.Cells(sessions)
	var periods []int64
	for p := range cells {
		periods = append(periods, p)
	}
	slices.Sort(periods)
	var all []guess
	for _, p := range periods {
		if len(sessions[p]) < 3 {
			continue
		}
		w := newPairing(sessions[p], mean)
		for _, c := range cells[p] {
			g := guess{period: p}
			known := false
			for _, x := range sessions[p] {
				if x == c.To || !x.openAt(c.At) {
					continue
				}
				mine := x.owner == c.From.owner
				known = known || mine
				g.x, g.mine = append(g.x, w.features(&c, x)), append(g.mine, mine)
			}
			if known && len(g.x) > 1 {
				all = append(all, g)
			}
		}
	}
	return Pairs{All: pairBy(all), Address: pairBy(all, 0), Acks: pairBy(all, 1, 2, 3, 4), SDA: pairBy(all, 5)}
}

// pairBy is the attack with some of the features, or all: learned from every
// second period for the others.
func pairBy(all []guess, only ...int) Score {
	pick := func(x []float64) []float64 {
		if len(only) == 0 {
			return x
		}
		var y []float64
		for _, i := range only {
			y = append(y, x[i])
		}
		return y
	}
	var trials []trial
	for fold := range int64(2) {
		var known []example
		for _, g := range all {
			for i := range g.x {
				if g.period%2 != fold {
					known = append(known, example{pick(g.x[i]), g.mine[i]})
				}
			}
		}
		if len(known) == 0 {
			continue
		}
		m := fit(known)
		for _, g := range all {
			if g.period%2 != fold {
				continue
			}
			v, right := make([]float64, len(g.x)), 0.0
			for i := range g.x {
				v[i] = m.score(pick(g.x[i]))
				if g.mine[i] {
					right++
				}
			}
			trials = append(trials, trial{credit(v, func(i int) bool { return g.mine[i] }), right / float64(len(v)), g.period})
		}
	}
	return rate(trials)
}

// PairSeized is the attack on what is seized at one moment: of the cells of the
// last minute nothing says where they came from, but put connections are open, and
// those whose answers are still owed put something just now.
func PairSeized(t *Trace) Score {
	sessions := t.Sessions()
	cells := t.Cells(sessions)
	var trials []trial
	for p, list := range cells {
		for k := 0; k < len(list); k += 5 { // the moment just after every fifth cell
			c := list[k]
			x := t.Seize(c.At+time.Second, sessions)
			if !slices.ContainsFunc(x.Window, func(a int) bool { return c.To.set[a] }) {
				continue
			}
			var who []*Session
			for _, s := range x.Watching {
				if s != c.To && s.Period == p {
					who = append(who, s)
				}
			}
			if len(who) < 2 || !slices.ContainsFunc(who, func(s *Session) bool { return s.owner == c.From.owner }) {
				continue
			}
			v := make([]float64, len(who))
			for i, s := range who {
				for _, q := range x.Putting {
					if q.From == s.From {
						v[i] = max(v[i], 1)
						if x.Flying[q] > 0 {
							v[i] = 2
						}
					}
				}
			}
			trials = append(trials, trial{credit(v, func(i int) bool { return who[i].owner == c.From.owner }), 1 / float64(len(who)), p})
		}
	}
	return rate(trials)
}
