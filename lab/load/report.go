package load

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report is what a run gave. It marshals to the document of --json.
type Report struct {
	CPUs      int         `json:"cpus"`
	System    string      `json:"system"`
	Go        string      `json:"go"`
	Rounds    int         `json:"rounds"`
	Seconds   float64     `json:"seconds"` // measured in each run
	Scenarios []*Scenario `json:"scenarios"`
	Frozen    []*Frozen   `json:"frozen,omitempty"`
	Churn     []*Churn    `json:"churn,omitempty"`
	Idle      []*Idle     `json:"idle,omitempty"`
	Summary   Summary     `json:"summary"`
}

// Scenario is one sort of work.
type Scenario struct {
	Name    string    `json:"name"`
	Shape   *shape    `json:"shape"`
	Results []*Result `json:"results"`
}

// Result is what one variant did in all rounds.
type Result struct {
	Name    string            `json:"name"`
	Carries string            `json:"carries"`
	TLS     bool              `json:"tls,omitempty"`
	Runs    []run             `json:"runs"`
	Ratios  map[string]ratios `json:"ratios,omitempty"` // by the name of the variant that it is divided by
}

type ratios struct {
	P50    spread `json:"p50"`
	P99    spread `json:"p99"`
	PerCPU spread `json:"per_cpu"`
}

// Idle is what idle connections cost one variant.
type Idle struct {
	Name string `json:"name"`
	rest
}

// Frozen is what receivers that stop do to one variant.
type Frozen struct {
	Name string `json:"name"`
	stiff
}

// Churn is what devices that come and go cost one variant.
type Churn struct {
	Name string `json:"name"`
	coming
}

// Summary is the last line. A figure that was not measured is 0.
type Summary struct {
	P50       float64 `json:"p50_nats"`    // the worst of all rates
	PerCPU    float64 `json:"percpu_nats"` // one to one, saturated
	Fanout    float64 `json:"fanout_nats"`
	IdlePlain float64 `json:"idle_kib_plain"`
	IdleTLS   float64 `json:"idle_kib_tls"`
	Lost      int64   `json:"lost"`    // by our relay, in all
	Doubled   int64   `json:"doubled"` // likewise
	Lies      int64   `json:"lies"`    // cells to frozen receivers that it answered as delivered
	Ended     int64   `json:"ended"`   // connections that it ended or refused
	Excused   int64   `json:"excused"` // likewise, while the machine stood still for longer than a relay waits
}

func ours(name string) bool { return name == vTacet || name == vTacetTLS }

// sum takes the ratios, and what our relay did wrong.
func (r *Report) sum() {
	for _, sc := range r.Scenarios {
		sc.divide()
		for _, of := range sc.Results {
			if of.Name == vTacet {
				r.Summary.take(sc.Name, of.Ratios[vNats])
			}
			for i := range of.Runs {
				if one := &of.Runs[i]; ours(of.Name) {
					r.Summary.add(one.Lost, one.Doubled, 0, one.Ended, one.Stood)
				}
			}
		}
	}
	for _, f := range r.Frozen {
		if ours(f.Name) {
			r.Summary.add(f.Lost, f.Doubled, f.Lies, f.Cuts, f.Stood)
		}
	}
	for _, c := range r.Churn {
		if ours(c.Name) {
			r.Summary.add(c.Lost, c.Doubled, 0, c.Cuts+c.Failed, c.Stood)
		}
	}
	for _, i := range r.Idle {
		if ours(i.Name) {
			r.Summary.add(0, 0, 0, i.Ended, i.Stood)
		}
		switch i.Name {
		case vTacet:
			r.Summary.IdlePlain = i.KiB
		case vTacetTLS:
			r.Summary.IdleTLS = i.KiB
		}
	}
}

// divide takes the ratios to NATS: plain by plain, and TLS by TLS.
func (sc *Scenario) divide() {
	for _, of := range sc.Results {
		for _, by := range sc.Results {
			if !strings.HasPrefix(by.Name, "nats") || of == by || of.TLS != by.TLS {
				continue
			}
			if of.Ratios == nil {
				of.Ratios = map[string]ratios{}
			}
			of.Ratios[by.Name] = ratios{ratio(of.Runs, by.Runs, p50), ratio(of.Runs, by.Runs, p99), ratio(of.Runs, by.Runs, perCPU)}
		}
	}
}

// take takes what is in the last line.
func (s *Summary) take(scenario string, by ratios) {
	switch kind, _, _ := strings.Cut(scenario, " "); kind {
	case sPaced:
		s.P50 = max(s.P50, by.P50.Median)
	case sSaturated:
		s.PerCPU = by.PerCPU.Median
	case sFanout:
		s.Fanout = by.PerCPU.Median
	}
}

// add adds what must not be. Connections that ended while the machine stood still
// are counted apart.
func (s *Summary) add(lost, doubled, lies, ended int64, stood float64) {
	s.Lost += lost
	s.Doubled += doubled
	s.Lies += lies
	if stood < ms(tooStill) {
		s.Ended += ended
	} else {
		s.Excused += ended
	}
}

// Wrong says what our relay must never do and did.
func (r *Report) Wrong() error {
	if s := r.Summary; s.Lost != 0 || s.Doubled != 0 || s.Lies != 0 || s.Ended != 0 {
		return &Problem{
			fmt.Errorf("the relay lost %d cells, delivered %d twice or out of order, told of %d as delivered to somebody frozen, and ended or refused %d connections", s.Lost, s.Doubled, s.Lies, s.Ended),
			"the lines of progress say in which turn; a machine out of files (ulimit -n) or of memory shows first here",
		}
	}
	return nil
}

