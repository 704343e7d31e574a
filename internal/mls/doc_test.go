package mls

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMapNamesEveryFile holds the map in the package comment against the folder: who
// reads with the RFC beside them finds every file by its section, and no other.
func TestMapNamesEveryFile(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(doc), "\n// What it does not do")
	named := regexp.MustCompile(`[a-z]+\.go`).FindAllString(comment, -1)
	slices.Sort(named)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, e := range entries {
		if n := e.Name(); strings.HasSuffix(n, ".go") && !strings.HasSuffix(n, "_test.go") && n != "doc.go" {
			there = append(there, n)
		}
	}
	if !slices.Equal(named, there) {
		t.Errorf("got a map of\n%v\nwant\n%v", named, there)
	}
}
