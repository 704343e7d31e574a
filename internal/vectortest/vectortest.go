// Package vectortest finds what tests read from outside their own room: public
// test vectors (Wycheproof, HPKE, ML-KEM and others), which are not part of the
// project, and the byte examples on the pages of docs/spec.
//
// Vectors are looked for in $TACET_VECTORS, else in ../shared/vectors beside
// the module. Where there are none, a test is skipped and says how many vectors
// it did not run. Only tests import this package; it knows nothing of what the
// vectors mean.
package vectortest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Env names the environment variable that points at the folder of vectors.
const Env = "TACET_VECTORS"

// Hex is a byte string that JSON holds as hexadecimal.
type Hex []byte

// UnmarshalText reads hexadecimal.
func (h *Hex) UnmarshalText(b []byte) error {
	out := make([]byte, hex.DecodedLen(len(b)))
	if _, err := hex.Decode(out, b); err != nil {
		return fmt.Errorf("reading hex: %w", err)
	}
	*h = out
	return nil
}

// root returns the folder that holds go.mod, at or above the working directory.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("finding the module root: no go.mod above the working directory")
		}
		dir = up
	}
}

// folder returns where vectors are, and whether that was asked for by name.
func folder() (dir string, named bool, err error) {
	if dir := os.Getenv(Env); dir != "" {
		return dir, true, nil
	}
	top, err := root()
	return filepath.Join(top, "..", "shared", "vectors"), false, err
}

// Read returns the file of that name, a slash-separated path below the folder
// of vectors. Without the folder it skips the test, naming how many vectors
// were left out. A folder that is there but lacks the file is a failure: a
// wrong setting must not look like a pass.
func Read(t testing.TB, name string, vectors int) []byte {
	t.Helper()
	dir, named, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil && !named {
		t.Skipf("SKIPPED %d vectors: %s is not here (set %s)", vectors, name, Env)
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("reading vectors: %v", err)
	}
	return b
}

// Load reads a JSON file of vectors into a T.
func Load[T any](t testing.TB, name string, vectors int) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(Read(t, name, vectors), &v); err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	return v
}

// Wycheproof reads the groups of a Wycheproof file. The number of tests in it
// must be the stated one, so that an update of the vectors is looked at.
func Wycheproof[G any](t testing.TB, file string, tests int) []G {
	t.Helper()
	v := Load[struct {
		NumberOfTests int
		TestGroups    []G
	}](t, "wycheproof/"+file, tests)
	if v.NumberOfTests != tests {
		t.Fatalf("%s: got %d tests, want %d", file, v.NumberOfTests, tests)
	}
	return v.TestGroups
}
