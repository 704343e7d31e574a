// Package audit says what a relay keeps, and checks it: every table and column
// of its stores against a committed inventory, the oldest row against every
// promise of deletion, and all bytes that were kept or said against texts and
// identifiers that must not be there. It proves of its own search that it would
// have found what it looked for.
//
// It reads; it changes nothing. It does not know how to open a message, and what
// it tells is for the operator: docs/inventory.md is made of the same tables.
//
// Spec: docs/inventory.md; what may be kept at all is docs/threat-model.md.
package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Facts is what a store says of itself, asked by the relay that runs it.
type Facts struct {
	Store    string           `json:"store"` // as the inventory names it
	Place    string           `json:"place"` // memory, a file's name, or the program that keeps it
	Schema   string           `json:"schema,omitempty"`
	Columns  []Place          `json:"columns"`
	Rows     map[string]int64 `json:"rows"` // by table
	Promises []Promise        `json:"promises"`
	Sizes    []Size           `json:"sizes,omitempty"` // of what is stored
	Trouble  string           `json:"trouble,omitempty"`
}

// Place is one column of one table, or one part of one sort of key.
type Place struct {
	Table  string `json:"table"`
	Column string `json:"column"`
}

// Promise is what a store says of the oldest rows of one sort: how long they are
// past their end.
type Promise struct {
	Says  string        `json:"says"`  // what was promised
	Rows  int64         `json:"rows"`  // that are past their end at all
	Late  time.Duration `json:"late"`  // of the oldest of them
	Grace time.Duration `json:"grace"` // that the promise allows
}

// Size counts stored things of one size in bytes.
type Size struct {
	Bytes int64 `json:"bytes"`
	Count int64 `json:"count"`
}

// Finding is something that is not as it was promised.
type Finding struct {
	Check string `json:"check"` // inventory, names, promises, sizes, hunt or control
	Where string `json:"where"`
	What  string `json:"what"`
	Hint  string `json:"hint"`
}

func (f Finding) String() string { return f.Where + ": " + f.What }

// Report is the outcome. It has a day and no time, so that it can be shown.
type Report struct {
	Version  string    `json:"version"` // of the program
	Day      string    `json:"day"`     // UTC
	Facts    int       `json:"facts"`   // that were checked
	Findings []Finding `json:"findings"`
	Stores   []Facts   `json:"stores"`
	Hunted   Hunted    `json:"hunted"`
	Infer    []string  `json:"infer"` // what a relay can still tell, in words
}

// Line is the last line of an audit.
func (r *Report) Line() string {
	control := "control found"
	switch {
	case r.Hunted.Planted == 0:
		control = "no control"
	case r.Hunted.Found != r.Hunted.Planted:
		control = "control NOT found"
	}
	return fmt.Sprintf("audit: %d facts checked, %d findings, %s", r.Facts, len(r.Findings), control)
}

// OK reports whether nothing was found and the search proved itself.
func (r *Report) OK() bool {
	return len(r.Findings) == 0 && r.Hunted.Planted > 0 && r.Hunted.Found == r.Hunted.Planted
}

// find notes a finding.
func (r *Report) find(check, where, what, hint string) {
	r.Findings = append(r.Findings, Finding{check, where, what, hint})
}

// Check holds stores against the inventory, names and promises.
func (r *Report) Check(stores []Facts) {
	for i := range stores {
		f := &stores[i]
		r.Stores = append(r.Stores, *f)
		if f.Trouble != "" {
			r.find("inventory", f.Store, "it could not be asked: "+f.Trouble, "run `tacet-relay doctor`")
			continue
		}
		r.listed(f)
		r.names(f)
		r.promises(f)
		r.sizes(f)
	}
}

// listed holds what a store has against what the inventory explains, both ways.
func (r *Report) listed(f *Facts) {
	explained := map[Place]bool{}
	for _, t := range Inventory() {
		if t.Store != f.Store {
			continue
		}
		for _, c := range t.Columns {
			explained[Place{t.Name, c.Name}] = true
		}
	}
	for _, p := range f.Columns {
		r.Facts++
		if !explained[p] {
			r.find("inventory", f.Store, fmt.Sprintf("column %s.%s is in no inventory", p.Table, p.Column),
				"somebody changed the store, or this program is older than it: docs/inventory.md explains every column there may be")
		}
		delete(explained, p)
	}
	var missing []string
	for p := range explained {
		missing = append(missing, p.Table+"."+p.Column)
	}
	slices.Sort(missing)
	for _, m := range missing {
		r.Facts++
		r.find("inventory", f.Store, "column "+m+" is missing", "the store is damaged, or the inventory is out of date")
	}
}

// Words that no table and no column may have in its name: each would say that
// the relay knows what it must not.
var words = []string{"conversation", "room", "message", "group", "user", "contact", "sender"}

// names looks for words in names that must not be there.
func (r *Report) names(f *Facts) {
	for _, p := range f.Columns {
		r.Facts++
		name := strings.ToLower(p.Table + "." + p.Column)
		for _, w := range words {
			if strings.Contains(name, w) {
				r.find("names", f.Store, fmt.Sprintf("%s has %q in its name", name, w), "a relay must not know what this names")
			}
		}
	}
}

// promises looks at the oldest rows.
func (r *Report) promises(f *Facts) {
	for _, p := range f.Promises {
		r.Facts++
		if p.Late > p.Grace {
			r.find("promises", f.Store, fmt.Sprintf("%s: %d rows are past it, the oldest by %s", p.Says, p.Rows, span(p.Late)),
				"is the relay running, and the clock right? it sweeps at its start and every five minutes")
		}
	}
}

// sizes looks for what is stored in a size of its own, which could tell it apart.
func (r *Report) sizes(f *Facts) {
	allowed := classes(f.Store)
	for _, s := range f.Sizes {
		r.Facts++
		if !slices.Contains(allowed, s.Bytes) {
			r.find("sizes", f.Store, fmt.Sprintf("%d stored with %d bytes, which is none of the sizes there are", s.Count, s.Bytes), "the store is damaged, or was written by something else")
		}
	}
}

// span writes a duration in words that round.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
