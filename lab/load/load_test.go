package load

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Relays with a planted fault.
const (
	roleSlow  = rolePrefix + "slow"  // uses a core for nothing
	roleLeaky = rolePrefix + "leaky" // leaves a goroutine behind every 50 ms
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == roleCommand { // a process of a test
		role := os.Args[2]
		switch role {
		case roleSlow:
			go func() {
				for turns := new(atomic.Int64); ; turns.Add(1) {
				}
			}()
			role = roleRelay
		case roleLeaky:
			go func() {
				for range time.Tick(50 * time.Millisecond) {
					go func() { select {} }()
				}
			}()
			role = roleRelay
		}
		os.Exit(Role(role))
	}
	os.Exit(m.Run())
}

func needsProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED 1 test: no /proc here")
	}
}

// TestLive gives the smallest work to our relay, and to NATS where its program
// is there already, and looks at what is reported: nothing lost, no figure zero.
func TestLive(t *testing.T) {
	needsProc(t)
	t.Parallel() // it waits for answers most of the time
	o := Options{Short: true, Only: []string{vTacet, vTacetTLS, vNats}, Progress: t.Output(), Scenarios: []string{sPaced, sSaturated, sFanout, sIdle}}
	if err := Ready(vNats); err == nil {
		o.Vs = []string{vNats}
	} else {
		t.Logf("without NATS: %v", err)
	}
	r, err := Live(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wrong(); err != nil {
		t.Error(err)
	}
	for _, sc := range r.Scenarios {
		for _, res := range sc.Results {
			for _, run := range res.Runs {
				if run.Sent == 0 || run.Delivered+run.Cut != run.Sent*int64(sc.Shape.Fan) || run.PerSecond == 0 || run.PerCPU == 0 || run.P50 == 0 || run.P999 < run.P50 {
					t.Errorf("%s, %s: got %+v", sc.Name, res.Name, run)
				}
				if ours(res.Name) && (run.Answers != run.Sent && run.Ended == 0 || run.Told > run.Delivered || run.Told == 0) {
					t.Errorf("%s, %s: %d answers to %d puts tell of %d deliveries, %d were seen", sc.Name, res.Name, run.Answers, run.Sent, run.Told, run.Delivered)
				}
			}
		}
	}
	var table, doc bytes.Buffer
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &table)
	line, sum := last(table.String()), r.Summary
	ratio := `-`
	if len(o.Vs) > 0 {
		ratio = `\d+\.\d\d`
		if sum.P50 <= 0 || sum.PerCPU <= 0 || sum.Fanout <= 0 {
			t.Errorf("ratios: got %+v, want none that is 0", sum)
		}
	}
	want := regexp.MustCompile(`^load: p50/nats ` + ratio + `, percpu/nats ` + ratio + `, fanout/nats ` + ratio + `, idle KiB plain \d+\.\d tls \d+\.\d$`)
	if !want.MatchString(line) || sum.IdlePlain <= 0 || sum.IdleTLS <= 0 {
		t.Errorf("last line: got %q, want %s and nothing that is 0", line, want)
	}
	if err := r.JSON(&doc); err != nil {
		t.Fatal(err)
	}
	var back Report
	d := json.NewDecoder(&doc)
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if got := back.Summary.Line(); got != line {
		t.Errorf("summary in JSON: got %q, want %q", got, line)
	}
	if d.More() {
		t.Error("there is more than one JSON document")
	}
}

