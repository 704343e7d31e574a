package leak

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// small is the setting that is measured with every test run.
var small = Setting{People: 12, Hours: 6, Seed: 1}

// TestWithinBaseline measures everything at a small size, as `tacet-lab leak
// --check` does, and then puts a client that does something wrong in the
// product's place: the same check must fail for it.
func TestWithinBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	jobs := append(Jobs(small, ""), Job{Name: "planted", Plan: Plan{Setting: small, Proxy: true, Way: Plants["keeps its decoys"]}})
	results := make([][]Row, len(jobs))
	t.Run("worlds", func(t *testing.T) {
		for i, j := range jobs {
			t.Run(j.Name, func(t *testing.T) {
				t.Parallel()
				rows, err := Measure(t, j, func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				results[i] = rows
			})
		}
	})
	if t.Failed() {
		return
	}
	planted := results[len(jobs)-1]
	rows := slices.Concat(results[:len(jobs)-1]...)
	r, err := NewReport(small, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Write(t.Output())
	if !r.Good() {
		t.Errorf("got %q; weak %v, outside %v", r.Last(), r.Weak, r.Outside)
	}
	results[1] = planted // in place of the product behind a proxy
	r, err = NewReport(small, slices.Concat(results[:len(jobs)-1]...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Good() || !strings.HasSuffix(r.Last(), "OUTSIDE BASELINE") {
		t.Errorf("got %q for a client that keeps its decoys, want it outside the baseline", r.Last())
	}
	if len(r.Power) != len(breakers) {
		t.Errorf("got power %v, want that of all attacks still", r.Power)
	}
}

// TestRecorderMissesNothing recomputes from what was recorded what the relay and
// the clients said themselves.
func TestRecorderMissesNothing(t *testing.T) {
	var tr *Trace
	synctest.Test(t, func(t *testing.T) {
		var err error
		if tr, err = Watch(t.Context(), Plan{Setting: Setting{People: 4, Hours: 2, Seed: 3}, Proxy: true}, func(string) {}); err != nil {
			t.Fatal(err)
		}
	})
	if n, counted := checkTrace(t, tr); n < 30 || counted < 10 {
		t.Errorf("got %d puts and a sum of counts of %d: too little to show anything", n, counted)
	}
	// The control: an echo that was not recorded. The relay does not count every one
	// of them, one of a cell that came by replay for example, so others are tried.
	for _, c := range tr.Conns {
		for i := 0; i < len(c.Events); i++ {
			if c.Events[i].Kind != Echoed {
				continue
			}
			if c.Events = slices.Delete(c.Events, i, i+1); lower(tr) != 0 {
				return
			}
			i--
		}
	}
	t.Error("echoes are missing, and the counts of the relay are still explained")
}

// checkTrace compares a trace with the relay's own words. It returns how many puts
// were answered, and the sum of the counts.
func checkTrace(t *testing.T, tr *Trace) (puts, counted int) {
	for _, c := range tr.Conns {
		var put, answered, watched, confirmed int
		for _, e := range c.Events {
			switch e.Kind {
			case PutCell:
				put++
			case Answered:
				answered++
				counted += e.Count
			case Watched:
				watched += e.Count
			case Confirmed:
				confirmed = e.Count
			}
		}
		puts += answered
		if c.Path == watchPath && confirmed != 0 && confirmed != watched {
			t.Errorf("the relay says that %d addresses are watched, %d were recorded", confirmed, watched)
		}
		if answered > put {
			t.Errorf("the relay answered %d puts, %d were recorded", answered, put)
		}
		if c.Path == "" || c.From == (netip.Addr{}) || c.Closed == 0 {
			t.Errorf("a connection has path %q, network address %v and end %v", c.Path, c.From, c.Closed)
		}
	}
	if n := lower(tr); n != 0 {
		t.Errorf("%d answers count devices of which no echo was recorded", n)
	}
	return puts, counted
}

// lower returns how many answers of the relay count more devices than were
// recorded to echo in time. The relay may count fewer: it has its own reasons.
func lower(tr *Trace) (wrong int) {
	type live struct {
		cell int64
		at   time.Duration
	}
	echoed := map[live]int{} // by when it was delivered: what was replayed later counts for nobody
	for _, c := range tr.Conns {
		sent := map[int]Event{}
		for _, e := range c.Events {
			switch e.Kind {
			case Delivered:
				sent[e.Nonce] = e
			case Echoed:
				if d, ok := sent[e.Count]; ok && e.At-d.At <= wire.EchoWithin {
					echoed[live{d.Cell, d.At}]++
					delete(sent, e.Count)
				}
			}
		}
	}
	for _, c := range tr.Conns {
		var open []Event
		for _, e := range c.Events {
			switch e.Kind {
			case PutCell:
				open = append(open, e)
			case Answered:
				if len(open) > 0 && echoed[live{open[0].Cell, open[0].At}] < e.Count {
					wrong++
				}
				open = open[min(1, len(open)):]
			}
		}
	}
	return wrong
}

// noise is a trace in which nothing has to do with anything: sessions of people
// who come and go at random, and cells between random ones.
func noise(r *rand.Rand, people int, periods int64) *Trace {
	tr := &Trace{People: people, End: time.Duration(periods) * period}
	next := 0
	for p := range periods {
		for who := range people {
			c := &Conn{Path: watchPath, owner: who, From: netip.AddrFrom4([4]byte{1, byte(next >> 16), byte(next >> 8), byte(next)})}
			c.Opened = time.Duration(p)*period - 30*time.Second - rand.N(time.Minute)
			c.Closed = time.Duration(p+1)*period + 30*time.Second + rand.N(time.Minute)
			for range 16 {
				next++
				c.Set = append(c.Set, next)
			}
			c.Events = []Event{{At: c.Opened, Kind: Watched, In: true, Count: 16, Period: p}}
			tr.Conns = append(tr.Conns, c)
		}
	}
	for range 40 * int(periods) {
		at := time.Duration(r.Int64N(int64(tr.End)))
		to := tr.Conns[int(at/period)*people+r.IntN(people)]
		addr := to.Set[r.IntN(16)]
		put := &Conn{Path: putPath, owner: r.IntN(people), From: netip.AddrFrom4([4]byte{2, byte(next >> 16), byte(next >> 8), byte(next)}), Opened: at, Closed: at + time.Minute}
		next++
		put.Events = []Event{{At: at, Kind: PutCell, In: true, Addr: addr}}
		to.Events = append(to.Events, Event{At: at, Kind: Delivered, Addr: addr})
		tr.Conns = append(tr.Conns, put)
	}
	return tr
}

// TestAttacksFindNothingInNoise: an attack that finds something where there is
// nothing would measure itself.
func TestAttacksFindNothingInNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tr := noise(r, 16, 48)
	for g := range 4 { // truths that have nothing to do with what the relay saw
		tr.Groups = append(tr.Groups, r.Perm(16)[:3+g])
		for range 200 {
			tr.Said = append(tr.Said, Said{At: time.Duration(r.Int64N(int64(tr.End))), From: tr.Groups[g][0], Group: g})
		}
	}
	slices.SortFunc(tr.Said, func(a, b Said) int { return int(a.At - b.At) })
	links, pairs, fans := Link(tr), Pair(tr, 5*time.Second), FanOut(tr)
	var polls []poll
	for range 2000 {
		polls = append(polls, poll{at: time.Duration(r.Int64N(int64(24 * time.Hour))), online: r.IntN(2) == 0, took: 1.5 + r.Float64(), delivered: float64(r.IntN(2))})
	}
	for what, s := range map[string]Score{
		"linking": links.All, "linking by sockets": links.Sockets, "linking what is seized": LinkSeized(tr),
		"pairing": pairs.All, "pairing by acks": pairs.Acks, "statistical disclosure": pairs.SDA, "pairing what is seized": PairSeized(tr),
		"presence": tellApart(polls), "fan-out": fans.All, "fan-out by connections": fans.Connections, "fan-out by deliveries": fans.Deliveries,
	} {
		t.Logf("%s: %+v", what, s)
		if s.Trials < 100 || s.Floor > s.Chance+tolerance || math.IsNaN(s.Score) {
			t.Errorf("%s: got %+v of noise, want what guessing gives", what, s)
		}
	}
	// And something where there is: the same trace, with what gives away planted.
	for _, c := range tr.Conns {
		c.From = netip.AddrFrom4([4]byte{3, 0, 0, byte(c.owner)})
	}
	if s := Link(tr).All; s.Score < 0.99 {
		t.Errorf("got %+v for people with one network address each, want all linked", s)
	}
	if s := Pair(tr, 5*time.Second).Address; s.Score < 0.99 {
		t.Errorf("got %+v for people with one network address each, want all paired", s)
	}
	for i := range polls {
		polls[i].delivered = map[bool]float64{true: 1}[polls[i].online]
	}
	if s := tellApart(polls); s.Score < 0.99 {
		t.Errorf("got %+v for answers that tell who is there", s)
	}
}

// TestReportJudges plants rows.
func TestReportJudges(t *testing.T) {
	score := func(v float64) Score {
		return Score{Score: v, Chance: 0.05, Low: v - 0.01, High: v + 0.01, Floor: v - 0.015, Trials: 1000}
	}
	rows := []Row{{Linking, Proxied, "everything", "", score(0.06)}}
	for attack, all := range breakers {
		for _, naive := range all {
			rows = append(rows, Row{attack, Proxied, "everything", naive, score(0.95)})
		}
	}
	b, _ := json.Marshal([]Baseline{{small, map[string]float64{rows[0].key(): 0.06}}})
	report := func(change func([]Row)) *Report {
		all := slices.Clone(rows)
		change(all)
		r, err := NewReport(small, all, b)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := report(func([]Row) {}); !r.Good() || r.Last() != "leak: 4 attacks, 4 with power, within baseline" {
		t.Errorf("got %q, %v, %v", r.Last(), r.Weak, r.Outside)
	}
	if r := report(func(all []Row) { all[0].Score = score(0.11) }); r.Good() || !strings.Contains(r.Last(), "OUTSIDE") {
		t.Errorf("a score of 0.11 for one of 0.06: got %q", r.Last())
	}
	if r := report(func(all []Row) { all[0].By = "something new" }); r.Good() {
		t.Errorf("a row that the baseline does not know: got %q", r.Last())
	}
	for i := 1; i < len(rows); i++ {
		if r := report(func(all []Row) { all[i].Score = score(0.5) }); r.Good() || len(r.Power) != len(breakers)-1 {
			t.Errorf("%s does not break a client that %s: got %q", rows[i].Attack, rows[i].Naive, r.Last())
		}
	}
	other := small
	other.Seed++
	if r, err := NewReport(other, rows, b); err != nil || r.Good() || !strings.Contains(r.Last(), "no baseline") {
		t.Errorf("another setting: got %q, %v", r.Last(), err)
	}
	// Where guessing is the aim, no baseline excuses more.
	b, _ = json.Marshal([]Baseline{{small, map[string]float64{rows[0].key(): 0.5}}})
	if r := report(func(all []Row) { all[0].Score = score(0.2) }); r.Good() {
		t.Errorf("linking behind a proxy at 0.2: got %q", r.Last())
	}
}

// TestScriptsRepeat: a seed stands for a script.
func TestScriptsRepeat(t *testing.T) {
	a, b, c := newScript(small), newScript(small), newScript(Setting{12, 6, 2})
	if !slices.Equal(a.acts, b.acts) || !slices.Equal(a.pairs, b.pairs) || slices.Equal(a.acts, c.acts) {
		t.Error("got other scripts for one seed, or one for two")
	}
	kinds := map[byte]int{}
	for _, x := range newScript(Setting{24, 24, 1}).acts {
		kinds[x.do]++
	}
	if kinds[say] < 400 || kinds[loseNetwork] < 60 || kinds[stopProgram] < 2 {
		t.Errorf("got %v in a day of 24 people", kinds)
	}
	for p := range maps.Keys(Plants) {
		if Plants[p] == (Way{}) {
			t.Errorf("a client that %s does nothing wrong", p)
		}
	}
}
