package budget

import (
	"math"
	"math/rand/v2"
	"sort"
)

const day = 86400.0

// hours returns the weights of the sixteen waking hours; the busiest has 12 % of a day.
func hours() [16]float64 {
	return [16]float64{3, 5, 6, 6, 5, 5, 7, 7, 5, 5, 6, 7, 9, 12, 8, 4}
}

const busiest = 0.12

type kind uint8

const (
	first  kind = iota // first copy for a person, or the whole of a group message
	copied             // further copies
	ack
	retry
	upkeep
)

// send is one cell that is due.
type send struct {
	at      float64
	route   int
	kind    kind
	message int
	group   bool
}

// traffic is one day of due cells and what comes back.
type traffic struct {
	sends    []send
	received float64   // content cells that arrive
	acked    float64   // acks that arrive
	upkeep   float64   // other cells that arrive
	wakes    float64   // tickets that are handed in
	parks    []float64 // when a row is parked
	silent   int       // people who are away for good
}

// maker draws a day.
type maker struct {
	p       Profile
	s       Preset
	u       Rules
	r       *rand.Rand
	t       traffic
	message int
	away    map[int]*presence
	copies  float64
	got     map[int][]float64 // by who sent it: when content came that is to be acked
	carried map[int][]float64 // by who gets it: when own content went, which carries acks
	group   map[int]bool
	gone    map[int]bool
}

// presence is whether a device is away, for an hour.
type presence struct {
	until float64
	away  bool
	burst bool // it had its burst
}

// generate makes one day of due cells.
func generate(p Profile, s Preset, u Rules, r *rand.Rand) traffic {
	m := &maker{p: p, s: s, u: u, r: r, away: map[int]*presence{}, got: map[int][]float64{}, carried: map[int][]float64{}, group: map[int]bool{}, gone: map[int]bool{}}
	for range p.Messages / p.PerSitting {
		m.sitting(startOf(r))
	}
	m.acks()
	m.t.silent = len(m.gone)
	m.upkeep()
	sort.Slice(m.t.sends, func(i, j int) bool { return m.t.sends[i].at < m.t.sends[j].at })
	return m.t
}

// startOf draws when a sitting begins: at 7 in the morning at the earliest.
func startOf(r *rand.Rand) float64 {
	x := r.Float64() * 100
	for h, w := range hours() {
		if x < w {
			return 3600 * (float64(h) + 7 + r.Float64())
		}
		x -= w
	}
	return 3600 * 22.5
}

// split rounds x up or down at random so that the mean is x.
func split(r *rand.Rand, x float64) int {
	n := int(x)
	if r.Float64() < x-float64(n) {
		n++
	}
	return n
}

// sitting is a while of talking to one person or group.
func (m *maker) sitting(at float64) {
	p, r := m.p, m.r
	groups := p.PrivateGroups + p.SharedGroups
	group := groups > 0 && r.Float64() < p.GroupShare
	shared := group && r.IntN(groups) >= p.PrivateGroups
	who := r.IntN(max(1, p.Contacts/5)) // four times out of five one of the near fifth
	if r.Float64() < 0.2 {
		who = r.IntN(p.Contacts)
	}
	g := r.IntN(max(1, groups))
	start := at
	for range p.PerSitting {
		at += 10 + 30*r.ExpFloat64()
		m.message++
		switch {
		case shared:
			m.offer(at, 1e6+g, first, true)
			m.copies += p.SharedMembers*p.DevicesEach - 1
		case group:
			n := p.leaves(p.PrivateMembers) - 1
			for i := range n {
				k := copied
				if float64(i) < p.PrivateMembers-1 {
					k = first
				}
				m.content(at, 2e6+g*100+i, k, true)
			}
		default:
			for i := range max(1, split(r, p.DevicesEach)) {
				k := copied
				if i == 0 {
					k = first
				}
				m.content(at, who*8+i, k, false)
			}
			if !m.s.Wake && m.s.Watch && m.away[who*8].away {
				m.gone[who] = true
			}
		}
		if p.OwnDevices > 1 {
			m.offer(at, 9e6, copied, group)
			m.copies++
		}
	}
	n := p.PerSitting
	if group {
		n *= p.Voices
	}
	for range n {
		m.t.received++
		from := who * 8
		if shared {
			from = 1e6 + 500 + g // the committer
		} else if group {
			from = 2e6 + g*100 + r.IntN(p.Voices)
		}
		m.got[from] = append(m.got[from], start+r.Float64()*(at+30-start))
		m.group[from] = group
	}
}

