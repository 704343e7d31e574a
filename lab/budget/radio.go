package budget

import (
	"math"
	"math/rand/v2"
	"sort"
)

// tail is how long a radio stays up after a packet, seconds: a guess for phones.
const tail = 10.0

// radio merges everything that is sent or arrives into bursts with a tail.
func radio(sends []send, down float64, s Preset, u Rules, r *rand.Rand) (wakes, hoursOn float64) {
	var times []float64
	for _, c := range sends {
		times = append(times, c.at)
	}
	if s.Watch && s.TickMean > 0 { // cover comes at any time; otherwise what arrives belongs to the same sittings
		for range int(down) {
			times = append(times, day*r.Float64())
		}
	}
	every, ping := u.Period, u.Ping
	if !s.Watch {
		every, ping = s.SlotEvery, math.Inf(1)
	}
	for at := 0.0; at < day; at += every {
		times = append(times, at)
	}
	sort.Float64s(times)
	on, last := 0.0, 0.0
	for _, at := range append(times, day) {
		for ; last+ping < at; last += ping {
			if ping <= tail {
				on += ping
				continue
			}
			wakes, on = wakes+1, on+tail
		}
		if at-last > tail {
			wakes, on = wakes+1, on+tail
		} else if at > last {
			on += at - last
		}
		last = at
	}
	return wakes, min(on, day) / 3600
}
