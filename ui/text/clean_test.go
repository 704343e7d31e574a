package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestHostileTextIsCleaned(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "hello, wörld", "hello, wörld"},
		{"escape sequence", "\x1b[2J\x1b]0;title\x07hi", "[2J]0;titlehi"},
		{"one-byte CSI", "a\u009b31mb", "a31mb"},
		{"nul and delete", "a\x00b\x7fc", "abc"},
		{"carriage return over the line", "bob: pay\rnobody: no", "bob: pay nobody: no"},
		{"backspace", "ab\b\bcd", "abcd"},
		{"bidi override", "abc\u202edef\u202c", "abcdef"},
		{"bidi isolate", "\u2066abc\u2069", "abc"},
		{"right-to-left mark", "a\u200fb", "ab"},
		{"zero-width space", "a\u200bb\ufeffc", "abc"},
		{"tag characters", "a\U000e0041\U000e007fb", "ab"},
		{"hangul filler", "a\u3164b", "ab"},
		{"soft hyphen", "a\u00adb", "ab"},
		{"line separator", "a\u2028b\u2029c", "a b c"},
		{"next line", "a\u0085b", "a b"},
		{"invalid bytes", "a\xff\xfeb", "a\ufffdb"},
		{"surrogate in bytes", "a\xed\xa0\x80b", "a\ufffdb"},
		{"noncharacter", "a\ufffeb\U0001ffffc", "abc"},
		{"emoji with joiner", "👩\u200d💻 ❤\ufe0f", "👩\u200d💻 ❤\ufe0f"},
		{"persian joiner", "می\u200cخواهم", "می\u200cخواهم"},
		{"arabic number sign", "\u0600١٢", "\u0600١٢"},
		{"marks in use", "กี่ é", "กี่ é"},
		{"stacked marks", "a" + strings.Repeat("\u0301", 40) + "b", "a" + strings.Repeat("\u0301", maxMarks) + "b"},
		{"mark without a letter", "\u0301x", "\u25cc\u0301x"},
		{"blanks", "  a \t b\u00a0\u3000c ", "a b c"},
		{"nothing", "", ""},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinesStayApart(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"one", []string{"one"}},
		{"", []string{""}},
		{"\n\n", []string{""}},
		{"a\r\nb\rc\vd", []string{"a", "b", "c", "d"}},
		{"a  \n\n  b\n\n\n", []string{"a", "", "  b"}},
		{"\tindented", []string{"    indented"}},
		{"a\x1b[1A\nb", []string{"a[1A", "b"}},
	} {
		if got := Lines(c.in); strings.Join(got, "\n") != strings.Join(c.want, "\n") || len(got) != len(c.want) {
			t.Errorf("Lines(%q): got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNamesCannotPassForOtherThings(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"bob", "bob"},
		{"Bob Miller", "Bob Miller"},
		{"Zoë-Ann O'Hara 2", "Zoë-Ann O'Hara 2"},
		{"bob: hi", `"bob: hi"`},
		{`x" (on their device)`, `"x' (on their device)"`},
		{"#3", `"#3"`},
		{"a\nb", "a b"},
		{"\u202eevil", "evil"},
		{"", `"someone"`},
		{"\u2800\u2800", `"someone"`},
		{"\u200d", `"someone"`},
	} {
		if got := Name(c.in); got != c.want {
			t.Errorf("Name(%q): got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestArgumentsSurviveAShell(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"bob", "bob"}, {"Zoë", "Zoë"}, {"Bob Miller", "'Bob Miller'"}, {"O'Hara", `'O'\''Hara'`}, {"$(rm)", "'$(rm)'"}, {"-x", "'-x'"}, {"", "''"},
		{"a`b`", "'a`b`'"}, {"a\nb", "'a b'"}, {"#1", "'#1'"},
	} {
		if got := Arg(c.in); got != c.want {
			t.Errorf("Arg(%q): got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestJSONIsSafeToLookAt(t *testing.T) {
	for _, s := range []string{"plain", "ü 漢 👍", "a\u009b31m", "x\u202ey", "t\U000e0041u", "n\u2028l", "\u0000\x1b\x7f", "</script>&"} {
		raw, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		safe := EscapeJSON(raw)
		for _, r := range string(safe) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("EscapeJSON of %q: got %q, want no %U", s, safe, r)
			}
		}
		var back map[string]string
		if err := json.Unmarshal(safe, &back); err != nil || back["text"] != s {
			t.Errorf("EscapeJSON of %q: read back %q, %v, want the same", s, back["text"], err)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a", "a\u0301\u202e\x1b[0m\r\n\tb", "\xff", "\U000e0041", "می\u200cخواهم"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one := Line(s)
		if again := Line(one); again != one {
			t.Errorf("cleaning %q twice: got %q, then %q", s, one, again)
		}
		for _, l := range append(Lines(s), one, Name(s)) {
			for _, r := range l {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
					t.Errorf("cleaning %q: got %q with %U", s, l, r)
				}
			}
		}
		if raw, err := json.Marshal(s); err == nil {
			var back string
			if err := json.Unmarshal(EscapeJSON(raw), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && !strings.ContainsRune(back, '\ufffd') {
				t.Errorf("escaping %q: got %q, %v", raw, back, err)
			}
		}
	})
}
