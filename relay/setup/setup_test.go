package setup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/relay"
)

func unit(t *testing.T, config string) string {
	t.Helper()
	cfg, err := relay.ParseConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	u, err := Unit("/usr/local/bin/tacet-relay", SystemConfig, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestTheRecipeIsTheUnit(t *testing.T) {
	b, err := os.ReadFile("../../docs/recipes/systemd/tacet-relay.service")
	if err != nil {
		t.Fatal(err)
	}
	if got := unit(t, "listen = \":443\"\ndata = \"/var/lib/tacet-relay\""); got != string(b) {
		t.Errorf("got a unit that is not docs/recipes/systemd:\n%s", got)
	}
}

func TestTheUnitGivesNoMoreThanIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		config      string
		has, hasNot []string
	}{
		"443":          {"listen = \":443\"", []string{"AmbientCapabilities=CAP_NET_BIND_SERVICE"}, []string{"PrivateUsers"}},
		"7117":         {"listen = \":7117\"", []string{"CapabilityBoundingSet=\n", "PrivateUsers=yes"}, []string{"Ambient"}},
		"port 80, too": {"listen = \":7117\"\ndomain = \"relay.example\"\ndata = \"/var/lib/x\"", []string{"AmbientCapabilities="}, nil},
		"own folder":   {"data = \"/srv/realm\"", []string{"ReadWritePaths=/srv/realm\n"}, []string{"StateDirectory="}},
		"other state":  {"data = \"/var/lib/realm\"", []string{"StateDirectory=realm\n", "StateDirectoryMode=0700"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := unit(t, c.config)
			for _, s := range c.has {
				if !strings.Contains(u, s) {
					t.Errorf("got no %q in\n%s", s, u)
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(u, s) {
					t.Errorf("got %q in\n%s", s, u)
				}
			}
			judge(t, u)
		})
	}
}

// judge has systemd read a unit and say how exposed it leaves the relay.
func judge(t *testing.T, text string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED 1 test: systemd-analyze is not here (Debian: systemd)")
	}
	file := filepath.Join(t.TempDir(), "tacet-relay.service")
	text = strings.Replace(text, "ExecStart=/usr/local/bin/tacet-relay", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || strings.Contains(string(out), "tacet-relay.service") {
		t.Errorf("got %v from systemd-analyze verify:\n%s", err, out)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", file).CombinedOutput()
	m := regexp.MustCompile(`exposure level for tacet-relay.service: ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		t.Skipf("SKIPPED 1 test: this systemd-analyze does not judge files: %v", err)
	}
	if level, err := strconv.ParseFloat(string(m[1]), 64); err != nil || level > 2 {
		t.Errorf("got an exposure of %s, want at most 2.0 of 10", m[1])
	}
	t.Logf("systemd-analyze security: %s of 10", m[1])
}

func TestAPathThatCannotStandInAUnitIsRefused(t *testing.T) {
	for _, path := range []string{"relative", "/a b", "/a\nExecStartPre=/bin/sh", "/%n", "/a\"b"} {
		if _, err := Unit(path, SystemConfig, &relay.Config{Data: "/d"}); err == nil {
			t.Errorf("%q: got no error", path)
		}
	}
}

func TestARunThatFailsSaysWhatItChanged(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "first")
	ok, err := writing(first, "text\n", 0o600)
	if err != nil || len(ok) != 1 {
		t.Fatalf("got %d steps, %v", len(ok), err)
	}
	broken := Step{What: "start", Of: "x.service", do: func(context.Context) error { return errors.New("it rains") }}
	p := Plan{Steps: append(ok, broken, Step{What: "write", Of: "never", do: func(context.Context) error { t.Error("it went on"); return nil }})}
	var told []string
	err = p.Apply(t.Context(), func(s Step) { told = append(told, s.Of) })
	problem := (*relay.Problem)(nil)
	if !errors.As(err, &problem) || problem.Error() != "starting x.service: it rains" || !strings.Contains(problem.Hint, "changed so far: "+first) {
		t.Errorf("got %v, %+v", err, problem)
	}
	if len(told) != 1 || told[0] != first {
		t.Errorf("got %q told", told)
	}
	if b, err := os.ReadFile(first); string(b) != "text\n" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	if again, err := writing(first, "text\n", 0o600); err != nil || len(again) != 0 {
		t.Errorf("got %d steps for what is there, %v", len(again), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tacet-*")); len(left) > 0 {
		t.Errorf("got %q left over", left)
	}
}

// Nothing is written where there is no room for it, and the old text stays.
func TestAFileIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "blocked", "file") // its folder is a file
	if err := os.WriteFile(filepath.Join(dir, "blocked"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(path, "text", 0o644); err == nil {
		t.Error("got no error")
	}
	taken := filepath.Join(dir, "taken")
	if err := os.Mkdir(taken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := write(taken, "text", 0o644); err == nil {
		t.Error("got a folder replaced by a file")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".tacet-*")); len(left) > 0 {
		t.Errorf("got %q left over", left)
	}
}
