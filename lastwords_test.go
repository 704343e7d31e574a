package tacet

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// lastwords runs the script of that name, which ends a run of scripts/test.
func lastwords(t *testing.T, log string) string {
	t.Helper()
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("SKIPPED 1 test: awk is not installed")
	}
	c := exec.Command("awk", "-f", "scripts/lastwords")
	c.Stdin = strings.NewReader(log)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestLastWords: of each sort of failure its name and what it said last; and of
// what passed, nothing.
func TestLastWords(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"all is well", `=== RUN   TestGood
    a_test.go:3: got bored
--- PASS: TestGood (0.00s)
=== RUN   TestAway
    a_test.go:9: SKIPPED 1 test: nobody is there
--- SKIP: TestAway (0.00s)
PASS
ok  	example/a	0.01s
?   	example/b	[no test files]
`, ""},
		{"a test, with its last eight lines, and none of another's", `=== RUN   TestLong
    a_test.go:1: 1
    a_test.go:1: 2

    a_test.go:1: 3
=== RUN   TestGood
    a_test.go:2: fine
--- PASS: TestGood (0.00s)
=== NAME  TestLong
    a_test.go:1: 4
    a_test.go:1: 5
    a_test.go:1: 6
    a_test.go:1: 7
    a_test.go:1: 8
    a_test.go:1: 9
--- FAIL: TestLong (0.00s)
FAIL
FAIL	example/a	0.01s
=== RUN   TestLong
    a_test.go:1: of another package
--- PASS: TestLong (0.00s)
ok  	example/b	0.01s
`, `--- TestLong
    a_test.go:1: 2
    a_test.go:1: 3
    a_test.go:1: 4
    a_test.go:1: 5
    a_test.go:1: 6
    a_test.go:1: 7
    a_test.go:1: 8
    a_test.go:1: 9
`},
		{"a script, up to where it stopped", `=== RUN   TestScripts
=== RUN   TestScripts/story
=== PAUSE TestScripts/story
=== CONT  TestScripts/story
    testscript.go:1: # A story. (0.1s)
        > exec tacet status
        [stdout]
        FAIL  address  not of a script
        > exec tacet send
        [stderr]
        error: nobody
        hint: ask
        FAIL: testdata/story.txtar:12: unexpected command failure
        [background] tacet read: exit status 0
        [stdout]
        much
        and
        more
        than
        eight
        lines
--- FAIL: TestScripts (0.00s)
    --- FAIL: TestScripts/story (0.10s)
FAIL
FAIL	example/cmd	0.1s
FAIL
`, `--- TestScripts/story
        [stdout]
        FAIL  address  not of a script
        > exec tacet send
        [stderr]
        error: nobody
        hint: ask
        FAIL: testdata/story.txtar:12: unexpected command failure
        [background] tacet read: exit status 0
`},
		{"what does not build", `# example/a [example/a.test]
./a.go:3:2: undefined: x
ok  	example/b	0.01s
FAIL	example/a [build failed]
FAIL
`, `--- example/a: [build failed]
./a.go:3:2: undefined: x
`},
		{"a panic", `=== RUN   TestBoom
--- FAIL: TestBoom (0.00s)
panic: boom [recovered]
	panic: boom

goroutine 7 [running]:
main.go:1
2
3
4
5
6
FAIL	example/a	0.01s
`, `--- the program
panic: boom [recovered]
	panic: boom
goroutine 7 [running]:
main.go:1
2
3
4
5
--- TestBoom
`},
		{"a race", `=== RUN   TestRace
==================
WARNING: DATA RACE
Read at 0x1 by goroutine 8:
  f()
==================
    testing.go:9: race detected during execution of test
--- FAIL: TestRace (0.00s)
FAIL
FAIL	example/a	0.01s
`, `--- in TestRace
WARNING: DATA RACE
Read at 0x1 by goroutine 8:
  f()
--- TestRace
    testing.go:9: race detected during execution of test
`},
	} {
		if got := lastwords(t, c.log); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestLastWordsAreFew: however much failed, and however long its lines are.
func TestLastWordsAreFew(t *testing.T) {
	var log strings.Builder
	for n := range 100 {
		fmt.Fprintf(&log, "=== RUN   Test%d\n%s--- FAIL: Test%d (0.00s)\n", n, strings.Repeat("    a_test.go:1: "+strings.Repeat("x", 5000)+"\n", 20), n)
	}
	log.WriteString("FAIL\nFAIL\texample/a\t0.01s\n")
	got := lastwords(t, log.String())
	if lines := strings.Count(got, "\n"); lines > 60 || len(got) > 60*210 {
		t.Errorf("got %d lines and %d bytes, want at most 60 lines of some 200", lines, len(got))
	}
	for _, want := range []string{"--- Test0\n", "--- Test10\n", " more\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%.3000s", want, got)
		}
	}
}
