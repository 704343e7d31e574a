package leak

import (
	"math"
	"slices"
	"time"
)

// The first attack links a device's addresses across periods: which session of the
// next period is that of whom?
//
// What changes its name at a boundary is followed by what stays: an address in
// common, the network address, a size, and above all the moments of going and
// coming. That is the attack on mix zones of Beresford and Stajano ("Location
// privacy in pervasive computing", IEEE Pervasive Computing 2003), where users are
// told apart by when they enter and leave. Weights are learned from other
// boundaries with the truth known, and guesses fitted together by match.

// linkFeatures names what the attack looks at for a session of one period and one
// of the next.
var linkFeatures = []string{
	"address in common", "same network address", "same size", "same class of size",
	"opens as the other closes, 2 s", "10 s", "60 s",
	"break at one moment", "come back within a minute of each other",
	"one ended before the other began", "both at odd times", "one at an odd time",
	"both asked for the descriptor", "the old one alone did", "the new one alone did", // the last of sockets alone
	"as busy", "busy on both sides of the boundary",
}

// socketFeatures is how many of them have nothing to do with cells: what is left
// of the attack when nobody writes.
const socketFeatures = 15

// linkPair looks at a session of a period and one of the next.
func linkPair(o, n *Session) []float64 {
	x := make([]float64, len(linkFeatures))
	is := func(i int, yes bool) {
		if yes {
			x[i] = 1
		}
	}
	for a := range n.set {
		is(0, o.set[a])
	}
	is(1, o.From == n.From)
	is(2, o.Size == n.Size)
	is(3, o.class() == n.class())
	for i, within := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} {
		is(4+i, (n.Opened()-o.Closed()).Abs() < within)
	}
	boundary := time.Duration(n.Period) * period
	for _, a := range o.Conns {
		for _, b := range n.Conns {
			is(7, a.Closed != 0 && (a.end()-b.end()).Abs() < 2*time.Second)
			is(8, a != o.Conns[0] && b != n.Conns[0] && (a.Opened-b.Opened).Abs() < time.Minute)
		}
	}
	is(9, n.Opened() >= o.Closed())
	oddEnd, oddBegin := odd(o.Closed()-boundary), odd(boundary-n.Opened())
	is(10, oddEnd && oddBegin)
	is(11, oddEnd != oddBegin)
	is(12, o.Asked && n.Asked)
	is(13, o.Asked && !n.Asked)
	is(14, !o.Asked && n.Asked)
	x[15] = -math.Abs(math.Log1p(float64(len(o.Cells))) - math.Log1p(float64(len(n.Cells))))
	before, after := countIn(o.Cells, boundary-3*time.Minute, boundary), countIn(n.Cells, boundary, boundary+3*time.Minute)
	is(16, before > 0 && after > 0)
	return x
}

// odd reports whether a moment is not where the product opens and closes.
//
// spec: delivery.md#watching
func odd(d time.Duration) bool { return d < 29*time.Second || d > 91*time.Second }

func countIn(times []time.Duration, from, to time.Duration) (n int) {
	for _, t := range times {
		if from <= t && t < to {
			n++
		}
	}
	return n
}

// crossing is one boundary.
type crossing struct {
	at       int64 // the later period
	old, new []*Session
	x        [][][]float64
}

// crossings returns the boundaries that have sessions on both sides.
func crossings(sessions map[int64][]*Session) (all []*crossing) {
	for p, list := range sessions {
		if next := sessions[p+1]; len(list) > 0 && len(next) > 1 {
			c := &crossing{at: p + 1, old: list, new: next}
			for _, o := range list {
				var row [][]float64
				for _, n := range next {
					row = append(row, linkPair(o, n))
				}
				c.x = append(c.x, row)
			}
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *crossing) int { return int(a.at - b.at) })
	return all
}

// Links is what came of the first attack.
type Links struct {
	All     Score `json:"all"`     // every device that watched in both periods, by everything
	Sockets Score `json:"sockets"` // by what sockets do, cells left out
	Calm    Score `json:"calm"`    // as All, of devices that did not lose their network around the boundary
	Broken  Score `json:"broken"`  // as All, of those that did
}

// Link runs the first attack. It learns from every second boundary what it uses on
// the others, and the other way round.
func Link(t *Trace) Links {
	all := crossings(t.Sessions())
	var l Links
	l.All, l.Calm, l.Broken = linkBy(all, len(linkFeatures))
	l.Sockets, _, _ = linkBy(all, socketFeatures)
	return l
}

// linkBy is the attack with the first so many features.
func linkBy(all []*crossing, features int) (whole, calm, broken Score) {
	var trials, easy, hard []trial
	for fold := range 2 {
		var known []example
		for i, c := range all {
			if i%2 == fold {
				continue
			}
			for i, o := range c.old {
				for j, n := range c.new {
					known = append(known, example{c.x[i][j][:features], o.owner == n.owner})
				}
			}
		}
		if len(known) == 0 {
			continue
		}
		m := fit(known)
		for i, c := range all {
			if i%2 != fold {
				continue
			}
			scores := make([][]float64, len(c.old))
			for i := range c.old {
				for j := range c.new {
					scores[i] = append(scores[i], m.score(c.x[i][j][:features]))
				}
			}
			for i, p := range match(scores) {
				o := c.old[i]
				mine := func(j int) bool { return c.new[j].owner == o.owner }
				same := 0
				var next *Session
				for j := range c.new {
					if mine(j) {
						same++
						next = c.new[j]
					}
				}
				if same == 0 {
					continue // gone: there is nothing to guess
				}
				one := trial{credit(p, mine), float64(same) / float64(len(c.new)), c.at}
				trials = append(trials, one)
				if boundary := time.Duration(c.at) * period; odd(o.Closed()-boundary) || odd(boundary-next.Opened()) ||
					len(o.Conns) > 1 && o.Conns[len(o.Conns)-1].Opened > next.Opened() || len(next.Conns) > 1 && next.Conns[0].end() < o.Closed() {
					hard = append(hard, one)
				} else {
					easy = append(easy, one)
				}
			}
		}
	}
	return rate(trials), rate(easy), rate(hard)
}

// LinkSeized is the attack on what is seized around boundaries, when two periods
// lie in memory at once. There is one moment, so no timing: what is left is the
// network address and the size.
func LinkSeized(t *Trace) Score {
	sessions := t.Sessions()
	var trials []trial
	for p := range sessions {
		for _, off := range []time.Duration{-100 * time.Second, -40 * time.Second, 20 * time.Second, 80 * time.Second} {
			at := time.Duration(p)*period + off
			if at > t.End || at < t.Begin {
				continue
			}
			x := t.Seize(at, sessions)
			var old, next []*Session
			for _, s := range x.Watching {
				switch s.Period {
				case p - 1:
					old = append(old, s)
				case p:
					next = append(next, s)
				}
			}
			for _, o := range old {
				if len(next) < 2 || !slices.ContainsFunc(next, func(n *Session) bool { return n.owner == o.owner }) {
					continue
				}
				v := make([]float64, len(next))
				for j, n := range next {
					if n.From == o.From {
						v[j] += 4
					}
					if n.Size == o.Size {
						v[j]++
					}
				}
				trials = append(trials, trial{credit(v, func(j int) bool { return next[j].owner == o.owner }), 1 / float64(len(next)), p})
			}
		}
	}
	return rate(trials)
}
