package leak

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Positions of the observer.
const (
	Direct       = "live, direct"
	DirectSeized = "seized, direct"
	Proxied      = "live, behind a proxy"
	ProxySeized  = "seized, behind a proxy"
	Asking       = "outside, asking"
)

// Attacks.
const (
	Linking  = "linking"
	Presence = "presence"
	Pairing  = "pairing"
	FanOuts  = "fan-out"
)

// Row is one figure.
type Row struct {
	Attack   string `json:"attack"`
	Position string `json:"position"`
	By       string `json:"by"`              // what the attack goes by, or who asks
	Naive    string `json:"naive,omitempty"` // the planted client; empty: the product
	Score
}

// key names a row in a baseline.
func (r *Row) key() string {
	k := r.Attack + "; " + r.Position + "; " + r.By
	if r.Naive != "" {
		k += "; " + r.Naive
	}
	return k
}

// Job is one world and what is measured in it.
type Job struct {
	Name  string
	Naive string // a name for what Plan.Way plants, if that is to be caught
	Plan  Plan
	Ask   bool // the third attack, else the first two; with groups the fourth
}

// productMean is the mean of the product's ack clock in the everyday preset, and
// quietMean in the quiet one.
const (
	productMean = 5 * time.Second
	quietMean   = 20 * time.Second
)

// Plants are the naive clients, by name, for Options.Plant.
var Plants = map[string]Way{
	"moves in one moment":       {Move: true},
	"keeps its decoys":          {KeepDecoys: true},
	"does not pad its sets":     {Unpadded: true},
	"isolates nothing":          {OneCircuit: true},
	"acks at once":              {AckMean: 50 * time.Millisecond},
	"echoes whatever comes":     {EchoAll: true},
	"echoes in spite of blocks": {EchoAll: true, BlockHides: true},
}

// breakers says which naive clients each attack has to break.
var breakers = map[string][]string{
	Linking:  {"moves in one moment", "keeps its decoys", "does not pad its sets", "isolates nothing"},
	Pairing:  {"isolates nothing", "acks at once"},
	FanOuts:  {"isolates nothing"},
	Presence: {"echoes in spite of blocks"},
}

// naiveSetting is the size of worlds in which naive clients are broken: what they
// do wrong shows at once.
func naiveSetting(s Setting) Setting { return Setting{People: 6, Hours: 3, Seed: s.Seed} }

// groupSetting is the size of worlds with groups: their cells are many, and what is
// to be seen in them is seen soon.
func groupSetting(s Setting) Setting {
	return Setting{People: min(s.People, 12), Hours: min(s.Hours+4, 10), Seed: s.Seed}
}

// askHours is for how long presence is asked for: as long as a small world lives
// at least, since the target comes and goes every half hour.
func askHours(s Setting) int { return max(8, min(s.Hours, 24)) }

// Jobs returns everything that is measured with a setting. plant, if not empty, is
// what the product's place is given to: for seeing a check fail.
func Jobs(s Setting, plant string) []Job {
	way := Plants[plant]
	quiet := way
	quiet.AckMean = quietMean
	asked := s
	asked.Hours = askHours(s)
	jobs := []Job{
		{Name: "direct", Plan: Plan{Setting: s, Way: way}},
		{Name: "behind a proxy", Plan: Plan{Setting: s, Proxy: true, Way: way}},
		{Name: "behind a proxy, slow acks", Plan: Plan{Setting: s, Proxy: true, Way: quiet}},
		{Name: "asking", Plan: Plan{Setting: asked, Way: way}, Ask: true},
	}
	for _, j := range []Job{{Name: "groups, direct"}, {Name: "groups, behind a proxy"}, {Name: "groups, isolates nothing", Naive: "isolates nothing"}} {
		if s.Hours < 12 && j.Name == "groups, direct" {
			continue // everything is seen there: no check has to know how well
		}
		j.Plan = Plan{Setting: groupSetting(s), Groups: true, Proxy: j.Name != "groups, direct", Way: way}
		if j.Naive != "" {
			j.Plan.Setting, j.Plan.Way = groupSetting(naiveSetting(s)), Plants[j.Naive]
			j.Plan.People = 9 // of six nearly all are in a group together
		}
		jobs = append(jobs, j)
	}
	for _, naive := range []string{"moves in one moment", "keeps its decoys", "does not pad its sets", "isolates nothing", "acks at once"} {
		jobs = append(jobs, Job{Name: naive, Naive: naive, Plan: Plan{Setting: naiveSetting(s), Proxy: true, Way: Plants[naive]}})
	}
	const naive = "echoes in spite of blocks"
	asked.Hours = askHours(Setting{})
	return append(jobs, Job{Name: naive, Naive: naive, Plan: Plan{Setting: asked, Way: Plants[naive]}, Ask: true})
}

// Measure does a job, in a bubble of virtual time.
func Measure(t *testing.T, j Job, tell func(string)) (rows []Row, err error) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		if j.Ask {
			rows, err = j.ask(ctx, tell)
			return
		}
		var tr *Trace
		if tr, err = Watch(ctx, j.Plan, tell); err == nil {
			rows = j.attack(tr)
		}
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", j.Name, err)
	}
	return rows, err
}

func (j *Job) ask(ctx context.Context, tell func(string)) (rows []Row, err error) {
	p, err := Ask(ctx, j.Plan.Hours, j.Plan.Seed, j.Plan.Way, tell)
	for _, who := range askers {
		rows = append(rows, Row{Presence, Asking, who, j.Naive, p[who]})
	}
	return rows, err
}

// attack runs the first two attacks, or the fourth.
func (j *Job) attack(tr *Trace) (rows []Row) {
	live, seized := Direct, DirectSeized
	if j.Plan.Proxy {
		live, seized = Proxied, ProxySeized
	}
	add := func(attack, position, by string, s Score) {
		if j.Naive != "" && !slices.Contains(breakers[attack], j.Naive) {
			return // it does nothing wrong that this attack should catch
		}
		rows = append(rows, Row{attack, position, by, j.Naive, s})
	}
	mean := j.Plan.Way.AckMean
	if mean == 0 {
		mean = productMean
	}
	if j.Plan.Groups {
		f := FanOut(tr)
		add(FanOuts, live, "who is in a group, by everything", f.All)
		add(FanOuts, live, "who is in a group, by network address", f.Address)
		add(FanOuts, live, "who is in a group, by connections that fire together", f.Connections)
		add(FanOuts, live, "who is in a group, by deliveries alone", f.Deliveries)
		add(FanOuts, live, "how many devices are in the group", f.Size)
		return rows
	}
	pairs := Pair(tr, mean)
	if mean == quietMean {
		add(Pairing, live, "everything; acks after 20 s", pairs.All)
		return rows
	}
	links := Link(tr)
	add(Linking, live, "everything", links.All)
	add(Linking, live, "sockets, without cells", links.Sockets)
	if j.Naive == "" {
		add(Linking, live, "everything, no loss of network near", links.Calm)
		add(Linking, live, "everything, loss of network near", links.Broken)
		add(Linking, seized, "memory", LinkSeized(tr))
	}
	add(Pairing, live, "everything", pairs.All)
	add(Pairing, live, "network address", pairs.Address)
	add(Pairing, live, "timing of acks and answers", pairs.Acks)
	add(Pairing, live, "statistical disclosure", pairs.SDA)
	if j.Naive == "" {
		add(Pairing, seized, "memory", PairSeized(tr))
	}
	return rows
}
