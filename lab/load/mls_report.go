package load

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// MLSReport is what came out.
type MLSReport struct {
	CPUs     int         `json:"cpus"`
	System   string      `json:"system"`
	Go       string      `json:"go"`
	Subjects []string    `json:"subjects"` // with their versions
	Suite    int         `json:"suite"`
	Fresh    bool        `json:"fresh"` // nobody has committed, or everybody has
	Rounds   int         `json:"rounds"`
	Seconds  float64     `json:"seconds"` // of one turn
	Content  int         `json:"content"` // bytes of an application message
	Results  []MLSResult `json:"results"`
}

// MLSResult is one operation in groups of one size by one subject. Elapsed is the
// median in a turn and CPU the mean in a turn, in µs, over the turns; the ratios are
// this one's by ours in the same round.
type MLSResult struct {
	Members   int       `json:"members"`
	Operation string    `json:"operation"`
	Name      string    `json:"name"`
	Runs      []mlsTurn `json:"runs"`
	Elapsed   spread    `json:"elapsed_us"`
	CPU       spread    `json:"cpu_us"`
	ByOurs    spread    `json:"elapsed_by_ours"`
	CPUByOurs spread    `json:"cpu_by_ours"`
}

// mlsTable gathers the turns of one size.
type mlsTable struct {
	members int
	rows    []*MLSResult // operation by operation, ours first
}

func newMLSTable(members int, all []*mlsSubject) *mlsTable {
	t := &mlsTable{members: members}
	for _, op := range mlsOperations() {
		for _, s := range all {
			t.rows = append(t.rows, &MLSResult{Members: members, Operation: op.name, Name: s.name})
		}
	}
	return t
}

func (t *mlsTable) row(name, op string) *MLSResult {
	for _, r := range t.rows {
		if r.Name == name && r.Operation == op {
			return r
		}
	}
	return &MLSResult{}
}

func (t *mlsTable) add(name, op string, turn mlsTurn) {
	r := t.row(name, op)
	r.Runs = append(r.Runs, turn)
}

// last is what the last round gave, for whoever waits.
func (t *mlsTable) last() string {
	var b strings.Builder
	for _, r := range t.rows {
		if len(r.Runs) == 0 {
			return "to get warm"
		}
		if r.Name == mlsOurs {
			fmt.Fprintf(&b, " %s", r.Operation)
		}
		fmt.Fprintf(&b, " %s", microseconds(r.Runs[len(r.Runs)-1].Median))
	}
	return strings.TrimSpace(b.String())
}

func (t *mlsTable) results() []MLSResult {
	var all []MLSResult
	for _, r := range t.rows {
		ours := t.row(mlsOurs, r.Operation)
		var elapsed, cpu, by, cpuBy []float64
		for i, x := range r.Runs {
			elapsed, cpu = append(elapsed, x.Median), append(cpu, x.CPU)
			by = append(by, x.Median/ours.Runs[i].Median)
			if x.CPU > 0 && ours.Runs[i].CPU > 0 {
				cpuBy = append(cpuBy, x.CPU/ours.Runs[i].CPU)
			}
		}
		r.Elapsed, r.CPU, r.ByOurs, r.CPUByOurs = over(elapsed), over(cpu), over(by), over(cpuBy)
		all = append(all, *r)
	}
	return all
}

// microseconds writes some with three digits that count.
func microseconds(us float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e6, "s"}, {1e3, "ms"}, {1, "µs"}} {
		if v := us / u.size; v >= 1 || u.size == 1 {
			return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Log10(max(v, 1)))), 64) + u.name
		}
	}
	return ""
}

// Line is the last line of a report: how many times as long a peer takes as ours to
// commit and to process, in the largest group.
func (r *MLSReport) Line() string {
	largest := 0
	for _, x := range r.Results {
		largest = max(largest, x.Members)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "mls: %d members", largest)
	for _, x := range r.Results {
		switch {
		case x.Members != largest || x.Operation != "commit" && x.Operation != "process":
		case x.Name == mlsOurs:
			fmt.Fprintf(&b, ", %s %s", x.Operation, microseconds(x.Elapsed.Median))
		default:
			fmt.Fprintf(&b, ", %s by ours %.1f", x.Name, x.ByOurs.Median)
		}
	}
	return b.String()
}

// Table writes the report for people.
func (r *MLSReport) Table(w io.Writer) error {
	tree := "every parent full: each member has committed once"
	if r.Fresh {
		tree = "every parent blank before the first commit"
	}
	fmt.Fprintf(w, "Suite %d, messages of %d bytes, %s; %d CPUs, %s, %s, %d rounds of turns of %.1f s\n%s\n\n", r.Suite, r.Content, tree, r.CPUs, r.System, r.Go, r.Rounds, r.Seconds, strings.Join(r.Subjects, "\n"))
	fmt.Fprintf(w, "%-8s %-8s %-12s %32s %9s %9s %30s %30s\n", "members", "", "", "elapsed (low to high)", "CPU", "bytes", "elapsed by ours (low to high)", "CPU by ours (low to high)")
	for _, x := range r.Results {
		fmt.Fprintf(w, "%-8d %-8s %-12s %32s %9s %9d", x.Members, x.Operation, x.Name,
			fmt.Sprintf("%s (%s to %s)", microseconds(x.Elapsed.Median), microseconds(x.Elapsed.Low), microseconds(x.Elapsed.High)), microseconds(x.CPU.Median), x.Runs[len(x.Runs)-1].Bytes)
		if x.Name != mlsOurs {
			fmt.Fprintf(w, " %30s %30s", times(x.ByOurs), times(x.CPUByOurs))
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w, "\n"+r.Line())
	return err
}

func times(s spread) string { return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Low, s.High) }

// JSON writes the report as one document.
func (r *MLSReport) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
