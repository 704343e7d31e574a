package audit

import (
	"fmt"
	"strings"
)

// Text writes the report for people, without its last line.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Audit of %s, version %s\n\n", r.Day, r.Version)
	for _, s := range r.Stores {
		tables := map[string][]string{}
		var order []string
		for _, c := range s.Columns {
			if tables[c.Table] == nil {
				order = append(order, c.Table)
			}
			tables[c.Table] = append(tables[c.Table], c.Column)
		}
		fmt.Fprintf(&b, "%s, in %s\n", s.Store, s.Place)
		for _, t := range order {
			fmt.Fprintf(&b, "  %-9s %6d rows   %s\n", t, s.Rows[t], strings.Join(tables[t], ", "))
		}
		for _, p := range s.Promises {
			state := "kept"
			if p.Late > p.Grace {
				state = "BROKEN"
			}
			fmt.Fprintf(&b, "  %s: %s\n", p.Says, state)
		}
		if len(s.Sizes) > 0 {
			var all []string
			for _, z := range s.Sizes {
				all = append(all, fmt.Sprintf("%d × %d", z.Count, z.Bytes))
			}
			fmt.Fprintf(&b, "  sizes in bytes: %s\n", strings.Join(all, ", "))
		}
		b.WriteByte('\n')
	}
	h := r.Hunted
	searched := fmt.Sprintf("Searched %s bytes in %d files and %s bytes of memory for texts and for whatever names somebody", thousands(h.Bytes), h.Files, thousands(h.Memory))
	if h.Needles > 0 {
		searched += fmt.Sprintf(", and for %s known things in %s forms", thousands(int64(h.Needles)), thousands(int64(h.Forms)))
	}
	searched += fmt.Sprintf(". Planted in a copy, to prove the search: %s; found of these: %s.", thousands(int64(h.Planted)), thousands(int64(h.Found)))
	b.WriteString(strings.Join(fold(searched, 76), "\n") + "\n\n")
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "FINDING  %s: %s: %s\n         hint: %s\n", f.Check, f.Where, f.What, f.Hint)
	}
	if len(r.Findings) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("What this relay can still tell:\n")
	for _, i := range r.Infer {
		for n, l := range fold(i, 76) {
			fmt.Fprintf(&b, "%s%s\n", []string{"- ", "  "}[min(n, 1)], l)
		}
	}
	return b.String()
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// fold breaks a sentence into lines of at most width characters.
func fold(s string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
