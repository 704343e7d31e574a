package leak

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// The fourth attack looks at groups. A message in a group is a copy for each leaf, at
// addresses that have nothing in common, at moments of their own within two seconds. So
// a relay that watches sees bursts: who receives in the same ones again and again is in
// a group together, and a burst has as many cells as the group has other devices.
//
//   - Network address: copies of a message come from one.
//   - Connections: what puts to one address and what puts to another fire together, all
//     through a period. It is the co-occurrence that statistical disclosure counts
//     (Danezis, SEC 2003), between lines in place of people.
//   - Deliveries alone: two sessions receive within two seconds, more often than they
//     would by chance.
var fanFeatures = []string{
	"one network address",
	"connections fire together, more than by chance", "share of the times", "likelihood",
	"receive together, more than by chance",
}

// burst is within what time copies of a message leave, and a little.
const burst = 2200 * time.Millisecond

// Said is a message in a group: the truth, for scoring.
type Said struct {
	At    time.Duration
	From  int
	Group int
}

// line is one put connection to one session, with the moments of its cells in a period.
type line struct {
	from *Conn
	to   *Session
	at   []time.Duration
}

// linesOf sorts the cells of a period by line.
func linesOf(cells []Cell) []*line {
	type ends struct {
		from *Conn
		to   *Session
	}
	known := map[ends]*line{}
	var all []*line
	for _, c := range cells {
		l := known[ends{c.From, c.To}]
		if l == nil {
			l = &line{from: c.From, to: c.To}
			known[ends{c.From, c.To}] = l
			all = append(all, l)
		}
		l.at = append(l.at, c.At)
	}
	return all
}

// near counts the moments of a that have one of b within a burst. Both ascend.
func near(a, b []time.Duration) (n int) {
	i := 0
	for _, at := range a {
		for i < len(b) && b[i] < at-burst {
			i++
		}
		if i < len(b) && b[i] <= at+burst {
			n++
		}
	}
	return n
}

// byChance is how likely a moment has one of n others within a burst, if these come at
// a rate.
func byChance(n int) float64 {
	return min(0.999, 1-math.Exp(-float64(n)*2*burst.Seconds()/period.Seconds()))
}

// excess is by how many standard deviations more than by chance.
func excess(together, of, others int) float64 {
	want := float64(of) * byChance(others)
	return (float64(together) - want) / math.Sqrt(want+1)
}

// likelihood is the logarithm of how much likelier it is that nine of ten moments are
// of one message than that they come at a rate.
func likelihood(together, of, others int) float64 {
	p := max(byChance(others), 1e-6)
	return float64(together)*math.Log(0.9/p) + float64(of-together)*math.Log(0.1/(1-p))
}

// fan is what the attack knows of two sessions.
type fan struct{ x, y *Session }

// fans weighs all pairs of sessions of a period.
func fans(cells []Cell) map[fan][]float64 {
	lines := linesOf(cells)
	all := map[fan][]float64{}
	at := func(x, y *Session) []float64 {
		f := all[fan{x, y}]
		if f == nil {
			f = make([]float64, len(fanFeatures))
			f[3] = -5
			f[4] = excess(near(x.Cells, y.Cells), len(x.Cells), len(y.Cells))
			all[fan{x, y}] = f
		}
		return f
	}
	for i, a := range lines {
		for _, b := range lines[:i] {
			if a.to == b.to {
				continue
			}
			ab, ba := near(a.at, b.at), near(b.at, a.at)
			if ab == 0 {
				continue
			}
			both := min(excess(ab, len(a.at), len(b.at)), excess(ba, len(b.at), len(a.at)))
			share := float64(ab+ba) / float64(len(a.at)+len(b.at))
			likely := min(likelihood(ab, len(a.at), len(b.at)), likelihood(ba, len(b.at), len(a.at))) / 10
			for _, f := range [][]float64{at(a.to, b.to), at(b.to, a.to)} {
				f[1], f[2], f[3] = max(f[1], both), max(f[2], share), max(f[3], min(likely, 5))
			}
			if a.from.From == b.from.From {
				at(a.to, b.to)[0] += float64(ab) / float64(len(a.to.Cells)+1)
				at(b.to, a.to)[0] += float64(ba) / float64(len(b.to.Cells)+1)
			}
		}
	}
	return all
}

