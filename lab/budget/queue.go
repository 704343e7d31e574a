package budget

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// paced is what a day's cells become on the device's clock. It is design: there is
// no clock yet.
type paced struct {
	pair, group []float64 // seconds until each person's first copy has left (a group: the last person's)
	backlog     int       // cells unsent at the end of the day
	sends       []send    // what left, cover included
	drops       float64
}

// ticks draws when the clock lets a cell go.
func ticks(s Preset, r *rand.Rand) (at []float64, cells int) {
	if s.SlotCells > 0 {
		for slot := s.SlotEvery; slot < day; slot += s.SlotEvery {
			for range s.SlotCells {
				at = append(at, slot-50+50*r.Float64())
			}
		}
		sort.Float64s(at)
		return at, 1
	}
	for t := s.TickMean * r.ExpFloat64(); t < day; t += s.TickMean * r.ExpFloat64() {
		at = append(at, t)
	}
	return at, s.TickCells
}

// pace runs the day's cells through the device's clock: the first copy for each
// person before all others, then cover, half of it drops that stay on one route
// for a period.
func pace(t traffic, s Preset, u Rules, routes int, r *rand.Rand) paced {
	var d paced
	var queue, late []send
	next, partner, period := 0, 0, -1.0
	person, isGroup := map[int]float64{}, map[int]bool{}
	all, cells := ticks(s, r)
	for _, at := range all {
		for ; next < len(t.sends) && t.sends[next].at <= at; next++ {
			if c := t.sends[next]; c.kind == first {
				queue = append(queue, c)
			} else {
				late = append(late, c)
			}
		}
		for range cells {
			from := &queue
			if len(queue) == 0 {
				from = &late
			}
			if len(*from) > 0 {
				c := (*from)[0]
				*from = (*from)[1:]
				d.sends = append(d.sends, send{at: at, route: c.route, kind: c.kind})
				if c.kind == first {
					person[c.message] = max(person[c.message], at-c.at)
					isGroup[c.message] = c.group
				}
				continue
			}
			route := int(8e6) // a loop
			if s.Watch && r.IntN(2) == 0 {
				if p := math.Floor(at / u.Period); p != period {
					period, partner = p, 7e6+r.IntN(routes)
				}
				route = partner
				d.drops++
			}
			d.sends = append(d.sends, send{at: at, route: route, kind: upkeep})
		}
	}
	for m, x := range person {
		if !s.Watch {
			x += 50 // the slot is closed, then read
		}
		if isGroup[m] {
			d.group = append(d.group, x)
		} else {
			d.pair = append(d.pair, x)
		}
	}
	d.backlog = len(queue) + len(late) + len(t.sends) - next
	return d
}

// contexts counts put contexts, each of which costs a token, those of them at
// other realms, and the connections for them.
//
// spec: relay-api.md#tokens
func contexts(sends []send, l Link, u Rules) (n, guest, conns int) {
	type open struct {
		period, last float64
		cells        int
	}
	now := map[int]*open{}
	for _, c := range sends {
		key, away := c.route, u.Relays > 0 && c.route%foreign == foreign-1
		if !l.PerRoute {
			key = 0
			if away {
				key = 1 + c.route%int(u.Relays)
			}
		}
		o := now[key]
		period := math.Floor(c.at / u.Period)
		switch {
		case o == nil || o.cells >= u.ContextCells || period != o.period:
			o = &open{period: period}
			now[key] = o
			n++
			conns++
			if away {
				guest++
			}
		case c.at-o.last > u.PutIdle:
			conns++ // resumed without a token
		}
		o.cells++
		o.last = c.at
	}
	return n, guest, conns
}

// parkContexts counts those of parking: at most so many rows in one, and none
// longer than its period.
func parkContexts(parks []float64, u Rules) (n int) {
	parks = slices.Sorted(slices.Values(parks))
	period, rows := -1.0, 0
	for _, at := range parks {
		if p := math.Floor(at / u.Period); p != period || rows >= u.ParkedRows {
			period, rows = p, 0
			n++
		}
		rows++
	}
	return n
}

func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(x))[int(q*float64(len(x)-1))]
}