// Line is the last line of the table. What was not measured is a dash.
func (s *Summary) Line() string {
	show := func(v float64, digits int) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.*f", digits, v)
	}
	return fmt.Sprintf("load: p50/nats %s, percpu/nats %s, fanout/nats %s, idle KiB plain %s tls %s",
		show(s.P50, 2), show(s.PerCPU, 2), show(s.Fanout, 2), show(s.IdlePlain, 1), show(s.IdleTLS, 1))
}

// JSON writes the report as one document.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table writes the report for people: medians over rounds, and ratios with the
// lowest and highest of them.
func (r *Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%d cores, %s, %s; %d rounds of %g s; ratios are medians over rounds (lowest–highest)\n", r.CPUs, r.System, r.Go, r.Rounds, r.Seconds)
	for _, sc := range r.Scenarios {
		fmt.Fprintf(w, "\n%s: %s\n", sc.Name, sc.Shape)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		bases := []string{}
		for _, res := range sc.Results {
			if strings.HasPrefix(res.Name, "nats") && res.Name != vNatsWS {
				bases = append(bases, res.Name)
			}
		}
		fmt.Fprint(t, "\tper s\tper CPU-s\tcores\tp50 ms\tp99\tp99.9\tlost")
		for _, base := range bases {
			fmt.Fprintf(t, "\tper CPU ÷ %s\tp50 ÷ %s", base, base)
		}
		fmt.Fprintln(t)
		for _, res := range sc.Results {
			med := func(f func(*run) float64) float64 { return over(figures(res.Runs, f)).Median }
			lost := int64(0)
			for i := range res.Runs {
				lost += res.Runs[i].Lost
			}
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.2f\t%.3f\t%.2f\t%.2f\t%d", res.Name, med(perSecond), med(perCPU), med(cores), med(p50), med(p99), med(p999), lost)
			for _, base := range bases {
				by, ok := res.Ratios[base]
				if !ok {
					fmt.Fprint(t, "\t\t")
					continue
				}
				fmt.Fprintf(t, "\t%s\t%s", by.PerCPU, by.P50)
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if err := r.others(w); err != nil {
		return err
	}
	carried := map[string]string{}
	var names []string
	for _, sc := range r.Scenarios {
		for _, res := range sc.Results {
			if !slices.Contains(names, res.Name) {
				names, carried[res.Name] = append(names, res.Name), res.Carries
			}
		}
	}
	if len(names) > 0 {
		fmt.Fprintln(w, "\nWhat a put carries:")
	}
	for _, name := range names {
		fmt.Fprintf(w, "  %s: %s\n", name, carried[name])
	}
	_, err := fmt.Fprintln(w, r.Summary.Line())
	return err
}

// others are the tables of what each variant did once.
func (r *Report) others(w io.Writer) error {
	if len(r.Frozen) > 0 {
		f := r.Frozen[0]
		fmt.Fprintf(w, "\nfrozen: %d of %d receivers stop, %d cells a second to all; one turn\n", f.Frozen, f.Frozen+f.Live, f.Rate)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\tto frozen\ttold delivered\tto others\tlost\tnot told\tp50 ms\tp99\tthen p50\tthen p99\tended\tMiB\tthen")
		for _, f := range r.Frozen {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%.3f\t%.2f\t%.3f\t%.2f\t%d\t%.1f\t%.1f\n", f.Name, f.ToFrozen, f.Lies, f.ToLive, f.Lost, f.Missed, f.P50, f.P99, f.Then50, f.Then99, f.Ended, f.MiB, f.ThenMiB)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Churn) > 0 {
		c := r.Churn[0]
		fmt.Fprintf(w, "\nchurn: %d devices with %d addresses each, each with a new connection and new addresses in every cycle, %d cells a second to all; one turn\n", c.Devices, c.Addresses, c.Rate)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\tconnects/s\tconnect p50 ms\tp99\tCPU ms each\tdeliver p50 ms\tp99\tput\tlost\tnot told\tfailed\tMiB\tthen")
		for _, c := range r.Churn {
			fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.1f\t%.2f\t%.3f\t%.2f\t%d\t%d\t%d\t%d\t%.1f\t%.1f\n", c.Name, c.PerSecond, c.Connect50, c.Connect99, c.ConnectCPU, c.P50, c.P99, c.Sent, c.Lost, c.Missed, c.Failed, c.MiB, c.ThenMiB)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Idle) > 0 {
		fmt.Fprintf(w, "\nidle: %d connections, %d addresses each; resident memory, after a forced collection where there can be one\n", r.Idle[0].Connections, r.Idle[0].Addresses)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\tKiB each\tbefore\tlater\tforced\tbase MiB\tconnect CPU ms\tcores\tended")
		for _, i := range r.Idle {
			fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%v\t%.1f\t%.2f\t%.3f\t%d\n", i.Name, i.KiB, i.Before, i.Later, i.Forced, i.Base, i.ConnectMS, i.Cores, i.Ended)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s spread) String() string {
	if s == (spread{}) {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.Median, s.Low, s.High)
}

func (s *shape) String() string {
	if s.Rate > 0 {
		return fmt.Sprintf("%d senders with %d receivers each, %d cells a second in all", s.Pairs, s.Fan, s.Rate)
	}
	return fmt.Sprintf("%d senders with %d receivers each, %d cells in flight of each, up to %d in one write", s.Pairs, s.Fan, s.InFlight, s.Burst)
}
