package text

import "testing"

func TestWidth(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{{"", 0}, {"abc", 3}, {"é", 1}, {"e\u0301", 1}, {"漢字", 4}, {"👍", 2}, {"ｶ", 1}, {"Ａ", 2}} {
		if got := Width(c.in); got != c.want {
			t.Errorf("Width(%q): got %d, want %d", c.in, got, c.want)
		}
	}
}

func TestWrapKeepsWithin(t *testing.T) {
	lines := Wrap("this relay's operator could see which network addresses talk", 24)
	for _, l := range lines {
		if Width(l) > 24 {
			t.Errorf("got a line of %d columns: %q", Width(l), l)
		}
	}
	if got := len(lines); got != 3 {
		t.Errorf("got %d lines %q, want 3", got, lines)
	}
}
