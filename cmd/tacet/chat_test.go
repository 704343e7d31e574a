package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/client"
)

func TestLinesFindTheirAddressee(t *testing.T) {
	people := []client.Contact{{ID: 1, Name: "Bob"}, {ID: 2, Name: "Bob Miller"}, {ID: 3, Name: "zoë"}, {ID: 4, Name: "x: y"}, {ID: 5, Name: "漢字"}, {ID: 6, Name: "both"}}
	all := []partner{groupOf(client.Group{ID: 1, Name: "walkers"}), groupOf(client.Group{ID: 2, Name: "Both"})}
	for _, c := range people {
		all = append(all, personOf(c))
	}
	for _, c := range []struct {
		line string
		id   int64
		rest string
	}{
		{"Bob hi", 1, "hi"},
		{"walkers hi", -1, "hi"},
		{"#g1 hi", -1, "hi"},
		{"both hi", 0, "hi"}, // a person and a group
		{"group:Both hi", -2, "hi"},
		{"person:both, hi", 6, "hi"},
		{"bob", 1, ""},
		{"BOB: hi", 1, "hi"},
		{"Bob, hi", 1, "hi"},
		{"Bob Miller hi there", 2, "hi there"},
		{"bob miller", 2, ""},
		{"Bob Mill", 1, "Mill"},
		{"Bobby hi", 0, ""},
		{"ZOË   hi", 3, "hi"},
		{`"x: y" hi`, 4, "hi"},
		{"漢字 hi", 5, "hi"},
		{"#2 hi", 2, "hi"},
		{"#22 hi", 0, ""},
		{"", 0, ""},
		{" Bob", 0, ""},
		{"\xff", 0, ""},
	} {
		got, rest, ok := addressee(all, c.line)
		if ok != (c.id != 0 || strings.HasPrefix(c.line, "both")) || got.talk != c.id || ok && rest != c.rest {
			t.Errorf("%q: got conversation %d and %q, want %d and %q", c.line, got.talk, rest, c.id, c.rest)
		}
	}
}

func FuzzAddressee(f *testing.F) {
	f.Add("Bob hi", "Bob")
	f.Add("\xe6\xbc", "\xe6\xbc\xa2")
	f.Fuzz(func(t *testing.T, line, name string) {
		_, rest, ok := addressee([]partner{personOf(client.Contact{ID: 1, Name: name})}, line)
		if ok && !strings.HasSuffix(strings.TrimSpace(line), rest) {
			t.Errorf("line %q, name %q: got rest %q, which is not its end", line, name, rest)
		}
	})
}

func TestLongLinesAreCutAndNothingIsLost(t *testing.T) {
	in := strings.Repeat("x", 3*maxTyped+10) + "\r\nshort\nend"
	r := bufio.NewReader(strings.NewReader(in))
	var got []string
	for {
		l, err := readLine(r)
		if l != "" {
			got = append(got, l)
		}
		if err != nil {
			break
		}
	}
	if all := strings.Join(got, ""); all != strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", ""), "\n", "") {
		t.Errorf("got %d bytes, want %d", len(all), len(in)-3)
	}
	for _, l := range got {
		if len(l) > maxTyped+4096 {
			t.Errorf("got a line of %d bytes, want at most about %d", len(l), maxTyped)
		}
	}
	if got[len(got)-2] != "short" || got[len(got)-1] != "end" {
		t.Errorf("got %q at the end, want the short lines", got[len(got)-2:])
	}
}
