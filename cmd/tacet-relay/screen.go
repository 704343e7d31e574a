package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/tacet-chat/tacet/relay"
)

// columns is how wide a screen is taken to be.
const columns = 80

// onScreen reports whether somebody reads what is written to w, and not a program.
func onScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// checkLines is one check: one line for a program, for people as many as it
// takes, with what is to be done below.
func checkLines(c relay.Check, screen bool) string {
	const margin = 22
	if !screen {
		s := fmt.Sprintf("%-4s  %-14s  %s", c.Level, c.Name, c.Says)
		if c.Hint != "" {
			s += " (hint: " + c.Hint + ")"
		}
		return s + "\n"
	}
	s := fmt.Sprintf("%-4s  %-14s  %s\n", c.Level, c.Name, wrap(c.Says, margin))
	if c.Hint != "" {
		s += fmt.Sprintf("%*s-> %s\n", margin, "", wrap(c.Hint, margin+3))
	}
	return s
}

// wrap breaks a text that begins at a column into lines that begin there, too.
// A word that is too long stands out, so that it can be copied.
func wrap(text string, margin int) string {
	var b strings.Builder
	at := margin
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case at+1+n > columns:
			fmt.Fprintf(&b, "\n%*s", margin, "")
			at = margin
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
