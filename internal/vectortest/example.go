package vectortest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Example returns the bytes of a named example on a page of docs/spec: the
// fenced hex block after the line <!-- example: name -->. White space in the
// block does not count.
func Example(t testing.TB, page, name string) []byte {
	t.Helper()
	top, err := root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(top, "docs", "spec", page))
	if err != nil {
		t.Fatalf("reading spec: %v", err)
	}
	b, err := example(string(text), name)
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return b
}

func example(text, name string) ([]byte, error) {
	_, rest, ok := strings.Cut(text, "<!-- example: "+name+" -->\n```hex\n")
	if !ok {
		return nil, fmt.Errorf("there is no example %q", name)
	}
	block, _, ok := strings.Cut(rest, "\n```")
	if !ok {
		return nil, fmt.Errorf("example %q does not end", name)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(block), ""))
	if err != nil {
		return nil, fmt.Errorf("reading example %q: %w", name, err)
	}
	return b, nil
}
