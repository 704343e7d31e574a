package budget

import (
	"math/rand/v2"
)

// Spending is what one device spends in a day, in the units in which programs can
// be watched spending it.
type Spending struct {
	CellsUp    float64 `json:"cells_up"`   // put on the live path
	CellsDown  float64 `json:"cells_down"` // delivered on the live path
	Watches    float64 `json:"watches"`    // connections that watch
	Puts       float64 `json:"puts"`       // connections that put
	Takes      float64 `json:"takes"`      // connections that take
	Parks      float64 `json:"parks"`      // rows that it has parked
	Taken      float64 `json:"taken"`      // rows that it takes
	Looks      float64 `json:"looks"`      // at descriptors
	Pings      float64 `json:"pings"`
	PutTokens  float64 `json:"put_tokens"` // put and park contexts
	WatchToken float64 `json:"watch_tokens"`
	TakeTokens float64 `json:"take_tokens"`
	OtherToken float64 `json:"other_tokens"` // wake, blobs
	Batches    float64 `json:"batches"`      // requests for 1,024 tokens
	Up         float64 `json:"bytes_up"`
	Down       float64 `json:"bytes_down"`
}

// Tokens is all of them.
func (s *Spending) Tokens() float64 {
	return s.PutTokens + s.WatchToken + s.TakeTokens + s.OtherToken
}

// Report is one device's day.
type Report struct {
	Profile string `json:"profile"`
	Preset  string `json:"preset"`
	Spending
	Routes      int     `json:"routes"`
	Set         int     `json:"set"`
	Acks        float64 `json:"acks"`
	Retries     float64 `json:"retries"`
	Cover       float64 `json:"cover"`
	Wakes       float64 `json:"wakes"`
	Guest       float64 `json:"guest_tokens"` // of the put tokens, those of other realms
	Class       int     `json:"class"`
	ClassFits   bool    `json:"class_fits"`
	Connections float64 `json:"connections"`
	WatchBytes  float64 `json:"watch_bytes"` // proofs alone
	PingBytes   float64 `json:"ping_bytes"`
	PoolMode    string  `json:"pool,omitempty"`
	PoolBytes   float64 `json:"pool_bytes"`
	RadioWakes  float64 `json:"radio_wakes"`
	RadioHours  float64 `json:"radio_hours"`
	CPU         float64 `json:"relay_cpu_seconds"`
	Peak        float64 `json:"relay_peak"`  // part of two cores while the sets of one period are opened by the realm
	Spent       float64 `json:"spent_bytes"` // of the relay's disk, in two epochs of own tokens and five of guests'
	Pair50      float64 `json:"pair_p50_seconds"`
	Pair95      float64 `json:"pair_p95_seconds"`
	Group50     float64 `json:"group_p50_seconds"`
	Group95     float64 `json:"group_p95_seconds"`
	Backlog     float64 `json:"backlog"`
	Load        float64 `json:"clock_load"` // due cells over the clock's cells in the busiest hour
}

// Monthly is megabytes in thirty days.
func (r *Report) Monthly() float64 { return (r.Up + r.Down) * 30 / 1e6 }

// Share is the part of two cores that n such devices need.
func (r *Report) Share(n int) float64 { return r.CPU * float64(n) / (2 * day) }

// Measure is the mean of so many drawn days of one device in a realm of realm
// devices.
func Measure(p Profile, s Preset, u Rules, realm, runs int) Report {
	sum := Report{Profile: p.Name, Preset: s.Name}
	var pair, group []float64
	for i := range runs {
		d := oneDay(p, s, u, rand.New(rand.NewPCG(uint64(i), 7)), &pair, &group)
		sum.add(&d, 1/float64(runs))
	}
	sum.Pair50, sum.Pair95 = quantile(pair, 0.5), quantile(pair, 0.95)
	sum.Group50, sum.Group95 = quantile(group, 0.5), quantile(group, 0.95)
	sum.price(p, s, u, realm)
	return sum
}

// add adds a share of what was counted on one day.
func (r *Report) add(d *Report, share float64) {
	for _, x := range []struct {
		to   *float64
		from float64
	}{
		{&r.CellsUp, d.CellsUp}, {&r.CellsDown, d.CellsDown}, {&r.Puts, d.Puts}, {&r.Parks, d.Parks}, {&r.PutTokens, d.PutTokens},
		{&r.Guest, d.Guest}, {&r.Acks, d.Acks}, {&r.Retries, d.Retries}, {&r.Cover, d.Cover}, {&r.Wakes, d.Wakes},
		{&r.Backlog, d.Backlog}, {&r.Load, d.Load}, {&r.RadioWakes, d.RadioWakes}, {&r.RadioHours, d.RadioHours},
	} {
		*x.to += x.from * share
	}
}

// oneDay draws a day and counts it.
func oneDay(p Profile, s Preset, u Rules, r *rand.Rand, pair, group *[]float64) (d Report) {
	t := generate(p, s, u, r)
	for _, c := range t.sends {
		switch c.kind {
		case ack:
			d.Acks++
		case retry:
			d.Retries++
		}
	}
	sends, drops := t.sends, 0.0
	paces := s.TickMean > 0 || s.SlotCells > 0
	if paces {
		q := pace(t, s, u, p.routes(), r)
		d.Backlog = float64(q.backlog)
		d.Cover = float64(len(q.sends) - len(t.sends) + q.backlog)
		*pair, *group = append(*pair, q.pair...), append(*group, q.group...)
		rate := float64(s.SlotCells) / max(s.SlotEvery, 1) * 3600
		if s.TickMean > 0 {
			rate = 3600 / s.TickMean * float64(s.TickCells)
		}
		d.Load = busiest * float64(len(t.sends)) / rate
		sends, drops = q.sends, q.drops
	}
	d.CellsUp = float64(len(sends))
	d.CellsDown = t.received + t.upkeep + drops
	if !paces {
		d.CellsDown += t.acked // else the drops carry them
	} else if s.Watch {
		d.CellsDown += max(0, d.Cover-drops) // loops come back
	}
	d.Wakes, d.Parks = t.wakes, float64(len(t.parks))
	n, guest, conns := contexts(sends, s.Link, u)
	d.PutTokens, d.Guest, d.Puts = float64(n+parkContexts(t.parks, u)), float64(guest), float64(conns)
	d.RadioWakes, d.RadioHours = radio(sends, d.CellsDown, s, u, r)
	return d
}
