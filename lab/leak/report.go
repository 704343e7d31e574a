package leak

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Report is everything that was measured.
type Report struct {
	Setting Setting  `json:"setting"`
	Rows    []Row    `json:"rows"`
	Attacks int      `json:"attacks"`
	Power   []string `json:"power"`             // attacks that broke every naive client they have to
	Weak    []string `json:"weak,omitempty"`    // attacks that did not, and which client
	Outside []string `json:"outside,omitempty"` // what lies above its baseline, in words
	Known   bool     `json:"baseline"`          // there is a baseline for the setting
}

const (
	// broken is the score from which a naive client counts as broken.
	broken = 0.8
	// tolerance is how far the floor of a score may lie above the
	// baseline, and above guessing where guessing is the aim.
	tolerance = 0.03
	// enough is how many guesses a figure needs to be held against anything: the
	// interval of fewer says little.
	enough = 100
)

//go:embed baseline.json
var baselines []byte

// Baseline is what a setting gave when it was last looked at.
type Baseline struct {
	Setting Setting            `json:"setting"`
	Scores  map[string]float64 `json:"scores"`
}

// NewReport sorts rows, judges the power of the attacks and compares with a
// baseline among those in text; nil stands for the ones that are built in.
func NewReport(s Setting, rows []Row, text []byte) (*Report, error) {
	if text == nil {
		text = baselines
	}
	var known []Baseline
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("reading the baseline: %w", err)
	}
	r := &Report{Setting: s, Rows: rows, Attacks: len(breakers)}
	for _, attack := range []string{Linking, Pairing, Presence, FanOuts} {
		r.judge(attack)
	}
	for _, b := range known {
		if b.Setting == s {
			r.Known = true
			r.compare(b)
		}
	}
	return r, nil
}

// judge says whether an attack broke the naive clients it has to.
func (r *Report) judge(attack string) {
	var missed []string
	for _, naive := range breakers[attack] {
		caught := false
		for _, row := range r.Rows {
			if row.Attack == attack && row.Naive == naive && row.Score.Score >= broken && row.By != "contact" {
				caught = true
			}
		}
		for _, row := range r.Rows { // everybody who asks has to be answered
			if attack == Presence && row.Attack == attack && row.Naive == naive && row.Score.Score < broken {
				caught = false
			}
		}
		if !caught {
			missed = append(missed, fmt.Sprintf("%s: a client that %s was not caught", attack, naive))
		}
	}
	if len(missed) == 0 {
		r.Power = append(r.Power, attack)
	}
	r.Weak = append(r.Weak, missed...)
}

// atChance lists the rows that must lie at guessing whatever the baseline says.
func (r *Row) atChance() bool {
	switch {
	case r.Naive != "":
		return false
	case r.Attack == Linking:
		return (r.Position == Proxied || r.Position == ProxySeized) && r.By != "everything, loss of network near"
	case r.Attack == Presence:
		return r.By != "contact"
	}
	return r.Position == ProxySeized
}

// compare holds the rows against a baseline. More is worse: a score that fell is
// no complaint. The floor is compared, since two runs of one seed differ:
// randomness inside the clients is real.
func (r *Report) compare(b Baseline) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Naive != "" || row.Trials < enough {
			continue
		}
		was, ok := b.Scores[row.key()]
		switch {
		case !ok:
			r.Outside = append(r.Outside, row.key()+": is not in the baseline")
		case row.Floor > was+tolerance:
			r.Outside = append(r.Outside, fmt.Sprintf("%s: %.3f (%.3f–%.3f), the baseline is %.3f", row.key(), row.Score.Score, row.Low, row.High, was))
		case row.atChance() && row.Floor > row.Chance+tolerance:
			r.Outside = append(r.Outside, fmt.Sprintf("%s: %.3f (%.3f–%.3f), guessing gives %.3f", row.key(), row.Score.Score, row.Low, row.High, row.Chance))
		}
	}
}

// Baseline returns the report's own figures as a baseline.
func (r *Report) Baseline() Baseline {
	b := Baseline{r.Setting, map[string]float64{}}
	for _, row := range r.Rows {
		if row.Naive == "" && row.Trials >= enough {
			b.Scores[row.key()] = float64(int(row.Score.Score*1000+0.5)) / 1000
		}
	}
	return b
}

// Good reports whether every attack has power and nothing lies above the baseline.
func (r *Report) Good() bool { return len(r.Power) == r.Attacks && r.Known && len(r.Outside) == 0 }

// Last is the report in one line.
func (r *Report) Last() string {
	where := "no baseline for this setting"
	if r.Known {
		where = "within baseline"
		if len(r.Outside) > 0 {
			where = "OUTSIDE BASELINE"
		}
	}
	return fmt.Sprintf("leak: %d attacks, %d with power, %s", r.Attacks, len(r.Power), where)
}

// Write prints the table. Its last line is Last.
func (r *Report) Write(w io.Writer) error {
	fmt.Fprintf(w, "%d people, %d hours, seed %d. Scores are shares of right guesses; the interval is of 95 %%.\n\n", r.Setting.People, r.Setting.Hours, r.Setting.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "attack\tobserver\tby\tscore\tguessing\tinterval\tguesses")
	rows := slices.Clone(r.Rows)
	order := []string{Linking, Pairing, Presence, FanOuts}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if (a.Naive == "") != (b.Naive == "") {
			if a.Naive == "" {
				return -1
			}
			return 1
		}
		return slices.Index(order, a.Attack) - slices.Index(order, b.Attack)
	})
	planted := false
	for _, row := range rows {
		if row.Naive != "" && !planted {
			planted = true
			fmt.Fprintln(t, "\t\t\t\t\t\t\nnaive client\t\t\t\t\t\t")
		}
		at := row.Position
		if row.Naive != "" {
			at = row.Naive
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%.3f\t%.3f–%.3f\t%d\n", row.Attack, at, row.By, row.Score.Score, row.Chance, row.Low, row.High, row.Trials)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, s := range append(slices.Clone(r.Weak), r.Outside...) {
		fmt.Fprintln(w, s)
	}
	_, err := fmt.Fprintln(w, r.Last())
	return err
}