// Fans is what came of the fourth attack.
type Fans struct {
	All         Score `json:"all"`         // who is in a group with whom, by everything
	Address     Score `json:"address"`     // by network addresses alone
	Connections Score `json:"connections"` // by connections that fire together
	Deliveries  Score `json:"deliveries"`  // by who receives when, alone
	Size        Score `json:"size"`        // how many devices are in the group of a message
}

// FanOut runs the fourth attack on a trace of people in groups.
func FanOut(t *Trace) Fans {
	sessions := t.Sessions()
	cells := t.Cells(sessions)
	var all []guess
	var sizes []sizeGuess
	for _, p := range slices.Sorted(maps.Keys(cells)) {
		talked := map[int]bool{} // groups in which something was said in the period
		for _, s := range t.Said {
			if int64(s.At/period) == p {
				talked[s.Group] = true
			}
		}
		if len(talked) == 0 || len(sessions[p]) < 4 {
			continue
		}
		known := fans(cells[p])
		for _, x := range sessions[p] {
			g := guess{period: p}
			some := false
			for _, y := range sessions[p] {
				if x == y || x.owner == y.owner {
					continue
				}
				f := known[fan{x, y}]
				if f == nil {
					f = make([]float64, len(fanFeatures))
					f[3] = -5
					f[4] = excess(near(x.Cells, y.Cells), len(x.Cells), len(y.Cells))
				}
				mine := t.together(x.owner, y.owner, talked)
				some = some || mine
				g.x, g.mine = append(g.x, f), append(g.mine, mine)
			}
			if some {
				all = append(all, g)
			}
		}
		sizes = append(sizes, t.sizes(p, cells[p])...)
	}
	return Fans{All: pairBy(all), Address: pairBy(all, 0), Connections: pairBy(all, 1, 2, 3), Deliveries: pairBy(all, 4), Size: rateSizes(sizes)}
}

// together reports whether two people are in one of some groups.
func (t *Trace) together(a, b int, of map[int]bool) bool {
	for g := range of {
		if slices.Contains(t.Groups[g], a) && slices.Contains(t.Groups[g], b) {
			return true
		}
	}
	return false
}

// sizeGuess is a message: how many devices it went to and came from, and how many
// were taken to.
type sizeGuess struct {
	period         int64
	devices, taken int
}

// sizes guesses, for the first copy of each message that was said in a period, how many
// devices the group has: those that receive from its network address within a burst, or
// by lines that fire together with its own. Its author is among them, by the acks.
func (t *Trace) sizes(p int64, cells []Cell) (all []sizeGuess) {
	lines := linesOf(cells)
	of := map[*Conn]map[*Session]*line{}
	for _, l := range lines {
		if of[l.from] == nil {
			of[l.from] = map[*Session]*line{}
		}
		of[l.from][l.to] = l
	}
	for _, s := range t.Said {
		if int64(s.At/period) != p {
			continue
		}
		first, copies := Cell{}, map[int]bool{}
		for _, c := range cells {
			if c.At < s.At || c.At > s.At+burst || c.From.owner != s.From || !slices.Contains(t.Groups[s.Group], c.To.owner) {
				continue
			}
			if len(copies) == 0 {
				first = c
			}
			copies[c.To.owner] = true
		}
		if len(copies) < 2 {
			continue
		}
		own := of[first.From][first.To]
		taken := map[*Session]bool{first.To: true}
		i, _ := slices.BinarySearchFunc(cells, first.At, func(c Cell, at time.Duration) int { return cmp.Compare(c.At, at) })
		for ; i < len(cells) && cells[i].At <= first.At+burst; i++ {
			c := cells[i]
			l := of[c.From][c.To]
			ab, ba := near(own.at, l.at), near(l.at, own.at)
			fire := min(likelihood(ab, len(own.at), len(l.at)), likelihood(ba, len(l.at), len(own.at))) > 0
			if c.From.From == first.From.From || fire {
				taken[c.To] = true
			}
		}
		all = append(all, sizeGuess{p, len(copies) + 1, len(taken)})
	}
	return all
}

// rateSizes scores them. A blind guess is the size that is most common.
func rateSizes(all []sizeGuess) Score {
	count := map[int]int{}
	most := 0
	for _, g := range all {
		count[g.devices]++
		most = max(most, count[g.devices])
	}
	var trials []trial
	for _, g := range all {
		t := trial{chance: float64(most) / float64(len(all)), unit: g.period}
		if g.devices == g.taken {
			t.got = 1
		}
		trials = append(trials, t)
	}
	return rate(trials)
}