// TestReceiversStopAndGo has receivers freeze in a process of their own, and
// devices come and go: whatever happens to them, each cell is seen once, and told
// of as what it was.
func TestReceiversStopAndGo(t *testing.T) {
	needsProc(t)
	t.Parallel()
	r, err := Live(t.Context(), Options{Short: true, Only: []string{vTacet, vTacetTLS}, Progress: t.Output(), Scenarios: []string{sFrozen, sChurn}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wrong(); err != nil {
		t.Error(err)
	}
	if len(r.Frozen) != 2 || len(r.Churn) != 2 {
		t.Fatalf("got %d and %d results, want 2 and 2", len(r.Frozen), len(r.Churn))
	}
	for _, f := range r.Frozen {
		if f.ToFrozen == 0 || f.ToLive == 0 || f.P50 == 0 || f.Then50 == 0 || f.MiB == 0 {
			t.Errorf("frozen, %s: got %+v", f.Name, f)
		}
	}
	for _, c := range r.Churn {
		if c.Connects == 0 || c.Sent == 0 || c.Connect50 == 0 || c.P50 == 0 || c.ConnectCPU < 0 || c.MiB == 0 {
			t.Errorf("churn, %s: got %+v", c.Name, c)
		}
	}
}

// TestLedger plants an answer that must not be.
func TestLedger(t *testing.T) {
	var l ledger
	for id, delivered := range []uint16{1, 0, 3, 0} {
		if id != 3 {
			l.heard(uint64(id+1), delivered)
		}
	}
	for _, c := range []struct{ after, last, none, some, open int64 }{
		{0, 4, 1, 2, 1}, {1, 2, 1, 0, 0}, {2, 3, 0, 1, 0}, {3, 6, 0, 0, 3}, {2, 2, 0, 0, 0},
	} {
		if none, some, open := l.between(c.after, c.last); none != c.none || some != c.some || open != c.open {
			t.Errorf("after %d up to %d: got %d, %d, %d, want %d, %d, %d", c.after, c.last, none, some, open, c.none, c.some, c.open)
		}
	}
	l.heard(0, 1) // no cell has this number
	bad := Report{Frozen: []*Frozen{{Name: vTacet, stiff: stiff{Lies: 1}}}}
	if bad.sum(); bad.Wrong() == nil {
		t.Error("a lie: got no error")
	}
}

// TestSlowRelayShows plants a relay that wastes a core, and looks for it in the
// ratio to one that does not. CPU time is compared, not time: a busy machine
// gives both less of it.
func TestSlowRelayShows(t *testing.T) {
	needsProc(t)
	t.Parallel()
	o := Options{Short: true, Only: []string{vTacet}, Scenarios: []string{sPaced}, Progress: t.Output()}
	good, err := Live(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.role = roleSlow
	bad, err := Live(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	got := ratio(bad.Scenarios[0].Results[0].Runs, good.Scenarios[0].Results[0].Runs, perCPU)
	if got.Median == 0 || got.Median > .8 {
		t.Errorf("deliveries per CPU second of a slow relay, by those of a good one: got %v, want well below 1", got)
	}
}

func TestRefusedOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"peer":     {Vs: []string{"kafka"}},
		"variant":  {Only: []string{"tacit"}},
		"nothing":  {Only: []string{vNats}},
		"scenario": {Scenarios: []string{"storm"}},
		"rounds":   {Rounds: -1},
		"rate":     {Rates: []int{0}},
		"length":   {Length: 1},
	} {
		if _, err := Live(t.Context(), o); err == nil {
			t.Errorf("%s: got no error", name)
		} else if p, ok := err.(*Problem); !ok || p.Hint == "" {
			t.Errorf("%s: got %v without a hint", name, err)
		}
	}
}

// TestLossShows plants a loss in a report.
func TestLossShows(t *testing.T) {
	r := Report{Scenarios: []*Scenario{{Name: sSaturated, Results: []*Result{{Name: vTacetTLS, Runs: []run{{}, {Lost: 1}}}}}}}
	r.sum()
	if err := r.Wrong(); err == nil {
		t.Error("got no error")
	}
}

// TestPeers has each peer whose program is there carry cells, over all that its
// clients speak. Nobody's figures are of interest here.
func TestPeers(t *testing.T) {
	needsProc(t)
	t.Parallel()
	var vs []string
	for _, peer := range Peers() {
		if err := Ready(peer); err != nil {
			t.Logf("SKIPPED 1 test: %v", err)
			continue
		}
		vs = append(vs, peer)
	}
	if len(vs) == 0 {
		t.Skip("SKIPPED 1 test: no other broker is there")
	}
	only := slices.DeleteFunc(Variants(), ours)
	r, err := Live(t.Context(), Options{Short: true, Vs: vs, Only: only, Progress: t.Output(), Scenarios: []string{sFanout, sChurn}})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Scenarios[0].Results {
		for _, run := range res.Runs {
			if run.Sent == 0 || run.Lost != 0 || run.Doubled != 0 {
				t.Errorf("%s: got %+v", res.Name, run)
			}
		}
	}
	for _, c := range r.Churn {
		if c.Connects == 0 || c.Sent == 0 || c.Lost != 0 || c.Failed != 0 {
			t.Errorf("%s: got %+v", c.Name, c)
		}
	}
}
