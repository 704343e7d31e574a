package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns of a terminal a cleaned string takes. It is
// exact for what terminals agree on: letters, CJK, single emoji, marks.
func Width(s string) (n int) {
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// Table writes rows in columns, two blanks apart. Nothing follows the last
// column, and columns that are empty in all rows are left out.
func Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		pad := 0
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			if cell != "" {
				b.WriteString(strings.Repeat(" ", pad) + cell)
				pad = -Width(cell)
			}
			pad += widths[i] + 2
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Rows are the rows of a table for a label and a text that may need several
// lines of at most columns columns.
func Rows(label, s string, columns int) (rows [][]string) {
	for _, l := range Wrap(s, columns) {
		rows = append(rows, []string{label, l})
		label = ""
	}
	return rows
}

// Wrap breaks a text into lines of at most columns columns, at blanks.
func Wrap(s string, columns int) []string {
	var lines []string
	line, n := "", 0
	for _, w := range strings.Fields(s) {
		if ww := Width(w); n == 0 {
			line, n = w, ww
		} else if n+1+ww <= columns {
			line, n = line+" "+w, n+1+ww
		} else {
			lines, line, n = append(lines, line), w, ww
		}
	}
	return append(lines, line)
}