// content offers a copy that carries acks.
func (m *maker) content(at float64, route int, k kind, group bool) {
	m.offer(at, route, k, group)
	m.carried[route] = append(m.carried[route], at)
	m.copies++
}

// offer has a copy go as the outbox does: once, and where the device is away a
// burst with the first copy, a wake ticket, and then the park.
//
// spec: delivery.md#schedule
func (m *maker) offer(at float64, route int, k kind, group bool) {
	s, r := m.s, m.r
	m.t.sends = append(m.t.sends, send{at, route, k, m.message, group})
	if !s.Watch {
		if r.Float64() < 0.1 { // offered again in the third slot where no ack came
			m.t.sends = append(m.t.sends, send{at + 2*s.SlotEvery, route, retry, m.message, group})
		}
		return
	}
	d := m.away[route]
	if d == nil || at >= d.until {
		d = &presence{until: at + 3600, away: r.Float64() < s.Absent}
		m.away[route] = d
	}
	if !d.away {
		return
	}
	burst := []float64{1, 3, 7, 15, 30, 60}
	if s.TickMean > 0 {
		burst = nil // the clock leaves no room
	}
	if !d.burst {
		d.burst = true
		if s.Wake {
			m.t.wakes++
			if r.Float64() < woken {
				d.away = false
				burst = burst[:min(len(burst), 3)]
			}
		}
		for _, after := range burst {
			m.t.sends = append(m.t.sends, send{at + after, route, retry, m.message, group})
		}
	}
	if d.away && s.Park {
		m.t.parks = append(m.t.parks, at+60)
	}
}

// acks adds the acks that no content carried, and counts those that come.
func (m *maker) acks() {
	n := 0.0
	for from, times := range m.got {
		sort.Float64s(times)
		due := math.Inf(-1)
		mean, most := m.s.AckMean, 300.0
		if m.group[from] {
			mean, most = groupAck, 600
		}
		for _, when := range times {
			if when <= due {
				continue // rides with the one that is pending
			}
			due = when + min(most, mean*m.r.ExpFloat64())
			if !m.s.Watch {
				due = (math.Floor(when/m.s.SlotEvery) + 1) * m.s.SlotEvery
			}
			rides := false
			for _, own := range m.carried[from] {
				rides = rides || own >= when && own <= due
			}
			if rides {
				continue
			}
			n++
			if m.s.TickMean == 0 && m.s.SlotCells == 0 { // else it rides in cover
				m.t.sends = append(m.t.sends, send{due, from, ack, 0, false})
			}
		}
	}
	m.t.acked = m.copies * n / max(1, m.t.received)
}

// upkeep adds renewals, receipts compared in groups, commits passed on, probes and
// "I'm back" drops.
func (m *maker) upkeep() {
	p, u, r, t := m.p, m.u, m.r, &m.t
	contacts := float64(p.Contacts) * p.DevicesEach
	sent := len(t.sends)
	anytime := func(n float64, base int, spread int) {
		for range split(r, n) {
			t.sends = append(t.sends, send{startOf(r), base + r.IntN(max(1, spread)), upkeep, 0, false})
		}
	}
	anytime(2*contacts/7, 0, p.Contacts*8)                    // renewal and its answer, every 7 days
	leaves := p.leaves(p.PrivateMembers)                      //
	anytime(float64(p.PrivateGroups*(leaves-1))/2, 2e6, 1000) // lists of receipts, half of them carried by content
	anytime(float64(p.PrivateGroups)*4*2/7, 2e6, 1000)        // commits passed on, two acks late each week
	anytime(float64(p.SharedGroups)*(1+14.0/7/66+1), 1e6, 50) // list, commit, bitmap
	if m.s.Wake {
		n := contacts*ticketCells/ticketDays + t.wakes*ticketCells/ticketsLow
		if p.Mains {
			m.t.upkeep += n // it gets tickets and gives none
		} else {
			anytime(n, 0, p.Contacts*8)
		}
	}
	t.upkeep += float64(len(t.sends) - sent)
	if m.s.Watch {
		if !m.s.Park {
			anytime(float64(t.silent)*27, 0, p.Contacts*8) // 1, 2, 4, 8, then every 15 min for six hours
		}
		anytime(u.Returns*float64(told(p.Contacts)), 0, p.Contacts*8)
		if p.TheirContacts > 0 {
			t.upkeep += p.TheirReturns * contacts * float64(told(p.TheirContacts)) / float64(p.TheirContacts)
		}
	}
}
