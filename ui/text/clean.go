// Package text holds the words and formats that the faces of the client share:
// states, times, names, numbers, errors, QR codes, progress. What other people
// wrote is cleaned here before anybody sees it.
//
// It asks nobody and keeps nothing: values in, strings out.
package text

import (
	"strings"
	"unicode"
)

const (
	// maxMarks bounds the marks on one letter: more of them climb over the
	// lines around. The scripts in use need four.
	maxMarks = 6
	// markBase carries a mark that has no letter of its own.
	markBase = '\u25cc'
)

// breaks are the characters that end a line, as one.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Line makes text of other people fit to be shown on one line: no control
// characters (they move the cursor or begin an escape sequence), no characters
// that turn text around or that nobody sees, no line breaks.
func Line(s string) string {
	return strings.Join(strings.Fields(strings.Join(Lines(s), " ")), " ")
}

// Lines does the same for text of several lines, and keeps them apart. Blank
// lines at the end are dropped; there is always one line.
func Lines(s string) []string {
	lines := strings.Split(breaks.Replace(strings.ToValidUTF8(s, "\ufffd")), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRightFunc(clean(l), unicode.IsSpace)
	}
	for len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// clean cleans what has no line breaks.
func clean(s string) string {
	var b strings.Builder
	marks, based := 0, false
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString("    ")
			marks, based = 0, false
		case unseen(r):
		case unicode.In(r, unicode.Mn, unicode.Me):
			if !based {
				b.WriteRune(markBase)
				based = true
			}
			if marks++; marks <= maxMarks {
				b.WriteRune(r)
			}
		case unicode.IsSpace(r):
			b.WriteByte(' ')
			marks, based = 0, false
		default:
			b.WriteRune(r)
			marks, based = 0, true
		}
	}
	return b.String()
}

// unseen reports whether a character has no business in what people read:
// control characters, those that turn text around, those that show nothing.
// Joiners stay, since scripts and emoji are written with them.
func unseen(r rune) bool {
	switch {
	case r == '\u200c', r == '\u200d', unicode.Is(unicode.Variation_Selector, r):
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // signs of Arabic and Syriac that are seen
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point)
}

// EscapeJSON escapes, inside encoded JSON, what a terminal would act on or a
// person would not see. The value stays the same.
func EscapeJSON(encoded []byte) []byte {
	const hex = "0123456789abcdef"
	unit := func(b []byte, u rune) []byte {
		return append(b, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	out := make([]byte, 0, len(encoded))
	for _, r := range string(encoded) {
		switch {
		case r < 0x7f, !unseen(r) && r != '\u2028' && r != '\u2029':
			out = append(out, string(r)...)
		case r > 0xffff:
			r -= 0x10000
			out = unit(unit(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			out = unit(out, r)
		}
	}
	return out
}

// Name shows a name inside a line: in quotes if it could be taken for
// something else there, such as the end of the name or a message.
func Name(s string) string {
	s = Line(s)
	if strings.Trim(s, "\u2800\u200c\u200d ") == "" {
		return `"someone"`
	}
	if !strings.ContainsAny(s, `:"#()|→`) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, "'") + `"`
}

// Arg shows a name as an argument of a command, in the quotes that a shell
// wants.
func Arg(s string) string {
	s = Line(s)
	plain := func(r rune) bool {
		return r > 0x7f || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-'
	}
	if s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
