package vectortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// verdict records what was said to a test without ending this one.
type verdict struct {
	testing.TB
	skipped, failed string
}

func (v *verdict) Helper() {}
func (v *verdict) Skipf(f string, a ...any) {
	v.skipped = fmt.Sprintf(f, a...)
	runtime.Goexit()
}
func (v *verdict) Fatalf(f string, a ...any) {
	v.failed = fmt.Sprintf(f, a...)
	runtime.Goexit()
}
func (v *verdict) Fatal(a ...any) {
	v.failed = fmt.Sprint(a...)
	runtime.Goexit()
}

// judge runs f to the end or to its verdict.
func judge(f func(testing.TB)) *verdict {
	v := new(verdict)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(v)
	}()
	<-done
	return v
}

func TestMissingFolderSkipsWithTheCount(t *testing.T) {
	t.Setenv(Env, "")
	lone := t.TempDir()
	if err := os.WriteFile(filepath.Join(lone, "go.mod"), []byte("module lone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(lone)
	v := judge(func(t testing.TB) { Read(t, "wycheproof/none.json", 42) })
	if !strings.HasPrefix(v.skipped, "SKIPPED 42 vectors: ") || v.failed != "" {
		t.Errorf("got skip %q, failure %q, want a skip that counts 42", v.skipped, v.failed)
	}
}

func TestNamedFolderWithoutTheFileFails(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		t.Setenv(Env, dir)
		v := judge(func(t testing.TB) { Read(t, "none.json", 1) })
		if v.failed == "" || v.skipped != "" {
			t.Errorf("got skip %q, failure %q, want a failure", v.skipped, v.failed)
		}
	}
}

func TestChangedNumberOfVectorsFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	if err := os.Mkdir(filepath.Join(dir, "wycheproof"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := []byte(`{"numberOfTests": 3, "testGroups": [{"key": "00ff"}]}`)
	if err := os.WriteFile(filepath.Join(dir, "wycheproof", "x.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	type group struct{ Key Hex }
	if g := Wycheproof[group](t, "x.json", 3); len(g) != 1 || !bytes.Equal(g[0].Key, []byte{0, 0xff}) {
		t.Errorf("got %v, want one group with key 00ff", g)
	}
	if v := judge(func(t testing.TB) { Wycheproof[group](t, "x.json", 4) }); v.failed == "" {
		t.Error("got no failure for another number of tests, want one")
	}
}

func TestHexRefusesWhatIsNoHex(t *testing.T) {
	for _, s := range []string{`"0"`, `"0g"`, `7`} {
		var h Hex
		if err := json.Unmarshal([]byte(s), &h); err == nil {
			t.Errorf("%s: got %x, want an error", s, h)
		}
	}
}

func TestExampleIsFoundByName(t *testing.T) {
	page := "text\n<!-- example: a -->\n```hex\n00 01\n02\n```\n<!-- example: b -->\n```hex\nzz\n```\n"
	if got, err := example(page, "a"); err != nil || !bytes.Equal(got, []byte{0, 1, 2}) {
		t.Errorf("got %x, %v, want 000102", got, err)
	}
	for _, name := range []string{"b", "c", ""} {
		if got, err := example(page, name); err == nil {
			t.Errorf("example %q: got %x, want an error", name, got)
		}
	}
}
