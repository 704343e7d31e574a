package tacet

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// citation is how code points at the specification.
var citation = regexp.MustCompile(`(?:spec: |docs/spec/)([a-z0-9-]+\.md)#([a-z0-9-]+)`)

// TestCitations checks that every heading that code points at exists.
func TestCitations(t *testing.T) {
	anchors := map[string]map[string]bool{}
	cited := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || path == "citations_test.go" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range citation.FindAllStringSubmatch(string(src), -1) {
			cited++
			page, anchor := m[1], m[2]
			if anchors[page] == nil {
				anchors[page] = headings(t, page)
			}
			if !anchors[page][anchor] {
				t.Errorf("%s points at docs/spec/%s#%s, which does not exist", path, page, anchor)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited == 0 {
		t.Error("found no citation at all: the test looks for the wrong thing")
	}
}

var notAnchor = regexp.MustCompile(`[^a-z0-9 -]+`)

// headings returns the anchors of a page, as a reader of Markdown makes them.
func headings(t *testing.T, page string) map[string]bool {
	src, err := os.ReadFile(filepath.Join("docs", "spec", page))
	if err != nil {
		t.Errorf("docs/spec/%s is cited: %v", page, err)
	}
	a := map[string]bool{}
	for line := range strings.Lines(string(src)) {
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			h = notAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(h)), "")
			a[strings.ReplaceAll(h, " ", "-")] = true
		}
	}
	return a
}

// TestLinks checks that every relative link in our pages leads somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(src), -1) {
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("found no link at all: the test looks for the wrong thing")
	}
}

// TestThreatModelNamesTests checks that every test that a claim rests on exists.
func TestThreatModelNamesTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]+(…?)`).FindAllSubmatch(page, -1)
	if len(named) < 10 {
		t.Errorf("found %d tests named on the page: the test looks for the wrong thing", len(named))
	}
	for _, m := range named {
		name, many := strings.CutSuffix(string(m[0]), "…")
		found := have[name]
		for n := range have {
			found = found || many && strings.HasPrefix(n, name)
		}
		if !found {
			t.Errorf("docs/threat-model.md rests on %s, which does not exist", m[0])
		}
	}
}
