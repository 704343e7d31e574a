package audit

import (
	"fmt"
	"strings"
)

// Page writes docs/inventory.md: the inventory for people, with the schemas.
// schemas are SQL by store.
func Page(schemas map[string]string) string {
	var b strings.Builder
	b.WriteString(pageHead)
	tables := Inventory()
	fmt.Fprintf(&b, "## The picture\n\n%s\n", Picture())
	b.WriteString("## Every column\n\n")
	for _, t := range tables {
		fmt.Fprintf(&b, "### %s: %s\n\n%s.\n\n| column | holds | why | stays | can be linked to |\n|---|---|---|---|---|\n", t.Store, t.Name, sentence(t.Why))
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Name, c.Holds, c.Why, c.Stays, c.Links)
		}
		b.WriteString("\n")
	}
	b.WriteString("## What became of eleven tables\n\nA relay that is hosted like this one and has no rooms table still had eleven others. What became of each:\n\n| there | here | because |\n|---|---|---|\n")
	for _, e := range Eleven() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Table, e.Here, e.Why)
	}
	b.WriteString("\n## The schemas\n\n")
	for _, name := range order(tables) {
		if sql := strings.TrimSpace(schemas[name]); sql != "" {
			fmt.Fprintf(&b, "### %s.db\n\n```sql\n%s\n```\n\n", name, sql)
		}
	}
	b.WriteString("## What a relay can still tell\n\n")
	for _, i := range inferences {
		role := ""
		if i.role != "" {
			role = "(role `" + i.role + "`) "
		}
		fmt.Fprintf(&b, "- %s%s\n", role, i.says)
	}
	return b.String()
}

const pageHead = `# What a relay keeps

This page is made of the inventory that ` + "`tacet-relay audit`" + ` checks a live store against: ` + "`tacet-relay audit --inventory`" + ` prints it. A column that is not on it is a finding. What each observer can
learn is in [threat-model.md](threat-model.md), and nothing here promises more than that.

`

// Picture draws the tables of a typical chat server beside those of a relay.
func Picture() string {
	left, right := []string{"A typical chat server, encrypted or not:", ""}, []string{"All that a Tacet relay has:", ""}
	for _, u := range Homeserver() {
		left = append(left, fmt.Sprintf("  %-14s %s", u.Table, u.Holds))
	}
	for _, t := range Inventory() {
		if t.Store == "PostgreSQL" || t.Store == "Redis" { // the same, elsewhere
			continue
		}
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		right = append(right, fmt.Sprintf("  %-8s %s", t.Name, strings.Join(columns, ", ")))
	}
	width := 0
	for _, l := range left {
		width = max(width, len(l))
	}
	var b strings.Builder
	b.WriteString("```text\n")
	for i := range max(len(left), len(right)) {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s   %s", width, l, r), " ") + "\n")
	}
	b.WriteString("```\n")
	return b.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// order returns the names of stores as the inventory has them.
func order(tables []Table) (names []string) {
	for _, t := range tables {
		if len(names) == 0 || names[len(names)-1] != t.Store {
			names = append(names, t.Store)
		}
	}
	return names
}
