package text

import "strings"

// quiet is the margin around a code, in modules. The standard says four; every
// reader takes two, and the code of an invite then fits 24 lines.
const quiet = 2

// QR draws a code in half blocks, two modules a character. dark tells whether
// the module in column x of row y is dark. With colour the polarity is set;
// without it the terminal is taken to be light on dark.
func QR(size int, dark func(x, y int) bool, s Style) string {
	light := func(x, y int) bool {
		x, y = x-quiet, y-quiet
		return x < 0 || y < 0 || x >= size || y >= size || !dark(x, y)
	}
	var b strings.Builder
	for y := 0; y < size+2*quiet; y += 2 {
		if s.On {
			b.WriteString("\x1b[97;40m") // white on black
		}
		for x := range size + 2*quiet {
			up, down := light(x, y), light(x, y+1) && y+1 < size+2*quiet
			switch {
			case up && down:
				b.WriteRune('█')
			case up:
				b.WriteRune('▀')
			case down:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		if s.On {
			b.WriteString("\x1b[0m")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
