package leak

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Setting is the size of a population and the time for which it is watched.
type Setting struct {
	People int    `json:"people"`
	Hours  int    `json:"hours"`
	Seed   uint64 `json:"seed"` // of who knows whom and who does what when
}

const (
	livePeriod = 1800      // seconds, the relay's default
	prelude    = time.Hour // getting to know each other; not watched by attacks
	dawn       = 8         // hour of the day at which the prelude begins
)

// Rhythm of the population. None of it is measured on people: it is a guess that
// docs/leaks.md states, so that anybody can hold another against it.
const (
	friends      = 4                // contacts per person on average
	talking      = 0.6              // share of contacts who talk every day
	chatsPerDay  = 2.5              // per pair that talks
	chatLength   = 6                // messages, mean
	gapMean      = 40 * time.Second // between messages of a chat
	shortPerDay  = 3                // losses of the network of seconds
	longPerDay   = 1.5              // losses of 5 to 40 minutes
	shortMean    = 8 * time.Second
	nightlyShare = 4 // one person in so many ends the program for the night
)

// act is one thing that somebody does.
type act struct {
	at   time.Duration // since the prelude began
	do   byte
	who  int
	whom int
}

// Kinds of acts.
const (
	say byte = iota
	loseNetwork
	findNetwork
	stopProgram
	startProgram
	sayInGroup // whom is the number of the group
)

// script is who knows whom and who does what when.
type script struct {
	pairs  [][2]int
	groups [][]int // by number: who is in it, the founder first
	acts   []act
}

// awake weighs the hours of a day, with a mean near 1 over the waking ones.
func awake(at time.Duration) float64 {
	h := math.Mod(dawn+at.Hours(), 24)
	switch {
	case h < 7:
		return 0.02
	case h < 9 || h >= 23:
		return 0.6
	case h >= 18:
		return 1.6
	}
	return 1
}

// newScript draws a script. The same setting gives the same script.
func newScript(s Setting) *script {
	r := rand.New(rand.NewPCG(s.Seed, uint64(s.People)))
	x := &script{pairs: graph(r, s.People)}
	end := prelude + time.Duration(s.Hours)*time.Hour
	for _, p := range x.pairs {
		if r.Float64() >= talking {
			continue
		}
		for _, at := range poisson(r, chatsPerDay, end) {
			x.chat(r, p, at, end)
		}
	}
	for who := range s.People {
		for _, at := range poisson(r, shortPerDay, end) {
			x.outage(who, at, time.Duration(r.ExpFloat64()*float64(shortMean)))
		}
		for _, at := range poisson(r, longPerDay, end) {
			x.outage(who, at, 5*time.Minute+time.Duration(r.Float64()*float64(35*time.Minute)))
		}
		if r.IntN(nightlyShare) == 0 {
			off := time.Duration(float64(24-dawn-1)*float64(time.Hour)) + jitter(r)
			for ; off < end; off += 24 * time.Hour {
				x.acts = append(x.acts, act{at: off, do: stopProgram, who: who})
				x.acts = append(x.acts, act{at: off + 8*time.Hour + jitter(r), do: startProgram, who: who})
			}
		}
	}
	x.acts = slices.DeleteFunc(x.acts, func(a act) bool { return a.at < prelude || a.at >= end })
	slices.SortStableFunc(x.acts, func(a, b act) int { return int(a.at - b.at) })
	return x
}

func jitter(r *rand.Rand) time.Duration { return time.Duration(r.Float64() * float64(time.Hour)) }

func (x *script) outage(who int, at, long time.Duration) {
	x.acts = append(x.acts, act{at: at, do: loseNetwork, who: who}, act{at: at + long, do: findNetwork, who: who})
}

// chat is a conversation: both sides, with pauses.
func (x *script) chat(r *rand.Rand, p [2]int, at, end time.Duration) {
	from := r.IntN(2)
	for range 2 + int(r.ExpFloat64()*(chatLength-2)) {
		x.acts = append(x.acts, act{at: at, do: say, who: p[from], whom: p[1-from]})
		at += 3*time.Second + time.Duration(r.ExpFloat64()*float64(gapMean))
		if r.Float64() < 0.7 {
			from = 1 - from
		}
	}
}

// poisson draws moments at so many per waking day.
func poisson(r *rand.Rand, perDay float64, end time.Duration) (all []time.Duration) {
	const busiest = 1.6
	for at := prelude; ; {
		at += time.Duration(r.ExpFloat64() / (perDay / 16 * busiest) * float64(time.Hour))
		if at >= end {
			return all
		}
		if r.Float64() < awake(at)/busiest {
			all = append(all, at)
		}
	}
}

// graph draws who knows whom: a ring, so that nobody is alone, and chords.
func graph(r *rand.Rand, people int) (pairs [][2]int) {
	known := map[[2]int]bool{}
	add := func(a, b int) {
		p := [2]int{min(a, b), max(a, b)}
		if a != b && !known[p] {
			known[p] = true
			pairs = append(pairs, p)
		}
	}
	order := r.Perm(people)
	for i := range order {
		add(order[i], order[(i+1)%people])
	}
	for tries := 0; len(pairs) < people*friends/2 && tries < 10_000; tries++ {
		add(r.IntN(people), r.IntN(people))
	}
	return pairs
}
